"""Values and outliers: regressors of trees and of kernels, isolation forests, and machines of one class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingRegressor, IsolationForest, RandomForestRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR, OneClassSVM

from wald import EarlyExitOutlierDetector, EarlyExitRegressor
from wald.datasets import fetch_mnist

from .peers import ours
from .pipelines import NUMBERS, TEXTS, joined_flights
from .report import Figure
from .settings import Run
from .timing import Task, each_call, measure

TITLE = "Delays of flights (26 columns) by regressors, odd flights by 200 isolation trees, one MNIST digit; 1 thread"
TRAIN, TEST, KERNEL_TEST, VECTORS, ONE_ROWS = 100_000, 50_000, 10_000, 3_000, 2_000
DIGIT, DIGIT_TRAIN = 3, 4_000
Array = NDArray[np.float64]


def run(how: Run) -> list[Figure]:
    """Measure this setting."""
    X, y = _flights(how)
    test, few = slice(TRAIN, TRAIN + how.rows(TEST, 5_000)), slice(TRAIN, TRAIN + how.rows(KERNEL_TEST, 2_000))
    figures = []
    for name, model in _trees(X, y, how):
        figures += _exact(name, EarlyExitRegressor(model).fit(), model, X[test], how, same_bits=True)
    Z = StandardScaler().fit(X[:TRAIN]).transform(X)
    for name, model in (("SVR", SVR()), ("KernelRidge", KernelRidge(kernel="rbf", alpha=1.0))):
        model.fit(Z[:VECTORS], y[:VECTORS])
        figures += _exact(name, EarlyExitRegressor(model).fit(), model, Z[few], how, same_bits=False)
    figures += _odd_flights(X, test, how)
    return [*figures, *_one_digit(how)]


def _flights(how: Run) -> tuple[Array, Array]:
    """Columns known before departure, texts as codes and missing values as medians, and the delay."""
    flights = joined_flights()
    columns = [flights[c].astype("category").cat.codes.to_numpy(float) for c in TEXTS]
    X = np.column_stack([*columns, *(flights[c].to_numpy(float) for c in NUMBERS)])
    X = np.where(np.isnan(X), np.nanmedian(X, axis=0), X)
    y = flights["arr_delay"].to_numpy(float)
    return X, (y - y[:TRAIN].mean()) / y[:TRAIN].std()


def _trees(X: Array, y: Array, how: Run) -> list[tuple[str, Any]]:
    from lightgbm import LGBMRegressor
    from xgboost import XGBRegressor

    n = how.rows(500, 50)
    models = [
        ("LightGBM", LGBMRegressor(n_estimators=n, n_jobs=2, verbose=-1)),
        ("XGBoost", XGBRegressor(n_estimators=n, max_leaves=31, max_depth=0, grow_policy="lossguide", n_jobs=2)),
        ("HistGradientBoosting", HistGradientBoostingRegressor(max_iter=n, early_stopping=False)),
        ("RandomForest", RandomForestRegressor(n, max_leaf_nodes=256, max_samples=20_000, n_jobs=2, random_state=0)),
    ]
    for _, model in models:
        model.fit(X[:TRAIN], y[:TRAIN])
        if hasattr(model, "n_jobs"):
            model.n_jobs = 1
    return models


def _exact(name: str, fast: Any, model: Any, X: Array, how: Run, same_bits: bool) -> list[Figure]:
    """The speed of exact values beside the library's own, for many rows and for one."""
    own, found = _own(name, model, X), fast.predict(X)
    off = float(np.abs(own - found).max())
    if off > (0.0 if same_bits else 1e-9 * np.abs(own).max()):
        raise RuntimeError(f"{name}: values differ from the model's by {off:.3g}")
    t = measure({"ours": ours(fast, X, 1), "peer": Task(lambda: _own(name, model, X), 1)}, how.repeats)
    each = {who: 1e9 * t[who].median / len(X) for who in t}
    rows = X[:ONE_ROWS]
    one = np.median(each_call(lambda i: fast.predict_one(rows[i]), len(rows), how.repeats))
    slow = rows[:50]
    peer = np.median(each_call(lambda i: _own(name, model, slow[i : i + 1]), len(slow), how.repeats))
    note = f"{each['ours']:.4g} ns a row; peer {each['peer']:.4g} ns; {len(X)} rows; largest difference {off:.1g}"
    return [
        Figure(f"{name}: speed, exact", each["peer"] / each["ours"], "x", PEERS.get(name, "predict"), note),
        Figure(f"{name}: one row", 1e6 * float(one), "us", note=f"peer {1e6 * float(peer):.4g} us"),
    ]


PEERS = {"LightGBM": "Booster.predict", "XGBoost": "Booster.inplace_predict"}


def _own(name: str, model: Any, X: Array) -> Any:
    if name == "LightGBM":
        return model.booster_.predict(X, num_threads=1)
    if name == "XGBoost":
        booster = model.get_booster()
        booster.set_param({"nthread": 1})
        return booster.inplace_predict(X)
    return model.predict(X)


def _odd_flights(X: Array, test: slice, how: Run) -> list[Figure]:
    forest = IsolationForest(n_estimators=200, max_samples=256, contamination=0.02, random_state=0).fit(X[:TRAIN])
    fit, rows = X[test.stop : test.stop + how.rows(100_000, 5_000)], X[test]
    full = forest.predict(rows)
    figures = []
    for name, risk in (("exact", 0.0), ("0.1 %", 0.001), ("2 % of the outliers", {"outlier": 0.02})):
        fast = EarlyExitOutlierDetector(forest, risk=risk, n_jobs=1, random_state=0)
        fast.fit(None if risk == 0 else fit)
        figures += _labels(f"IsolationForest, {name}", fast, forest, rows, full, how)
    return figures


def _one_digit(how: Run) -> list[Figure]:
    pixels, digits = fetch_mnist(dtype=np.float64, return_X_y=True)
    machine = OneClassSVM(nu=0.05, gamma="scale").fit(pixels[digits == DIGIT][:DIGIT_TRAIN])
    X, _ = fetch_mnist(subset="test", dtype=np.float64, return_X_y=True)
    X = X[: how.rows(len(X), 1000)]
    full, figures = machine.predict(X), []
    for name, risk in (("exact", 0.0), ("1 %", 0.01)):
        fast = EarlyExitOutlierDetector(machine, risk=risk, n_jobs=1, random_state=0)
        fast.fit(pixels[40_000:])  # behind the rows of training
        figures += _labels(f"OneClassSVM, {name}", fast, machine, X, full, how)
    return figures


def _labels(name: str, fast: Any, model: Any, X: Array, full: NDArray[Any], how: Run) -> list[Figure]:
    """The speed of labels, what a row costs, and how many differ, of all rows and of the outliers."""
    labels, cost = fast.predict(X, return_cost=True)
    t = measure({"ours": ours(fast, X, 1), "peer": Task(lambda: model.predict(X), 1)}, how.repeats)
    lost = np.mean(labels[full == -1] != -1)
    note = (
        f"{np.mean(cost):.4g} of {fast.plan_.full_cost:g} units a row; {np.mean(labels != full):.2%} of {len(X)} rows "
        f"differ, {lost:.2%} of {np.sum(full == -1)} outliers"
    )
    return [Figure(f"{name}: speed", t["peer"].median / t["ours"].median, "x", "predict", note)]
