"""From a model and plan rows to a plan: what `plan` asks about a model, answered by the engine."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from threadpoolctl import threadpool_limits

from .. import _core
from ..engine.cascade import AtEnd, block_length, natural, pack, watching
from ..engine.rows import Piece, pieces, take
from ..models import AdditiveModel, KernelTerms, LinearTerms
from ..plan import (
    NO_SURROGATES,
    CostModel,
    Plan,
    Problem,
    Readout,
    Recipe,
    Sight,
    Surrogates,
    Units,
    build_plan,
    feature_units,
)
from ..plan.landmarks import LEAST_ROWS, rbf_landmarks
from ..plan.moments import Floats
from ..plan.plan import Precision
from ..plan.surrogate import linear_surrogates
from ..plan.timing import measure_cost_model, seconds
from ..stopping import Boundary, Budget, Looks, Lossless, Rule, Walk
from ..stopping.boundary import Protect
from .full_model import FullModel, as_met, predict_wrapped
from .lossless import remainders

#: More plan rows than this improve nothing that could be measured.
MOST_ORDER_ROWS, MOST_SHAPE_ROWS = 24_000, 16_000
#: Rows on which times are measured.
TIMING_ROWS = 512
#: Single precision is left when its rounding leaves more than this share of the full scores in doubt.
MOST_REDONE = 0.05
#: The squares of larger scores are no numbers any more.
LARGEST_SCORE = 1e100
#: Of so few outputs, products with the non-zeros of a row take no longer than choosing among them.
FEW_OUTPUTS = 32
#: Bytes of a cache line.
LINE = 64
#: Columns in one step of what is timed: fewer would stay in the cache from one run to the next, and seem cheap.
TIMED_COLUMNS = 16


@dataclass(frozen=True, eq=False)
class Request:
    """What the user asked of a plan; see `EarlyExitClassifier`."""

    rule: Rule
    risk: float | None
    protect: Protect  # by code
    order: Any
    cost: Any
    feature_costs: ArrayLike | Mapping[str, float] | None
    feature_groups: Mapping[str, Sequence[int | str]] | None
    names: NDArray[Any] | None
    columnar: bool
    n_threads: int
    rng: np.random.Generator


def full_scores(
    packed: _core.Model, model: AdditiveModel, X: Any, n_threads: int, single: bool = False
) -> tuple[Floats, Floats]:
    """Full scores (n, K), in double precision unless ``single``, and their error bounds (n,)."""
    parts = [packed.scores(p.rows, model.working_precision(p.dtype), n_threads, single) for p in pieces(X)]
    return np.concatenate([s for s, _ in parts]), np.concatenate([e for _, e in parts])


def full_codes(model: AdditiveModel, X: Any, raw: Any, packed: _core.Model, n_threads: int) -> NDArray[np.int32]:
    """Reference labels as codes: the wrapped model's own."""
    return FullModel(model, watching(model, packed, np.empty(0, dtype=np.int64), ())).evaluated(X, raw, n_threads)


