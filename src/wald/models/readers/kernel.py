"""Support vector classifiers of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.svm import SVC, NuSVC
from sklearn.utils.validation import check_is_fitted

from ...outputs import Labels
from ..kernel import KernelTerms
from ..linear import LinearTerms
from ..reading import Decompose, Family, Reading

KERNEL_MODELS: tuple[type, ...] = (SVC, NuSVC)


def read_kernel(model: Any, decompose: Decompose) -> Reading:
    """Read a fitted support vector classifier of scikit-learn, trained on dense or sparse rows.

    A linear kernel is collapsed into its weight vectors. Two classes: the sign, where a score of exactly 0 is the
    positive class. More: votes.

    Raises
    ------
    TypeError
        If the kernel is precomputed or a callable.
    ValueError
        If the model has no support vectors, was edited after fit, or has contradictory options.
    """
    check_is_fitted(model)
    name, n_classes = type(model).__name__, len(model.classes_)
    kernel_of(model)
    if model.break_ties and model.decision_function_shape == "ovo":
        raise ValueError(f"{name} cannot predict with break_ties=True and decision_function_shape='ovo'.")
    refuse_changed_by_hand(model, -1.0 if n_classes == 2 else 1.0)
    dual = dense(model.dual_coef_)
    coef = np.array(dual, dtype=np.float64) if n_classes == 2 else _one_vs_one(dual, model.n_support_)
    if n_classes == 2:
        # libsvm's own score has the other sign: its first class wins only when strictly above 0.
        decision = Labels("sign", 2, tie_positive=True)
    else:
        decision = Labels("votes", n_classes, break_ties=bool(model.break_ties))
    # libsvm converts rows to float64 and evaluates them one by one
    dense_only = not sparse.issparse(model.support_vectors_)
    return Reading(machine_terms(model, coef), decision, row_by_row="always", dense_only=dense_only)


def kernel_of(model: Any) -> Any:
    """The kernel of a support vector machine; raise TypeError if it is precomputed or a callable."""
    kernel = model.kernel
    if callable(kernel) or kernel not in ("linear", "poly", "rbf", "sigmoid"):
        shown = "a callable" if callable(kernel) else repr(kernel)
        raise TypeError(
            f"{type(model).__name__} with kernel={shown} is not supported: its kernel cannot be evaluated one support "
            "vector at a time. Supported kernels are 'linear', 'poly', 'rbf' and 'sigmoid'."
        )
    return kernel


def machine_terms(model: Any, coef: NDArray[np.float64]) -> LinearTerms | KernelTerms:
    """Read the sum of a support vector machine of libsvm.

    Parameters
    ----------
    model : SVC, NuSVC, SVR, NuSVR or OneClassSVM
        Fitted.
    coef : float64 ndarray of shape (n_outputs, n_vectors)
        Coefficients of the support vectors.

    Raises
    ------
    ValueError
        If it has no support vectors.
    """
    vectors, kernel = _copy_rows(model.support_vectors_), kernel_of(model)
    if not vectors.shape[0]:
        raise ValueError(f"This {type(model).__name__} has no support vectors: it gives every row the same answer.")
    intercept = np.array(model.intercept_, dtype=np.float64)
    if kernel == "linear":
        weights, sizes = coef @ vectors, np.abs(coef) @ abs(vectors)
        depth = sum(vectors.shape) + 4  # libsvm adds up n_sv products of n_features each
        return LinearTerms(weights, intercept, None, sizes, np.abs(intercept), depth)
    # The resolved gamma ("scale", "auto") has no public name, and cannot be computed without the training rows.
    gamma = float(model._gamma)
    return KernelTerms(kernel, gamma, float(model.coef0), int(model.degree), vectors, coef, intercept)


def one_sum(model: Any) -> tuple[LinearTerms | KernelTerms, bool]:
    """Read a fitted machine of one sum, whose private coefficients have the sign of the public ones.

    Parameters
    ----------
    model : SVR, NuSVR or OneClassSVM

    Returns
    -------
    terms : LinearTerms or KernelTerms
    dense_only : bool
        Whether it was trained on dense rows, and refuses sparse ones.

    Raises
    ------
    TypeError, ValueError
        As for an ``SVC``.
    """
    check_is_fitted(model)
    kernel_of(model)
    refuse_changed_by_hand(model, 1.0)
    terms = machine_terms(model, np.array(dense(model.dual_coef_), dtype=np.float64))
    return terms, not sparse.issparse(model.support_vectors_)


def _one_vs_one(dual: NDArray[np.float64], n_support: NDArray[np.int32]) -> NDArray[np.float64]:
    """Unfold libsvm's (n_classes - 1, n_sv) coefficients into one row per pair of classes.

    Support vectors are grouped by class. The coefficients of class i against the other classes are in rows 0, 1, ...,
    in the order of the classes without i.
    """
    n_classes = len(n_support)
    ends = np.cumsum(n_support)
    group = [slice(end - size, end) for end, size in zip(ends, n_support, strict=True)]
    coef = np.zeros((n_classes * (n_classes - 1) // 2, dual.shape[1]))
    for pair, (i, j) in enumerate(Labels("votes", n_classes).pairs()):
        coef[pair, group[i]] = dual[j - 1, group[i]]
        coef[pair, group[j]] = dual[i, group[j]]
    return coef


def refuse_changed_by_hand(model: Any, sign: float) -> None:
    """Refuse a model whose public coefficients differ from the private ones, which predict uses.

    The private copies have libsvm's sign, which is `sign` times the public one. They differ only if one of the two was
    edited.
    """
    for public, private in (("dual_coef_", "_dual_coef_"), ("intercept_", "_intercept_")):
        used = getattr(model, private, None)
        if used is not None and not np.array_equal(dense(getattr(model, public)), sign * dense(used)):
            raise ValueError(
                f"{public} of this {type(model).__name__} was changed after fit, but its predict does not "
                f"read {public}: the change has no effect on the labels. Undo it, or refit."
            )


def dense(values: Any) -> NDArray[np.float64]:
    """Coefficients as an array, whichever rows the machine was trained on."""
    return np.asarray(values.toarray() if sparse.issparse(values) else values)


def _copy_rows(rows: Any) -> Any:
    if not sparse.issparse(rows):
        return np.array(rows, dtype=np.float64, order="C")
    copied = sparse.csr_array(rows, dtype=np.float64, copy=True)
    copied.sum_duplicates()
    return copied


#: What machines compute by. They read the private arrays; the public ones are watched because people edit those.
MACHINE = (
    *("support_vectors_", "dual_coef_", "_dual_coef_", "intercept_", "_intercept_"),
    *("kernel", "_gamma", "coef0", "degree"),
)
FAMILY = Family(
    KERNEL_MODELS,
    ("predict", "decision_function"),
    (*MACHINE, "classes_", "break_ties", "decision_function_shape"),
    read_kernel,
)
