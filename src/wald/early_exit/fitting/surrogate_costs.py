"""What surrogates cost, as multiples of what their model costs for a row."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

from ...models.asked import AskedFunction
from ...sources import Source
from ...surrogates import Surrogate

#: Rows on which surrogates and model are timed, and how often the surrogates are.
TIMED_ROWS, ROUNDS = 1000, 3
#: Estimators that take fewer seconds a row are timed as often.
QUICK = 5e-6
#: Costs are rounded to powers of this number, so that a plan changes seldom with measured times.
ROUNDED_TO = 2**0.25


def costing(surrogate: Surrogate, rows: Source, per_row: float, n_threads: int) -> Surrogate:
    """The surrogate with a cost, as a multiple of the model's, which takes so many seconds for a row."""
    if surrogate.cost is not None or rows.n_rows == 0:
        return surrogate.costing(surrogate.cost or 1.0)
    times = []
    for _ in range(ROUNDS):
        start = perf_counter()
        surrogate.numbers(rows, n_threads)
        times.append(perf_counter() - start)
    ratio = min(times) / rows.n_rows / max(per_row, 1e-12)
    return surrogate.costing(float(ROUNDED_TO ** round(np.log(max(ratio, 1e-9)) / np.log(ROUNDED_TO))))


def timed_again(model: Any, rows: Source, per_row: float) -> float:
    """Seconds that a model takes for a row; a quick one is asked again, since a busy machine may have stopped it."""
    if isinstance(model, AskedFunction) or rows.n_rows == 0 or per_row > QUICK:
        return per_row
    for _ in range(ROUNDS):
        start = perf_counter()
        model.predict(rows.rows)
        per_row = min(per_row, (perf_counter() - start) / rows.n_rows)
    return per_row
