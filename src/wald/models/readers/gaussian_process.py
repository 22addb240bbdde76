"""The mean of scikit-learn's ``GaussianProcessRegressor``, which is a sum of kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Product, Sum, WhiteKernel
from sklearn.utils.validation import check_is_fitted

from ...steps import ColumnMap
from ..kernel import KernelTerms
from ..links import ValueLink
from ..reading import Decompose, Family, Reading, of_values
from ..units import Floats

#: Parts of a kernel: a factor, and the inverse squared length scales of an RBF kernel; None for a constant.
Parts = list[tuple[float, Floats | None]]


def read_gaussian_process(model: Any, decompose: Decompose) -> Reading:
    """Read the mean of a fitted ``GaussianProcessRegressor``, of one value or several.

    The kernel is an RBF kernel of one length scale or of one for each column, times and plus constants and white noise,
    which is 0 between different rows. scikit-learn multiplies matrices, and wald adds in the order of the training
    rows: values are the same within some ``n`` roundings of the sum of the sizes of all terms, for n training rows.

    Raises
    ------
    TypeError
        If it has another kernel, or RBF kernels of different length scales.
    """
    check_is_fitted(model, "alpha_")
    parts = _parts(model.kernel_)
    widths = [width for _, width in parts if width is not None]
    vectors = np.array(model.X_train_, dtype=np.float64)
    n_columns = vectors.shape[1]
    if not widths:
        raise TypeError(_refused(model, f"its kernel {model.kernel_} gives every row the same value"))
    first = np.broadcast_to(widths[0], n_columns)
    if any(not np.array_equal(first, np.broadcast_to(width, n_columns)) for width in widths):
        raise TypeError(_refused(model, f"its kernel {model.kernel_} has RBF kernels of several length scales"))
    alpha = np.atleast_2d(np.asarray(model.alpha_, dtype=np.float64).T)
    scale = np.broadcast_to(np.asarray(model._y_train_std, dtype=np.float64), (len(alpha),))
    mean = np.broadcast_to(np.asarray(model._y_train_mean, dtype=np.float64), (len(alpha),))
    factor = sum(factor for factor, width in parts if width is not None)
    constant = sum(factor for factor, width in parts if width is None)
    gamma, columns = 0.5 * float(first[0]), None
    if (first != first[0]).any():
        gamma, lengths = 0.5, np.sqrt(first)
        columns, vectors = ColumnMap(lengths, np.zeros(n_columns)), vectors * lengths
    coef = scale[:, None] * alpha
    terms = KernelTerms("rbf", gamma, 0.0, 0, vectors, factor * coef, mean + constant * coef.sum(axis=1), columns)
    return of_values(terms, ValueLink("identity"), dense_only=True)


def _parts(kernel: Any) -> Parts:
    """A kernel between different rows as a sum of RBF kernels and constants."""
    if isinstance(kernel, Sum):
        return _parts(kernel.k1) + _parts(kernel.k2)
    if isinstance(kernel, Product):
        return [
            (one * other, width if length is None else length if width is None else length + width)
            for one, length in _parts(kernel.k1)
            for other, width in _parts(kernel.k2)
        ]
    if type(kernel) is ConstantKernel:
        return [(float(kernel.constant_value), None)]
    if type(kernel) is WhiteKernel:
        return []
    if type(kernel) is RBF:
        return [(1.0, np.asarray(kernel.length_scale, dtype=np.float64) ** -2.0)]
    raise TypeError(
        f"GaussianProcessRegressor with {type(kernel).__name__} in its kernel is not supported: supported are RBF, "
        "ConstantKernel and WhiteKernel, and their sums and products. Serve it as it is."
    )


def _refused(model: Any, why: str) -> str:
    return f"{type(model).__name__} is not supported here: {why}. Serve it as it is, or use one RBF kernel."


FAMILY = Family(
    (GaussianProcessRegressor,),
    ("predict",),
    ("X_train_", "alpha_", "kernel_", "_y_train_mean", "_y_train_std"),
    read_gaussian_process,
    thresholds=False,
)
