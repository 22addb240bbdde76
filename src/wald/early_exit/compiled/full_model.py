"""The wrapped model's own labels, independent of the batch.

If a score lies within rounding of a tie, the wrapped model may give the row either label, because matrix products round
differently for other numbers of rows and other memory layouts. The own label of such a row is defined as the one in a
C-ordered call with `COPIES` copies of the row, which is the label in large calls with common BLAS libraries. The label
of every other row does not depend on rounding, and is computed in the fastest available way.
"""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite

from ... import _core
from ...engine import Cascade, Status
from ...models import AdditiveModel
from ...models.protocols import Bounded
from ...sources import Source, source_of
from ...sources.values import NATIVE
from ...utils.labels import codes_of_labels

#: Number of copies of a tied row in a call of the wrapped model. The kernels of common BLAS libraries process so many
#: rows at a time, so that no copy is processed as a remainder.
COPIES = 8
#: Size of the pieces in which copies, and dense copies of sparse rows, are made, in bytes.
COPIED_BYTES = 4 << 20
#: Up to so many rows the engine is fastest, because an estimator's input checks take most of the time; with several
#: scores, a product without these checks is faster than the engine for more than the second number of rows.
FEW_ROWS, ROWS_OF_PRODUCT = 128, 500
#: Arrays above the first size are multiplied in pieces of the second, which stay in the second cache.
LARGE_BYTES, CACHED_BYTES = 1 << 20, 256 << 10

Codes = NDArray[np.int32]
Statuses = NDArray[np.uint8]
#: Scores of rows, a column for each output, and a bound of their rounding errors.
Product = tuple[NDArray[np.floating[Any]], float]


