"""Regressors of scikit-learn that are linear, or sums of kernels, on their own or behind an exponential."""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn.linear_model
from scipy import sparse
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import GammaRegressor, PoissonRegressor, TweedieRegressor
from sklearn.svm import SVR, LinearSVR, NuSVR
from sklearn.utils.validation import check_is_fitted

from ..kernel import KernelTerms
from ..linear import LinearTerms
from ..links import ValueLink
from ..reading import Decompose, Family, Reading, of_values
from .kernel import MACHINE, one_sum

_NAMES = (
    *("LinearRegression", "Ridge", "RidgeCV", "Lasso", "LassoCV", "ElasticNet", "ElasticNetCV", "Lars", "LarsCV"),
    *("LassoLars", "LassoLarsCV", "LassoLarsIC", "OrthogonalMatchingPursuit", "OrthogonalMatchingPursuitCV"),
    *("MultiTaskLasso", "MultiTaskLassoCV", "MultiTaskElasticNet", "MultiTaskElasticNetCV", "HuberRegressor"),
    *("TheilSenRegressor", "BayesianRidge", "ARDRegression", "QuantileRegressor", "SGDRegressor"),
    "PassiveAggressiveRegressor",
)
#: Regressors whose values are a product with ``coef_`` and an intercept.
LINEAR: tuple[type, ...] = (
    LinearSVR,
    *(getattr(sklearn.linear_model, name) for name in _NAMES if hasattr(sklearn.linear_model, name)),
)
#: Those whose values are an exponential of it, if their link is the logarithm.
GENERALIZED: tuple[type, ...] = (PoissonRegressor, GammaRegressor, TweedieRegressor)


def read_linear(model: Any, decompose: Decompose) -> Reading:
    """Read a fitted linear regressor, of one value or several, or a generalized one.

    Parameters
    ----------
    model : estimator
        An instance of one of `LINEAR` or `GENERALIZED`.

    Raises
    ------
    TypeError
        If it has another link than the identity and the logarithm.
    """
    check_is_fitted(model)
    weights = model.coef_.toarray() if sparse.issparse(model.coef_) else np.asarray(model.coef_)
    coef = np.array(np.atleast_2d(weights), dtype=np.float64)
    intercept = np.array(np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64), (len(coef),)))
    link = ValueLink("identity")
    if isinstance(model, GENERALIZED):
        name = type(vars(model)["_base_loss"].link).__name__
        if name not in ("IdentityLink", "LogLink"):
            raise TypeError(f"{type(model).__name__} with {name} is not supported: use link='log' or 'identity'.")
        link = ValueLink("exp" if name == "LogLink" else "identity")
    return of_values(LinearTerms(coef, intercept), link, dtype=np.dtype(weights.dtype))


def read_machine(model: Any, decompose: Decompose) -> Reading:
    """Read a fitted ``SVR`` or ``NuSVR``.

    Raises
    ------
    TypeError, ValueError
        As for an ``SVC``.
    """
    terms, dense_only = one_sum(model)
    return of_values(terms, ValueLink("identity"), dense_only=dense_only)


def read_kernel_ridge(model: Any, decompose: Decompose) -> Reading:
    """Read a fitted ``KernelRidge``, of one value or several.

    Raises
    ------
    TypeError
        If its kernel is none of linear, rbf, poly and sigmoid.
    """
    check_is_fitted(model)
    kernel: Any = {"polynomial": "poly"}.get(str(model.kernel), model.kernel)
    if callable(kernel) or kernel not in ("linear", "poly", "rbf", "sigmoid"):
        shown = "a callable" if callable(kernel) else repr(kernel)
        raise TypeError(
            f"KernelRidge with kernel={shown} is not supported. Supported kernels are 'linear', 'poly', 'rbf' and "
            "'sigmoid'."
        )
    vectors = sparse.csr_array(model.X_fit_, copy=True) if sparse.issparse(model.X_fit_) else np.array(model.X_fit_)
    vectors = vectors.astype(np.float64)
    coef = np.array(np.atleast_2d(np.asarray(model.dual_coef_).T), dtype=np.float64)
    intercept = np.zeros(len(coef))
    terms: LinearTerms | KernelTerms
    if kernel == "linear":
        sizes = np.abs(coef) @ abs(vectors)
        terms = LinearTerms(coef @ vectors, intercept, None, sizes, intercept, sum(vectors.shape) + 4)
    else:
        if kernel == "poly" and (int(model.degree) != model.degree or model.degree < 0):
            raise TypeError(f"KernelRidge with degree={model.degree!r} is not supported: it must be a whole number.")
        gamma = 1.0 / vectors.shape[1] if model.gamma is None else float(model.gamma)
        terms = KernelTerms(kernel, gamma, float(model.coef0), int(model.degree), vectors, coef, intercept)
    return of_values(terms, ValueLink("identity"), dtype=np.dtype(model.dual_coef_.dtype))


FAMILIES = (
    Family(LINEAR, ("predict",), ("coef_", "intercept_"), read_linear, thresholds=False),
    Family(GENERALIZED, ("predict",), ("coef_", "intercept_", "_base_loss"), read_linear, thresholds=False),
    Family((SVR, NuSVR), ("predict",), MACHINE, read_machine, thresholds=False),
    Family(
        (KernelRidge,),
        ("predict",),
        ("X_fit_", "dual_coef_", "kernel", "gamma", "coef0", "degree"),
        read_kernel_ridge,
        thresholds=False,
    ),
)
