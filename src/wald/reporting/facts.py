"""What a report says, as plain data; the templates read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from ..displays import StoppingPathDisplay, TradeoffDisplay
from ..early_exit import Trace
from ..outputs.words import Words
from ..plan import Plan
from ..utils.alternating import Timing
from .examples import Example


class ClassCost(NamedTuple):
    """Cost of the rows that got one answer, `value`."""

    value: Any
    name: str
    n_rows: int
    mean: float
    median: float
    n_different: int


class Stage(NamedTuple):
    """One stage of the plan, and how many of the rows came to it and left there.

    ``units`` are those that a row has paid for after the stage; ``below`` and ``above`` are infinite without that side.
    """

    units: int
    cost: float
    below: float
    above: float
    n_reached: int
    n_left: int


class Walk(NamedTuple):
    """One row through all stages."""

    title: str
    row: int
    label: str
    full_label: str
    trace: Trace
    display: StoppingPathDisplay


class Difference(NamedTuple):
    """A row whose answer differs, with its values by name; ``n_more`` values are left out."""

    row: int
    label: str
    full_label: str
    cost: float
    score: float | None
    values: tuple[tuple[str, str], ...]
    n_more: int


@dataclass(frozen=True)
class Facts:
    """Everything that a report says.

    ``words`` names the answers. ``shell`` is the early-exit estimator, and ``asked`` what it is asked beside the risk.
    ``model`` and ``certificate`` are those of ``wald inspect --json``. ``timing`` is empty where there is no time to
    compare, for the reason in ``no_timing``; ``rival`` names what was timed. ``reads`` holds the names of the
    columns that each stage is the first to read, where columns have names.
    """

    name: str
    shell: str
    asked: tuple[str, ...]
    words: Words
    model: dict[str, Any]
    certificate: dict[str, Any]
    plan: Plan
    source: str | None
    unit: str
    risk: float | None
    confidence: float
    n_rows: int
    mean_cost: float
    n_different: int
    different_interval: tuple[float, float]
    broken: str | None
    classes: list[ClassCost]
    stages: list[Stage]
    curve: TradeoffDisplay | None
    reads: tuple[tuple[str, ...], ...] | None
    walks: list[Walk]
    examples: list[Example]
    differences: list[Difference]
    timing: list[Timing]
    no_timing: str
    rival: str
    threads: int

    @property
    def exact(self) -> bool:
        """Whether no answer can differ from the full model's, whatever the row."""
        full = self.plan.evaluate_all or self.certificate["status"] == "lossless"
        return full and bool(self.certificate["holds"])

    @property
    def scarce(self) -> dict[str, Any] | None:
        """Of the kinds of rows that the certificate had too few of, the one that lacks most."""
        few = [s for s in self.certificate["strata"] if s["n_rows"] < (s["rows_needed"] or 0)]
        return max(few, key=lambda s: s["rows_needed"] - s["n_rows"], default=None)