class FullModel:
    """Own labels of the wrapped model.

    Parameters
    ----------
    model : AdditiveModel
    cascade : Cascade
        A cascade of the same model, with any stages; it computes full scores and their error bounds.
    """

    def __init__(self, model: AdditiveModel, cascade: Cascade) -> None:
        self.model, self._cascade = model, cascade
        self._products = _products(model)
        self._bounded = Bounded.of(model.terms)
        #: Weights and intercepts of a product that gives the scores; None if there is none.
        self._weights = None if self._bounded is None else self._bounded.product_weights

    def predict(self, source: Source) -> Codes:
        """Codes of the labels that the wrapped estimator predicts in one call for these rows."""
        return codes_of(self.model, predict_wrapped(self.model, source))

    def at_ties(self, source: Source) -> Codes:
        """Codes of the own labels of rows that lie within rounding of a tie."""
        model = self.model
        # a model loaded from a file has no leaf and predicts by the engine
        alone = model.row_by_row == "always" or (model.row_by_row == "sparse" and source.is_sparse)
        if model.leaf is None or (alone and model.preprocessing is None) or model.row_by_row == "always":
            return self.predict(source)
        if model.preprocessing is not None or source.is_sparse:
            copies = (source.take(np.full(COPIES, i)) for i in range(source.n_rows))
            return np.array([self.predict(rows)[0] for rows in copies], dtype=np.int32)
        rows, inverse = _distinct(_values(as_met(model, source)))
        if self._products is None:
            copies = (source_of(np.repeat(row[None], COPIES, axis=0)) for row in rows)
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "X does not have valid feature names")  # the copies have none
                codes = np.array([self.predict(same)[0] for same in copies], dtype=np.int32)
        else:
            codes = model.decision.answers(self._products(rows).astype(np.float64))
        return codes[inverse]

    def evaluated(self, preprocessed: Any, raw: Source, n_threads: int) -> tuple[Codes, Statuses]:
        """Codes and status of rows that the engine evaluates in full.

        Parameters
        ----------
        preprocessed : Source, array or CSR matrix
        raw : Source
            The same rows before preprocessing.
        n_threads : int
        """
        codes, ledger = self._cascade.predict(preprocessed, 0, "full", n_threads)
        left = np.flatnonzero(~ledger.settled)
        if len(left):
            codes[left], ledger.status[left] = self.at_ties(raw.take(left)), Status.HANDED_OVER
        return codes, ledger.status

    # ---- many rows of a linear model, by one matrix product --------------------------------------------------------

    def by_products(self, source: Source, n_threads: int) -> tuple[Codes, Statuses] | None:
        """Codes and status of all rows by a matrix product; rows within rounding of a tie are labelled one by one.

        None if the model does not score by a matrix product, or if rows have another number of columns than the model,
        or a value that is not finite.
        """
        model = self.model
        if not model.by_product or model.leaf is None:
            return None
        Z = source_of(as_met(model, source) if model.preprocessing is None else model.preprocessing.transform(source))
        if Z.n_columns != model.terms.n_features:
            return None
        array = self._array(Z)
        found = self._own_product(Z, n_threads) if array is None else self._product(array, n_threads)
        if found is None:
            return None
        scores, error = found
        codes, status = self._cascade.decide(scores, 2 * error)
        unsure = np.flatnonzero(status == Status.HANDED_OVER)
        if len(unsure):
            left = Z.take(unsure) if array is None else source_of(array[unsure])
            raw = left if model.preprocessing is None else source.take(unsure)
            if Z.is_sparse:
                codes[unsure] = self.at_ties(raw)
            else:
                codes[unsure], status[unsure] = self.evaluated(left, raw, n_threads)
        return codes, status

    def engine_is_faster(self, X: Any) -> bool:
        """Whether the engine evaluates the rows of an array faster than the wrapped model, or a product, does."""
        if not isinstance(X, np.ndarray) or X.ndim != 2:
            return False
        if len(X) <= FEW_ROWS or not self.model.by_product:
            return len(X) <= FEW_ROWS
        if self._weights is None:
            return True
        in_place = X.dtype in NATIVE and X.strides[1] == X.itemsize
        return in_place and (self.model.decision.n_outputs == 1 or len(X) <= ROWS_OF_PRODUCT)

    def _own_product(self, Z: Source, n_threads: int) -> Product | None:
        """The product that the innermost model computes for preprocessed rows; None if a value is not finite."""
        if Z.is_sparse:  # such products add up in a fixed order, and scikit-learn checks the rows
            return _own_scores(self.model, Z.rows), 0.0
        most, working = 0.0, 0.0
        for block in Z.blocks():
            most = max(block.rows.largest_magnitude(n_threads), most)  # in this order, NaN stays
            working = max(working, self.model.working_precision(block.dtype))
            if not math.isfinite(most):
                return None
        with sklearn.config_context(assume_finite=True):
            return _own_scores(self.model, Z.rows), self._error(most, working)

    def _array(self, Z: Source) -> NDArray[Any] | None:
        """Preprocessed rows as one array that can be multiplied with the terms' weights; None if there is none."""
        rows = Z.floats() if self._weights is not None and not Z.is_sparse else None
        return rows if type(rows) is np.ndarray and rows.dtype in NATIVE and rows.flags.aligned else None

    def _product(self, rows: NDArray[Any], n_threads: int) -> Product | None:
        """Multiply rows with the terms' weights, which include folded steps; None if a value is not finite."""
        assert self._weights is not None
        # float32 is twice as fast; a model that computes in it itself is no more exact
        single = rows.dtype == self.model.dtype == np.float32 and not self.model.steps
        coef, intercept = (each.astype(np.float32 if single else np.float64, copy=False) for each in self._weights)
        scores = np.empty((len(rows), coef.shape[1]), dtype=coef.dtype)
        most, at_once = 0.0, max(1, len(rows))
        if rows.nbytes > LARGE_BYTES and not rows.flags.fnc:  # each piece stays cached after its check
            at_once = max(1, CACHED_BYTES * len(rows) // rows.nbytes)
        for i in range(0, len(rows), at_once):
            piece = rows[i : i + at_once]
            most = max(_core.Rows.dense(piece).largest_magnitude(n_threads), most)  # in this order, NaN stays
            if not math.isfinite(most):
                return None
            np.matmul(piece, coef, out=scores[i : i + at_once])
        return np.add(scores, intercept, out=scores), self._error(most, self.model.working_precision(rows.dtype))

    def _error(self, most: float, working: float) -> float:
        """Bound of the rounding errors of rows whose largest absolute value is `most`."""
        return math.inf if self._bounded is None else self._bounded.score_error(most, working)


def codes_of(model: AdditiveModel, labels: NDArray[Any]) -> Codes:
    """Labels as indices of the model's classes."""
    return codes_of_labels(model.classes, labels).astype(np.int32)


def as_met(model: AdditiveModel, source: Source) -> Any:
    """Rows as the wrapped model receives them.

    Transformers receive what the user gave. Other models receive float64 in place of float16, of extended precision, of
    objects, and of pandas' extension types with missing values, which their own checks partly refuse, and NumPy's types
    in place of Arrow's. Models that convert other floats to float32 by themselves do so.
    """
    if model.preprocessing is not None:
        return model.preprocessing.given(source)
    return source.plain(model.terms.accepts.conversion.integers.type is np.float32)


def predict_wrapped(model: AdditiveModel, source: Source) -> NDArray[Any]:
    """Labels that the wrapped estimator predicts in one call for these rows."""
    return np.asarray(model.estimator.predict(as_met(model, source)))


# ---- the wrapped model's arithmetic --------------------------------------------------------------------------------


def _own_scores(model: AdditiveModel, Z: Any) -> NDArray[np.floating[Any]]:
    """Scores of the innermost model for preprocessed rows, a column for each output."""
    for step in model.steps:
        Z = keeping_rows(step).transform(Z)
    scores = np.asarray(model.leaf.decision_function(Z))
    scores = scores if scores.dtype in NATIVE else scores.astype(np.float64)  # extended precision
    return np.ascontiguousarray(scores if scores.ndim == 2 else scores[:, np.newaxis])


def _products(model: AdditiveModel) -> Callable[[NDArray[Any]], NDArray[np.floating[Any]]] | None:
    """Return a function that scores each row by the wrapped model's product with `COPIES` copies of the row.

    None if the labels do not follow from such a product, or if stacked products round differently.
    """
    if model.leaf is None or model.ruled or model.preprocessing is not None or not model.by_product:
        return None
    leaf, steps = _nameless(model.leaf), [_nameless(keeping_rows(step)) for step in model.steps]
    weights = leaf.coef_.T if leaf.coef_.ndim == 2 else leaf.coef_

    def product(rows: NDArray[Any]) -> NDArray[np.floating[Any]]:
        return np.asarray(np.matmul(np.repeat(rows[:, np.newaxis], COPIES, axis=1), weights)[:, 0] + leaf.intercept_)

    def products(rows: NDArray[Any]) -> NDArray[np.floating[Any]]:
        with sklearn.config_context(assume_finite=True, transform_output="default"):
            for step in steps:
                rows = step.transform(rows)
        if steps:  # which overflow: the model refuses what they give
            assert_all_finite(rows, estimator_name=type(leaf).__name__, input_name="X")
        at_once = max(1, COPIED_BYTES // (COPIES * 8 * max(1, rows.shape[1])))
        return np.concatenate([product(rows[i : i + at_once]) for i in range(0, len(rows), at_once)])

    rng = np.random.default_rng(0)
    for dtype in (np.float32, np.float64):
        for row in rng.normal(size=(2, len(weights))).astype(dtype):
            own = leaf.decision_function(np.repeat(row[np.newaxis], COPIES, axis=0))
            if not np.array_equal(np.ravel(product(np.stack([row, row]))[1]), np.ravel(own[0])):
                return None
    return products


def _nameless(fitted: Any) -> Any:
    """Copy of a fitted object that does not check the names of the columns."""
    bare = copy.copy(fitted)
    vars(bare).pop("feature_names_in_", None)
    return bare


def keeping_rows(step: Any) -> Any:
    """A transformer that does not overwrite its input."""
    if getattr(step, "copy", True):
        return step
    other = copy.copy(step)
    other.copy = True
    return other


# ---- rows ----------------------------------------------------------------------------------------------------------


def _values(X: Any) -> NDArray[Any]:
    """Rows as one C-ordered array, in the dtype that the wrapped model receives."""
    if not isinstance(X, np.ndarray):
        X = X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X)
    return np.ascontiguousarray(X.astype(np.float64) if X.dtype.kind not in "biuf" else X)


def _distinct(rows: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Distinct rows, and the index of each given row among them."""
    if len(rows) < 2 or rows.shape[1] == 0:
        return rows, np.arange(len(rows))
    bytes_of_rows = rows.view(np.dtype((np.void, rows.shape[1] * rows.itemsize)))[:, 0]
    _, first, inverse = np.unique(bytes_of_rows, return_index=True, return_inverse=True)
    return rows[first], inverse
