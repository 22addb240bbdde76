"""The schema of a fitted estimator: what it and its library say of the columns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sklearn.ensemble import VotingClassifier, VotingRegressor
from sklearn.multiclass import OneVsRestClassifier

from ..sources.schema import Library, Schema
from .readers.catboost import catboost_json, read_catboost_model
from .wrappers import peel

__all__ = ["schema_of"]


def schema_of(estimator: Any, leaf: Any, n_columns: int | None, own_names: Iterable[str] = ()) -> Schema:
    """Ask a fitted estimator.

    Parameters
    ----------
    estimator : estimator
        With its pipelines, searches and thresholds.
    leaf : estimator
        The model inside, if no step of a pipeline comes before it; else the estimator.
    n_columns : int or None
    own_names : iterable of str, default=()
        Names that the model's reader has found, for a model that does not tell them.
    """
    reads = _reader(leaf)
    names = tuple(own_names) or _names_of(estimator)
    if names is None and reads is not leaf:
        names = _names_of(reads)
        if names is None and hasattr(reads, "feature_names_") and _library(reads) == "catboost":
            names = read_catboost_model(catboost_json(reads)).feature_names or None
    return Schema(n_columns, names, _library(reads))


def _reader(model: Any) -> Any:
    """The object that reads the columns of a fitted model's rows: the first member of those that only hand rows on."""
    while isinstance(model, VotingClassifier | VotingRegressor | OneVsRestClassifier) and len(
        getattr(model, "estimators_", ())
    ):
        member = peel(model.estimators_[0])
        model = model.estimators_[0] if member.steps else member.model
    return model


def _library(model: Any) -> Library:
    """Whose rule matches names of columns for a fitted model."""
    stated = getattr(model, "library", None)
    if stated in ("lightgbm", "xgboost", "catboost"):  # classifiers of wald's own around such a model
        return stated  # type: ignore[no-any-return]  # one of the three, too
    for base in type(model).__mro__:
        root = base.__module__.partition(".")[0]
        if root in ("lightgbm", "xgboost", "catboost"):
            return root  # type: ignore[return-value]  # one of the three
    return "scikit-learn"


def _names_of(model: Any) -> tuple[str, ...] | None:
    """Names that a fitted model tells; None if it has none."""
    names = getattr(model, "feature_names_in_", None)
    if names is None or list(names) == [f"Column_{number}" for number in range(len(names))]:
        return None  # what LightGBM calls columns without names
    return tuple(map(str, names))
