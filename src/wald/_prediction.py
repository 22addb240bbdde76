"""Serving: rows in, codes and stages out. A `Served` never changes, so threads share it freely."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import assert_all_finite

from . import _core
from ._full_model import FullModel, as_met
from ._remainders import FeatureRanges
from ._rows import FRONT_ROWS, Columns, Piece, is_frame, n_rows_of, pieces, take, to_array, whole_block
from ._serving import AtEnd, pack, serving
from .additive import AdditiveModel, LinearTerms
from .plan import Plan

#: Fewer rows than this are not worth waking a second thread for.
INLINE_ROWS = 256
#: Of so few rows most of an estimator's time goes into its own checks: there the engine evaluates everything.
FEW_ROWS = 128


@dataclass(frozen=True, eq=False)
class Trace:
    """The walk of one row through the plan.

    Attributes
    ----------
    scores : ndarray of shape (T + 1,)
        The estimate at each look (several outputs: its confidence), the last one from everything.
    low, high : ndarray of shape (T,)
        The row leaves at the first look whose score is below ``low`` or above ``high``.
    costs : ndarray of shape (T + 1,)
        What the row has cost at each look.
    stage : int
        The look at which it left; T is everything.
    label : object
    """

    scores: NDArray[np.float64]
    low: NDArray[np.floating[Any]]
    high: NDArray[np.floating[Any]]
    costs: NDArray[np.float64]
    stage: int
    label: Any

    @property
    def cost(self) -> float:
        """What the row cost."""
        return float(self.costs[self.stage])


def check_finite(model: AdditiveModel, X: Any) -> None:
    """Raise scikit-learn's own error for NaN (where nothing stands in for it) and infinity."""
    rows = to_array(X)
    assert_all_finite(
        rows.data if sparse.issparse(rows) else rows,
        allow_nan=model.allow_nan,
        estimator_name="EarlyExitClassifier",
        input_name="X",
    )


def terms_rows(model: AdditiveModel, X: Any) -> Any:
    """Rows as the terms meet them: behind the steps of a pipeline that are not part of the terms.

    Raises
    ------
    ValueError
        For sparse rows where the terms include a step that moves zeros.
    """
    if model.front is not None:
        X = model.front.transform(as_met(X))
    if sparse.issparse(X) and model.centres:
        raise ValueError(
            "X is sparse, but the plan was made on dense rows behind a step of the pipeline that centres columns. Give "
            "dense rows here, or call fit on sparse rows."
        )
    return X


