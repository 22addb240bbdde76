"""A fitted SplineTransformer with the same bits in less time."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import SplineTransformer
from sklearn.utils.validation import validate_data

from .. import _core
from .affine import overrides

#: Largest degree of the splines that the extension computes.
MOST_DEGREE = 5
#: Columns, knots of each, and numbers between knots on which bits are compared.
COMPARED_COLUMNS, COMPARED_KNOTS, COMPARED = 4, 64, 100


class QuickSplines(SplineTransformer):
    """A SplineTransformer that computes its splines in the extension, where they are constant beyond their knots.

    It shares all attributes with the transformer from which it is made, and everything else is scikit-learn's own.
    """

    @classmethod
    def of(cls, step: Any) -> QuickSplines | None:
        """The same of a fitted transformer; None where bits may differ."""
        if overrides(step) or not hasattr(step, "bsplines_"):
            return None
        made = shared(cls, step)
        return made if made._knots() is not None and _alike(step, made) else None

    def transform(self, X: Any) -> Any:
        """Columns of splines."""
        found = self._quickly(X)
        return self._slowly(X) if found is None else found

    def _slowly(self, X: Any) -> Any:
        return shared(SplineTransformer, self).transform(X)  # whose messages name it

    def _quickly(self, X: Any) -> NDArray[Any] | None:
        knots = self._knots()
        if knots is None:
            return None
        finite = getattr(self, "handle_missing", "error") != "zeros"
        try:
            values = validate_data(self, X, reset=False, accept_sparse=False, ensure_all_finite=finite)
        except (ValueError, TypeError):
            return None
        if values.dtype.kind in "iu":
            values = values.astype(np.float64)
        if values.dtype not in (np.float32, np.float64) or (not finite and np.isinf(values).any()):
            return None
        table: NDArray[Any] = _core.splines(values, knots, self.degree)
        if self.include_bias:
            return table
        width = knots.shape[1] - self.degree - 1
        return table[:, [j for j in range(table.shape[1]) if (j + 1) % width != 0]]

    def _knots(self) -> NDArray[np.float64] | None:
        """The knots of each column; None if its splines are others than the extension knows."""
        plain = self.extrapolation == "constant" and not self.sparse_output and self.order == "C"
        if not plain or self.degree not in range(1, MOST_DEGREE + 1) or not len(self.bsplines_):
            return None
        try:
            knots = np.array([spline.t for spline in self.bsplines_], dtype=np.float64)
        except ValueError:
            return None
        if knots.ndim != 2 or knots.shape[1] < 2 * self.degree + 2:
            return None
        if not np.isfinite(knots).all() or (np.diff(knots, axis=1) < 0).any():
            return None
        units = np.eye(knots.shape[1] - self.degree - 1)
        known = (spline.k == self.degree and np.array_equal(spline.c, units) for spline in self.bsplines_)
        return knots if all(known) else None


def shared(kind: Any, step: Any) -> Any:
    """An object of a class with the attributes of another one: what is changed later is changed in both."""
    made = object.__new__(kind)
    made.__dict__ = step.__dict__
    return made


def _alike(step: Any, made: QuickSplines) -> bool:
    """Whether both write the same bits at knots, beside them, and between and beyond them."""
    rng = np.random.default_rng(0)
    some = np.unique(np.linspace(0, len(step.bsplines_) - 1, COMPARED_COLUMNS).astype(int)).tolist()
    step, made = (_of_columns(each, some) for each in (step, made))
    columns = []
    for spline in step.bsplines_:
        own = np.asarray(spline.t, dtype=np.float64)
        between = rng.uniform(own[0], own[-1], COMPARED)
        own = own[np.linspace(0, len(own) - 1, COMPARED_KNOTS).astype(int)]
        columns.append(np.concatenate([own, np.nextafter(own, np.inf), np.nextafter(own, -np.inf), between, [0.0]]))
    rows = np.column_stack(columns)
    for dtype in (np.float64, np.float32):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # about names
            try:
                values = np.clip(rows, np.finfo(dtype).min, np.finfo(dtype).max).astype(dtype)
                theirs, ours = (np.asarray(each.transform(values)) for each in (step, made))
            except Exception:  # of another version of scikit-learn
                return False
        if theirs.dtype != ours.dtype or theirs.tobytes("A") != ours.tobytes("A") or theirs.strides != ours.strides:
            return False
    return True


def _of_columns(step: Any, columns: list[int]) -> Any:
    """A transformer of some columns, without names."""
    other = object.__new__(type(step))
    other.__dict__ = {name: value for name, value in vars(step).items() if name != "feature_names_in_"}
    other.bsplines_ = [step.bsplines_[c] for c in columns]
    other.n_features_in_ = len(columns)
    other.n_features_out_ = step.n_features_out_ // len(step.bsplines_) * len(columns)
    return other
