"""Time of a classifier against the model that it wraps."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np

from ..early_exit import EarlyExitClassifier
from ..engine.threads import effective_threads
from ..models import TreeClassifier
from ..persistence import SavedModel
from ..sources import source_of
from ..utils.alternating import median_seconds
from .facts import Timing

#: Number of times that each median is of.
REPEATS = 7
#: Why a model that was read from a library's file has no times.
_NO_LIBRARY = (
    "The model came from the file of LightGBM, XGBoost or CatBoost, and wald evaluates it without that library: there "
    "is nothing to compare with. Where the library is installed, the command line times it: wald report FILE DATA "
    "--model MODEL, where MODEL is the library's file."
)
#: One run takes about this many seconds of the wrapped model, and at most this many rows.
_SECONDS, _MOST_ROWS, _MOST_SINGLE = 0.1, 1000, 20


class Rival(Protocol):
    """The wrapped model as its own library evaluates it."""

    @property
    def name(self) -> str:
        """Name of the library."""

    @property
    def predict(self) -> Callable[[Any], object]:
        """From rows in the form of `rows` to labels."""

    def rows(self, rows: Any) -> Any:
        """Convert rows to the form that the library takes."""


def times(
    fast: EarlyExitClassifier, X: Any, n_rows: int, library: Rival | None = None
) -> tuple[tuple[Timing, ...], str]:
    """Time single rows and a batch, in turns; or say why there is nothing to compare with.

    Parameters
    ----------
    fast : EarlyExitClassifier
    X : {array-like, sparse matrix, data frame}
    n_rows : int
    library : Rival or None, default=None
        The wrapped model in its own library, to be timed in place of ``estimator_``.

    Returns
    -------
    cases : tuple of Timing
    reason : str
        Empty if there are times.
    """
    from threadpoolctl import threadpool_limits

    model = fast.estimator_
    if isinstance(model, SavedModel):
        return (), "The wrapped model is not at hand. On the command line, --model MODEL names its file."
    if library is None and isinstance(model, TreeClassifier):
        return (), _NO_LIBRARY
    predict = model.predict if library is None else library.predict
    form = _as_they_are if library is None else library.rows
    source = source_of(X)
    singles = [source.take(np.array([row])).rows for row in range(min(n_rows, _MOST_SINGLE))]
    with warnings.catch_warnings(), threadpool_limits(effective_threads(fast.n_jobs)):
        warnings.simplefilter("ignore")
        singles = singles[: _affordable(predict, form(singles[0]), 1, len(singles))]
        n_batch = _affordable(predict, form(source.take(np.arange(min(n_rows, 100))).rows), min(n_rows, 100), n_rows)
        runs: list[tuple[str, int, Sequence[Any]]] = [("one row", 1, singles)]
        if n_batch > 1:
            runs.append(("a batch", n_batch, [source.take(np.arange(n_batch)).rows]))
        cases = []
        for name, n, batches in runs:
            model_seconds, wald_seconds = median_seconds(
                partial(_each, predict, [form(batch) for batch in batches]),
                partial(_each, fast.predict, batches),
                repeats=REPEATS,
            )
            cases.append(Timing(name, n, model_seconds / len(batches), wald_seconds / len(batches)))
    return tuple(cases), ""


def _as_they_are(rows: Any) -> Any:
    return rows


def _affordable(predict: Callable[[Any], object], rows: Any, n: int, most: int) -> int:
    """How many rows the model predicts within `_SECONDS`, from the time of `n` rows."""
    predict(rows)
    start = time.perf_counter()
    predict(rows)
    taken = max(time.perf_counter() - start, 1e-7)
    return max(1, min(most, _MOST_ROWS, int(n * _SECONDS / taken)))


def _each(predict: Callable[[Any], object], batches: Sequence[Any]) -> None:
    for batch in batches:
        predict(batch)
