"""Registry of the supported families of models and their readers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.linear_model._base import LinearClassifierMixin
from sklearn.utils.validation import check_is_fitted

from ..outputs import Output
from .boosters import BoosterClassifier
from .links import NO_LINKS, Link, Links, as_they_are, by_columns, softmax_of_float32
from .readers.attentive import ATTENTIVE_LINEAR, BOOSTED_STUMPS, read_boosted_stumps, read_boosted_votes
from .readers.catboost import CATBOOST_MODELS, read_catboost
from .readers.centroids import CENTROID_MODELS, read_centroids
from .readers.kernel import KERNEL_MODELS, read_kernel
from .readers.lightgbm import LIGHTGBM_MODELS, PREDICTION_PARAMETERS, lightgbm_codes, read_lightgbm
from .readers.linear import LINEAR_MODELS, read_linear
from .readers.naive_bayes import NAIVE_BAYES_MODELS, binarizing_steps, read_naive_bayes
from .readers.one_class import read_one_class
from .readers.one_vs_rest import ONE_VS_REST_MODELS, READ_BY_PREDICT, read_one_vs_rest
from .readers.sklearn_boosting import (
    GRADIENT_BOOSTING_MODELS,
    HIST_GRADIENT_BOOSTING_MODELS,
    encoding_steps,
    read_gradient_boosting,
    read_hist_gradient_boosting,
)
from .readers.sklearn_trees import (
    ADABOOST_MODELS,
    BAGGING_MODELS,
    FOREST_MODELS,
    adaboost_probabilities,
    read_adaboost,
    read_forest,
)
from .readers.votes import (
    VOTING_MODELS,
    Votes,
    all_trees,
    read_adaboost_votes,
    read_bagging_votes,
    read_voting,
)
from .readers.xgboost import XGBOOST_MODELS, read_xgboost
from .terms import Terms
from .tree_classifier import TreeClassifier
from .watch import Watch

if TYPE_CHECKING:
    from .model import AdditiveModel

__all__ = ["Family", "Reading", "family_of", "read_constant", "register"]

#: Products with sparse rows add up in a fixed order; with dense rows, the order depends on the number of rows.
SPARSE: Literal["sparse"] = "sparse"


@dataclass(frozen=True, eq=False)
class Reading:
    """The terms and the decision of a model, read without the wrappers around it.

    Parameters
    ----------
    terms : Terms
        Terms of its scores.
    decision : Output
        What is asked of the scores.
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
    tie_margin : float, default=0.0
        Distance of scores within which the model itself must label a row.
    links : Links, default=NO_LINKS
        What the model's methods return for full scores that are exact.
    names : tuple of str, default=()
        Names of its columns, for a model that does not tell them as ``feature_names_in_``.
    classes : ndarray or None, default=None
        Labels, where they are others than ``classes_`` of the model.
    """

    terms: Terms
    decision: Output
    dtype: np.dtype[Any]
    steps: list[tuple[str, Any]] = field(default_factory=list)
    folded: bool = False
    centres: bool = False
    watches: tuple[Watch, ...] = ()
    row_by_row: Literal["always", "sparse", "never"] = "never"
    by_product: bool = False
    dense_only: bool = False
    tie_margin: float = 0.0
    links: Links = NO_LINKS
    names: tuple[str, ...] = ()
    classes: NDArray[Any] | None = None


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
    named : tuple of str, default=()
        Full names of further classes, of libraries that need not be installed.
    """

    models: tuple[type, ...]
    methods: tuple[str, ...]
    attributes: tuple[str, ...]
    read: Callable[[Any, Callable[[Any], AdditiveModel]], Reading]
    thresholds: bool = True
    named: tuple[str, ...] = ()

    def classes_of(self, model: Any) -> list[type]:
        """Classes of a model that this family reads."""
        return [
            base
            for base in type(model).__mro__
            if base in self.models or f"{base.__module__}.{base.__qualname__}" in self.named
        ]


