"""Registry of the supported families of models and their readers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy import sparse
from sklearn.linear_model._base import LinearClassifierMixin

from .decision import Decision
from .readers.centroids import CENTROID_MODELS, read_centroids
from .readers.kernel import KERNEL_MODELS, read_kernel
from .readers.linear import LINEAR_MODELS, read_linear
from .readers.naive_bayes import NAIVE_BAYES_MODELS, binarizing_steps, read_naive_bayes
from .readers.one_vs_rest import ONE_VS_REST_MODELS, READ_BY_PREDICT, read_one_vs_rest
from .terms import Terms
from .watch import Watch

if TYPE_CHECKING:
    from .model import AdditiveModel

__all__ = ["Family", "Reading", "family_of", "register"]

#: Products with sparse rows add up in a fixed order; with dense rows, the order depends on the number of rows.
SPARSE: Literal["sparse"] = "sparse"


@dataclass(frozen=True, eq=False)
class Reading:
    """The terms and the decision of a model, read without the wrappers around it.

    Parameters
    ----------
    terms : Terms
        Terms of its scores.
    decision : Decision
        Rule from scores to labels.
    dtype : dtype
        The least precise dtype of its coefficients.
    steps : list of (str, transformer), default=[]
        Transformations that the model itself applies to rows first.
    folded : bool, default=False
        Whether the terms include steps of a pipeline.
    centres : bool, default=False
        Whether such a step maps zeros to other values.
    watches : tuple of Watch, default=()
        Watches of the inner models.
    row_by_row : {"always", "sparse", "never"}, default="never"
        For which rows the model's own scores are independent of the batch, to the last bit.
    by_product : bool, default=False
        Whether the model's scores are ``X @ coef_.T + intercept_``.
    dense_only : bool, default=False
        Whether the model refuses sparse rows, which the terms accept.
    """

    terms: Terms
    decision: Decision
    dtype: np.dtype[Any]
    steps: list[tuple[str, Any]] = field(default_factory=list)
    folded: bool = False
    centres: bool = False
    watches: tuple[Watch, ...] = ()
    row_by_row: Literal["always", "sparse", "never"] = "never"
    by_product: bool = False
    dense_only: bool = False


@dataclass(frozen=True)
class Family:
    """Models that are read in the same way.

    Parameters
    ----------
    models : tuple of type
        Their classes; subclasses count.
    methods : tuple of str
        Methods that decide their labels; a subclass that overrides one is refused.
    attributes : tuple of str
        Attributes that decide their labels.
    read : callable
        Takes the model and `decompose`; returns a `Reading`.
    thresholds : bool, default=True
        Whether threshold classifiers and calibrators use the same score of such a model as its own predict.
    """

    models: tuple[type, ...]
    methods: tuple[str, ...]
    attributes: tuple[str, ...]
    read: Callable[[Any, Callable[[Any], AdditiveModel]], Reading]
    thresholds: bool = True


def family_of(model: Any) -> Family | None:
    """Find the family of a model.

    Parameters
    ----------
    model : object

    Returns
    -------
    Family or None
        None if no family supports it.
    """
    return next((family for family in _FAMILIES if isinstance(model, family.models)), None)


def register(family: Family) -> None:
    """Let `decompose` read another family of models.

    Parameters
    ----------
    family : Family
        Replaces a family that was registered for the same classes.

    Raises
    ------
    TypeError
        If it is not a `Family`.
    ValueError
        If some, but not all, of its classes belong to a registered family.
    """
    if not isinstance(family, Family):
        raise TypeError(f"family must be a wald.models.Family. Got {type(family).__name__} instead.")
    for known in _FAMILIES:
        if set(known.models) == set(family.models):
            _FAMILIES[_FAMILIES.index(known)] = family
            return
        if both := set(known.models) & set(family.models):
            raise ValueError(f"{min(model.__name__ for model in both)} is read by another family already.")
    _FAMILIES.append(family)


def _linear(model: Any, decompose: Callable[[Any], AdditiveModel]) -> Reading:
    terms, decision = read_linear(model)
    inherited = getattr(type(model), "decision_function", None) is LinearClassifierMixin.decision_function
    by_product = inherited and isinstance(model.coef_, np.ndarray)
    return Reading(terms, decision, np.dtype(model.coef_.dtype), row_by_row=SPARSE, by_product=by_product)


def _kernel(model: Any, decompose: Callable[[Any], AdditiveModel]) -> Reading:
    terms, decision = read_kernel(model)
    dense_only = not sparse.issparse(model.support_vectors_)
    # libsvm converts rows to float64 and evaluates them one by one
    return Reading(terms, decision, np.dtype(np.float64), row_by_row="always", dense_only=dense_only)


def _naive_bayes(model: Any, decompose: Callable[[Any], AdditiveModel]) -> Reading:
    # The product with the weights sets the precision, even if the prior is float64.
    dtype = np.dtype(model.feature_log_prob_.dtype) if hasattr(model, "feature_log_prob_") else np.dtype(np.float64)
    return Reading(*read_naive_bayes(model), dtype, binarizing_steps(model), row_by_row=SPARSE)


def _centroids(model: Any, decompose: Callable[[Any], AdditiveModel]) -> Reading:
    terms, decision = read_centroids(model)
    return Reading(terms, decision, np.dtype(model.centroids_.dtype), row_by_row=SPARSE)


def _one_vs_rest(model: Any, decompose: Callable[[Any], AdditiveModel]) -> Reading:
    rest = read_one_vs_rest(model, decompose)
    return Reading(
        rest.terms,
        rest.decision,
        rest.dtype,
        folded=rest.folded,
        centres=rest.centres,
        watches=rest.watches,
        row_by_row=SPARSE,
    )


_FAMILIES = [
    Family(LINEAR_MODELS, ("predict", "decision_function"), ("coef_", "intercept_", "classes_"), _linear),
    Family(
        KERNEL_MODELS,
        ("predict", "decision_function"),
        # predict reads the private arrays; the public ones are watched because people edit those.
        (
            *("support_vectors_", "dual_coef_", "_dual_coef_", "intercept_", "_intercept_", "classes_"),
            *("kernel", "_gamma", "coef0", "degree", "break_ties", "decision_function_shape"),
        ),
        _kernel,
    ),
    Family(
        NAIVE_BAYES_MODELS,
        ("predict", "_joint_log_likelihood", "_check_X"),
        ("feature_log_prob_", "class_log_prior_", "classes_", "binarize"),
        _naive_bayes,
        thresholds=False,
    ),
    Family(
        CENTROID_MODELS,
        ("predict",),
        ("centroids_", "class_prior_", "classes_", "metric"),
        _centroids,
        thresholds=False,
    ),
    Family(ONE_VS_REST_MODELS, ("predict", "decision_function"), ("classes_", *READ_BY_PREDICT), _one_vs_rest),
]
