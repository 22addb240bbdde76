"""Regressors and rankers of LightGBM and XGBoost: the trees of their classifiers, and other functions of the sum."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..links import ValueLink
from ..reading import Decompose, Family, Kind, Reading, of_values
from .lightgbm import PREDICTION_PARAMETERS, LightGBMText, prediction_parameters, read_lightgbm_text, watch_of_booster
from .xgboost import EXPONENTIAL, XGBoostModel, read_xgboost_model, watch_of_rounds

#: Objectives of LightGBM whose values are the scores, or with the option sqrt their signed squares.
SQUARABLE = ("regression", "regression_l1", "huber", "fair", "quantile", "mape")
IDENTITY = ("", "custom", "lambdarank", "rank_xendcg", *SQUARABLE)
#: Objectives of regressors alone: a booster with another one may be a classifier.
VALUED = (*SQUARABLE, "poisson", "gamma", "tweedie", "cross_entropy_lambda")
#: Objectives of XGBoost whose values are the margins.
MARGINS = (
    *("reg:squarederror", "reg:linear", "reg:squaredlogerror", "reg:pseudohubererror", "reg:absoluteerror"),
    *("reg:quantileerror", "reg:expectileerror", "rank:pairwise", "rank:ndcg", "rank:map"),
)


def lightgbm_reading(text: LightGBMText, what: str, categories: Any = None) -> Reading:
    """Read a LightGBM model as what its objective makes of it; see `lightgbm_values`."""
    objective = (text.objective or [""])[0]
    if objective in ("lambdarank", "rank_xendcg"):
        return lightgbm_values(text, what, "ranker", categories)
    if objective in VALUED:
        return lightgbm_values(text, what, "regressor", categories)
    return text.reading(what, categories=categories)


def xgboost_reading(read: XGBoostModel, what: str) -> Reading:
    """Read an XGBoost model as what its objective makes of it; see `xgboost_values`."""
    if read.objective in (*MARGINS, *EXPONENTIAL, "reg:logistic"):
        return xgboost_values(read, what, "ranker" if read.objective.startswith("rank:") else "regressor")
    return read.reading(what)


def lightgbm_values(text: LightGBMText, what: str, kind: Kind, categories: Any = None) -> Reading:
    """Read the values of a LightGBM model with an objective of regression or ranking.

    Parameters
    ----------
    text : LightGBMText
    what : str
        What holds the model, in messages.
    kind : {"regressor", "ranker"}
    categories : list of list or None, default=None
        As for `LightGBMText.reading`.

    Raises
    ------
    TypeError
        If the objective has no known function from scores to values.
    """
    name, *options = text.objective or [""]
    if name in SQUARABLE and "sqrt" in options:
        link = ValueLink("square")
    elif name in IDENTITY:
        link = ValueLink("identity")
    elif name in ("poisson", "gamma", "tweedie"):
        link = ValueLink("exp")
    elif name == "cross_entropy":
        link = ValueLink("sigmoid")
    elif name == "cross_entropy_lambda":
        link = ValueLink("softplus")
    else:
        raise TypeError(
            f"{what} with objective {name!r} is not supported: wald does not know how its scores become values."
        )
    steps = text.steps(text.pandas_categories if categories is None else categories)
    return of_values(text.terms(), link, kind, row_by_row="always", steps=steps, names=tuple(text.names))


def xgboost_values(read: XGBoostModel, what: str, kind: Kind, missing: float = math.nan) -> Reading:
    """Read the values of an XGBoost model with an objective of regression or ranking.

    Parameters
    ----------
    read : XGBoostModel
    what : str
    kind : {"regressor", "ranker"}
    missing : float, default=NaN

    Raises
    ------
    TypeError
        As for `lightgbm_values`.
    """
    if read.objective in MARGINS:
        link = ValueLink("identity", single=True)
    elif read.objective in EXPONENTIAL:
        link = ValueLink("exp", single=True)
    elif read.objective == "reg:logistic":
        link = ValueLink("sigmoid", single=True)
    else:
        raise TypeError(
            f"{what} with objective {read.objective!r} is not supported: wald does not know how its margins become "
            "values."
        )
    return of_values(
        read.terms(missing),
        link,
        kind,
        dtype=np.dtype(np.float32),
        row_by_row="always",
        steps=read.category_steps(),
        names=tuple(read.feature_names),
    )


def read_lightgbm(model: Any, decompose: Decompose) -> Reading:
    """Read a fitted ``LGBMRegressor`` or ``LGBMRanker``; see `lightgbm_values`."""
    check_is_fitted(model)
    name, booster = type(model).__name__, model.booster_
    if extra := sorted(prediction_parameters(model)):
        raise TypeError(
            f"This {name} was made with {', '.join(extra)}, which changes what its predict answers. Set it to the "
            "default with set_params."
        )
    kind: Kind = "ranker" if any(base.__name__ == "LGBMRanker" for base in type(model).__mro__) else "regressor"
    text = read_lightgbm_text(booster.model_to_string())
    read = lightgbm_values(text, name, kind, booster.pandas_categorical or ())
    return replace(read, names=(), watches=(watch_of_booster(booster),))


def read_xgboost(model: Any, decompose: Decompose) -> Reading:
    """Read a fitted ``XGBRegressor``, ``XGBRFRegressor`` or ``XGBRanker``; see `xgboost_values`."""
    check_is_fitted(model)
    name, booster = type(model).__name__, model.get_booster()
    if model.booster == "gblinear":
        raise TypeError(f"{name} with booster='gblinear' is not supported: use Ridge, or booster='gbtree'.")
    missing = float(model.missing) if model.missing is not None else math.nan
    if math.isinf(missing):
        raise TypeError(f"{name} with an infinite 'missing' is not supported. Use NaN or a finite number.")
    kind: Kind = "ranker" if any(base.__name__ == "XGBRanker" for base in type(model).__mro__) else "regressor"
    read = read_xgboost_model(booster.save_raw("ubj"), getattr(booster, "best_iteration", None))
    return replace(xgboost_values(read, name, kind, missing), names=(), watches=(watch_of_rounds(booster),))


FAMILIES = (
    Family(
        (),
        ("predict",),
        ("_Booster", *PREDICTION_PARAMETERS),
        read_lightgbm,
        thresholds=False,
        named=("lightgbm.sklearn.LGBMRegressor", "lightgbm.sklearn.LGBMRanker"),
    ),
    Family(
        (),
        ("predict",),
        ("_Booster", "missing", "objective"),
        read_xgboost,
        thresholds=False,
        named=("xgboost.sklearn.XGBRegressor", "xgboost.sklearn.XGBRFRegressor", "xgboost.sklearn.XGBRanker"),
    ),
)
