"""How long the engine takes for one row that is given alone."""

from __future__ import annotations

import time

import numpy as np

from ...models.protocols import Stepped
from .compiled_plan import CompiledPlan

#: Rows that are timed, in turns, and how often; the least time counts.
ROWS, REPEATS = 24, 5


def time_of_one(compiled: CompiledPlan) -> float | None:
    """Seconds for the value of one row, the mean over rows at the model's thresholds, or over random ones.

    Parameters
    ----------
    compiled : CompiledPlan
        Of a model whose answers are values.

    Returns
    -------
    float or None
        None where rows cannot be made: texts, and columns that are no numbers.
    """
    model, rng = compiled.model, np.random.default_rng(0)
    if model.preprocessing is not None or model.schema.of_rows or model.changed() is not None:
        return None
    stepped = Stepped.of(model.terms)
    made = None if stepped is None else stepped.at_thresholds(ROWS, rng)
    if made is None or not isinstance(made, np.ndarray):
        made = rng.normal(size=(ROWS, model.terms.n_features))
    rows = list(np.nan_to_num(np.asarray(made, dtype=np.float64)))
    least = np.inf
    try:
        for _ in range(REPEATS):
            start = time.perf_counter()
            for row in rows:
                compiled.value_one(row)
            least = min(least, time.perf_counter() - start)
    except (TypeError, ValueError):  # made values that the model refuses
        return None
    return float(least / len(rows))
