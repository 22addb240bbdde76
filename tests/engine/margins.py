"""Outputs of one score that leave by a margin, and what engines answer by the estimates of all stages."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from wald.engine import Decisions, Status
from wald.outputs import Bands, Output, Values

OUTPUTS = {
    "one threshold": Bands([0.1], [False]),
    "bands": Bands([-0.75, 0.0, 0.5, 2.0], [True, False, True, False]),
    "equal thresholds": Bands([-0.5, 0.25, 0.25], [True, True, False]),
    "infinite thresholds": Bands([-np.inf, 0.0, np.inf], [True, False, True]),
    "within a constant": Values(1, 0.5, "constant"),
    "within a share": Values(1, 0.3, "relative", relative=True),
    "exponentials": Values(1, 0.4, "exp"),
    "probabilities": Values(1, 0.05, "logistic"),
    "steep probabilities": Values(1, 0.05, "logistic", slope=2.5, offset=-0.5),
}


def asked(output: Output, tie_margin: float = 0.0) -> Any:
    """A model that is asked for the output."""
    return SimpleNamespace(decision=output, tie_margin=tie_margin, working_precision=lambda dtype: 2.0**-53)


@dataclass(frozen=True)
class Walked:
    """The walk of rows through all stages, from their estimates (rows, stages).

    `variances` has the same shape; None: they are 1. `full` holds the full scores.
    """

    output: Output
    estimates: np.ndarray
    full: np.ndarray
    variances: np.ndarray | None = None

    @property
    def margins(self) -> np.ndarray:
        found = np.column_stack([self.output.judged(z)[1] for z in self.estimates.T])
        return found if self.variances is None else found / np.sqrt(self.variances)

    @property
    def constant(self) -> bool:
        """Whether all rows have the same margin."""
        return bool(np.nanmin(self.margins) == np.nanmax(self.margins))

    def high(self, share: float = 0.35) -> np.ndarray:
        """Thresholds that about this share of the rows passes at each stage; most constants pass only the last one."""
        margins = self.margins
        if self.constant:
            return np.r_[np.full(margins.shape[1] - 1, 2.0), 0.25] * np.nanmax(margins)
        return np.nanquantile(margins, 1 - share, axis=0).astype(np.float64)

    def answers(self, high: np.ndarray, n_stages: int, at_end: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Answers, stages and status."""
        leaves = self.margins > high.astype(self.estimates.dtype)
        leaves[:, n_stages:] = False
        early, first = leaves.any(axis=1), leaves.argmax(axis=1)
        stages = np.where(early, first, self.estimates.shape[1])
        status = np.where(early, Status.EARLY, Status.FULL if at_end == "full" else Status.PENDING)
        if at_end == "answer":
            stages[~early], status[~early] = n_stages - 1, Status.OUT_OF_BUDGET
        last = self.estimates[np.arange(len(stages)), np.minimum(stages, self.estimates.shape[1] - 1)]
        seen = status != Status.FULL
        if self.output.early_values:
            answers = np.where(seen, last.astype(np.float64), self.full)
            answers[status == Status.PENDING] = np.nan
        else:
            answers = np.where(seen, self.output.answers(last), self.output.answers(self.full))
            answers[status == Status.PENDING] = 0
        return answers, stages, status


def bits(found: Decisions) -> list[bytes]:
    """The bits of decisions."""
    return [part.tobytes() for part in (found.codes, *found.ledger)]


def of_one(found: tuple[Any, ...]) -> list[bytes]:
    """The same of the decision about one row."""
    return bits(Decisions.of_one(*found))
