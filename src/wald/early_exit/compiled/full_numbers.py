"""What the methods of the wrapped estimator return for rows: by the engine where it gives the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...models import AdditiveModel
from ...sources import Source
from ...steps import ByColumn
from .full_model import as_met
from .predictor import Predictor
from .rows import own_of_sparse

#: Scores become such numbers for about so many rows at a time.
AT_ONCE = 1 << 16


def numbers_in_full(predictor: Predictor, method: str, source: Source, n_threads: int) -> NDArray[Any]:
    """The wrapped estimator's own numbers for rows.

    Parameters
    ----------
    predictor : Predictor
    method : {"decision_function", "predict_proba", "predict_log_proba"}
    source : Source
    n_threads : int

    Returns
    -------
    ndarray of shape (n_rows,) or (n_rows, n_numbers)
    """
    own = own_of_sparse(predictor.model, method, source) if predictor.model.preprocessing is None else None
    if own is not None:
        return own
    n_pieces = max(1, source.n_rows // AT_ONCE)
    found: NDArray[Any] | None = None
    start = 0
    for part in source.parts(-(-source.n_rows // n_pieces)):
        numbers = predictor.numbers(method, part, n_threads)
        if numbers is None:
            numbers = _by_engine(predictor, method, part, n_threads)
        if numbers is None:
            break
        if n_pieces == 1:
            return numbers
        if found is None:
            found = np.empty((source.n_rows, *numbers.shape[1:]), dtype=numbers.dtype)
        found[start : start + part.n_rows] = numbers
        start += part.n_rows
    return own_numbers(predictor.model, method, source) if found is None or start < source.n_rows else found


def own_numbers(model: AdditiveModel, method: str, source: Source) -> NDArray[Any]:
    """The same by the wrapped estimator itself."""
    if isinstance(model.preprocessing, ByColumn):
        model.preprocessing.warn_of_missing(source)
    return np.asarray(getattr(model.estimator, method)(as_met(model, source)))


def _by_engine(predictor: Predictor, method: str, source: Source, n_threads: int) -> NDArray[Any] | None:
    """Numbers by the engine; None if it would not give the same bits, or if a row has values that it refuses."""
    link = getattr(predictor.model.links, method, None)
    if link is None:
        return None
    scores = predictor.scores(source, n_threads)
    return None if np.isnan(scores).any() else np.asarray(link(scores))
