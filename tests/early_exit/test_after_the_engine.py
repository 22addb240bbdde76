"""Rows that the engine leaves to others: what an error carries, what full evaluation buys, and what messages blame."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from wald import EarlyExitClassifier, EarlyExitRegressor, LazyRows
from wald.calls import CallError


def test_several_values_go_on_after_a_call_that_failed():
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(2000, 6)), rng.normal(size=(6, 2))
    weights[3:] *= 0.01
    model = Ridge().fit(X[:500], X[:500] @ weights)
    groups, costs = {"a": [0, 1, 2], "b": [3, 4, 5]}, {"a": 1.0, "b": 50.0}
    fast = EarlyExitRegressor(
        FrozenEstimator(model), risk=0.05, tolerance=0.5, feature_groups=groups, feature_costs=costs
    ).fit(X[500:1500])
    broken = [True]

    def first(rows):
        if broken[0]:
            raise RuntimeError("no")
        return X[1500 + rows, :3]

    rows = LazyRows(300, {"a": first, "b": lambda rows: X[1500 + rows, 3:]}, columns=groups)
    with pytest.raises(CallError) as caught:
        fast.predict(rows)
    assert caught.value.partial.labels.shape == (300, 2)
    broken[0] = False
    again = fast.predict(rows, resume=caught.value.partial)
    np.testing.assert_array_equal(again, fast.predict(X[1500:1800]))


@pytest.mark.parametrize("n", [100, 500])
def test_full_evaluation_buys_only_what_the_model_reads(n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 4))
    X[:, 2:] = 0
    model = GradientBoostingClassifier(n_estimators=10, max_depth=2).fit(X, X[:, 0] + 0.3 * X[:, 1] > 0)
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0).fit(X[:600])
    fetched = {name: (lambda rows, c=c: X[600 + rows, c : c + 1]) for c, name in enumerate("abcd")}
    rows = LazyRows(n, fetched, columns={name: [c] for c, name in enumerate("abcd")})
    np.testing.assert_array_equal(fast.predict(rows), model.predict(X[600 : 600 + n]))
    assert {name: counts.rows for name, counts in rows.counts.items()} == {"a": n, "b": n, "c": 0, "d": 0}


def test_infinity_is_named_where_nan_is_allowed():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"u": rng.normal(size=1500), "v": rng.normal(size=1500), "c": rng.choice(list("abc"), 1500)})
    frame.loc[rng.random(1500) < 0.1, "u"] = np.nan
    steps = [("numbers", make_pipeline(SimpleImputer(), StandardScaler()), ["u", "v"]), ("c", OneHotEncoder(), ["c"])]
    model = make_pipeline(ColumnTransformer(steps), LogisticRegression())
    model.fit(frame[:500], frame.v[:500] > 0)
    rows = frame[500:].reset_index(drop=True)
    rows.loc[7, "v"], rows.loc[3, "u"] = np.inf, np.nan
    with pytest.raises(ValueError, match=r"infinity(.|\n)*'v'"):
        EarlyExitClassifier(FrozenEstimator(model), risk=0.05).fit(rows)


def test_a_function_that_takes_no_objects_keeps_its_own_error():
    X = np.random.default_rng(0).normal(size=(1300, 3))
    filled = FunctionTransformer(lambda rows: np.where(np.isnan(rows), 0.0, rows))
    model = make_pipeline(filled, LogisticRegression()).fit(X[:500], X[:500, 0] > 0)
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0.05).fit(X[500:1200])
    with pytest.raises(TypeError, match="ufunc 'isnan' not supported"):
        fast.predict(X[1200:].astype(object))
