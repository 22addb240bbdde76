"""Certificates of models behind surrogates: a row is asked about only if it would leave early."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...models import AdditiveModel
from ...plan import CertificateSize, Plan, boldest, shares_reached
from ...stopping import Certificate, StageScores, q_grid, rows_needed
from ...stopping.core.binomial import most_disagreements
from ...stopping.core.certifying import one_row_per_group
from ...stopping.core.stratum import Stratum, passes
from ...utils.figures import thousands
from ..compiled.certification import (
    COSTS_NO_MORE,
    LIKELY,
    Promise,
    certified,
    evaluating_everything,
    scores_at_stages,
    tried,
)
from ..compiled.rows import Rows
from .late_answers import LateAnswers
from .lazy_walk import UNKNOWN, known_only, lazy_walk, leaves_below

Indices = NDArray[np.intp]

#: Sizes of certificates that are compared where calls are scarce: each is larger than the one before by this factor.
SIZE_STEP = 1.25
#: Part of the calls that rows are expected to take there; the rest is for more rows that leave than expected.
EXPECTED_PART = 0.9


@dataclass(frozen=True, eq=False)
class Certified:
    """A plan with its certificate, and the scores of the certificate rows.

    Answers of rows that were not asked about are likely ones.
    """

    trial: Plan
    plan: Plan
    certificate: Certificate
    scores: StageScores


@dataclass(frozen=True, eq=False)
class LateCertificate:
    """Certifies a plan, and asks the model for what it needs.

    Parameters
    ----------
    answers : LateAnswers
    rows : ndarray of int
        Number of each row, as `answers` counts them.
    lazily : bool
        Whether rows are asked about only if they would leave early. If not, all of them are: strata by the model's own
        answer need it.
    """

    answers: LateAnswers
    rows: Indices
    lazily: bool

    def likely_size(self, n_rows: int, promise: Promise) -> int:
        """About how many of so many rows will certify."""
        left = self.answers.left
        if left is None or n_rows <= left:
            return n_rows
        if not self.lazily or not promise.risk:
            return left
        return min(n_rows, max(left, rows_needed(promise.risk, promise.confidence)))

    def certified(
        self,
        model: AdditiveModel,
        plan: Plan,
        validation: StageScores,
        rows: Rows,
        places: Indices,
        promise: Promise,
        n_threads: int,
    ) -> Certified:
        """Decide whether a plan pays, and certify it.

        Parameters
        ----------
        model : AdditiveModel
        plan : Plan
        validation : StageScores
        rows : Rows
            The certificate rows, shuffled.
        places : ndarray of int
            Of these rows among all.
        promise : Promise
        n_threads : int
        """
        left, risk, confidence = self.answers.left, promise.risk, promise.confidence
        unknown = self.answers.likely_unknown(self.rows[places])
        if rows.groups is not None:
            each = one_row_per_group(rows.groups, np.random.default_rng(promise.seed))
            rows, places = rows.take(each), places[each]
        n_all = len(places)
        n, least_q = self._size(model, plan, validation, n_all, promise, unknown)
        rows, numbers = rows.first(n), self.rows[places[:n]]
        size = CertificateSize(n, confidence)
        trial = tried(model, plan, validation, size, promise, least_q)
        scores = scores_at_stages(model, plan, rows, n_threads)
        full = np.where(self.answers.known[numbers], self.answers.codes[numbers], UNKNOWN).astype(np.int32)
        certify = partial(certified, model, trial, validation, groups=rows.groups, promise=promise)
        few = f"max_calls={self.answers.max_calls} left {thousands(left or 0)} calls for the certificate"
        if trial.evaluate_all and n < n_all:
            reason = f"{few}, and no early exits are sure to pay with so few; allow more of them, or a larger risk"
            certificate, plan = evaluating_everything(model, trial, validation, promise, reason)
        elif not self.lazily and trial.evaluate_all and (full == UNKNOWN).any():
            certificate, plan = evaluating_everything(model, trial, validation, promise, COSTS_NO_MORE)
        elif not self.lazily:
            certificate, plan = certify(replace(scores, full=self.answers.ask(numbers)))
        elif trial.evaluate_all or (risk is not None and most_disagreements(n, risk, confidence) < 0):
            certificate, plan = certify(known_only(scores, full))
        else:
            grid, most = np.ones(1), n
            if risk is not None:
                grid, most = q_grid(validation, plan.boundary), most_disagreements(n, risk, confidence)

            def holds(strata: tuple[Stratum, ...]) -> bool:
                return risk is None or passes(strata, risk, confidence)

            def ask(some: Indices) -> NDArray[np.int32]:
                return self.answers.ask(numbers[some])

            about = promise.about(model)
            walked = lazy_walk(
                replace(scores, full=full),
                plan.boundary.restricted(about.sides),
                grid,
                about.lines,
                holds,
                most,
                ask,
                left,
            )
            if walked[1] == 0:
                reason = f"{few}, too few to test an exit; allow more of them, or a larger risk"
                certificate, plan = evaluating_everything(model, trial, validation, promise, reason)
            else:
                certificate, plan = certify(walked[0], grid=grid[: walked[1]])
        known = self.answers.known[numbers]
        likely = replace(scores, full=np.where(known, self.answers.codes[numbers], _last_answers(model, scores)))
        return Certified(trial, plan, certificate, likely)

    def _size(
        self,
        model: AdditiveModel,
        plan: Plan,
        validation: StageScores,
        n_all: int,
        promise: Promise,
        unknown: float,
    ) -> tuple[int, float]:
        """How many of the rows certify, and the boldest scale that they can test with the calls that are left.

        The rows themselves have no say in it, nor others of their groups, not even by whether they are in the log: a
        share of them is likely to be `unknown` to it.
        """
        left = self.answers.left
        if left is None:
            return n_all, 0.0
        if not self.lazily or promise.risk is None:
            return min(n_all, left), 0.0
        if n_all * unknown <= left:
            return n_all, 0.0
        n = rows_needed(promise.risk, promise.confidence)
        if n >= n_all:
            return n_all, 0.0
        reach = np.sort(leaves_below(validation, plan.boundary))[::-1]
        best, found = -1.0, (n, 0.0)
        while n < n_all:
            may_leave = EXPECTED_PART * left / (n * unknown)
            k = int(may_leave * len(reach))
            least_q = float(np.nextafter(max(reach[k], 0.0), np.inf)) if k < len(reach) else 0.0
            size = CertificateSize(n, promise.confidence)
            q = max(least_q, boldest(validation, plan.boundary, promise.rule, promise.about(model), size, LIKELY))
            leaves = 1.0 - shares_reached(validation, plan.boundary, q, plan.precision)[-1]
            if leaves >= best:
                best, found = leaves, (n, least_q)
            n = int(np.ceil(SIZE_STEP * n))
        return found


def _last_answers(model: AdditiveModel, scores: StageScores) -> NDArray[np.int32]:
    """What the surrogates say together."""
    if scores.n_stages == 0:
        return np.zeros(scores.n_rows, dtype=np.int32)
    if scores.answers is not None:
        return scores.answers[:, -1]
    return (scores.margins[:, -1] > (model.decision.centre or 0.0)).astype(np.int32)