class Served:
    """A model and its plan, compiled.

    Parameters
    ----------
    model : AdditiveModel
    plan : Plan
    by_proof : bool
        Whether only exits by proof are allowed: what is left goes to a wrapped kernel machine itself.
    packed : Model or None, default=None
        The model's terms in the plan's order, where somebody has packed them already.
    ranges : FeatureRanges or None, default=None
        What exits rely on: a row that shows a value outside is evaluated in full.
    """

    def __init__(
        self,
        model: AdditiveModel,
        plan: Plan,
        by_proof: bool,
        packed: _core.Model | None = None,
        ranges: FeatureRanges | None = None,
    ) -> None:
        self.model, self.plan, self.by_proof, self._ranges = model, plan, by_proof, ranges
        self._packed = pack(model, plan.terms, plan.surrogates, plan.precision) if packed is None else packed
        self._engine = serving(model, plan, self._packed)
        self._full = FullModel(model, self._engine)
        self._at_end: AtEnd = "pending" if by_proof and not isinstance(model.terms, LinearTerms) else "full"
        self._codes_are_labels = model.classes.dtype.kind in "biu" and bool(
            np.array_equal(model.classes, np.arange(len(model.classes)))
        )
        natives = [np.dtype(t) for t in (np.float32, np.float64, np.uint8)]
        self._precision = {dtype: model.working_precision(dtype) for dtype in natives}

    def __getstate__(self) -> tuple[AdditiveModel, Plan, bool, FeatureRanges | None]:
        return self.model, self.plan, self.by_proof, self._ranges

    def __setstate__(self, state: tuple[AdditiveModel, Plan, bool, FeatureRanges | None]) -> None:
        model, plan, by_proof, ranges = state  # the engine is compiled anew, and never on first use
        self.__init__(model, plan, by_proof, ranges=ranges)  # type: ignore[misc]

    # ---- many rows -------------------------------------------------------------------------------------------------

    def predict(self, X: Any, n_threads: int, budget: float | None) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Codes and stages of rows; what the engine leaves open is asked of the wrapped model."""
        n_stages, at_end = self._reach(budget)
        if n_stages == 0 or (sparse.issparse(X) and self.model.centres):
            codes = self._everything(X, n_threads)
            if codes is not None:
                return codes, np.full(len(codes), self.plan.n_stages, dtype=np.int32)
        parts = list(self._answers(X, n_stages, at_end, n_threads))
        codes = parts[0][0] if len(parts) == 1 else np.concatenate([c for c, _ in parts])
        stages = parts[0][1] if len(parts) == 1 else np.concatenate([s for _, s in parts])
        if self._ranges is not None and at_end != "answer":
            self._recall(X, codes, stages)
        if codes.size and codes.min() < 0:
            self._hand_over(X, codes)
        return codes, stages if n_stages > 0 else np.full_like(stages, self.plan.n_stages)

    def _everything(self, X: Any, n_threads: int) -> NDArray[np.int32] | None:
        """Codes of rows for which every term is evaluated, if the wrapped model is the one to ask."""
        if sparse.issparse(X) and self.model.centres and self.model.front is None:
            return self._full.ask(X)  # which leaves zeros where they are, or refuses
        if n_rows_of(X) <= FEW_ROWS and self.model.front is None:
            return None
        if self._at_end == "pending":
            return self._full.ask(X)
        return self._full.by_products(X, n_threads)

    def labels(self, codes: NDArray[np.int32]) -> NDArray[Any]:
        """What codes stand for."""
        classes = self.model.classes
        return codes.astype(classes.dtype) if self._codes_are_labels else classes.take(codes)

    def _reach(self, budget: float | None) -> tuple[int, AtEnd]:
        """How many stages a call may go through, and what happens to rows that are left then."""
        if budget is not None:
            deepest = self.plan.affordable(budget)
            if deepest < self.plan.n_stages:
                return deepest + 1, "answer"
        elif self.plan.evaluate_all:
            return 0, self._at_end
        return self.plan.n_stages, self._at_end

    def _answers(
        self, X: Any, n_stages: int, at_end: AtEnd, n_threads: int
    ) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int32]]]:
        if self.model.front is not None:
            n = n_rows_of(X)
            for start in range(0, max(1, n), FRONT_ROWS):
                some = X if n <= FRONT_ROWS else take(X, np.arange(start, min(n, start + FRONT_ROWS)))
                Z = terms_rows(self.model, some)
                yield from self._direct(Z, n_stages, at_end, n_threads)
        else:
            yield from self._direct(X, n_stages, at_end, n_threads)

    def _direct(
        self, X: Any, n_stages: int, at_end: AtEnd, n_threads: int
    ) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int32]]]:
        if isinstance(self.model.terms, LinearTerms) and n_stages > 0 and is_frame(X):
            block = whole_block(X)
            if block is None:
                yield self._by_columns(X, n_stages, at_end, n_threads)
                return
            X = block
        for piece in pieces(X):
            yield self._piece(piece, n_stages, at_end, n_threads)

    def _piece(
        self, piece: Piece, n_stages: int, at_end: AtEnd, n_threads: int
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        if len(piece.rows) < INLINE_ROWS:
            n_threads = 1
        working = self._precision.get(piece.dtype) or self._working(piece.dtype)
        return self._engine.predict(piece.rows, n_stages, at_end, working, n_threads)

    def _working(self, *dtypes: np.dtype[Any]) -> float:
        """The unit roundoff in which the wrapped model computes for rows of these dtypes: the coarsest."""
        return max(self._precision.get(t) or self.model.working_precision(t) for t in dtypes)

    def _by_columns(
        self, X: Any, n_stages: int, at_end: AtEnd, n_threads: int
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """A frame's rows, from the columns that they need: first those of the looks, then all for the rows left."""
        columns = Columns(X)
        rows = columns.rows(self.plan.terms[: self.plan.stage_terms[n_stages - 1]].tolist())
        last: AtEnd = "answer" if at_end == "answer" else "pending"
        codes, stages = self._engine.predict(rows, n_stages, last, self._working(*columns.dtypes), n_threads)
        left = np.flatnonzero(codes == _core.PENDING)
        if at_end == "full" and len(left):
            rows = columns.rows(range(self.model.terms.n_terms))
            rows.take(left)
            working = self._working(*columns.dtypes)
            codes[left], stages[left] = self._engine.predict(rows, n_stages, at_end, working, n_threads)
        return codes, stages

    def _recall(self, X: Any, codes: NDArray[np.int32], stages: NDArray[np.int32]) -> None:
        """Let no row leave that has shown a value outside of the ranges that its exit relies on."""
        assert self._ranges is not None
        for stage in range(self.plan.n_stages):
            left = np.flatnonzero((stages == stage) & (codes >= 0))
            if len(left):
                columns = self.plan.terms[: self.plan.stage_terms[stage]]
                broken = left[self._ranges.broken_by(take(X, left), columns)]
                codes[broken], stages[broken] = _core.PENDING, self.plan.n_stages

    def _hand_over(self, X: Any, codes: NDArray[np.int32]) -> None:
        """Ask the wrapped model for the rows without a code; raise if one of them is not finite."""
        bad = np.flatnonzero((codes == _core.NOT_FINITE) | (codes == _core.HAND_OVER))
        if len(bad) and self.model.front is None:
            check_finite(self.model, take(X, bad))
        if isinstance(self.model.terms, LinearTerms) and self.model.front is None:
            pending = np.flatnonzero(codes == _core.PENDING)
            if len(pending):
                rows = take(X, pending)
                codes[pending] = self._full.evaluated(rows, rows, 1)
        left = np.flatnonzero(codes < 0)
        if len(left):
            codes[left] = self._full.at_ties(take(X, left))

    # ---- one row ---------------------------------------------------------------------------------------------------

    def predict_one(self, x: NDArray[Any], budget: float | None) -> tuple[int, int]:
        """Code and stage of one row."""
        n_stages, at_end = self._reach(budget)
        if self.model.front is not None:
            if not isinstance(x, np.ndarray):  # a defaultdict would be written to
                raise TypeError(f"x must be a row of an array here. Got {type(x).__name__}.")
            codes, stages = self.predict(x[None], 1, budget)
            return int(codes[0]), int(stages[0])
        working = self._precision.get(x.dtype)
        if working is None:
            raise TypeError(f"x must be a float32, float64 or uint8 array. Got {x.dtype}.")
        code, stage = self._engine.predict_one(x, n_stages, at_end, working)
        if code >= 0 and self._ranges is None:
            return code, stage
        ranged = self._ranges is not None and at_end != "answer"
        codes, stages = np.array([code], dtype=np.int32), np.array([stage], dtype=np.int32)
        if ranged:
            self._recall(x[None], codes, stages)
        if codes[0] < 0:
            self._hand_over(x[None], codes)
        return int(codes[0]), int(stages[0])

    # ---- looking without leaving -----------------------------------------------------------------------------------

    def look(self, X: Any, n_threads: int) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """What every look sees (n, T + 1), the full model last, and the stage at which each row leaves (n,)."""
        Z = to_array(terms_rows(self.model, X))
        check_finite(self.model, Z)
        parts = []
        for piece in pieces(Z):
            seen = self._engine.look(piece.rows, n_threads)
            early = seen if self.model.decision.n_outputs == 1 else seen[1]
            full = self._packed.scores(piece.rows, 0.0, n_threads)[0]
            last = full[:, 0] if self.model.decision.n_outputs == 1 else self.model.decision.judge(full)[1]
            n_stages, at_end = self._reach(None)
            codes, stages = self._piece(piece, n_stages, at_end, n_threads)
            if self._ranges is not None:
                self._recall(Z[piece.start : piece.stop], codes, stages)
            if self.plan.evaluate_all:
                stages = np.full_like(stages, self.plan.n_stages)
            parts.append((np.column_stack([early.astype(np.float64), last]), stages))
        return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])
