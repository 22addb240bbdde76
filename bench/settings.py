"""Names of the settings, and the options of a run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

#: Settings; each is a module of this package, with underscores for hyphens.
SETTINGS = (
    "svm-binary",
    "svm-multiclass",
    "svm-letters",
    "linear-units",
    "frames",
    "never-slower",
    "memory",
    "attentive",
    "parser",
    "text-to-tree",
    "chain",
    "words",
    "budget",
    "chunks",
    "extractors",
    "trees-wide",
    "trees-flights",
    "trees-calls",
    "trees-classes",
    "jobs",
    "pipelines",
    "texts",
    "values",
    "ranking",
    "any-model",
    "data-sets",
    "calls",
)
#: Those that time nothing, so that it does not matter what else the machine does.
COUNTED = frozenset({"calls", "data-sets"})
#: The environment variable that makes a run train, fit and test on other rows.
OTHER_SPLIT = "WALD_BENCH_OTHER_SPLIT"


@dataclass(frozen=True)
class Run:
    """Options of a run.

    Attributes
    ----------
    repeats : int
        Number of rounds of timing.
    quick : bool
        Take fewer rows where all of them need minutes: a test that everything works, whose figures are not saved.
    scratch : Path
        A folder for files of some gigabytes.
    """

    repeats: int
    quick: bool
    scratch: Path

    def rows(self, full: int, quick: int) -> int:
        """Return ``quick`` in a quick run, else ``full``."""
        return quick if self.quick else full
