"""Fitted boosters without scikit-learn's interface, as classifiers of the labels 0 to K - 1."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator

from ..engine import Decision
from ..sources import Schema, source_of
from ..sources.schema import Library
from .links import Link
from .readers.catboost import CATBOOST_MODELS, catboost_json, catboost_rule, read_catboost_model, require_numeric
from .readers.lightgbm import lightgbm_rule, read_lightgbm_text
from .readers.xgboost import read_xgboost_model, xgboost_rule
from .tree_classifier import TreeClassifier, require_columns
from .trees import TreeTerms

__all__ = ["BoosterClassifier", "BoosterReading", "fitted_for_good"]

LIGHTGBM, XGBOOST, CATBOOST = "lightgbm.basic.Booster", "xgboost.core.Booster", "catboost.core.CatBoost"


@dataclass(frozen=True, eq=False)
class BoosterReading:
    """What a booster holds.

    Parameters
    ----------
    terms : TreeTerms
    decision : Decision
    tie_margin : float
    link : Link
    classes : ndarray
    names : list of str
        Names of the columns; empty if the booster does not know them.
    single : bool
        Whether leaves are added in float32.
    steps : list of (str, transformer), default=[]
        The codes of categories, if it was trained on columns of dtype category.
    """

    terms: TreeTerms
    decision: Decision
    tie_margin: float
    link: Link
    classes: NDArray[Any]
    names: list[str]
    single: bool = False
    steps: list[tuple[str, Any]] = field(default_factory=list)


def fitted_for_good(estimator: Any) -> Any:
    """Return a classifier for a model that scikit-learn can neither clone nor fit.

    Parameters
    ----------
    estimator : object

    Returns
    -------
    estimator or None
        A `BoosterClassifier` around a booster; a `TreeClassifier` itself; None for everything else. Either may be
        frozen.
    """
    while isinstance(estimator, FrozenEstimator):
        estimator = estimator.estimator
    if isinstance(estimator, TreeClassifier | BoosterClassifier):
        return estimator
    if _is_converted(estimator):
        return BoosterClassifier(estimator)
    return None if _kind(estimator) is None else BoosterClassifier(estimator)


def _is_converted(model: Any) -> bool:
    """Whether a model is what ``catboost.to_classifier`` returns, which scikit-learn takes as not fitted."""
    own = any(f"{base.__module__}.{base.__qualname__}" in CATBOOST_MODELS for base in type(model).__mro__)
    return own and model.is_fitted() and not any(name.endswith("_") for name in vars(model))


def _kind(model: Any) -> str | None:
    """Full name of a booster's class; None for other objects. No library is imported."""
    for base in type(model).__mro__:
        name = f"{base.__module__}.{base.__qualname__}"
        if name in (LIGHTGBM, XGBOOST, CATBOOST):
            return name
        if base.__module__ == "catboost.core":  # its estimators inherit from CatBoost
            return None
    return None


class BoosterClassifier(ClassifierMixin, BaseEstimator):
    """The labels that a booster's own predictions stand for.

    Parameters
    ----------
    booster : lightgbm.Booster, xgboost.Booster or catboost.CatBoost
        A fitted model with a classification objective.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if the booster was trained on columns with names.
    """

    def __init__(self, booster: Any) -> None:
        self.booster = booster

    def read(self) -> BoosterReading:
        """Read the booster's trees and its rule from scores to labels.

        Raises
        ------
        TypeError
            If its objective is none of a classifier.
        sklearn.exceptions.NotFittedError
            If it has no trees.
        """
        kind = _kind(self.booster)
        reading = (_lightgbm if kind == LIGHTGBM else _xgboost if kind == XGBOOST else _catboost)(self.booster)
        self.classes_, self.n_features_in_ = reading.classes, reading.terms.n_features
        if reading.names:
            self.feature_names_in_ = np.array(reading.names, dtype=object)
        self._reading = reading
        return reading

    @property
    def library(self) -> Library:
        """The library of the booster, whose rule matches names of columns."""
        return {LIGHTGBM: "lightgbm", XGBOOST: "xgboost"}.get(_kind(self.booster), "catboost")  # type: ignore[return-value,arg-type]  # one of three

    @property
    def rounds(self) -> str:
        """Number of trees, and the round at which predictions end."""
        booster = self.booster
        if _kind(booster) == LIGHTGBM:
            return f"{booster.num_trees()}, {booster.best_iteration}"
        return str(booster.num_boosted_rounds() if _kind(booster) == XGBOOST else booster.tree_count_)

    def fit(self, X: Any, y: Any = None) -> NoReturn:
        """Refuse to fit: the booster is fitted."""
        raise TypeError("A booster cannot be fitted again here: train a new one with its own library.")

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels by the booster's own predictions.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        if not hasattr(self, "_reading"):
            self.read()
        X = source_of(X, Schema(self.n_features_in_, tuple(self._reading.names) or None, self.library)).rows
        require_columns(self, X)
        kind, decision = _kind(self.booster), self._reading.decision
        if kind not in (LIGHTGBM, XGBOOST):
            codes = np.asarray(self.booster.predict(X, prediction_type="Class")).ravel()
            return codes.astype(self.classes_.dtype)
        answers = self.numbers(X)
        if answers.ndim == 2 and answers.shape[1] > 1:
            codes = answers.argmax(axis=1)
        elif decision.kind == "argmax":  # multi:softmax answers labels
            codes = answers.ravel()
        else:
            codes = answers.ravel() > 0.5
        return codes.astype(self.classes_.dtype)

    def numbers(self, X: Any) -> NDArray[Any]:
        """The library's own answers: probabilities, or what its objective makes of scores.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
        """
        kind = _kind(self.booster)
        if self.library == "catboost":
            return np.asarray(self.booster.predict(X, prediction_type="Probability"))
        if kind == LIGHTGBM:
            return np.asarray(self.booster.predict(X))
        return np.asarray(self.booster.inplace_predict(X, missing=math.nan))

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_clone__(self) -> Self:
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        return tags


def _lightgbm(booster: Any) -> BoosterReading:
    read = read_lightgbm_text(booster.model_to_string())
    decision, tie_margin, link = lightgbm_rule(read, "This lightgbm.Booster")
    classes, steps = np.arange(decision.n_classes), read.steps(booster.pandas_categorical)
    return BoosterReading(read.terms(), decision, tie_margin, link, classes, read.names, steps=steps)


def _xgboost(booster: Any) -> BoosterReading:
    read = read_xgboost_model(booster.save_raw("ubj"))
    read.require_codes("This xgboost.Booster")
    decision, tie_margin, link = xgboost_rule(read, "xgboost.Booster")
    return BoosterReading(
        read.terms(), decision, tie_margin, link, np.arange(decision.n_classes), read.feature_names, single=True
    )


def _catboost(model: Any) -> BoosterReading:
    if not model.is_fitted():
        raise NotFittedError(
            "This CatBoost is not fitted. Call its fit first. scikit-learn's clone forgets a CatBoost's trees: clone "
            "the EarlyExitClassifier around it instead, which keeps them."
        )
    require_numeric(model)
    read = read_catboost_model(catboost_json(model))
    classes = np.asarray(model.classes_)
    classes = classes if len(classes) else np.arange(max(2, len(read.bias)))
    decision, link = catboost_rule(read, read.loss, "catboost.CatBoost", len(classes))
    return BoosterReading(read.terms(), decision, 0.0, link, classes, list(read.feature_names))
