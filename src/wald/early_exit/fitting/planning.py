"""Planning: builds the problem that `plan` solves from a model, plan rows and the engine."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ... import _core
from ...engine import NO_STAGES, Stages
from ...models import NO_SURROGATES, AdditiveModel, Units
from ...models.opaque import OpaqueTerms
from ...models.packing import pack
from ...models.planning import Precision
from ...models.protocols import Columnwise, Comparing, Documents, Sharing, Summed, owners_of, units_of
from ...models.units import feature_units
from ...plan import CertificateSize, CostModel, Evaluation, Plan, Problem, Recipe, build_plan
from ...plan.moments import Floats
from ...steps import RawColumns
from ...steps.applied import Applied
from ...stopping import Boundary, StageScores, Walk
from ...utils.stage_table import StageTable
from ..compiled.documents import document_plan
from ..compiled.lossless import remainders
from ..compiled.request import Request, without_exits
from ..compiled.rows import Rows
from ..compiled.stage_tables import errors_of, estimates_of, full_answers, stage_scores
from .costs import LINE, Costs
from .opaque_plan import opaque_plan

#: Largest number of validation rows; more made no measurable difference.
MOST_VALIDATION_ROWS = 16_000
#: float64 is used if float32 rounding may change the labels of more than this share of the rows.
MOST_REDONE = 0.05
#: Number of rows for this test, and the largest value for which float32 is tried.
PRECISION_ROWS, LARGEST_SINGLE = 1024, 1e15
#: Larger scores are refused, since sums of their powers may overflow.
LARGEST_SCORE = 1e100
#: Up to this number of outputs, a full product with a row's non-zeros is as fast as selecting among them.
FEW_OUTPUTS = 32


def make_plan(
    model: AdditiveModel, order: Rows, validation: Rows, request: Request, certificate_size: CertificateSize
) -> Plan:
    """Build the plan of a model.

    Parameters
    ----------
    model : AdditiveModel
    order : Rows
        Rows that determine the order of the units, and the readouts.
    validation : Rows
        Rows that determine the stages.
    request : Request
    certificate_size : CertificateSize
        Tells how many rows will certify the plan, and with what confidence.
    """
    if Documents.of(model.terms) is not None:
        return document_plan(model, order, validation.first(MOST_VALIDATION_ROWS), request, certificate_size)
    if OpaqueTerms.of(model.terms) is not None:
        return opaque_plan(model, order, validation, request, certificate_size)
    order, validation, n_threads = (
        order.first(model.terms.planning.most_order_rows),
        validation.first(MOST_VALIDATION_ROWS),
        request.n_threads,
    )
    terms, working = model.terms, model.working_precision
    whole = pack(terms)
    scores, _ = whole.scores(order.preprocessed, working, n_threads)
    largest = float(np.abs(scores).max(initial=0.0))
    if not largest <= LARGEST_SCORE:
        raise ValueError(
            f"The model's scores reach {largest:.1g} on these rows; beyond {LARGEST_SCORE:g} nothing can be planned. "
            "Scale the features, or the weights, before wrapping the model."
        )
    validation_scores, _ = whole.scores(validation.preprocessed, working, n_threads)
    full = full_answers(model, whole, validation, n_threads)
    units = priced_units(model, validation, request)
    precision = _precision(model, validation, request)
    costs = Costs(model, validation, units, precision, request)

    def evaluate(recipe: Recipe) -> Evaluation:
        packed = pack(terms, recipe.terms, recipe.surrogates, precision)

        def traced(early: Stages) -> StageTable:
            return without_exits(model, packed, early).trace(validation.preprocessed, n_threads)

        seen = stage_scores(model, packed, recipe.early, validation, full, n_threads)
        seen = replace(seen, truth=validation.truth)
        walk = _walk(model, recipe, seen, validation_scores, request)
        if model.decision.by_margin or recipe.early.has_spread:
            estimates, variances = estimates_of(recipe.early, traced)
            walk = replace(walk, errors=errors_of(model.decision, estimates, variances, validation_scores))
        dtype: Precision = "float32" if seen.dtype == np.float32 else "float64"
        return costs.evaluation(recipe, packed, walk, dtype)

    block, comparing = terms.planning.block(precision), Comparing.of(terms)
    n_classes = model.decision.n_answers
    return build_plan(
        Problem(
            terms=terms,
            units=units,
            order_rows=order.preprocessed,
            scores=scores,
            confidence=np.abs(_distances(model, scores)),
            order=request.order,
            rule=request.rule,
            promised=request.promised,
            certificate_size=certificate_size,
            block=block,
            stages_at_blocks=block > 1 and request.cost == "time",
            surrogates=None if comparing is None else comparing.surrogates(order.preprocessed, scores, n_classes),
            evaluate=evaluate,
            rng=request.rng,
            threshold=model.decision.centre or 0.0,
            races=_races(model, units, request),
            by_margin=model.decision.by_margin,
            also_ordered_by=_priced_by_columns(model, units, request) or _priced_by_branches(costs, request),
        )
    )


def _priced_by_columns(model: AdditiveModel, units: Units, request: Request) -> Units | None:
    """The units priced by the columns that they read, if rows lie in columns and all candidates keep the risk."""
    wanted = request.columnar and request.cost == "time" and request.promised.risk is not None
    sharing = Sharing.of(model.terms)
    return sharing.units_by_columns(units) if sharing is not None and wanted else None


def _priced_by_branches(costs: Costs, request: Request) -> Units | None:
    """The units priced by the branches of a pipeline that they need, if all candidates keep the risk."""
    return None if request.promised.risk is None else costs.units_by_branches()


def _races(model: AdditiveModel, units: Units, request: Request) -> bool:
    """Whether classes may be dropped: each has terms of its own, which cost time and nothing else."""
    decision, terms = model.decision, model.terms
    own = Summed.of(terms) is not None and owners_of(terms) is not None
    apart = own and len(units.members) == terms.n_terms
    few = 2 < decision.n_answers <= _core.LIMITS["race_classes"] and decision.races
    return apart and few and units.buys is None and request.rule.needs.error_scales


def cannot_save_time(model: AdditiveModel, rows: Rows, request: Request) -> bool:
    """Whether no plan would be faster than the model itself, because the rows are sparse.

    Nor is any for texts that are read whole: the engine answers them in less time than their sparse rows take.

    A plan must search the non-zeros of a row for the features of each stage, whereas a linear model multiplies each
    non-zero once. A plan saves units but takes many times as long, so it is made only for features with costs.

    Parameters
    ----------
    model : AdditiveModel
    rows : Rows
    request : Request
    """
    if Documents.of(model.terms) is not None:
        return False
    if model.texts is not None and (request.cost == "time" or request.rule.needs.lossless):
        return True
    if model.terms.planning.sparse_rows or not sparse.issparse(rows.preprocessed) or request.rule.needs.lossless:
        return False
    if request.feature_costs is not None or request.feature_groups is not None:
        return False
    return request.cost in ("time", "units") and model.terms.n_outputs <= FEW_OUTPUTS


def plan_without_stages(model: AdditiveModel, units: Units | None = None, precision: Precision | None = None) -> Plan:
    """Build the plan that evaluates every term of every row, by default in the model's own units and precision."""
    none, empty = np.empty(0, dtype=np.int64), np.empty(0)
    priced = units_of(model.terms) if units is None else units
    return Plan(
        order=none,
        terms=none,
        stages=np.array([len(priced.members)], dtype=np.int64),
        stage_costs=np.array([priced.total]),
        early=NO_STAGES,
        boundary=Boundary(empty, empty, empty, empty),
        q=math.inf,
        reached=np.ones(1),
        surrogates=NO_SURROGATES,
        precision=precision or model.terms.planning.precisions[-1],
        evaluate_all=True,
        cost_model=CostModel.of_units(priced.total),
    )


