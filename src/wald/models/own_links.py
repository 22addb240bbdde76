"""What a linear model of scikit-learn makes of its scores: by its own methods, and for one row in microseconds."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import special

#: From the scores of one row, (1, n_outputs), to its probabilities, (n_classes,).
Link = Callable[[NDArray[Any]], NDArray[Any]]
#: Scores on which links are tried, some of which have probabilities of 0 and 1.
TRIED = (0.0, -0.0, 1e-300, -1e-9, 0.25, -1.0, 36.5, -38.0, 90.0, -750.0, 1e4)


def by_own_method(leaf: Any, method: str, scores: NDArray[Any]) -> NDArray[Any] | None:
    """What a method of a fitted linear model returns for rows of these scores; None if it asks for more than scores.

    Parameters
    ----------
    leaf : estimator
    method : str
        Of a model that has it.
    scores : ndarray of shape (n_rows,) or (n_rows, n_outputs)
        As its ``decision_function`` would return them. They may be overwritten.
    """
    asked = copy.copy(leaf)
    asked.decision_function = lambda X: scores  # all that such a method asks of rows
    try:
        return np.asarray(getattr(asked, method)(scores))
    except (AttributeError, TypeError, ValueError):  # it asks for more in this version of scikit-learn
        return None


def link_of_one(leaf: Any, n_outputs: int, dtype: DTypeLike) -> Link | None:
    """The function from the scores of one row to its probabilities, bit for bit; None if it is not known.

    Parameters
    ----------
    leaf : estimator
        A fitted linear model.
    n_outputs : int
    dtype : dtype-like
        Of its scores.

    Returns
    -------
    callable or None
        Scores of shape (1, n_outputs) are not overwritten.
    """
    own = getattr(type(leaf), "predict_proba", None)
    if own is None or not own.__module__.startswith("sklearn."):
        return None

    def ask(scores: NDArray[Any]) -> NDArray[Any]:
        given = scores.copy()
        found = by_own_method(leaf, "predict_proba", given.ravel() if n_outputs == 1 else given)
        return np.empty(0) if found is None else np.asarray(found[0])

    rng = np.random.default_rng(0)
    tried = np.concatenate([rng.choice(TRIED, (16, n_outputs)), 4 * rng.normal(size=(48, n_outputs))]).astype(dtype)
    with np.errstate(all="ignore"):
        expected = [ask(scores) for scores in tried[:, None]]
        if any(each.shape != (max(2, n_outputs),) for each in expected):
            return None
        link = _pair if n_outputs == 1 else _softmax
        same = all(_equal(link(s), e) for s, e in zip(tried[:, None], expected, strict=True))
    return link if same else ask


def _pair(scores: NDArray[Any]) -> NDArray[Any]:
    """Probabilities of two classes, by the logistic function."""
    second = special.expit(scores[0, 0])
    pair = np.empty(2, dtype=scores.dtype)
    pair[0], pair[1] = 1 - second, second
    return pair


def _softmax(scores: NDArray[Any]) -> NDArray[Any]:
    row: NDArray[Any] = scores[0] - scores[0].max()
    np.exp(row, out=row)
    row /= row.sum()
    return row


def _equal(found: NDArray[Any], expected: NDArray[Any]) -> bool:
    return found.dtype == expected.dtype and np.array_equal(found, expected, equal_nan=True)
