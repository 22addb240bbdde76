"""What a report says, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ClassCost:
    """Cost of the rows that got one answer."""

    name: str
    n_rows: int
    mean: float
    median: float
    n_different: int


@dataclass(frozen=True)
class Stage:
    """One stage of the plan, and how many of the rows came to it and left there; ``below`` is None without that side.

    ``units`` are those that a row has paid for after the stage.
    """

    units: int
    cost: float
    below: float | None
    above: float | None
    n_reached: int
    n_left: int


@dataclass(frozen=True)
class Curve:
    """Mean cost and share of differing labels at several scales of the thresholds, the cheapest first.

    Only rows that the promise is about are counted; ``counted`` names them.
    """

    points: tuple[tuple[float, float], ...]
    chosen: tuple[float, float]
    interval: tuple[float, float]
    n_rows: int
    counted: str


@dataclass(frozen=True)
class Walk:
    """One row through all stages; ``low`` and ``high`` hold the thresholds of the early ones.

    ``costs`` are those of the stages, and ``cost`` is what the row paid.
    """

    title: str
    row: int
    label: str
    full_label: str
    scores: tuple[float, ...]
    costs: tuple[float, ...]
    cost: float
    low: tuple[float, ...]
    high: tuple[float, ...]
    stage: int
    binary: bool


@dataclass(frozen=True)
class Difference:
    """A row whose label differs, with its values by name; ``n_more`` values are left out."""

    row: int
    label: str
    full_label: str
    cost: float
    score: float | None
    values: tuple[tuple[str, str], ...]
    n_more: int


@dataclass(frozen=True)
class Timing:
    """Seconds of one call with ``n_rows`` rows."""

    name: str
    n_rows: int
    model_seconds: float
    wald_seconds: float


@dataclass(frozen=True)
class Facts:
    """Everything that a report says.

    ``model`` and ``certificate`` are those of ``wald inspect --json``. ``timing`` is empty where there is no time to
    compare, for the reason in ``no_timing``; ``rival`` names what was timed.
    """

    name: str
    model: dict[str, Any]
    certificate: dict[str, Any]
    source: str | None
    unit: str
    risk: float | None
    evaluate_all: bool
    full_cost: float
    n_rows: int
    mean_cost: float
    n_different: int
    different_interval: tuple[float, float]
    confidence: float
    broken: str | None
    classes: tuple[ClassCost, ...]
    n_classes_left_out: int
    stages: tuple[Stage, ...]
    curve: Curve | None
    walks: tuple[Walk, ...]
    differences: tuple[Difference, ...]
    timing: tuple[Timing, ...]
    no_timing: str
    rival: str
    threads: int
    repeats: int

    @property
    def exact(self) -> bool:
        """Whether no label can differ from the full model's, whatever the row."""
        full = self.evaluate_all or self.certificate["status"] == "lossless"
        return full and bool(self.certificate["holds"])
