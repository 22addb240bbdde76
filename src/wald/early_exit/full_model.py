"""The wrapped model's own labels: one for each row, whatever rows stand beside it.

A row whose score lies within rounding of a tie may get either label from the wrapped model itself: matrix products
round otherwise for another number of rows, or another memory layout. Its own label is then defined as the one that it
gives the row in a C-ordered call of `COPIES` copies of it, which is what large calls give on the usual libraries. Every
other row has one label anyway, and it is computed in the fastest way there is.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import sklearn
from numpy.typing import NDArray
from scipy import sparse

from ..engine import Cascade
from ..engine.rows import n_rows_of, pieces, take
from ..models import AdditiveModel

#: How often a row that is a tie is repeated when the wrapped model labels it: as many rows as the kernels of the
#: usual libraries take at a time, so that none of them treats it as the odd rest of a call.
COPIES = 8
#: Copies, and dense copies of sparse rows, are made this many bytes at a time.
COPIED_BYTES = 4 << 20

Codes = NDArray[np.int32]


class FullModel:
    """A wrapped model, which gives its own labels.

    Parameters
    ----------
    model : AdditiveModel
    cascade : Cascade
        On the same model, with any stages: it computes full scores, and knows how far they may be off.
    """

    def __init__(self, model: AdditiveModel, cascade: Cascade) -> None:
        self.model, self._cascade = model, cascade
        self._products = _products(model)

    def query(self, X: Any) -> Codes:
        """Codes of the labels that the wrapped estimator answers for these rows as a call."""
        return codes_of(self.model, predict_wrapped(self.model, X))

    def at_ties(self, X: Any) -> Codes:
        """Codes of rows whose labels hang on the wrapped model's own rounding, each row for itself."""
        X = as_met(X)
        model = self.model
        # a saved model answers by the engine
        alone = model.row_by_row == "always" or (model.row_by_row == "sparse" and sparse.issparse(X))
        if model.leaf is None or (alone and model.preprocessing is None) or model.row_by_row == "always":
            return self.query(X)
        if model.preprocessing is not None or sparse.issparse(X):
            return np.array([self.query(take(X, np.full(COPIES, i)))[0] for i in range(n_rows_of(X))], dtype=np.int32)
        rows, inverse = _distinct(_values(X))
        if self._products is None:
            codes = np.array([self.query(np.repeat(row[None], COPIES, axis=0))[0] for row in rows], dtype=np.int32)
        else:
            codes = model.decision.codes(self._products(rows).astype(np.float64))
        return codes[inverse]

    def evaluated(self, seen: Any, raw: Any, n_threads: int) -> Codes:
        """Codes of rows that the engine evaluates in full.

        Parameters
        ----------
        seen : rows as the terms meet them
        raw : the same rows as the wrapped estimator takes them
        n_threads : int
        """
        codes, _ = self._cascade.predict(seen, 0, "full", n_threads)
        left = np.flatnonzero(codes < 0)
        if len(left):
            codes[left] = self.at_ties(take(raw, left))
        return codes

    # ---- many rows of a linear model, at its own speed -------------------------------------------------------------

    def by_products(self, X: Any, n_threads: int) -> Codes | None:
        """Codes of all rows of a call by the wrapped model's own matrix product, and of ties each for itself.

        None where that is not possible: for models that score in another way, and rows that are not finite.
        """
        if not self.model.by_product or self.model.leaf is None:
            return None
        X, model = as_met(X), self.model
        Z = X if model.preprocessing is None else model.preprocessing.transform(X)
        most, working = 0.0, 0.0
        if not sparse.issparse(Z):  # products with sparse rows have one order
            for piece in pieces(Z):
                largest = piece.rows.largest_magnitude(n_threads)
                if not np.isfinite(largest):
                    return None
                most, working = max(most, largest), max(working, model.working_precision(piece.dtype))
        with sklearn.config_context(assume_finite=not sparse.issparse(Z)):  # it was looked at above
            scores = _own_scores(model, Z)
        error = 0.0 if sparse.issparse(Z) else model.terms.score_error(most, working)
        table = scores if scores.ndim == 2 else scores[:, np.newaxis]
        codes = self._cascade.decide(np.ascontiguousarray(table), 2 * error)
        unsure = np.flatnonzero(codes < 0)
        if len(unsure):
            rows = take(X, unsure)
            if sparse.issparse(Z):
                codes[unsure] = self.at_ties(rows)
            else:
                codes[unsure] = self.evaluated(take(Z, unsure), rows, n_threads)
        return codes


def codes_of(model: AdditiveModel, labels: NDArray[Any]) -> Codes:
    """Labels as indices of the model's classes."""
    return np.searchsorted(model.classes, labels).astype(np.int32)