def _distances(model: AdditiveModel, scores: Floats) -> Floats:
    """How far full scores lie from another answer."""
    return np.asarray(model.decision.distances(scores), dtype=np.float64)


def _precision(model: AdditiveModel, rows: Rows, request: Request) -> Precision:
    """The precision of early stages; lossless exits need bounds in float64."""
    return "float64" if request.rule.needs.lossless else full_precision(model, rows, request.n_threads)


def full_precision(model: AdditiveModel, rows: Rows, n_threads: int) -> Precision:
    """Choose float32 for full scores, unless its rounding may change too many labels."""
    X = rows.preprocessed
    if "float32" not in model.terms.planning.precisions:
        return "float64"
    if isinstance(X, np.ndarray) and X.size and np.abs(X).max() > LARGEST_SINGLE:
        return "float64"
    try:
        packed = pack(model.terms, precision="float32")
    except ValueError:  # values beyond the range of float32
        return "float64"
    some = X[:PRECISION_ROWS]
    scores, errors = packed.scores(some, model.working_precision, n_threads, single=True)
    unsure = np.abs(_distances(model, scores)) <= errors
    return "float32" if np.count_nonzero(unsure) <= MOST_REDONE * len(unsure) else "float64"


def priced_units(model: AdditiveModel, rows: Rows, request: Request) -> Units:
    """Units from the user's groups and costs, or else from cache lines."""
    terms, given = model.terms, request.feature_costs is not None or request.feature_groups is not None
    by_column, shared = Columnwise.of(terms) is not None, Sharing.of(terms) is not None
    names, groups, prices = request.names, request.feature_groups, request.feature_costs
    if given and isinstance(model.preprocessing, RawColumns):
        return _units_of_raw_columns(model, model.preprocessing, request)
    if given and (by_column or shared) and model.preprocessing is not None:
        source = model.source_columns
        if source is None:
            raise ValueError(
                "feature_costs and feature_groups refer to raw columns, which the pipeline transforms before the model."
            )
        units_of(terms, names, groups, prices)  # raises for invalid ones, in the user's own numbers
        names, groups, prices = _moved(source, names, groups, prices)
    run = 1
    in_lines = not sparse.issparse(rows.preprocessed) and not request.columnar and not _runs_late(model)
    if by_column and request.cost == "time" and in_lines and not request.rule.needs.lossless:
        run = max(1, LINE // rows.preprocessed.itemsize)
    return units_of(terms, names, groups, prices, run)


def _units_of_raw_columns(model: AdditiveModel, step: RawColumns, request: Request) -> Units:
    """Units from the user's groups and costs of raw columns; those that nobody reads belong to none."""
    n_raw, n_outputs, source = model.n_features_in, model.terms.n_outputs, step.source_columns
    mixing = [part.name for part in step.parts if isinstance(part, Applied) and -1 in part.sources]
    if mixing:
        raise ValueError(
            "feature_costs and feature_groups refer to raw columns, of which the pipeline mixes several in the "
            f"transformer {mixing[0]!r}."
        )
    raw = feature_units(
        int(source.max()) + 1 if n_raw is None else n_raw,
        request.names,
        request.feature_groups,
        request.feature_costs,
        1,
    )
    members, costs = [], []
    for columns, cost in zip(raw.members, raw.costs.tolist(), strict=True):
        read = np.flatnonzero(np.isin(source, columns))
        if len(read):
            members.append((read[:, None] * n_outputs + np.arange(n_outputs)).ravel())
            costs.append(cost)
    return Units(tuple(members), np.array(costs))


def _runs_late(model: AdditiveModel) -> bool:
    """Whether branches of a pipeline write the columns, one by one."""
    return model.preprocessing is not None and len(model.preprocessing.branches) > 0


def _moved(source: NDArray[np.int64], names: Any, groups: Any, prices: Any) -> tuple[Any, Any, Any]:
    """Names, groups and prices of raw columns for the terms' columns, which come from the columns ``source``."""
    place = np.argsort(source)

    def moved(column: Any) -> Any:
        known = isinstance(column, int | np.integer) and not isinstance(column, bool) and 0 <= column < len(place)
        return int(place[column]) if known else column

    if names is not None:
        names = np.asarray(names)[source]
    if groups is not None:
        groups = {label: [moved(column) for column in columns] for label, columns in groups.items()}
    if prices is not None and not isinstance(prices, Mapping) and np.shape(prices) == (len(source),):
        prices = np.asarray(prices)[source]
    return names, groups, prices


def _walk(model: AdditiveModel, recipe: Recipe, traced: StageScores, scores: Floats, request: Request) -> Walk:
    """The walk of the validation rows, for the rule."""
    partial = request.rule.readout == "partial"
    imputed = low = high = slack = None
    output = model.decision
    if partial and output.two_sided:
        imputed = np.array([r.bias[0] for r in recipe.early.readouts]) - model.terms.intercept[0]
    if request.rule.needs.bounds:
        low, high, slack = remainders(model, recipe, request.rule)
    return Walk(
        full=traced.full,
        full_scores=scores,
        stages=recipe.stages,
        stage_costs=recipe.stage_costs,
        margins=traced.margins.astype(np.float64),
        answers=traced.answers,
        losses=traced.losses,
        truth=traced.truth,
        full_margins=None if output.two_sided else _distances(model, scores),
        threshold=output.centre or 0.0,
        intercept=float(model.terms.intercept[0]),
        imputed=imputed,
        remainder_low=low,
        remainder_high=high,
        slack=slack,
        n_classes=output.n_answers,
        sides=request.promised.sides,
    )
