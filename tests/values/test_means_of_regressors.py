"""Voting and bagging regressors of anything that wald reads: bit for bit where members are trees."""

import pickle

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    BaggingRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
    VotingRegressor,
)
from sklearn.linear_model import PoissonRegressor, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PowerTransformer, QuantileTransformer, StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

from wald import EarlyExitRegressor

HIST = HistGradientBoostingRegressor(max_iter=7, loss="poisson")
FOREST = RandomForestRegressor(5, max_depth=4, random_state=0)
BOOSTING = GradientBoostingRegressor(n_estimators=7)
TREES = {
    "voting": VotingRegressor([("hist", HIST), ("forest", FOREST), ("boosting", BOOSTING)]),
    "weights": VotingRegressor([("hist", HIST), ("forest", FOREST)], weights=[0.3, 1.7]),
    "dropped": VotingRegressor([("hist", HIST), ("none", "drop"), ("forest", FOREST)], weights=[0.3, 1.7, 2.0]),
    "many": VotingRegressor([(f"tree {i}", DecisionTreeRegressor(max_depth=i)) for i in range(1, 8)]),
    "bagging": BaggingRegressor(HIST, n_estimators=4, random_state=0),
    "columns": BaggingRegressor(BOOSTING, n_estimators=5, max_features=0.5, random_state=0),
    "nested": BaggingRegressor(VotingRegressor([("a", FOREST), ("b", BOOSTING)]), n_estimators=3, random_state=0),
    "behind a step": BaggingRegressor(make_pipeline(QuantileTransformer(n_quantiles=20), FOREST), n_estimators=3),
}
SUMS = {
    "voting": VotingRegressor([("ridge", Ridge()), ("svr", SVR()), ("hist", HIST)]),
    "weights": VotingRegressor([("ridge", Ridge()), ("poisson", PoissonRegressor())], weights=[1, 4]),
    "bagging": BaggingRegressor(make_pipeline(StandardScaler(), Ridge()), n_estimators=4, max_features=0.5),
    "machines": BaggingRegressor(SVR(), n_estimators=3),
}


def rows(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 4)), 1)
    return X, np.exp(0.4 * X[:, 0] - 0.2 * X[:, 1] ** 2 + 0.1 * rng.normal(size=n))


@pytest.mark.parametrize("name", TREES)
def test_trees_bit_for_bit(name):
    X, y = rows()
    model = TREES[name].fit(X, y)
    fast = EarlyExitRegressor(model).fit(X)
    for some in (X, X[:1], rows(50, 1)[0].astype(np.float32), np.asfortranarray(X)):
        np.testing.assert_array_equal(fast.predict(some), model.predict(some))
    assert fast.predict_one(X[3]) == model.predict(X[3:4])[0]
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fast)).predict(X), model.predict(X))


@pytest.mark.parametrize("name", SUMS)
def test_sums_within_rounding(name):
    X, y = rows()
    model = SUMS[name].fit(X, y)
    fast = EarlyExitRegressor(model).fit(X)
    for some in (X, X[:1]):
        np.testing.assert_allclose(fast.predict(some), model.predict(some), rtol=1e-11)
    assert abs(fast.predict_one(X[3]) - model.predict(X[3:4])[0]) < 1e-11


def test_other_libraries_and_missing_values():
    X, y = rows()
    X[::7, 1] = np.nan
    lightgbm, xgboost = pytest.importorskip("lightgbm"), pytest.importorskip("xgboost")
    one = lightgbm.LGBMRegressor(n_estimators=7, verbose=-1)
    other = xgboost.XGBRegressor(n_estimators=7)
    for model in (
        VotingRegressor([("one", one), ("other", other)]),
        VotingRegressor([("other", other), ("again", xgboost.XGBRegressor(n_estimators=3))]),  # in float32
        VotingRegressor([("other", other), ("again", xgboost.XGBRegressor(n_estimators=3))], weights=[1, 2]),
        BaggingRegressor(other, n_estimators=3),
    ):
        fast = EarlyExitRegressor(model.fit(X, y)).fit(X)
        assert fast.predict(X).dtype == model.predict(X).dtype
        np.testing.assert_array_equal(fast.predict(X), model.predict(X))


def test_several_values():
    X, y = rows()
    model = BaggingRegressor(FOREST, n_estimators=3, max_features=0.7).fit(X, np.column_stack([y, -y]))
    fast = EarlyExitRegressor(model).fit(X)
    np.testing.assert_array_equal(fast.predict(X), model.predict(X))
    assert fast.predict_one(X[0]).shape == (2,)


def test_frames():
    pd = pytest.importorskip("pandas")
    X, y = rows()
    frame = pd.DataFrame(X, columns=list("abcd"))
    by_name = make_pipeline(make_column_transformer((PowerTransformer(), ["c", "a"]), remainder="passthrough"), FOREST)
    bagging = BaggingRegressor(make_pipeline(PowerTransformer(), FOREST), n_estimators=2)
    for model in (VotingRegressor([("hist", HIST), ("by name", by_name)]), bagging):
        model.fit(frame, y)
        fast = EarlyExitRegressor(model).fit(frame)
        np.testing.assert_array_equal(fast.predict(frame), model.predict(frame))
        assert fast.predict_one(frame.iloc[3].to_dict()) == model.predict(frame[3:4])[0]
    kinds = frame.assign(d=pd.Categorical(np.resize(["u", "v"], len(X))))
    encoded = HistGradientBoostingRegressor(max_iter=3, categorical_features="from_dtype")
    model = VotingRegressor([("hist", encoded)]).fit(kinds, y)
    with pytest.raises(TypeError, match=r"columns of categories or texts apart\. Encode them in front of the Voting"):
        EarlyExitRegressor(model).fit(kinds)


def test_members_that_change_or_cannot_be_read():
    X, y = rows()
    model = VotingRegressor([("tree", DecisionTreeRegressor(max_depth=2)), ("ridge", Ridge())]).fit(X, y)
    fast = EarlyExitRegressor(model).fit(X)
    model.estimators_[1].coef_[0] += 1
    with pytest.raises(ValueError, match="not the one that was planned"):
        fast.predict(X)
    for kind in (VotingRegressor([("near", KNeighborsRegressor())]), BaggingRegressor(KNeighborsRegressor())):
        with pytest.raises(TypeError, match="KNeighborsRegressor is not supported"):
            EarlyExitRegressor(kind.fit(X, y)).fit(X)
