"""What evaluating costs: measured on the engine and on the wrapped model, or counted in units."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from ..engine import Packed
from ..models import AdditiveModel, Units
from ..plan import CostModel, Readout, Recipe
from ..plan.timing import measure_cost_model, seconds
from .full_model import as_met, predict_wrapped
from .request import Request, without_exits
from .rows import Rows

#: Bytes of a cache line.
LINE = 64
#: Columns in one step of what is timed: fewer would stay in the cache from one run to the next, and seem cheap.
TIMED_COLUMNS = 16


class Costs:
    """Costs of evaluating a model on rows like some.

    Parameters
    ----------
    model : AdditiveModel
    rows : Rows
        On which times are measured, where the user wants to save time.
    units : Units
    precision : {"float32", "float64"}
        Of early stages.
    request : Request
    """

    def __init__(self, model: AdditiveModel, rows: Rows, units: Units, precision: str, request: Request) -> None:
        self._model, self._units, self._precision, self._request = model, units, precision, request
        self._rows = rows.first(n_timed(model, len(rows)))
        self._full, self._preprocessing = math.nan, 0.0
        if request.cost == "time":
            raw, n = self._rows.raw, len(self._rows)
            self._full = min(predict_time(model, raw, threads) for threads in {1, request.n_threads}) / n
            self._preprocessing = _preprocessing_time(model, raw) / n

    def of(self, recipe: Recipe, packed: Packed) -> CostModel:
        """Costs of the stages of a recipe, on terms that are packed for it."""
        costs = self._of_terms(recipe, packed)
        return replace(costs, row=costs.row + self._preprocessing)  # a plan pays for the steps as the model does

    def _of_terms(self, recipe: Recipe, packed: Packed) -> CostModel:
        request, model, terms = self._request, self._model, self._model.terms
        if isinstance(request.cost, CostModel):
            return request.cost
        if request.cost == "units" or len(recipe.terms) == 0:  # without stages there is nothing to time
            return CostModel.of_units(float(self._units.costs.sum()))
        rows = np.asfortranarray(self._rows.seen) if request.columnar else self._rows.seen
        n_terms, n_outputs = len(recipe.terms), terms.n_outputs

        def ladder(stage_terms: tuple[int, ...]) -> Callable[[], object]:
            zero = [Readout(np.zeros((n_outputs, m)), np.zeros(n_outputs)) for m in stage_terms]
            short = without_exits(model, packed, np.array(stage_terms, dtype=np.int64), zero)
            return lambda: short.predict(rows, len(stage_terms), "pending", 1)

        by_column = terms.columns_read(recipe.terms) is not None
        block = terms.block_length(self._precision)
        step = len(self._units.members[0]) if by_column else block
        rows_per_line = 1
        if request.columnar and by_column:
            rows_per_line = max(1, LINE // rows.itemsize)
            step = max(step, TIMED_COLUMNS)
        # as the compiled engine chooses to go through the columns one by one
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

    def _everything(self, packed: Packed, rows: Any) -> Callable[[], object]:
        whole = without_exits(self._model, packed, np.empty(0, dtype=np.int64), ())
        return lambda: whole.predict(rows, 0, "full", 1)

    def _speed_depends_on(self, rows: Any) -> tuple[Any, ...]:
        terms = self._model.terms
        density = 1.0 if sparse.issparse(rows) else round(math.log2(np.count_nonzero(rows) / max(1, rows.size) + 1e-6))
        model = (terms.description, rows.shape[1], terms.n_outputs, self._precision)
        return (*model, rows.dtype.str, self._request.columnar, density)


def predict_time(model: AdditiveModel, X: Any, n_threads: int) -> float:
    """Seconds of the wrapped model itself."""
    with threadpool_limits(n_threads):
        return seconds(lambda: predict_wrapped(model, X), model.terms.timed_repeats)


def _preprocessing_time(model: AdditiveModel, X: Any) -> float:
    """Seconds of the steps in front of the terms."""
    if model.preprocessing is None:
        return 0.0
    rows = as_met(X)
    return seconds(lambda: model.preprocessing.transform(rows))


def n_timed(model: AdditiveModel, n_rows: int) -> int:
    """On how many rows times are measured."""
    return min(n_rows, model.terms.timed_rows)