def family_of(model: Any) -> Family | None:
    """Find the family of a model.

    Parameters
    ----------
    model : object

    Returns
    -------
    Family or None
        The one that lists the class closest to the model's own; None if no family supports it.
    """
    for base in type(model).__mro__:
        for family in _FAMILIES:
            if base in family.models or f"{base.__module__}.{base.__qualname__}" in family.named:
                return family
    return None


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


def read_constant(model: Any) -> Reading:
    """Read a model of any family that knows one class.

    Parameters
    ----------
    model : estimator
        A fitted model.

    Returns
    -------
    Reading
        Every row gets one label; the model itself computes probabilities.

    Raises
    ------
    ValueError
        If its labels depend on the row.
    """
    terms, decision, label = read_one_class(model)
    return Reading(terms, decision, np.dtype(np.float64), row_by_row="always", classes=label)


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


def _lightgbm(model: Any, decompose: Callable[[Any], AdditiveModel]) -> Reading:
    terms, decision, tie_margin, links = read_lightgbm(model)
    dtype, steps = np.dtype(np.float64), [*lightgbm_codes(model)]
    watches = (Watch([(model.booster_, "best_iteration")]),)
    return Reading(
        terms, decision, dtype, steps, watches=watches, row_by_row="always", tie_margin=tie_margin, links=links
    )


def _xgboost(model: Any, decompose: Callable[[Any], AdditiveModel]) -> Reading:
    terms, decision, tie_margin, link, steps = read_xgboost(model)
    links = Links.of(link, softmax_of_float32 if model.objective == "multi:softmax" else None)
    dtype = np.dtype(np.float32)
    return Reading(terms, decision, dtype, [*steps], row_by_row="always", tie_margin=tie_margin, links=links)


def _catboost(model: Any, decompose: Callable[[Any], AdditiveModel]) -> Reading:
    terms, decision, link, names = read_catboost(model)
    # CatBoost's softmax has an exponential function of its own
    links = Links(link=link) if link.kind in ("softmax", "none") else Links.of(link)
    return Reading(terms, decision, np.dtype(np.float64), row_by_row="always", links=links, names=names)


def _booster(model: Any, decompose: Callable[[Any], AdditiveModel]) -> Reading:
    read = model.read()
    dtype, links = np.dtype(np.float32 if read.single else np.float64), Links(link=read.link)
    steps = [*read.steps]
    return Reading(
        read.terms, read.decision, dtype, steps, row_by_row="always", tie_margin=read.tie_margin, links=links
    )


def _tree_classifier(model: Any, decompose: Callable[[Any], AdditiveModel]) -> Reading:
    dtype, links = np.dtype(model.dtype), Links.of(model.link, decision_function=as_they_are)
    steps = [] if model.categories is None else [("categories", model.categories)]
    tie_margin = model.tie_margin
    return Reading(model.terms, model.decision, dtype, steps, row_by_row="always", tie_margin=tie_margin, links=links)


def _forest(model: Any, decompose: Callable[[Any], AdditiveModel]) -> Reading:
    return Reading(
        *read_forest(model), np.dtype(np.float64), row_by_row="always", links=Links(predict_proba=as_they_are)
    )


def _bagging(model: Any, decompose: Callable[[Any], AdditiveModel]) -> Reading:
    check_is_fitted(model)
    return _forest(model, decompose) if all_trees(model.estimators_) else _voted(read_bagging_votes(model))


def _adaboost(model: Any, decompose: Callable[[Any], AdditiveModel]) -> Reading:
    check_is_fitted(model)
    if not all_trees(model.estimators_):
        return _voted(read_adaboost_votes(model))
    links = Links(as_they_are, partial(adaboost_probabilities, len(model.classes_)))
    return Reading(*read_adaboost(model), np.dtype(np.float64), row_by_row="always", links=links)


def _voting(model: Any, decompose: Callable[[Any], AdditiveModel]) -> Reading:
    return _voted(read_voting(model))


def _voted(votes: Votes) -> Reading:
    return Reading(
        votes.terms,
        votes.decision,
        votes.dtype,
        watches=votes.watches,
        row_by_row="always" if votes.row_by_row else "never",
    )


