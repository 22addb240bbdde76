"""What a job has done so far."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Report:
    """What a job has done.

    Attributes
    ----------
    n_parts, n_before : int
        Parts in all, and those that an earlier run had finished.
    n_rows : int
        Rows of all finished parts.
    total_cost : float
    seconds : float
        Time of this run.
    rows_now, rows_before : int
        Rows of this run, and of parts that an earlier run had finished.
    bytes_decoded, bytes_there : int
        Bytes of Parquet columns that were decoded, and that the files hold.
    counts : dict from str to int
        Rows of each label.
    all_rows : int or None
        Rows of all parts; None where some file does not say it.
    n_done : int
        Parts that are whole.
    left_out : dict from str to int
        Columns that the model does not know, and the number of files that have them.
    skipped : list of str
        What `Options.skip_bad` left out, and why.
    """

    n_parts: int = 0
    n_before: int = 0
    n_rows: int = 0
    total_cost: float = 0.0
    seconds: float = 0.0
    rows_now: int = 0
    rows_before: int = 0
    bytes_decoded: int = 0
    bytes_there: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    all_rows: int | None = None
    n_done: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)

    def state(self, out: object) -> str:
        """Say what is done, and how to go on, for a job that ends before its end."""
        return f"{self.n_done} of {self.n_parts} parts are whole in {out}; the same command goes on from there."

    def add(self, facts: dict[str, Any]) -> None:
        """Count a part that is whole."""
        self.n_done += 1
        self.n_rows += facts["rows"]
        self.total_cost += facts["cost"]
        for label, n in facts["labels"].items():
            self.counts[label] = self.counts.get(label, 0) + n
