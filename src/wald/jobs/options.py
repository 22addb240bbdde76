"""What a job is asked to write."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .errors import JobError
from .write import SUFFIXES


@dataclass(frozen=True)
class Options:
    """What is written for each row.

    Attributes
    ----------
    cost : bool
        Whether to write costs beside labels.
    budget : float or None
        Most that a row may cost.
    keep : tuple of str
        Columns to copy, features or not; those of folders named ``column=value``, too.
    drop : tuple of str
        Columns to leave out. Those that a model with names does not know are left out anyway.
    to : {"parquet", "csv", "arrow"}
    proba : bool
        Whether to write the model's probabilities, in columns ``proba_LABEL``; all columns are read for them.
    skip_bad : bool
        Whether to leave out files and parts that cannot be read or do not fit the model, and list them in the report,
        instead of ending at the first one.
    text : str or None
        The column of texts, for a model whose rows are texts; None: the only column that is left.
    groups : str or None
        Of a ranker with a risk: the column that names the group of each row. Rows of a group stand side by side, also
        across row groups and files.
    """

    cost: bool = False
    budget: float | None = None
    keep: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    to: str = "parquet"
    proba: bool = False
    skip_bad: bool = False
    text: str | None = None
    groups: str | None = None

    def __post_init__(self) -> None:
        if self.to not in SUFFIXES:
            raise JobError(f"--to must be one of {', '.join(SUFFIXES)}. Got {self.to!r}.")
        for name in ("keep", "drop"):
            given = getattr(self, name)
            object.__setattr__(self, name, (given,) if isinstance(given, str) else tuple(given))

    def decisive(self, by_name: bool) -> dict[str, Any]:
        """What the bytes of a part depend on; columns to drop are none of it where the model finds its own by name."""
        asked = {**vars(self), "keep": list(self.keep), "drop": [] if by_name else list(self.drop)}
        del asked["skip_bad"]
        if not self.proba:  # as in the manifests of jobs before there were probabilities
            del asked["proba"]
        for name in ("text", "groups"):
            if getattr(self, name) is None:
                del asked[name]
        return asked