def _gradient_boosting(model: Any, decompose: Callable[[Any], AdditiveModel]) -> Reading:
    dtype, links = np.dtype(np.float64), Links(as_they_are, model._loss.predict_proba)
    return Reading(*read_gradient_boosting(model), dtype, row_by_row="always", links=links)


def _hist_gradient_boosting(model: Any, decompose: Callable[[Any], AdditiveModel]) -> Reading:
    terms, decision = read_hist_gradient_boosting(model)
    dtype, steps = np.dtype(np.float64), encoding_steps(model)
    link = Link("expit" if decision.kind == "sign" else "exp")
    links = Links(as_they_are, partial(by_columns, model._loss.predict_proba), link)
    return Reading(terms, decision, dtype, steps, row_by_row="always", dense_only=True, links=links)


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


def _boosted_stumps(model: Any, decompose: Callable[[Any], AdditiveModel]) -> Reading:
    check_is_fitted(model)
    if not hasattr(model.hypotheses_, "thresholds"):  # a list
        return _voted(read_boosted_votes(model))
    terms, decision, tie_margin = read_boosted_stumps(model)
    dtype = np.dtype(np.float32 if terms.f32_rows else np.float64)
    return Reading(terms, decision, dtype, row_by_row="always", tie_margin=tie_margin)


_FAMILIES = [
    Family(
        LINEAR_MODELS,
        ("predict", "decision_function"),
        ("coef_", "intercept_", "classes_"),
        _linear,
        named=ATTENTIVE_LINEAR,
    ),
    Family(
        (),
        ("predict", "decision_function"),
        ("coef_", "intercept_", "classes_", "hypotheses_"),
        _boosted_stumps,
        thresholds=False,
        named=BOOSTED_STUMPS,
    ),
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
    Family(
        (),
        ("predict", "predict_proba"),
        ("_Booster", "_le", "_classes", *PREDICTION_PARAMETERS),
        _lightgbm,
        thresholds=False,
        named=LIGHTGBM_MODELS,
    ),
    Family(
        (),
        ("predict", "predict_proba"),
        ("_Booster", "n_classes_", "missing", "best_iteration", "objective"),
        _xgboost,
        thresholds=False,
        named=XGBOOST_MODELS,
    ),
    Family((BoosterClassifier,), ("predict",), ("booster", "rounds"), _booster, thresholds=False),
    Family((TreeClassifier,), ("predict",), ("terms", "decision"), _tree_classifier, thresholds=False),
    Family((), ("predict", "predict_proba"), ("_object",), _catboost, thresholds=False, named=CATBOOST_MODELS),
    Family(
        FOREST_MODELS, ("predict", "predict_proba"), ("estimators_", "tree_", "classes_"), _forest, thresholds=False
    ),
    Family(
        BAGGING_MODELS,
        ("predict", "predict_proba"),
        ("estimators_", "estimators_features_", "n_estimators", "classes_"),
        _bagging,
        thresholds=False,
    ),
    Family(
        ADABOOST_MODELS,
        ("predict", "decision_function"),
        ("estimators_", "estimator_weights_", "classes_"),
        _adaboost,
        thresholds=False,
    ),
    Family(
        VOTING_MODELS,
        ("predict", "predict_proba", "_predict", "_collect_probas"),
        ("estimators_", "estimators", "weights", "voting", "le_", "classes_"),
        _voting,
        thresholds=False,
    ),
    Family(
        GRADIENT_BOOSTING_MODELS,
        ("predict", "decision_function"),
        ("estimators_", "init_", "learning_rate", "classes_"),
        _gradient_boosting,
        thresholds=False,
    ),
    Family(
        HIST_GRADIENT_BOOSTING_MODELS,
        ("predict", "decision_function"),
        ("_predictors", "_baseline_prediction", "_bin_mapper", "_preprocessor", "classes_"),
        _hist_gradient_boosting,
        thresholds=False,
    ),
    Family(ONE_VS_REST_MODELS, ("predict", "decision_function"), ("classes_", *READ_BY_PREDICT), _one_vs_rest),
]
