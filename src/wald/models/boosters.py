"""Fitted boosters without scikit-learn's interface, as classifiers of the labels 0 to K - 1."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator

from ..sources import Schema
from ..sources.given import table_of
from ..sources.schema import Library
from .asked import AskedFunction, is_asked
from .class_names import CATBOOST_MODELS
from .readers.catboost import catboost_json, read_catboost_model, require_numeric
from .readers.catboost_values import RANKER, REGRESSOR, catboost_model_values, catboost_reading
from .readers.library_values import lightgbm_reading, xgboost_reading
from .readers.lightgbm import last_round, read_lightgbm_text
from .readers.xgboost import read_xgboost_model
from .reading import Decompose, Family, Reading, full_name
from .tree_classifier import FittedForGood, TreeClassifier, TreeModel, read_classifier, require_columns
from .tree_detector import TreeDetector
from .tree_regressor import TreeRegressor

LIGHTGBM, XGBOOST, CATBOOST = "lightgbm.basic.Booster", "xgboost.core.Booster", "catboost.core.CatBoost"
CATBOOST_ESTIMATORS = (*CATBOOST_MODELS, REGRESSOR, RANKER)


def fitted_for_good(estimator: Any) -> Any:
    """Return a classifier for a model that scikit-learn can neither clone nor fit.

    Parameters
    ----------
    estimator : object

    Returns
    -------
    estimator or None
        A `BoosterClassifier` around a booster; a `TreeClassifier` or `TreeRegressor` itself; an `AskedFunction` around
        a function; None for everything else. They may be frozen.
    """
    while isinstance(estimator, FrozenEstimator):
        estimator = estimator.estimator
    if isinstance(estimator, TreeModel | BoosterClassifier | AskedFunction):
        return estimator
    if _is_converted(estimator) or _kind(estimator) is not None:
        return BoosterClassifier(estimator)
    return AskedFunction(estimator) if is_asked(estimator) else None


def unfrozen(estimator: Any) -> Any:
    """The model that an estimator stands for: a booster as a classifier, and what a `FrozenEstimator` holds."""
    ready = fitted_for_good(estimator)
    if ready is not None:
        return ready
    return estimator.estimator if isinstance(estimator, FrozenEstimator) else estimator


def _is_converted(model: Any) -> bool:
    """Whether a model is what ``catboost.to_classifier`` and its like return, not fitted for scikit-learn."""
    own = any(full_name(base) in CATBOOST_ESTIMATORS for base in type(model).__mro__)
    return own and model.is_fitted() and not any(name.endswith("_") for name in vars(model))


def _kind(model: Any) -> str | None:
    """Full name of a booster's class; None for other objects. No library is imported."""
    for base in type(model).__mro__:
        if full_name(base) in READERS:
            return full_name(base)
        if base.__module__ == "catboost.core":  # its estimators inherit from CatBoost
            return None
    return None


