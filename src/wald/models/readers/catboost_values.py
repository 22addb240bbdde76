"""CatBoost's regressors and rankers: the trees of its classifiers, and other functions of the sum."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sklearn.exceptions import NotFittedError

from ..links import ValueLink
from ..reading import Decompose, Family, Kind, Reading, full_name, of_values
from .catboost import LOSSES, CatBoostModel, catboost_json, read_catboost_model, require_numeric, watch_of_catboost

REGRESSOR, RANKER = "catboost.core.CatBoostRegressor", "catboost.core.CatBoostRanker"

#: Losses whose models answer the raw values.
REGRESSION = (
    *("RMSE", "MAE", "Quantile", "LogLinQuantile", "MAPE", "Lq", "Huber", "Expectile", "LogCosh", "RMSPE", "Cox"),
    *("MultiRMSE", "MultiRMSEWithMissingValues", "MultiQuantile", "SurvivalAft"),
)
RANKING = (
    *("YetiRank", "YetiRankPairwise", "PairLogit", "PairLogitPairwise", "QueryRMSE", "QuerySoftMax"),
    *("QueryCrossEntropy", "StochasticRank", "LambdaMart", "GroupQuantile"),
)
#: What ``CatBoostRegressor.predict`` makes of raw values, by the type of prediction that it asks for.
LINKS = {
    "RawFormulaVal": ValueLink("identity"),
    "Exponent": ValueLink("fast_exp"),
    "RMSEWithUncertainty": ValueLink("mean_and_variance"),
}


def catboost_reading(read: CatBoostModel, what: str, n_classes: int | None = None, raw: bool = False) -> Reading:
    """Read a CatBoost model as what its loss makes of it: a classifier, a regressor or a ranker.

    Parameters
    ----------
    read : CatBoostModel
    what : str
        What holds the model, in messages.
    n_classes : int or None, default=None
        As for `CatBoostModel.reading`.
    raw : bool, default=False
        Whether regressors answer raw values, as a plain ``CatBoost`` does, whatever their loss.
    """
    loss = read.loss or ""
    if loss in RANKING:
        return catboost_values(read, "RawFormulaVal", "ranker")
    asked = _asked(loss)
    if loss in REGRESSION or asked != "RawFormulaVal":
        return catboost_values(read, "RawFormulaVal" if raw else asked, "regressor")
    return read.reading(what, n_classes)


def _asked(loss: str) -> str:
    """The type of prediction that ``CatBoostRegressor.predict`` asks for under a loss."""
    if loss in ("Poisson", "Tweedie"):
        return "Exponent"
    return loss if loss == "RMSEWithUncertainty" else "RawFormulaVal"


def catboost_values(read: CatBoostModel, asked: str, kind: Kind) -> Reading:
    """Read the values of a CatBoost model.

    Raw values have the bits of the library's own: leaves are added in the order of the trees, times the scale, plus the
    bias. So have their exponentials, by the function that CatBoost brings.

    Parameters
    ----------
    read : CatBoostModel
    asked : {"RawFormulaVal", "Exponent", "RMSEWithUncertainty"}
        Type of prediction.
    kind : {"regressor", "ranker"}

    Raises
    ------
    TypeError
        If the type of prediction is unknown.
    """
    link = LINKS.get(asked)
    if link is None:
        raise TypeError(
            f"CatBoost's predictions of type {asked!r} are not supported: wald does not know how raw "
            "values become answers."
        )
    return of_values(read.terms(), link, kind, row_by_row="always", names=tuple(read.feature_names))


def read_catboost(model: Any, decompose: Decompose) -> Reading:
    """Read a fitted ``CatBoostRegressor`` or ``CatBoostRanker``; see `catboost_values`.

    Raises
    ------
    TypeError
        If it has categorical, text or embedding features.
    """
    return replace(catboost_model_values(model), watches=(watch_of_catboost(model),))


def catboost_model_values(model: Any) -> Reading:
    """Read what `predict` of a fitted ``CatBoostRegressor`` or ``CatBoostRanker`` gives; see `read_catboost`."""
    name = type(model).__name__
    if not model.is_fitted():
        raise NotFittedError(f"This {name} is not fitted. Call its fit first.")
    require_numeric(model)
    read = read_catboost_model(catboost_json(model))
    if is_ranker(model):
        return catboost_values(read, "RawFormulaVal", "ranker")
    if read.loss in LOSSES:
        raise TypeError(
            f"This {name} holds a classifier, with loss_function={read.loss!r}, and answers its raw scores. Wrap a "
            "CatBoostClassifier, for instance catboost.to_classifier(model)."
        )
    return catboost_values(read, model._get_default_prediction_type(), "regressor")  # which hangs on parameters alone


def is_ranker(model: Any) -> bool:
    """Whether an object is a ``CatBoostRanker``; no library is imported."""
    return any(full_name(base) == RANKER for base in type(model).__mro__)


FAMILY = Family((), ("predict",), ("_object",), read_catboost, thresholds=False, named=(REGRESSOR, RANKER))
