"""The engine in plain NumPy, for terms whose values a Python function computes.

All sums run from left to right, so that a row's scores depend on the row alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..sources import PLAIN, Conversion, source_of
from ..utils.exits import exits
from ..utils.stage_table import StageTable
from .interface import AtEnd, Decided, Floats, Working
from .ledger import Codes, Decisions, Ledger, Status, Statuses
from .stages import LEAST_VARIANCE, Stages

#: Number of rows that are evaluated at a time.
ROWS = 4096
#: Unit roundoff of float64.
U = 2.0**-53


class TermValues(Protocol):
    """Terms that compute their values in Python; see `wald.models.Terms`."""

    @property
    def coef(self) -> Floats:
        """Weight of each term in each output."""

    @property
    def intercept(self) -> Floats:
        """Intercept of each output."""

    @property
    def n_terms(self) -> int:
        """Number of terms."""

    def values(self, X: Any, which: Any = None) -> Floats:
        """Values of some terms (all by default) of rows."""


class PythonTerms:
    """Terms whose values a Python function computes.

    Parameters
    ----------
    terms : TermValues
    order : int64 ndarray
        The terms of early stages in their order.
    conversion : Conversion, default=PLAIN
        Conversion of rows that are neither floats nor uint8.
    """

    def __init__(self, terms: TermValues, order: NDArray[np.int64], conversion: Conversion = PLAIN) -> None:
        self.terms, self.order, self.conversion = terms, np.asarray(order, dtype=np.int64), conversion

    def scores(
        self,
        X: Any,
        working: Working,
        n_threads: int,
        single: bool = False,
        needed: Sequence[int] | None = None,
    ) -> tuple[Floats, Floats]:
        """Full scores (n, n_outputs), and error bounds (n,)."""
        X = source_of(X).array(self.conversion)
        n, precision = X.shape[0], working(X.dtype)
        scores, errors = np.empty((n, len(self.terms.intercept))), np.empty(n)
        for start in range(0, n, ROWS):
            some = slice(start, start + ROWS)
            scores[some], errors[some] = self.totals(self.terms.values(X[some]), precision)
        return scores, errors

    def totals(self, values: Floats, working: float) -> tuple[Floats, Floats]:
        """Full scores (n, n_outputs) from the values of all terms, and error bounds (n,).

        Parameters
        ----------
        values : float64 ndarray of shape (n, n_terms)
        working : float
            Unit roundoff in which the wrapped model computes.
        """
        terms = self.terms
        largest, bias = np.abs(terms.coef).max(axis=0), float(np.abs(terms.intercept).max())
        share = 1.05 * ((terms.n_terms + 8) * U + (2 * terms.n_terms + 16) * working)
        with np.errstate(invalid="ignore", over="ignore"):
            scores = _sums(values, terms.coef, terms.intercept)
            return scores, share * (_sums(np.abs(values), largest[None], np.array([bias]))[:, 0])

    def completed(self, X: Any, seen: Floats) -> Floats:
        """Values of all terms of rows.

        Parameters
        ----------
        X : array or CSR of shape (n, n_features)
        seen : float64 ndarray of shape (n, m)
            Values of the first m terms in the order, which are not computed again.
        """
        if seen.shape[1] == 0:
            return self.terms.values(X)
        first = self.order[: seen.shape[1]]
        own = first < self.terms.n_terms
        values = np.empty((len(seen), self.terms.n_terms))
        values[:, first[own]] = seen[:, own]
        rest = np.setdiff1d(np.arange(self.terms.n_terms), first)
        if len(rest):
            values[:, rest] = self.terms.values(X, rest)
        return values

    def cascade(
        self, model: Decided, stages: Stages, low: NDArray[Any], high: NDArray[Any], costs: Floats | None = None
    ) -> PythonCascade:
        """Put stages on the terms."""
        return PythonCascade(self, model, stages, low, high, costs)


class PythonCascade:
    """Stages on terms whose values a Python function computes."""

    def __init__(
        self,
        packed: PythonTerms,
        model: Decided,
        stages: Stages,
        low: NDArray[Any],
        high: NDArray[Any],
        costs: Floats | None = None,
    ) -> None:
        self._packed, self._model, self._stage_terms, self._readouts = packed, model, stages.terms, stages.readouts
        self._low, self._high = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
        self._costs = np.zeros(len(stages) + 1) if costs is None else costs

    def predict(self, X: Any, n_stages: int, at_end: AtEnd, n_threads: int) -> Decisions:
        """Decide the rows of an array, a CSR matrix, a frame or nested lists."""
        X = source_of(X).array(self._packed.conversion)
        n = X.shape[0]
        output = self._model.decision
        codes: NDArray[Any] = np.zeros(n, dtype=np.int32)
        if output.early_values:
            codes = np.full(n if output.n_outputs == 1 else (n, output.n_outputs), np.nan)
        stages = np.full(n, len(self._stage_terms), dtype=np.int32)
        status = np.full(n, Status.PENDING, dtype=np.uint8)
        for start in range(0, n, ROWS):
            some = slice(start, min(n, start + ROWS))
            self._answer(X[some], n_stages, at_end, codes[some], stages[some], status[some])
        return Decisions(codes, Ledger(stages, self._costs.take(stages), status))

    def predict_one(self, x: NDArray[Any], n_stages: int, at_end: AtEnd, working: float) -> tuple[Any, int, float, int]:
        """Code or score, stage, cost and status of one row."""
        if not isinstance(x, np.ndarray):  # a Series has names, which are not for the engine
            raise TypeError(f"x must be a row of an array here. Got {type(x).__name__}.")
        return self.predict(x[None], n_stages, at_end, 1).first

    def fixed_calls(self, n_stages: int, at_end: AtEnd, working: Sequence[float], labels: tuple[Any, ...]) -> None:
        """None: arrays of NumPy gain nothing from it."""
        return

    def columns_read(self, n_stages: int | None) -> list[int] | None:
        """Columns that rows need for the first stages: all, for all that is known of a Python function."""
        return None

    def trace(self, X: Any, n_threads: int) -> StageTable:
        """Estimates of every stage for all rows, without exits."""
        X = source_of(X).array(self._packed.conversion)
        values = self._packed.terms.values(X, self._packed.order)
        finite = np.isfinite(values).all(axis=1)
        estimates = [self._estimate(values, t) for t in range(len(self._stage_terms))]
        n, output = X.shape[0], self._model.decision
        if output.by_margin:
            empty = np.empty((n, 0)) if output.n_outputs == 1 else np.empty((n, 0, output.n_outputs))
            each = [z if output.n_outputs == 1 else z[:, None] for z in estimates]
            margins = np.concatenate([empty, *each], axis=1)
            margins[~finite] = np.nan
            return StageTable(margins=margins)
        judged = [output.judged(z) for z in estimates]
        margins = np.column_stack([np.empty((n, 0)), *(m for _, m in judged)])
        margins[~finite] = np.nan
        if output.two_sided:
            return StageTable(margins=margins)
        answers = np.column_stack([np.empty((n, 0), np.int32), *(a for a, _ in judged)]).astype(np.int32)
        answers[~finite] = 0
        return StageTable(margins=margins, answers=answers)

    def decide(self, scores: NDArray[Any], error: float) -> tuple[Codes, Statuses]:
        """Codes of full scores with error at most `error`, and their status."""
        full = np.asarray(scores, dtype=np.float64)
        return self._settled(full, np.full(len(full), error))

    def _answer(
        self, X: Any, n_stages: int, at_end: AtEnd, codes: NDArray[Any], stages: Codes, status: Statuses
    ) -> None:
        """Write the codes, stages and status of some pending rows."""
        output, order = self._model.decision, self._packed.order
        active = np.arange(len(codes))
        values = np.empty((len(codes), int(self._stage_terms[n_stages - 1]) if n_stages else 0))
        evaluated = 0
        for t in range(n_stages):
            m = int(self._stage_terms[t])
            if m > evaluated:
                values[active, evaluated:m] = self._packed.terms.values(X[active], order[evaluated:m])
            evaluated = m
            z = self._estimate(values[active], t)
            finite = np.isfinite(z).all(axis=1)
            label, leaves = self._leaving(z, t, self._variance(values[active], t))
            found = np.where(leaves, Status.EARLY, Status.PENDING)
            if at_end == "answer" and t == n_stages - 1:
                found[~leaves] = Status.OUT_OF_BUDGET
                label = output.answers(z) if output.two_sided else label
            found[~finite] = Status.NOT_FINITE
            answers = _scores_of(z, finite) if output.early_values else np.where(finite, label, 0)
            decided = found != Status.PENDING
            rows = active[decided]
            codes[rows], stages[rows], status[rows] = answers[decided], t, found[decided]
            active = active[~decided]
        if at_end == "full" and len(active):
            complete = self._packed.completed(X[active], values[active, :evaluated])
            scores, errors = self._packed.totals(complete, self._model.working_precision(X.dtype))
            finite = np.isfinite(scores).all(axis=1)
            answers, found = self._settled(scores, errors)
            codes[active] = _scores_of(scores, finite) if output.early_values else answers
            status[active] = np.where(finite, found, Status.NOT_FINITE)

    def _estimate(self, values: Floats, stage: int) -> Floats:
        readout = self._readouts[stage]
        with np.errstate(invalid="ignore", over="ignore"):
            return _sums(values[:, : self._stage_terms[stage]], readout.weights, readout.bias)

    def _variance(self, values: Floats, stage: int) -> Floats | None:
        """Variances of the rows' errors, relative to the usual one; None: these are 1."""
        spread, bias = self._readouts[stage].spread, self._readouts[stage].spread_bias
        if spread is None:
            return None
        with np.errstate(invalid="ignore", over="ignore"):
            found = _sums(values[:, : self._stage_terms[stage]], spread[None], np.array([bias]))[:, 0]
        return np.where(np.isnan(found), np.inf, np.maximum(found, LEAST_VARIANCE))

    def _leaving(self, z: Floats, stage: int, variance: Floats | None) -> tuple[Codes, NDArray[np.bool_]]:
        """Labels of estimates, and whether the rows exit at this stage."""
        low, high = self._low[stage], self._high[stage]
        label, margins = self._model.decision.judged(z)
        if variance is not None:
            margins = margins / np.sqrt(variance)
        if self._model.decision.two_sided:
            leaves, above = exits(margins, low, high)
            return above.astype(np.int32), leaves
        return label, exits(margins, None, high)[0]

    def _settled(self, scores: Floats, errors: Floats) -> tuple[Codes, Statuses]:
        """Answers of full scores, and their status: handed over where the error may change them."""
        answers, sure = self._model.decision.settled(scores, errors + self._model.tie_margin)
        status = np.where(sure, Status.FULL, Status.HANDED_OVER).astype(np.uint8)
        return np.where(sure, answers, 0).astype(np.int32), status


def _scores_of(scores: Floats, finite: Any) -> Floats:
    """Scores as answers, (n,) if there is one for each row; NaN where one is not finite."""
    found = np.where(finite[:, None], scores, np.nan)
    return found[:, 0] if found.shape[1] == 1 else found


def _sums(values: Floats, weights: Floats, bias: Floats) -> Floats:
    """``bias + values @ weights.T``, every sum from left to right."""
    sums = np.repeat(bias[None], len(values), axis=0)
    for j in range(values.shape[1]):
        sums += values[:, j, None] * weights[:, j]
    return sums
