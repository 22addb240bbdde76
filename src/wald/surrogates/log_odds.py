"""What surrogates say together: the log-odds of the answers of a model."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

Floats = NDArray[np.float64]

#: Iterations of a fit.
ITERATIONS = 500


def log_odds(said: Floats, codes: NDArray[np.int32], strength: float) -> tuple[Floats, Floats, NDArray[np.int32]]:
    """Fit a logistic regression of the answers on what was said, in units of its standard deviations.

    Parameters
    ----------
    said : float64 ndarray of shape (n_rows, m)
    codes : int32 ndarray of shape (n_rows,)
        At least two different answers.
    strength : float
        The parameter ``C`` of `LogisticRegression`.

    Returns
    -------
    weights : float64 ndarray of shape (n_codes, m)
    bias : float64 ndarray of shape (n_codes,)
        Log-odds of each code are ``weights @ said + bias``, up to a number for each row.
    known : int32 ndarray of shape (n_codes,)
        The codes that occur, ascending.
    """
    centre, spread = said.mean(axis=0), said.std(axis=0)
    scale = np.where(spread > 0, 1.0 / np.where(spread > 0, spread, 1.0), 0.0)
    fitted = LogisticRegression(C=strength, max_iter=ITERATIONS).fit((said - centre) * scale, codes)
    weights = fitted.coef_ * scale
    bias = fitted.intercept_ - weights @ centre
    if len(fitted.classes_) == 2:  # scikit-learn gives one row, of the second class
        weights, bias = np.vstack([-weights, weights]) / 2, np.concatenate([-bias, bias]) / 2
    return weights, bias, fitted.classes_
