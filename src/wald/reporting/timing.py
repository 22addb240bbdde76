"""Time of an early-exit estimator against the model that it wraps."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..early_exit.base import EarlyExitEstimator
from ..engine.threads import effective_threads
from ..models import TreeClassifier
from ..models.asked import AskedFunction
from ..persistence import SavedModel
from ..sources import source_of
from ..utils.alternating import Timing, in_turns

#: Number of times that each median is of.
REPEATS = 7
#: Why a model from a file of wald has no times.
NO_MODEL = "The wrapped model is not at hand. On the command line, --model MODEL names its file."
#: Why a model that was read from a library's file has no times.
NO_LIBRARY = (
    "The model came from the file of LightGBM, XGBoost or CatBoost, and wald evaluates it without that library: there "
    "is nothing to compare with. Where the library is installed, the command line times it: wald report FILE DATA "
    "--model MODEL, where MODEL is the library's file."
)
#: Why a function has no times.
NO_CALLS = "The model is a function, and each call of it may cost something: it was not called to be timed."
#: One run takes about this many seconds of the wrapped model, and at most this many rows.
_SECONDS, _MOST_ROWS, _MOST_SINGLE = 0.1, 1000, 20


@dataclass(frozen=True)
class Rival:
    """What wald is timed against.

    Attributes
    ----------
    name : str
    predict : callable
        From rows in the form of `rows` to labels.
    rows : callable
        Converts rows to the form that it takes.
    """

    name: str
    predict: Callable[[Any], NDArray[Any]]
    rows: Callable[[Any], Any] = lambda rows: rows


def rival_of(model: Any, library: Rival | None) -> Rival | str:
    """What a wrapped model's time is taken with: its own library, or it itself; or why there is nothing."""
    if isinstance(model, SavedModel):
        return NO_MODEL
    if isinstance(model, AskedFunction):
        return NO_CALLS
    if library is None and isinstance(model, TreeClassifier):
        return NO_LIBRARY
    return Rival("the wrapped model", model.predict) if library is None else library


def times(fast: EarlyExitEstimator, X: Any, n_rows: int, library: Rival | None = None) -> tuple[list[Timing], str]:
    """Time single rows and a batch, in turns; or say why there is nothing to compare with.

    Parameters
    ----------
    fast : EarlyExitEstimator
    X : {array-like, sparse matrix, data frame}
    n_rows : int
    library : Rival or None, default=None
        The wrapped model in its own library, to be timed in place of ``estimator_``.

    Returns
    -------
    cases : list of Timing
    reason : str
        Empty if there are times.
    """
    from threadpoolctl import threadpool_limits

    rival = rival_of(fast.estimator_, library)
    if isinstance(rival, str):
        return [], rival
    source = source_of(X)
    singles = [source.take(np.array([row])).rows for row in range(min(n_rows, _MOST_SINGLE))]
    some = min(n_rows, 100)
    with warnings.catch_warnings(), threadpool_limits(effective_threads(fast.n_jobs)):
        warnings.simplefilter("ignore")
        singles = singles[: _affordable(rival, singles[0], 1, len(singles))]
        n_batch = _affordable(rival, source.take(np.arange(some)).rows, some, n_rows)
        runs = [("one row", 1, singles), ("a batch", n_batch, [source.take(np.arange(n_batch)).rows])]
        return [
            in_turns(name, n, rival.predict, [*map(rival.rows, batches)], fast.predict, batches, repeats=REPEATS)
            for name, n, batches in runs[: 1 + (n_batch > 1)]
        ], ""


def _affordable(rival: Rival, rows: Any, n: int, most: int) -> int:
    """How many rows the model predicts within `_SECONDS`, from the time of `n` rows."""
    rows = rival.rows(rows)
    rival.predict(rows)
    start = time.perf_counter()
    rival.predict(rows)
    taken = max(time.perf_counter() - start, 1e-7)
    return max(1, min(most, _MOST_ROWS, int(n * _SECONDS / taken)))