class BoosterClassifier(ClassifierMixin, FittedForGood):
    """The labels that a booster's own predictions stand for, or the values of one that is a regressor or ranker.

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

    refusal = "A booster cannot be fitted again here: train a new one with its own library."

    def __init__(self, booster: Any) -> None:
        self.booster = booster

    def read(self) -> Reading:
        """Read the booster's trees and its rule from scores to labels, as they are now.

        Raises
        ------
        TypeError
            If its objective is none of a classifier.
        sklearn.exceptions.NotFittedError
            If it has no trees.
        """
        self.__dict__.pop("_reading", None)
        return self._reading

    @cached_property
    def _reading(self) -> Reading:
        return READERS[_kind(self.booster) or CATBOOST](self.booster)

    @property
    def classes_(self) -> NDArray[Any]:
        """Labels."""
        reading = self._reading
        return np.arange(reading.decision.n_answers) if reading.classes is None else reading.classes

    @property
    def n_features_in_(self) -> int:
        """Number of columns."""
        return self._reading.terms.n_features

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the columns, if the booster knows them."""
        if not self._reading.names:
            raise AttributeError("This booster knows no names of its columns.")
        return np.array(self._reading.names, dtype=object)

    @property
    def library(self) -> Library:
        """The library of the booster, whose rule matches names of columns."""
        return {LIGHTGBM: "lightgbm", XGBOOST: "xgboost"}.get(_kind(self.booster), "catboost")  # type: ignore[return-value,arg-type]  # one of three

    @property
    def rounds(self) -> str:
        """Number of trees, and the round at which predictions end; of CatBoost, also its scale and bias."""
        booster = self.booster
        if self.library == "lightgbm":
            return f"{booster.num_trees()}, {last_round(booster)}"
        if self.library == "xgboost":
            return str(booster.num_boosted_rounds())
        return f"{booster.tree_count_}, {booster.get_scale_and_bias()}"

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels by the booster's own predictions."""
        X = table_of(X, Schema(self.n_features_in_, tuple(self._reading.names) or None, self.library))
        require_columns(self, X)
        valued = self._reading.decision.valued
        if self.library == "catboost" and not valued:
            codes = np.asarray(self.booster.predict(X, prediction_type="Class")).ravel()
            return codes.astype(self.classes_.dtype)
        answers = self.numbers(X)
        if valued:
            return answers
        if answers.ndim == 2 and answers.shape[1] > 1:
            codes = answers.argmax(axis=1)
        elif self._reading.decision.races:  # multi:softmax answers labels
            codes = answers.ravel()
        else:
            codes = answers.ravel() > 0.5
        return codes.astype(self.classes_.dtype)

    def numbers(self, X: Any) -> NDArray[Any]:
        """The library's own answers: probabilities, or what its objective makes of scores.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
        """
        if self.library == "catboost":
            valued = self._reading.decision.valued
            return np.asarray(self.booster.predict(X, **{} if valued else {"prediction_type": "Probability"}))
        if self.library == "lightgbm":
            return np.asarray(self.booster.predict(X))
        return np.asarray(self.booster.inplace_predict(X, missing=math.nan))


def _lightgbm(booster: Any) -> Reading:
    text = read_lightgbm_text(booster.model_to_string())
    return lightgbm_reading(text, "This lightgbm.Booster", booster.pandas_categorical or ())


def _xgboost(booster: Any) -> Reading:
    read = read_xgboost_model(booster.save_raw("ubj"))
    read.require_codes("This xgboost.Booster")
    return xgboost_reading(read, "xgboost.Booster")


def _catboost(model: Any) -> Reading:
    if not model.is_fitted():
        raise NotFittedError(
            "This CatBoost is not fitted. Call its fit first. scikit-learn's clone forgets a CatBoost's trees: clone "
            "the EarlyExitClassifier around it instead, which keeps them."
        )
    if any(full_name(base) in (REGRESSOR, RANKER) for base in type(model).__mro__):
        return catboost_model_values(model)
    require_numeric(model)
    read, classes = read_catboost_model(catboost_json(model)), np.asarray(model.classes_)
    classes = classes if len(classes) else np.arange(max(2, len(read.bias)))
    reading = catboost_reading(read, "catboost.CatBoost", len(classes), raw=True)
    return reading if reading.decision.valued else replace(reading, classes=classes)


#: The readers of boosters, by the full names of their classes; estimators of CatBoost are read as its boosters.
READERS = {LIGHTGBM: _lightgbm, XGBOOST: _xgboost, CATBOOST: _catboost}


def _read_booster(model: BoosterClassifier, decompose: Decompose) -> Reading:
    return replace(model.read(), names=())


def _read_values(model: TreeRegressor | TreeDetector, decompose: Decompose) -> Reading:
    return replace(model.reading, names=())


FAMILIES = (
    Family((BoosterClassifier,), ("predict",), ("booster", "rounds"), _read_booster, thresholds=False),
    Family((TreeClassifier,), ("predict",), ("reading",), read_classifier, thresholds=False),
    Family((TreeRegressor, TreeDetector), ("predict",), ("reading",), _read_values, thresholds=False),
)