def answer(
    served: _core.Engine, model: AdditiveModel, piece: Piece, n_stages: int, at_end: AtEnd, n_threads: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Codes and stages of a piece of rows."""
    return served.predict(piece.rows, n_stages, at_end, model.working_precision(piece.dtype), n_threads)


def look(served: _core.Engine, model: AdditiveModel, X: Any, full: NDArray[np.int32], n_threads: int) -> Looks:
    """What the engine sees of rows at every stage, no row leaving, beside the full model's codes."""
    seen = [served.look(p.rows, n_threads) for p in pieces(X)]
    if model.decision.n_outputs == 1:
        return Looks(full=full, scores=np.concatenate(seen))
    return Looks(full=full, codes=np.concatenate([s[0] for s in seen]), confidence=np.concatenate([s[1] for s in seen]))


def make_plan(model: AdditiveModel, X_order: Any, X_shape: Any, raw_shape: Any, request: Request) -> Plan:
    """Build the plan of a model on plan rows.

    Parameters
    ----------
    model : AdditiveModel
    X_order, X_shape : array or CSR
        Rows as the terms meet them (behind the model's front).
    raw_shape : rows as the wrapped estimator takes them, the same as ``X_shape``
    request : Request
    """
    X_order, X_shape = X_order[:MOST_ORDER_ROWS], X_shape[:MOST_SHAPE_ROWS]
    raw_shape = take(raw_shape, np.arange(n_of(X_shape)))
    own = natural(model, "float64")
    scores, _ = full_scores(own, model, X_order, request.n_threads)
    largest = float(np.abs(scores).max(initial=0.0))
    if not largest <= LARGEST_SCORE:
        raise ValueError(
            f"The model's scores reach {largest:.1g} on these rows; beyond {LARGEST_SCORE:g} nothing can be planned. "
            "Scale the features, or the weights, before wrapping the model."
        )
    _, confidence = judged(model, scores)
    shape_scores, _ = full_scores(own, model, X_shape, request.n_threads)
    shape_codes = full_codes(model, X_shape, raw_shape, own, request.n_threads)
    units = _units(model, X_shape, request)
    precision: Precision = _precision(model, X_shape, request)
    full_time, front_time = math.nan, 0.0
    if request.cost == "time":
        n = n_timed(model, n_of(X_shape))
        some = take(raw_shape, np.arange(n))
        full_time = min(predict_time(model, some, threads) for threads in {1, request.n_threads}) / n
        front_time = _front_time(model, some) / n

    def sight(recipe: Recipe) -> Sight:
        packed = pack(model, recipe.terms, recipe.surrogates, precision)
        engine = watching(model, packed, recipe.stage_terms, recipe.readouts)
        looks = look(engine, model, X_shape, shape_codes, request.n_threads)
        walk = _walk(model, recipe, looks, shape_scores, request)
        costs = _cost_model(model, packed, recipe, X_shape, request, units, precision, full_time)
        return Sight(walk, _dtype(looks), replace(costs, row=costs.row + front_time))

    return build_plan(
        Problem(
            terms=model.terms,
            units=units,
            order_rows=X_order,
            scores=scores,
            confidence=np.abs(confidence),
            order=request.order,
            readout=request.rule.readout,
            rule=request.rule,
            risk=request.risk,
            protect=request.protect,
            block=block_length(model, precision),
            looks_at_blocks=isinstance(model.terms, KernelTerms) and request.cost == "time",
            surrogates=_surrogates(model, X_order, scores) if isinstance(model.terms, KernelTerms) else None,
            sight=sight,
            rng=request.rng,
            extra_looks=(int(request.rule.k),) if isinstance(request.rule, Budget) else (),
            threshold=model.decision.threshold,
            own_weights=isinstance(model.terms, LinearTerms),
        )
    )


def cannot_pay(model: AdditiveModel, X: Any, request: Request) -> bool:
    """Whether no plan of a linear model on sparse rows would be faster than the model itself.

    A plan must go through the non-zeros of a row to find those it wants, and look at what it has found more than once;
    the model multiplies them, and is done. Counted in units a plan would pay, and yet take many times as long: it is
    made only for features that cost something.

    Parameters
    ----------
    model : AdditiveModel
    X : array or CSR
        Rows as the terms meet them.
    request : Request
    """
    if not (sparse.issparse(X) and isinstance(model.terms, LinearTerms)) or request.rule.lossless:
        return False
    if request.feature_costs is not None or request.feature_groups is not None:
        return False
    return request.cost in ("time", "units") and model.terms.n_outputs <= FEW_OUTPUTS


def plan_without_stages(model: AdditiveModel) -> Plan:
    """Build the plan that evaluates everything."""
    none, empty = np.empty(0, dtype=np.int64), np.empty(0)
    n = model.terms.n_terms
    total = float(n)
    return Plan(
        order=none,
        terms=none,
        stages=np.array([n], dtype=np.int64),
        stage_terms=none,
        stage_costs=np.array([total]),
        readouts=(),
        boundary=Boundary(empty, empty, empty, empty),
        q=math.inf,
        live=np.ones(1),
        surrogates=NO_SURROGATES,
        precision="float64",
        evaluate_all=True,
        cost_model=CostModel.of_units(total),
    )


def n_of(X: Any) -> int:
    """Number of rows of an array or CSR matrix."""
    return int(X.shape[0])


def judged(model: AdditiveModel, scores: Floats) -> tuple[NDArray[np.int32], Floats]:
    """Codes and confidence of full scores; binary confidence is the distance to the threshold."""
    codes, confidence = model.decision.judge(scores)
    return codes, np.asarray(confidence, dtype=np.float64)


def _dtype(looks: Looks) -> Precision:
    return "float32" if looks.dtype == np.float32 else "float64"


def _precision(model: AdditiveModel, X: Any, request: Request) -> Precision:
    """Single precision, unless its rounding would leave too many full scores in doubt, or a proof is wanted."""
    if isinstance(model.terms, LinearTerms) or request.rule.lossless:
        return "float64"
    if isinstance(X, np.ndarray) and X.size and np.abs(X).max() > 1e15:
        return "float64"
    try:
        packed = natural(model, "float32")
    except ValueError:  # numbers beyond single precision
        return "float64"
    scores, errors = full_scores(packed, model, X[:1024], request.n_threads, single=True)
    unsure = np.abs(judged(model, scores)[1]) <= errors
    return "float32" if np.count_nonzero(unsure) <= MOST_REDONE * len(unsure) else "float64"


def _units(model: AdditiveModel, X: Any, request: Request) -> Units:
    asked = request.feature_costs is not None or request.feature_groups is not None
    if isinstance(model.terms, KernelTerms):
        if asked:
            raise ValueError(
                "feature_costs and feature_groups need a linear model: a kernel machine reads every feature at once. "
                "Its cost is counted in support vectors."
            )
        return Units.single(model.terms.n_terms)
    if asked and model.front is not None:
        raise ValueError(
            "feature_costs and feature_groups speak of raw columns, which the pipeline transforms before the model."
        )
    run = 1
    if request.cost == "time" and not request.columnar and not sparse.issparse(X) and not request.rule.lossless:
        run = max(1, LINE // X.itemsize)
    return feature_units(model.terms.n_terms, request.names, request.feature_groups, request.feature_costs, run)


def _surrogates(model: AdditiveModel, X: Any, scores: Floats) -> Any:
    terms = model.terms
    assert isinstance(terms, KernelTerms)
    if sparse.issparse(X) or sparse.issparse(terms.support_vectors) or X.shape[1] > 4096 or n_of(X) < LEAST_ROWS:
        return None
    n_directions = 1 if terms.n_outputs == 1 else min(model.decision.n_classes - 1, 15)

    def surrogates(weights: Floats, best: NDArray[np.int64]) -> tuple[Surrogates, Floats]:
        mapped = np.asarray(X, dtype=np.float64) if terms.columns is None else terms.columns.apply(X)
        if terms.kernel != "rbf":
            directions = linear_surrogates(mapped, scores, weights, n_directions)
            return Surrogates(directions, linear=True), mapped @ directions.T
        landmarks = rbf_landmarks(mapped, scores, weights, terms.support_vectors[best], terms.gamma)
        moved = replace(terms, support_vectors=landmarks, coef=np.zeros((1, len(landmarks))), columns=None)
        return Surrogates(landmarks, linear=False), moved.values(mapped)

    return surrogates


def _cost_model(
    model: AdditiveModel,
    packed: _core.Model,
    recipe: Recipe,
    X: Any,
    request: Request,
    units: Units,
    precision: str,
    full_time: float,
) -> CostModel:
    if isinstance(request.cost, CostModel):
        return request.cost
    if request.cost == "units" or len(recipe.terms) == 0:  # no look to take: nothing to time
        return CostModel.of_units(float(units.costs.sum()))
    some = X[: n_timed(model, n_of(X))]
    some = np.asfortranarray(some) if request.columnar else some
    n_terms, n_outputs = len(recipe.terms), model.terms.n_outputs
    rows = list(pieces(some))

    def ladder(stage_terms: tuple[int, ...]) -> Callable[[], object]:
        zero = [Readout(np.zeros((n_outputs, m)), np.zeros(n_outputs)) for m in stage_terms]
        short = watching(model, packed, np.array(stage_terms, dtype=np.int64), zero)
        return lambda: [answer(short, model, p, len(stage_terms), "pending", 1) for p in rows]

    density = 1.0 if sparse.issparse(some) else round(math.log2(np.count_nonzero(some) / max(1, some.size) + 1e-6))
    kind = (type(model.terms).__name__, getattr(model.terms, "kernel", ""))
    key = (*kind, X.shape[1], n_outputs, precision, X.dtype.str, request.columnar, density, min(n_terms, 192))
    block = block_length(model, precision)
    step = len(units.members[0]) if isinstance(model.terms, LinearTerms) else block
    rows_per_line = 1
    if request.columnar and isinstance(model.terms, LinearTerms):
        rows_per_line = max(1, LINE // X.itemsize)
        step = max(step, TIMED_COLUMNS)
    # as LinearWalk::columns of the engine has it
    by_columns = rows_per_line > 1 and n_outputs == 1 and X.dtype.kind == "f" and not model.allow_nan
    whole = watching(model, packed, np.empty(0, dtype=np.int64), ())
    return measure_cost_model(
        ladder,
        lambda: [answer(whole, model, p, 0, "full", 1) for p in rows],
        n_of(some),
        full_time,
        n_terms=max(1, n_terms),
        n_outputs=n_outputs,
        block=block,
        step=step,
        rows_per_line=rows_per_line,
        by_columns=by_columns,
        key=(*key, step),
    )


def predict_time(model: AdditiveModel, X: Any, n_threads: int) -> float:
    """Seconds of the wrapped model itself."""
    with threadpool_limits(n_threads):
        return seconds(lambda: predict_wrapped(model, X), n_repeats(model))


def _front_time(model: AdditiveModel, X: Any) -> float:
    """Seconds of the steps in front of the terms, which a plan pays for as the model does."""
    if model.front is None:
        return 0.0
    rows = as_met(X)
    return seconds(lambda: model.front.transform(rows))


def n_repeats(model: AdditiveModel) -> int:
    """How often a prediction is timed."""
    return 2 if isinstance(model.terms, KernelTerms) else 7


def n_timed(model: AdditiveModel, n_rows: int) -> int:
    """On how many rows times are measured: few suffice for kernels; cheap models are as slow as the rows' memory."""
    return min(n_rows, TIMING_ROWS if isinstance(model.terms, KernelTerms) else MOST_SHAPE_ROWS)


# ---- what a rule may know ------------------------------------------------------------------------------------------


def _walk(model: AdditiveModel, recipe: Recipe, looks: Looks, scores: Floats, request: Request) -> Walk:
    partial = request.rule.readout == "partial"
    imputed = low = high = slack = None
    binary = looks.scores is not None
    if partial and binary:
        imputed = np.array([r.bias[0] for r in recipe.readouts]) - model.terms.intercept[0]
    if isinstance(request.rule, Lossless):
        low, high, slack = remainders(model, recipe, request.rule)
    return Walk(
        full=looks.full,
        full_scores=scores,
        stages=recipe.stages,
        stage_costs=recipe.stage_costs,
        scores=None if looks.scores is None else looks.scores.astype(np.float64),
        codes=looks.codes,
        confidence=None if looks.confidence is None else looks.confidence.astype(np.float64),
        full_confidence=None if binary else judged(model, scores)[1],
        threshold=model.decision.threshold if binary else 0.0,
        intercept=float(model.terms.intercept[0]),
        imputed=imputed,
        remainder_low=low,
        remainder_high=high,
        slack=slack,
        n_classes=model.decision.n_classes,
        protect=request.protect,
    )
