"""What all settings share: how thorough a run is, and where its big files go."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

#: Set in the environment: train, fit and test on other rows.
OTHER_SPLIT = "WALD_BENCH_OTHER_SPLIT"


@dataclass(frozen=True)
class Run:
    """How thorough to be.

    Attributes
    ----------
    repeats : int
        Turns of each timed task.
    quick : bool
        Fewer rows where full ones take minutes: to see that everything works, not for figures.
    scratch : Path
        Where files of some gigabytes may be written.
    """

    repeats: int
    quick: bool
    scratch: Path

    def rows(self, full: int, quick: int) -> int:
        """How many rows to measure on."""
        return quick if self.quick else full