def as_met(X: Any) -> Any:
    """Rows as the wrapped model gets them: float16 and extended precision become float64, others stay as they are."""
    if isinstance(X, np.ndarray) or sparse.issparse(X):
        return X.astype(np.float64) if _is_odd(X.dtype) else X
    if nw.dependencies.is_pandas_dataframe(X):
        odd = [c for c, dtype in enumerate(X.dtypes) if isinstance(dtype, np.dtype) and _is_odd(dtype)]
        if odd:
            X = X.copy(deep=False)
            for c in odd:
                X.isetitem(c, X.iloc[:, c].astype(np.float64))
    return X


def _is_odd(dtype: np.dtype[Any]) -> bool:
    return dtype.kind == "f" and dtype.type not in (np.float32, np.float64)


def predict_wrapped(model: AdditiveModel, X: Any) -> NDArray[Any]:
    """Labels that the wrapped estimator answers for these rows as a call.

    A kernel machine that was trained on dense rows refuses sparse ones, which the engine takes: it gets them dense.
    """
    X = as_met(X)
    if not (model.dense_only and sparse.issparse(X)) or model.preprocessing is not None or model.centres:
        return np.asarray(model.estimator.predict(X))
    rows = X.tocsr()
    step = max(1, COPIED_BYTES // (8 * max(1, rows.shape[1])))
    starts = range(0, max(1, rows.shape[0]), step)
    return np.concatenate([model.estimator.predict(rows[start : start + step].toarray()) for start in starts])


# ---- how the wrapped model computes --------------------------------------------------------------------------------


def _own_scores(model: AdditiveModel, Z: Any) -> NDArray[np.floating[Any]]:
    """Scores of the innermost model, for rows as the terms meet them."""
    for step in model.steps:
        Z = _keeping_rows(step).transform(Z)
    return np.asarray(model.leaf.decision_function(Z))


def _products(model: AdditiveModel) -> Callable[[NDArray[Any]], NDArray[np.floating[Any]]] | None:
    """What the wrapped model's matrix product gives for each row among copies of itself, all rows in one call.

    None where the labels do not follow from such a product, or where stacked products round in another way.
    """
    if model.leaf is None or model.ruled or model.preprocessing is not None or not model.by_product:
        return None
    leaf, steps = _nameless(model.leaf), [_nameless(_keeping_rows(step)) for step in model.steps]
    weights = leaf.coef_.T if leaf.coef_.ndim == 2 else leaf.coef_

    def product(rows: NDArray[Any]) -> NDArray[np.floating[Any]]:
        return np.asarray(np.matmul(np.repeat(rows[:, np.newaxis], COPIES, axis=1), weights)[:, 0] + leaf.intercept_)

    def products(rows: NDArray[Any]) -> NDArray[np.floating[Any]]:
        with sklearn.config_context(assume_finite=True, transform_output="default"):
            for step in steps:
                rows = step.transform(rows)
        at_once = max(1, COPIED_BYTES // (COPIES * 8 * max(1, rows.shape[1])))
        return np.concatenate([product(rows[i : i + at_once]) for i in range(0, len(rows), at_once)])

    rng = np.random.default_rng(0)
    for dtype in (np.float32, np.float64):
        for row in rng.normal(size=(2, len(weights))).astype(dtype):
            answered = leaf.decision_function(np.repeat(row[np.newaxis], COPIES, axis=0))
            if not np.array_equal(np.ravel(product(np.stack([row, row]))[1]), np.ravel(answered[0])):
                return None
    return products


def _nameless(fitted: Any) -> Any:
    """A fitted object that does not check the names of the columns."""
    bare = copy.copy(fitted)
    vars(bare).pop("feature_names_in_", None)
    return bare


def _keeping_rows(step: Any) -> Any:
    """A step that does not overwrite the rows it transforms."""
    if getattr(step, "copy", True):
        return step
    other = copy.copy(step)
    other.copy = True
    return other


# ---- rows ----------------------------------------------------------------------------------------------------------


def _values(X: Any) -> NDArray[Any]:
    """Rows as one C-ordered array of numbers, in the dtype in which a model meets them."""
    if not isinstance(X, np.ndarray):
        X = X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X)
    return np.ascontiguousarray(X.astype(np.float64) if X.dtype.kind not in "biuf" else X)


def _distinct(rows: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Rows without repetitions, and where each of the given ones is among them."""
    if len(rows) < 2 or rows.shape[1] == 0:
        return rows, np.arange(len(rows))
    bytes_of_rows = rows.view(np.dtype((np.void, rows.shape[1] * rows.itemsize)))[:, 0]
    _, first, inverse = np.unique(bytes_of_rows, return_index=True, return_inverse=True)
    return rows[first], inverse
