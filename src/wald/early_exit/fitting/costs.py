"""Costs of evaluation: measured on the engine and on the wrapped model, or counted in units."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import threadpool_limits

from ...engine import NO_STAGES, Packed
from ...models import AdditiveModel, Units
from ...models.packing import pack, speed_key
from ...models.planning import Precision
from ...models.protocols import Columnwise, Summed
from ...plan import CostModel, Evaluation, Recipe, zero_stages
from ...plan.timing import THREAD_CLOCK, measure_cost_model, seconds
from ...sources import Source, source_of
from ...steps import Branch, Chain, RawColumns
from ...steps.raw_columns import SomeRawColumns
from ...stopping import Walk
from ..compiled.full_model import FullModel, predict_wrapped
from ..compiled.lossless import FeatureRanges
from ..compiled.request import Request, without_exits
from ..compiled.rows import Rows, preprocessed

#: Bytes of a cache line.
LINE = 64
#: Rows on which the wrapped model is timed if these alone take it longer than the engine takes for all.
FEW = 4096
#: Most rows with texts that are timed, as for texts alone.
TIMED_TEXTS = 2000
#: Least number of columns per timed stage; fewer would stay in the cache between repetitions, and seem cheap.
TIMED_COLUMNS = 16


class Costs:
    """Costs of evaluating a model.

    Parameters
    ----------
    model : AdditiveModel
    rows : Rows
        Rows on which times are measured if the request's cost is "time".
    units : Units
    precision : {"float32", "float64"}
        Precision of early stages.
    request : Request
    """

    def __init__(self, model: AdditiveModel, rows: Rows, units: Units, precision: Precision, request: Request) -> None:
        self._model, self._units, self._precision, self._request = model, units, precision, request
        self._rows = rows.first(n_timed(model, len(rows)))
        self._full, self._before_stages = math.nan, 0.0
        self._branches: list[tuple[Branch | SomeRawColumns, float]] = []
        step = model.preprocessing
        self._by_column = isinstance(step, RawColumns)
        if request.cost == "time":
            raw, n = self._rows.raw, len(self._rows)
            self._full = min(full_time(model, raw, threads) for threads in {1, request.n_threads}) / n
            if isinstance(step, Chain) and Columnwise.of(model.terms) is not None:
                per_row = _seconds_a_row if self._by_column else _mean_seconds_a_row
                self._branches = [(branch, per_row(branch, raw)) for branch in step.branches]
            before = 0.0 if self._branches else _preprocessing_time(model, raw)
            self._before_stages = (before + self._checking_time()) / n

    def evaluation(self, recipe: Recipe, packed: Packed, walk: Walk, dtype: Precision) -> Evaluation:
        """The walk of a recipe with the costs of its stages, on terms that are packed for it."""
        summed, timed = Summed.of(self._model.terms), self._request.cost == "time"
        if summed is None:
            return Evaluation(walk, dtype, self._cost_model(recipe, packed))
        early = recipe.early
        ends = np.zeros(0, dtype=np.int64) if early.sums is None else early.sums.ends
        n_terms = summed.n_terms
        work = summed.pass_work(recipe.terms, ends, self._request.columnar)
        every = summed.pass_work(np.arange(n_terms), np.array([n_terms]), self._request.columnar)
        shared = None if self._units.buys is not None else work
        costs = None if timed and len(early) else self._cost_model(recipe, packed)
        return Evaluation(walk, dtype, costs, shared, self._full, every(0, n_terms, 0, 1.0), self._before_stages)

    def units_by_branches(self) -> Units | None:
        """The units, which share the branches that write their columns; None if no branch runs late."""
        if not self._branches:
            return None
        owner = np.repeat(np.arange(len(self._branches)), [branch.width for branch, _ in self._branches])
        buys = tuple(np.unique(owner[self._columns_read(members)]) for members in self._units.members)
        times = np.array([time for _, time in self._branches])
        if self._by_column:  # a column is not only read, but added
            times += max(0.0, self._full - times.sum()) / len(times)
        return Units.sharing(self._units.members, buys, times)

    def _columns_read(self, terms: NDArray[np.int64]) -> NDArray[np.int64]:
        """The column that each term reads, for terms of which each reads one."""
        columnwise = Columnwise.of(self._model.terms)
        assert columnwise is not None
        return columnwise.columns_read(terms)

    def _cost_model(self, recipe: Recipe, packed: Packed) -> CostModel:
        """Costs of the stages of a recipe, on terms that are packed for it."""
        costs, late = self._of_stages(recipe, packed), []
        if recipe.early.has_spread and recipe.early.sums is None:  # another readout of the same terms
            costs = replace(costs, readout=2 * costs.readout)
        for branch, time in self._branches:
            needing = np.flatnonzero(np.isin(self._columns_read(recipe.terms), branch.columns))
            late.append((int(needing[0]) + 1 if len(needing) else self._model.terms.n_terms + 1, time))
        # preprocessing is in the full model's time, too
        return replace(costs, row=costs.row + self._before_stages, branches=tuple(late))

    def _of_stages(self, recipe: Recipe, packed: Packed) -> CostModel:
        request, model, terms = self._request, self._model, self._model.terms
        if isinstance(request.cost, CostModel):
            return request.cost
        if request.cost == "units" or len(recipe.terms) == 0:  # without stages there is nothing to time
            return CostModel.of_units(self._units.total)
        rows = self._as_served()
        n_terms, n_outputs = len(recipe.terms), terms.n_outputs

        def ladder(stage_terms: tuple[int, ...]) -> Callable[[], object]:
            short = without_exits(model, packed, zero_stages(stage_terms, n_outputs))
            return lambda: short.predict(rows, len(stage_terms), "pending", 1)

        by_column = Columnwise.of(terms) is not None
        block = terms.planning.block(self._precision)
        step = len(self._units.members[0]) if by_column else block
        rows_per_line = 1
        if request.columnar and by_column:
            rows_per_line = max(1, LINE // rows.itemsize)
            step = max(step, TIMED_COLUMNS)
        # the condition under which the compiled engine evaluates column by column
        by_columns = rows_per_line > 1 and n_outputs == 1 and rows.dtype.kind == "f" and not model.allow_nan
        return measure_cost_model(
            ladder,
            self._everything(packed, rows),
            len(self._rows),
            self._full,
            n_terms=max(1, n_terms),
            n_outputs=n_outputs,
            block=block,
            step=step,
            rows_per_line=rows_per_line,
            by_columns=by_columns,
            key=(*self._speed_depends_on(rows), min(n_terms, 192), step),
        )

    def _as_served(self) -> Any:
        """The rows in the memory order of those that will be served."""
        rows = self._rows.preprocessed
        return np.asfortranarray(rows) if self._request.columnar or self._by_column else rows

    def _checking_time(self) -> float:
        """Seconds of comparing all rows with the ranges on which exits rely."""
        ranges = FeatureRanges.of(self._model, self._request.rule)
        if ranges is None:
            return 0.0
        rows, every = source_of(self._as_served()), np.arange(len(self._rows))
        return seconds(lambda: ranges.violated_by(rows, every, 1))

    def _everything(self, packed: Packed, rows: Any) -> Callable[[], object]:
        whole = without_exits(self._model, packed, NO_STAGES)
        return lambda: whole.predict(rows, 0, "full", 1)

    def _speed_depends_on(self, rows: Any) -> tuple[Any, ...]:
        terms = self._model.terms
        density = 1.0 if sparse.issparse(rows) else round(math.log2(np.count_nonzero(rows) / max(1, rows.size) + 1e-6))
        model = (speed_key(terms), rows.shape[1], terms.n_outputs, self._precision)
        return (*model, rows.dtype.str, self._request.columnar or self._by_column, density)


def _mean_seconds_a_row(branch: Branch | SomeRawColumns, rows: Source) -> float:
    """Seconds of running a branch, divided by the number of rows."""
    return seconds(partial(branch.transform, rows)) / rows.n_rows


def _seconds_a_row(branch: Branch | SomeRawColumns, rows: Source) -> float:
    """Seconds that each further row takes: columns are found together, whose share in a branch would be too large."""
    few = rows.take(slice(0, rows.n_rows // 4))
    more, less = (seconds(partial(branch.transform, each), 5) for each in (rows, few))
    return max(0.0, more - less) / (rows.n_rows - few.n_rows)


def predict_time(model: AdditiveModel, source: Source, n_threads: int) -> float:
    """Seconds of a prediction by the wrapped model."""
    with threadpool_limits(n_threads):
        return seconds(lambda: predict_wrapped(model, source), model.terms.planning.timed_repeats)


def full_time(model: AdditiveModel, source: Source, n_threads: int, at_least: float = 0.0) -> float:
    """Seconds of evaluating everything: by the wrapped model, or by the engine and by products where these serve it.

    The engine runs for `at_least` seconds or longer.
    """
    if model.texts is not None and (texts := model.texts.vectorizer.rows_of(source)) is not None:
        scores, repeats = model.texts.scores, model.terms.planning.timed_repeats
        return seconds(lambda: scores(texts, n_threads), repeats, at_least, clock_of(model, n_threads))
    if not (model.terms.planning.rest.serves_full or model.by_product):
        return predict_time(model, source, n_threads)
    whole = without_exits(model, pack(model.terms), NO_STAGES)
    repeats = model.terms.planning.timed_repeats
    rows = preprocessed(model, source)
    by_engine = seconds(lambda: whole.predict(rows, 0, "full", n_threads), repeats, at_least)
    full = FullModel(model, whole)
    if model.by_product and full.by_products(source, n_threads) is not None:
        with threadpool_limits(n_threads):
            by_product = seconds(lambda: full.by_products(source, n_threads), repeats, at_least)
        return min(by_engine + _preprocessing_time(model, source), by_product)
    ours, few = by_engine + _preprocessing_time(model, source), source.take(slice(0, FEW))
    if _has_texts(model):  # whose sparse rows take many times as long to make as the engine takes for all
        return ours
    if source.n_rows > FEW and predict_time(model, few, n_threads) > ours:  # all rows take the model longer still
        return ours
    return min(predict_time(model, source, n_threads), ours)


def clock_of(model: AdditiveModel, n_threads: int) -> Callable[[], float] | None:
    """The clock by which the engine is timed; None: the usual one."""
    return THREAD_CLOCK if model.texts is not None and n_threads == 1 else None


def _preprocessing_time(model: AdditiveModel, source: Source) -> float:
    """Seconds of preprocessing."""
    if model.preprocessing is None:
        return 0.0
    step = model.preprocessing
    return seconds(lambda: step.transform(source))


def n_timed(model: AdditiveModel, n_rows: int) -> int:
    """Number of rows on which times are measured."""
    return min(n_rows, TIMED_TEXTS if _has_texts(model) else model.terms.planning.timed_rows)


def _has_texts(model: AdditiveModel) -> bool:
    """Whether some of the raw columns hold texts."""
    return isinstance(model.preprocessing, RawColumns) and bool(model.preprocessing.text_columns)
