"""The settings by name, and their common options: how thorough a run is, and the folder for big files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

#: Each is a module of this package, with hyphens for underscores.
SETTINGS = (
    "svm-binary",
    "svm-multiclass",
    "linear-units",
    "frames",
    "never-slower",
    "memory",
    "attentive",
    "parser",
    "chain",
    "budget",
)
#: The environment variable that makes a run train, fit and test on other rows.
OTHER_SPLIT = "WALD_BENCH_OTHER_SPLIT"


@dataclass(frozen=True)
class Run:
    """Options of a run.

    Attributes
    ----------
    repeats : int
        Rounds in which every task is timed.
    quick : bool
        Take fewer rows where all of them need minutes, to see that everything works; not for figures.
    scratch : Path
        Where files of some gigabytes may be written.
    """

    repeats: int
    quick: bool
    scratch: Path

    def rows(self, full: int, quick: int) -> int:
        """Return the number of rows to measure on."""
        return quick if self.quick else full
