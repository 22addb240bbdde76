"""Fitted regressors, rankers and outlier detectors of every kind that a file can hold, small and made once."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import (
    BaggingRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestRegressor,
    VotingRegressor,
)
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, PoissonRegressor, Ridge, SGDOneClassSVM, TweedieRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PowerTransformer, StandardScaler
from sklearn.svm import SVR, NuSVR, OneClassSVM
from sklearn.tree import DecisionTreeRegressor

from wald import EarlyExitOutlierDetector, EarlyExitRanker, EarlyExitRegressor, Planner

RNG = np.random.default_rng(0)
X = np.round(RNG.normal(size=(1200, 5)), 2)
Y = np.exp(0.4 * X[:, 0] - 0.2 * X[:, 1] ** 2 + 0.1 * RNG.normal(size=len(X)))
BOTH = np.column_stack([Y, -X[:, 2]])
TEXTS = np.array([f"{a} {b}" for a, b in zip(RNG.choice(["ja", "nö"], 200), RNG.choice(["x", "yy"], 200), strict=True)])


def regressor(model: Any, rows: Any = X, y: Any = Y) -> Callable[[], Any]:
    def made() -> Any:
        fitted = model().fit(rows[:300], y[:300])
        return EarlyExitRegressor(fitted).fit(), fitted, rows

    return made


def lightgbm(kind: str, **options: Any) -> Callable[[], Any]:
    def made() -> Any:
        import lightgbm

        groups = {"group": [100] * 3} if kind == "LGBMRanker" else {}
        y = (Y > 1).astype(int) if groups else Y
        model = getattr(lightgbm, kind)(n_estimators=8, num_leaves=7, verbose=-1, n_jobs=1, **options)
        model.fit(X[:300], y[:300], **groups)
        return (EarlyExitRanker if groups else EarlyExitRegressor)(model).fit(), model, X

    return made


def xgboost(kind: str, several: bool = False, **options: Any) -> Callable[[], Any]:
    def made() -> Any:
        import xgboost

        groups = {"qid": np.arange(300) // 100} if kind == "XGBRanker" else {}
        y = (Y > 1).astype(int) if groups else BOTH if several else Y
        model = getattr(xgboost, kind)(n_estimators=8, max_depth=3, n_jobs=1, **options)
        model.fit(X[:300], y[:300], **groups)
        return (EarlyExitRanker if groups else EarlyExitRegressor)(model).fit(), model, X

    return made


def booster() -> Any:
    import lightgbm

    data = lightgbm.Dataset(X[:300], Y[:300], free_raw_data=False)
    model = lightgbm.train({"objective": "gamma", "verbose": -1, "num_threads": 1}, data, 8)
    return EarlyExitRegressor(model).fit(), model, X


def categories() -> Any:
    import lightgbm
    import pandas

    rows = pandas.DataFrame(X, columns=list("abcde"))
    rows["ort"] = pandas.Categorical(np.where(X[:, 3] > 0, "Köln", "Graz"))
    model = lightgbm.LGBMRegressor(n_estimators=8, verbose=-1, n_jobs=1).fit(rows[:300], Y[:300])
    return EarlyExitRegressor(model).fit(), model, rows


def columns(last: Any) -> Callable[[], Any]:
    def made() -> Any:
        import pandas

        rows = pandas.DataFrame(X, columns=["größe", *"bcde"])
        rows["ort"] = np.where(X[:, 3] > 0, "Köln", "Graz")
        steps = ColumnTransformer(
            [("n", StandardScaler(), ["größe", "b"]), ("c", OneHotEncoder(), ["ort"])], remainder="passthrough"
        )
        model = make_pipeline(steps, last()).fit(rows[:300], Y[:300])
        return EarlyExitRegressor(model).fit(), model, rows

    return made


def texts() -> Any:
    model = make_pipeline(TfidfVectorizer(), Ridge()).fit(TEXTS, Y[:200])
    return EarlyExitRegressor(model).fit(), model, TEXTS


def target(model: Any, **transformed: Any) -> Callable[[], Any]:
    return regressor(lambda: TransformedTargetRegressor(model(), **transformed))


def detector(model: Any, rows: Any = X, **params: Any) -> Callable[[], Any]:
    def made() -> Any:
        fitted = model().fit(rows[:200])
        given = {"risk": {"outlier": 0.2}, "planner": Planner(cost="units"), "random_state": 0} | params
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of few rows
            return EarlyExitOutlierDetector(fitted, **given).fit(rows[200:]), fitted, rows

    return made


def log1p_forest() -> Any:
    return RandomForestRegressor(6, max_depth=5, random_state=0)


def members() -> list[Any]:
    scaled = make_pipeline(StandardScaler(), SVR())
    target = TransformedTargetRegressor(Ridge(), func=np.log, inverse_func=np.exp)
    return [("forest", log1p_forest()), ("scaled", scaled), ("target", target)]


def votes_of_boosters() -> Any:
    import pandas
    from lightgbm import LGBMRegressor
    from xgboost import XGBRegressor

    rows = pandas.DataFrame(X, columns=list("abcde"))
    boosters = [("l", LGBMRegressor(n_estimators=8, verbose=-1, n_jobs=1)), ("x", XGBRegressor(n_estimators=8))]
    model = VotingRegressor(boosters).fit(rows[:300], Y[:300])
    return EarlyExitRegressor(model).fit(), model, rows


NOISY = ConstantKernel(2.0) * RBF(1.5) + WhiteKernel(0.1)
LENGTHS = RBF([1.0, 2.0, 3.0, 4.0, 5.0])
SPARSE = sparse.csr_matrix(np.where(RNG.random(X.shape) < 0.5, 0.0, X))
NEEDED = {"lightgbm": "lightgbm", "xgboost": "xgboost", "categories": "lightgbm", "booster": "lightgbm"}
ALSO = {"lightgbm vote": "xgboost"}
MAKERS: dict[str, Callable[[], Any]] = {
    "lightgbm": lightgbm("LGBMRegressor"),
    "lightgbm poisson": lightgbm("LGBMRegressor", objective="poisson"),
    "lightgbm sqrt": lightgbm("LGBMRegressor", reg_sqrt=True),
    "lightgbm ranker": lightgbm("LGBMRanker"),
    "xgboost": xgboost("XGBRegressor"),
    "xgboost gamma": xgboost("XGBRegressor", objective="reg:gamma"),
    "xgboost several": xgboost("XGBRegressor", several=True),
    "xgboost quantiles": xgboost("XGBRegressor", objective="reg:quantileerror", quantile_alpha=[0.1, 0.5, 0.9]),
    "xgboost ranker": xgboost("XGBRanker"),
    "booster": booster,
    "categories": categories,
    "hist": regressor(lambda: HistGradientBoostingRegressor(max_iter=8)),
    "hist poisson": regressor(lambda: HistGradientBoostingRegressor(max_iter=8, loss="poisson")),
    "boosting": regressor(lambda: GradientBoostingRegressor(n_estimators=8)),
    "forest": regressor(log1p_forest),
    "forest of several": regressor(log1p_forest, y=BOTH),
    "tree": regressor(lambda: DecisionTreeRegressor(max_depth=4)),
    "bagging": regressor(lambda: BaggingRegressor(n_estimators=4, random_state=0)),
    "linear": regressor(LinearRegression),
    "ridge of several": regressor(Ridge, y=BOTH),
    "poisson": regressor(PoissonRegressor),
    "tweedie": regressor(lambda: TweedieRegressor(power=1.5)),
    "svr": regressor(SVR),
    "nu svr": regressor(NuSVR),
    "sparse svr": regressor(SVR, SPARSE),
    "kernel ridge": regressor(lambda: KernelRidge(kernel="rbf")),
    "linear kernel ridge": regressor(KernelRidge, y=BOTH),
    "scaled": regressor(lambda: make_pipeline(StandardScaler(), SVR())),
    "gaussian process": regressor(lambda: GaussianProcessRegressor(NOISY, optimizer=None, normalize_y=True)),
    "lengths": regressor(lambda: GaussianProcessRegressor(2.0 * LENGTHS, optimizer=None, alpha=0.1), y=BOTH),
    "vote": regressor(lambda: VotingRegressor(members(), weights=[1, 2, 3])),
    "scaled vote": regressor(lambda: make_pipeline(StandardScaler(), VotingRegressor([*members(), ("no", "drop")]))),
    "lightgbm vote": votes_of_boosters,
    "bagging of columns": regressor(lambda: BaggingRegressor(SVR(), 3, max_features=0.5, random_state=0)),
    "bagging of votes": regressor(lambda: BaggingRegressor(VotingRegressor(members()), 2, random_state=0)),
    "columns": columns(Ridge),
    "columns of trees": columns(log1p_forest),
    "texts": texts,
    "target": target(Ridge, func=np.log, inverse_func=np.exp),
    "target of trees": target(log1p_forest, func=np.log1p, inverse_func=np.expm1),
    "scaled target": target(lambda: make_pipeline(StandardScaler(), SVR()), transformer=StandardScaler()),
    "power target": target(log1p_forest, transformer=PowerTransformer()),
    "target of columns": target(
        lambda: make_pipeline(StandardScaler(), log1p_forest()), func=np.log, inverse_func=np.exp
    ),
    "isolation forest": detector(lambda: IsolationForest(n_estimators=20, contamination=0.1, random_state=0)),
    "isolation forest in full": detector(lambda: IsolationForest(n_estimators=20, random_state=0), risk=0),
    "scaled isolation forest": detector(
        lambda: make_pipeline(StandardScaler(), IsolationForest(n_estimators=20, contamination=0.1, random_state=0))
    ),
    "one class": detector(lambda: OneClassSVM(nu=0.2)),
    "sparse one class": detector(lambda: OneClassSVM(nu=0.2), SPARSE),
    "linear one class": detector(lambda: SGDOneClassSVM(random_state=0), risk=0.2),
}


@cache
def made(name: str) -> tuple[Any, Any, Any]:
    """An early-exit estimator, the model that it wraps, and rows."""
    import pytest

    for module in ("lightgbm", "xgboost", "pandas"):
        wanted = module in (NEEDED.get(name.split()[0]), ALSO.get(name)) or (
            module == "pandas" and name in ("categories", "columns", "lightgbm vote")
        )
        if wanted and find_spec(module) is None:
            pytest.skip(f"needs {module}")
    fast, model, rows = MAKERS[name]()
    return fast, model, rows
