"""What the service counts, as Prometheus reads it."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
#: States of a model's monitor, in the order of their numbers.
STATES = ("holding", "unwatched", "doubtful", "broken")
#: What is shown of each stratum of the promise.
_LINE_FIGURES = ("risk", "audits", "disagreements", "disagreement_low", "disagreement_high")


class Metrics:
    """Counts of one process, of all models that it has served; changed by the event loop alone."""

    def __init__(self) -> None:
        self.requests: Counter[int] = Counter()
        self.errors: Counter[str] = Counter()
        self.stages: Counter[int] = Counter()
        self.rows = self.batches = self.reloads = 0
        self.cost = 0.0

    def watch(self, n_stages: int) -> None:
        """Show the stages of a plan, those without rows too."""
        for stage in range(n_stages + 1):
            self.stages[stage] += 0

    def count_batch(self) -> None:
        """Count one batch of rows of several requests."""
        self.batches += 1

    def count_row(self, cost: float, stage: int) -> None:
        """Count one answered row."""
        self.rows += 1
        self.cost += cost
        self.stages[stage] += 1

    def count_rows(self, costs: NDArray[np.float64], stages: NDArray[np.int32]) -> None:
        """Count answered rows."""
        self.rows += len(costs)
        self.cost += float(costs.sum())
        for stage, n in enumerate(np.bincount(stages).tolist()):
            self.stages[stage] += n

    def text(self, monitor: Any = None) -> str:
        """The counts in Prometheus' text format, with those of a model's monitor if there is one."""
        lines: list[str] = []
        _family(lines, "requests_total", "counter", "Answers, by HTTP status.", self.requests, "status")
        _family(lines, "errors_total", "counter", "Requests that were refused, by kind.", self.errors, "kind")
        _family(lines, "rows_total", "counter", "Rows that got an answer.", {"": self.rows})
        _family(lines, "cost_total", "counter", "Sum of the costs of rows, in the plan's unit.", {"": self.cost})
        stages = dict(sorted(self.stages.items()))
        _family(lines, "stage_rows_total", "counter", "Rows by the stage at which they left.", stages, "stage")
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
    facts = as_dict() if as_dict is not None else {}
    for name, value in facts.items():
        if isinstance(value, int | float) and str(name).isidentifier() and name != "state":
            _family(lines, f"monitor_{name}", "gauge", "A figure of the model's monitor.", {"": value})
    of_lines = facts.get("lines", [])
    for name in _LINE_FIGURES:
        values = {line["name"]: line[name] for line in of_lines if line[name] is not None}
        if values:
            words = "A figure of a line of the promise."
            _family(lines, f"monitor_line_{name}", "gauge", words, values, "line")
    if of_lines:
        broken = {line["name"]: int(line["state"] == "broken") for line in of_lines}
        _family(lines, "monitor_line_broken", "gauge", "Whether audits refute a line of the promise.", broken, "line")


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
    return repr(int(value) if isinstance(value, bool) else value)
