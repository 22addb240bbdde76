"""Models that decide by weighted sums of feature values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn.linear_model
from numpy.typing import NDArray
from scipy import sparse
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.svm import LinearSVC
from sklearn.utils.validation import check_is_fitted

from .columns import DERIVED, ColumnMap
from .decision import Decision

__all__ = ["LINEAR_MODELS", "LinearTerms", "first_of_largest", "read_linear"]

# PassiveAggressiveClassifier is on its way out of scikit-learn, hence by name.
LINEAR_MODELS: tuple[type, ...] = (
    LinearSVC,
    LinearDiscriminantAnalysis,
    *(
        getattr(sklearn.linear_model, name)
        for name in (
            "LogisticRegression",
            "LogisticRegressionCV",
            "Perceptron",
            "PassiveAggressiveClassifier",
            "RidgeClassifier",
            "RidgeClassifierCV",
            "SGDClassifier",
        )
        if hasattr(sklearn.linear_model, name)
    ),
)

#: Behind folded steps, weights count as no smaller than this in the bounds.
LEAST_WEIGHT = 2.0**-27
#: What float32 loses at most when a product underflows, as a multiple of its unit roundoff.
UNDERFLOW = 2.0**-125


@dataclass(frozen=True, eq=False)
class LinearTerms:
    """Feature values as terms: output k of a row x is ``x @ coef[k] + intercept[k]``.

    Parameters
    ----------
    coef : float64 ndarray of shape (n_outputs, n_features)
        Weights, for raw columns.
    intercept : float64 ndarray of shape (n_outputs,)
        Intercepts.
    fill : float64 ndarray of shape (n_features,) or None, default=None
        Raw value that stands in for NaN. None: a NaN is an error.
    coef_bound, intercept_bound : float64 ndarrays of the shapes of `coef` and `intercept`, optional
        ``|x| @ coef_bound.T + intercept_bound`` bounds the sum of the sizes of everything that the wrapped
        model adds up. It exceeds the sum of the terms here where a pipeline centres columns, or where the
        weights themselves are sums over support vectors: there the model cancels large values, and its
        rounding is relative to those. ``|coef|`` and ``|intercept|`` when missing.
    depth : int, optional
        Number of roundings that a value goes through in the wrapped model, at most: to first order its score
        is within ``depth * u * (|x| @ coef_bound.T + intercept_bound)`` of the exact one, u its unit
        roundoff. The number of features and a few when missing.
    """

    coef: NDArray[np.float64]
    intercept: NDArray[np.float64]
    fill: NDArray[np.float64] | None = None
    coef_bound: NDArray[np.float64] = DERIVED
    intercept_bound: NDArray[np.float64] = DERIVED
    depth: int = 0

    def __post_init__(self) -> None:
        if self.coef_bound is None:
            object.__setattr__(self, "coef_bound", np.abs(self.coef))
        if self.intercept_bound is None:
            object.__setattr__(self, "intercept_bound", np.abs(self.intercept))
        if not self.depth:
            object.__setattr__(self, "depth", self.n_terms + 2)

    @property
    def n_terms(self) -> int:
        """Number of terms: the features."""
        return int(self.coef.shape[1])

    @property
    def n_outputs(self) -> int:
        """Number of scores per row."""
        return int(self.coef.shape[0])

    def values(self, X: Any, which: Sequence[int] | NDArray[np.intp] | None = None) -> NDArray[np.float64]:
        """Values of the terms.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Raw rows.
        which : array-like of int, optional
            Indices of the terms; all by default.

        Returns
        -------
        float64 ndarray of shape (n_rows, n_terms) or (n_rows, len(which))
            The feature values, NaN replaced where the model replaces it.
        """
        picked = slice(None) if which is None else np.asarray(which, dtype=np.intp)
        if sparse.issparse(X):
            values = X.tocsr()[:, picked].toarray().astype(np.float64, copy=False)
        else:
            values = np.array(np.asarray(X)[:, picked], dtype=np.float64, order="C")
        return values if self.fill is None else np.where(np.isnan(values), self.fill[picked], values)

    def scores(self, X: Any) -> NDArray[np.float64]:
        """Full scores in float64.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Raw rows.

        Returns
        -------
        float64 ndarray of shape (n_rows, n_outputs)
            One column per output.
        """
        if not sparse.issparse(X):
            return np.asarray(self.values(X) @ self.coef.T + self.intercept)
        rows = X.tocsr().astype(np.float64)  # a copy
        if self.fill is not None:
            missing = np.isnan(rows.data)
            rows.data[missing] = self.fill[rows.indices[missing]]
        return np.asarray(rows @ self.coef.T + self.intercept)

    def after(self, columns: ColumnMap, n_steps: int = 1) -> LinearTerms:
        """Fold a map of the columns into the weights.

        Parameters
        ----------
        columns : ColumnMap
            What happens to a raw row before it meets the present terms.
        n_steps : int, default=1
            Number of pipeline steps behind the map: each rounds a value a few times.

        Returns
        -------
        LinearTerms
            Terms for the rows before the map.
        """
        # The wrapped model may overflow on the way although no term is large: weights count as no smaller than this.
        bound = np.maximum(self.coef_bound, LEAST_WEIGHT)
        shifted = [
            math.fsum((*row * columns.shift, start)) for row, start in zip(self.coef, self.intercept, strict=True)
        ]
        return LinearTerms(
            coef=self.coef * columns.scale,
            intercept=np.array(shifted),
            fill=columns.raw_fill(),
            coef_bound=bound * np.abs(columns.scale),
            intercept_bound=self.intercept_bound + bound @ columns.swing + bound.sum(axis=1) * UNDERFLOW,
            depth=self.depth + 4 * n_steps,
        )


def read_linear(model: Any) -> tuple[LinearTerms, Decision]:
    """Read a fitted linear classifier of scikit-learn.

    Parameters
    ----------
    model : estimator
        An instance of one of `LINEAR_MODELS`.

    Returns
    -------
    terms : LinearTerms
        Its weights and intercepts.
    decision : Decision
        Sign for two classes, where a score of exactly 0 is the negative class; argmax for more.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the model is not fitted.
    TypeError
        If the model answers several labels per row.
    ValueError
        If the model knows one class only, or its weights and classes do not fit together.
    """
    check_is_fitted(model)
    name = type(model).__name__
    # RidgeClassifier keeps the kind of its targets nowhere in public; three labels look like three classes
    # otherwise.
    binarizer = getattr(model, "_label_binarizer", None)
    if str(getattr(binarizer, "y_type_", "")).startswith("multilabel"):
        raise TypeError(
            f"This {name} is multilabel: it answers several labels per row, and wald stops at one. "
            "Fit one classifier per label and wrap each."
        )
    n_classes = len(model.classes_)
    if n_classes < 2:
        raise ValueError(f"This {name} was trained on one class only: there is nothing to decide.")
    weights = model.coef_.toarray() if sparse.issparse(model.coef_) else np.asarray(model.coef_)
    coef = np.array(np.atleast_2d(weights), dtype=np.float64)
    n_outputs = 1 if n_classes == 2 else n_classes
    if coef.shape[0] != n_outputs:
        raise ValueError(f"This {name} has {n_classes} classes and coef_ of shape {coef.shape}, which do not fit.")
    # The intercept is one number, 0.0, in models that were fitted without.
    intercept = np.array(np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64), (n_outputs,)))
    decision = Decision("sign" if n_classes == 2 else "argmax", n_classes)
    return LinearTerms(coef, intercept), decision


def first_of_largest(
    coef: NDArray[np.float64],
    intercept: NDArray[np.float64],
    coef_bound: NDArray[np.float64],
    intercept_bound: NDArray[np.float64],
    depth: int,
) -> tuple[LinearTerms, Decision]:
    """Build terms for a model that has one score per class, for two classes, too, and answers by argmax.

    Of two scores, the second wins when it is larger, and the first when they are equal. That is the sign of
    their difference, in floating point as well. Each of the two scores rounds by itself, so that what the
    difference may be off by is the sum of both bounds.

    Parameters
    ----------
    coef : float64 ndarray of shape (n_classes, n_features)
        Weights.
    intercept : float64 ndarray of shape (n_classes,)
        Intercepts.
    coef_bound, intercept_bound : float64 ndarrays of the shapes of `coef` and `intercept`
        Bounds as `LinearTerms` has them.
    depth : int
        Number of roundings that a value goes through in the wrapped model.

    Returns
    -------
    terms : LinearTerms
        One output for two classes, one per class for more.
    decision : Decision
        Sign for two classes, argmax for more.
    """
    if len(coef) > 2:
        weights, start = np.array(coef, dtype=np.float64), np.array(intercept, dtype=np.float64)
        return LinearTerms(weights, start, None, coef_bound, intercept_bound, depth), Decision("argmax", len(coef))
    terms = LinearTerms(
        coef=np.asarray(coef[1:] - coef[:1], dtype=np.float64),
        intercept=np.asarray(intercept[1:] - intercept[:1], dtype=np.float64),
        coef_bound=coef_bound.sum(axis=0, keepdims=True),
        intercept_bound=intercept_bound.sum(keepdims=True),
        depth=depth + 1,  # the differences here are rounded themselves
    )
    return terms, Decision("sign", 2)
