"""Random regressors and rankers of each library, and the containers in which they are given rows."""

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import (
    BaggingRegressor,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeRegressor

EXPONENTIAL = {"poisson", "gamma", "tweedie", "count:poisson", "reg:gamma", "reg:tweedie", "Poisson"}
POSITIVE = EXPONENTIAL | {"reg:squaredlogerror", "survival:cox", "Tweedie:variance_power=1.3", "survival:aft"}
SHARES = {"cross_entropy", "cross_entropy_lambda", "reg:logistic"}
LIGHTGBM = (
    *("regression", "regression_l1", "huber", "fair", "poisson", "gamma", "tweedie", "quantile", "mape"),
    *("cross_entropy", "cross_entropy_lambda", "lambdarank"),
)
XGBOOST = (
    *("reg:squarederror", "reg:squaredlogerror", "reg:logistic", "reg:pseudohubererror", "reg:absoluteerror"),
    *("count:poisson", "reg:gamma", "reg:tweedie", "survival:cox", "reg:quantileerror", "rank:ndcg", "several"),
)
CATBOOST = (
    *("RMSE", "MAE", "Quantile:alpha=0.2", "Poisson", "Tweedie:variance_power=1.3", "MultiRMSE", "Huber:delta=0.5"),
    *("MultiQuantile:alpha=0.2,0.8", "RMSEWithUncertainty", "MAPE", "YetiRank", "QueryRMSE"),
)
HIST = ("squared_error", "absolute_error", "poisson", "gamma", "quantile")
FORESTS = (
    RandomForestRegressor,
    ExtraTreesRegressor,
    BaggingRegressor,
    DecisionTreeRegressor,
    GradientBoostingRegressor,
)
LIBRARIES = {"lightgbm": LIGHTGBM, "xgboost": XGBOOST, "catboost": CATBOOST, "hist": HIST, "forests": FORESTS}
GROUPS = 5


class Case:
    """A fitted model, rows for it, and whether it was trained on a data frame with a column of categories."""

    def __init__(self, library: str, seed: int) -> None:
        self.rng = rng = np.random.default_rng([seed, list(LIBRARIES).index(library)])
        self.library = library
        self.objective: Any = LIBRARIES[library][seed % len(LIBRARIES[library])]
        self.n = n = GROUPS * int(rng.integers(20, 60))
        X = np.column_stack(
            [
                np.round(rng.normal(size=n), int(rng.integers(0, 3))),
                rng.integers(-3, 4, n),
                rng.normal(size=n) * 10.0 ** rng.integers(-3, 4),
                rng.integers(0, 2, n),
            ]
        )
        if library not in ("forests",) and rng.random() < 0.6:
            X[rng.random(X.shape) < 0.1] = np.nan
        self.X = X.astype(rng.choice(["float64", "float32"]))
        self.framed = library != "forests" and rng.random() < 0.5
        self.categories = self.framed and library != "catboost" and rng.random() < 0.5
        self.target = self._target()
        self.model = getattr(self, f"_{library}")()
        self.ranks = self.objective in ("lambdarank", "rank:ndcg", "YetiRank", "QueryRMSE")

    def _target(self) -> Any:
        z = np.nan_to_num(self.X[:, 0]) + 0.2 * np.nan_to_num(self.X[:, 1]) + 0.1 * self.rng.normal(size=self.n)
        if self.objective in SHARES:
            return 1 / (1 + np.exp(-z))
        if self.objective in ("lambdarank", "rank:ndcg", "YetiRank", "QueryRMSE"):
            return np.clip(np.round(z + 1), 0, 3)
        if self.objective in ("several", "MultiRMSE"):
            return np.column_stack([z, -z, z**2])
        return np.exp(z) if self.objective in POSITIVE else z

    def given(self, X: Any = None, n_kinds: int = 3) -> Any:
        """Rows as the model was trained on them."""
        X = self.X if X is None else X
        if not self.framed:
            return X
        pd = pytest.importorskip("pandas")
        frame = pd.DataFrame(X, columns=["one", "two", "three", "four"])
        if self.categories:
            kinds = np.array(["ant", "bee", "cow", "dog"])[np.arange(len(X)) % n_kinds]
            frame["kind"] = pd.Categorical(kinds, categories=["ant", "bee", "cow", "dog"][:n_kinds])
        return frame

    def containers(self) -> dict[str, Any]:
        """The rows in several containers; the model itself may refuse some of them."""
        rows = self.given()
        some: dict[str, Any] = {"as trained": rows, "one row": rows[:1], "few": rows[:7]}
        far = self.X * np.asarray(self.rng.choice([1e-3, 3.0, 1e3]), dtype=self.X.dtype)
        some["other rows"] = self.given(far)
        if self.framed:
            if self.library != "lightgbm":  # which reads them by position, and wald refuses that
                some["columns in another order"] = rows[rows.columns[::-1]]
            if not self.categories:
                some["float32"] = rows.astype(np.float32)
                polars = pytest.importorskip("polars")
                some["polars"] = polars.DataFrame({name: rows[name].to_numpy() for name in rows})
        else:
            whole = np.nan_to_num(rows).astype(np.int64)
            some |= {"float32": rows.astype(np.float32), "Fortran": np.asfortranarray(rows), "integers": whole}
        return some

    def _lightgbm(self) -> Any:
        lightgbm, rng = pytest.importorskip("lightgbm"), self.rng
        options = {
            "n_estimators": int(rng.integers(1, 12)),
            "num_leaves": int(rng.integers(2, 40)),
            "min_child_samples": int(rng.integers(1, 20)),
            "learning_rate": float(rng.choice([0.05, 0.3, 1.0])),
            "zero_as_missing": bool(rng.random() < 0.2),
            "use_missing": bool(rng.random() < 0.8),
            "boosting_type": "dart" if rng.random() < 0.2 else "gbdt",
            "reg_sqrt": bool(rng.random() < 0.2),
            "min_data_per_group": 1,
            "verbose": -1,
            "n_jobs": 1,
        }
        if self.objective == "lambdarank":
            options.pop("reg_sqrt")
            ranker = lightgbm.LGBMRanker(**options)
            return ranker.fit(self.given(), self.target, group=[self.n // GROUPS] * GROUPS)
        return lightgbm.LGBMRegressor(objective=self.objective, **options).fit(self.given(), self.target)

    def _xgboost(self) -> Any:
        xgboost, rng = pytest.importorskip("xgboost"), self.rng
        options: dict[str, Any] = {
            "n_estimators": int(rng.integers(1, 12)),
            "max_depth": int(rng.integers(1, 7)),
            "learning_rate": float(rng.choice([0.05, 0.3, 1.0])),
            "missing": np.nan if self.framed else float(rng.choice([np.nan, 0.0])),
            "n_jobs": 1,
            "enable_categorical": True,
        }
        if self.objective == "several":
            joint = not self.categories and rng.random() < 0.5  # XGBoost has no such trees of categories
            strategy = "multi_output_tree" if joint else "one_output_per_tree"
            return xgboost.XGBRegressor(multi_strategy=strategy, **options).fit(self.given(), self.target)
        if rng.random() < 0.2 and self.objective != "rank:ndcg":
            options["booster"] = "dart"
        if self.objective == "reg:quantileerror":
            options["quantile_alpha"] = [0.1, 0.5, 0.9] if rng.random() < 0.5 else 0.3
        if self.objective == "rank:ndcg":
            groups = np.repeat(range(GROUPS), self.n // GROUPS)
            return xgboost.XGBRanker(objective=self.objective, **options).fit(self.given(), self.target, qid=groups)
        return xgboost.XGBRegressor(objective=self.objective, **options).fit(self.given(), self.target)

    def _catboost(self) -> Any:
        catboost, rng = pytest.importorskip("catboost"), self.rng
        options: dict[str, Any] = {
            "iterations": int(rng.integers(1, 12)),
            "depth": int(rng.integers(1, 6)),
            "learning_rate": float(rng.choice([0.05, 0.3, 1.0])),
            "nan_mode": str(rng.choice(["Min", "Max"])),
            "loss_function": self.objective,
            "verbose": 0,
            "allow_writing_files": False,
            "thread_count": 1,
        }
        if self.objective in ("YetiRank", "QueryRMSE"):
            groups = np.repeat(range(GROUPS), self.n // GROUPS)
            return catboost.CatBoostRanker(**options).fit(self.given(), self.target, group_id=groups)
        if self.objective in ("RMSE", "MAE") and rng.random() < 0.5:
            options["grow_policy"] = str(rng.choice(["Depthwise", "Lossguide"]))
        return catboost.CatBoostRegressor(**options).fit(self.given(), self.target)

    def _hist(self) -> Any:
        rng = self.rng
        options = {
            "max_iter": int(rng.integers(1, 12)),
            "max_leaf_nodes": int(rng.integers(2, 20)),
            "min_samples_leaf": int(rng.integers(1, 20)),
            "learning_rate": float(rng.choice([0.05, 0.3, 1.0])),
            "early_stopping": bool(rng.random() < 0.2),
            "loss": self.objective,
            "quantile": 0.3 if self.objective == "quantile" else None,
        }
        return HistGradientBoostingRegressor(**options).fit(self.given(), self.target)

    def _forests(self) -> Any:
        rng, kind = self.rng, self.objective
        options: dict[str, Any] = {"random_state": int(rng.integers(99))}
        if kind is not DecisionTreeRegressor:
            options["n_estimators"] = int(rng.integers(1, 10))
        if kind is not BaggingRegressor:
            options["max_depth"] = int(rng.integers(1, 9))
        if kind is not GradientBoostingRegressor and rng.random() < 0.4:
            self.target = np.column_stack([self.target, -self.target])
        return kind(max_features=int(rng.integers(1, 5)), **options).fit(self.X, self.target)
