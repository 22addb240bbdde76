"""What the service counts, as Prometheus reads it."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
#: States of a model's monitor, in the order of their numbers.
STATES = ("holding", "doubtful", "broken")


class Metrics:
    """Counts of one process; changed by the event loop alone.

    A row counts at the first stage that costs as much as the row did. It may have left later, where classes that are
    far behind were not evaluated.

    Parameters
    ----------
    stage_costs : ndarray of shape (T + 1,)
        Costs of a row that leaves at each stage; the last is full evaluation.
    """

    def __init__(self, stage_costs: NDArray[np.float64]) -> None:
        self.requests: Counter[int] = Counter()
        self.errors: Counter[str] = Counter()
        self.rows = self.batches = self.reloads = 0
        self.cost = 0.0
        self.watch(stage_costs)

    def watch(self, stage_costs: NDArray[np.float64]) -> None:
        """Count the stages of another plan."""
        self._costs, self._array = stage_costs.tolist(), stage_costs
        self.stages = [0] * len(self._costs)

    def count_row(self, cost: float) -> None:
        """Count one answered row."""
        self.rows += 1
        self.cost += cost
        self.stages[min(bisect_left(self._costs, cost), len(self.stages) - 1)] += 1

    def count_rows(self, costs: NDArray[np.float64]) -> None:
        """Count answered rows."""
        self.rows += len(costs)
        self.cost += float(costs.sum())
        reached = np.minimum(np.searchsorted(self._array, costs), len(self.stages) - 1)
        for stage, n in zip(*np.unique(reached, return_counts=True), strict=True):
            self.stages[int(stage)] += int(n)

    def text(self, monitor: Any = None) -> str:
        """The counts in Prometheus' text format, with those of a model's monitor if there is one."""
        lines: list[str] = []
        _family(lines, "requests_total", "counter", "Answers, by HTTP status.", self.requests, "status")
        _family(lines, "errors_total", "counter", "Requests that were refused, by kind.", self.errors, "kind")
        _family(lines, "rows_total", "counter", "Rows that got a label.", {"": self.rows})
        _family(lines, "cost_total", "counter", "Sum of the costs of rows, in the plan's unit.", {"": self.cost})
        stages = dict(enumerate(self.stages))
        _family(
            lines,
            "stage_rows_total",
            "counter",
            "Rows by the first stage that costs as much as they did.",
            stages,
            "stage",
        )
        _family(lines, "batches_total", "counter", "Batches of rows of several requests.", {"": self.batches})
        _family(lines, "reloads_total", "counter", "Times that the model was loaded anew.", {"": self.reloads})
        if monitor is not None:
            _monitor(lines, monitor)
        return "\n".join(lines) + "\n"


def _monitor(lines: list[str], monitor: Any) -> None:
    state = str(getattr(monitor, "state", ""))
    shown = {name: int(name == state) for name in STATES}
    _family(lines, "monitor_state", "gauge", "1 for the state that the monitor is in.", shown, "state")
    as_dict = getattr(monitor, "as_dict", None)
    for name, value in (as_dict() if as_dict is not None else {}).items():
        if isinstance(value, int | float) and str(name).isidentifier() and name != "state":
            _family(lines, f"monitor_{name}", "gauge", "A figure of the model's monitor.", {"": value})


def _family(lines: list[str], name: str, kind: str, words: str, values: Any, label: str = "") -> None:
    lines += [f"# HELP wald_{name} {words}", f"# TYPE wald_{name} {kind}"]
    for key, value in values.items():
        where = f'{{{label}="{_escaped(str(key))}"}}' if label else ""
        lines.append(f"wald_{name}{where} {_value(value)}")


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _value(value: int | float) -> str:
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
    return repr(value)
