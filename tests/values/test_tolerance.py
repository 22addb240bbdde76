"""Values within a tolerance: planned, certified, and honest where leaving early does not pay."""

import pickle

import numpy as np
import pytest
from outputs.redraws import require_kept
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import PoissonRegressor, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PowerTransformer, QuantileTransformer, StandardScaler
from sklearn.svm import SVR

from wald import EarlyExitRegressor, Planner
from wald.early_exit import Status

UNITS = Planner(cost="units")


def rows(n=6000, d=10, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[:, 1] = np.round(X[:, 1])
    return X, np.exp(0.5 * X[:, 0] + 0.3 * np.sin(2 * X[:, 1]) + X[:, 2:] @ np.geomspace(0.2, 0.01, d - 2))


def tree(**options):
    return HistGradientBoostingRegressor(max_iter=40, random_state=0, **options)


MODELS = {
    "trees": (tree(), 0.4, False),
    "trees, a share": (tree(), 0.3, True),
    "poisson": (tree(loss="poisson"), 0.4, False),
    "gamma, a share": (tree(loss="gamma"), 0.2, True),
    "forest": (RandomForestRegressor(30, max_depth=6, random_state=0), 0.4, False),
    "pipeline": (make_pipeline(StandardScaler(), tree()), 0.4, False),
    "logarithms": (TransformedTargetRegressor(tree(), func=np.log, inverse_func=np.exp), 0.4, False),
    "logarithms, a share": (TransformedTargetRegressor(tree(), func=np.log, inverse_func=np.exp), 0.2, True),
    "standardized": (TransformedTargetRegressor(tree(), transformer=StandardScaler()), 0.4, False),
    "linear": (Ridge(), 1.2, False),
    "exponential of a sum": (PoissonRegressor(), 0.8, False),
    "vectors": (SVR(C=0.1), 0.8, False),
}


def off(early, full, tolerance, relative):
    return np.abs(early.astype(np.float64) - full) > tolerance * (np.abs(full) if relative else 1.0)


FEWER = ("trees", "gamma, a share", "forest", "logarithms", "linear", "exponential of a sum", "vectors")


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in FEWER else pytest.mark.slow) for n in MODELS])
def test_values_within_a_tolerance(name):
    X, y = rows()
    model, tolerance, relative = MODELS[name]
    model = clone(model).fit(X[:800], y[:800])
    fast = EarlyExitRegressor(
        model, tolerance=tolerance, relative=relative, risk=0.1, planner=UNITS, random_state=0
    ).fit(X[800:4000])
    T = X[4000:]
    full, answers = model.predict(T), fast.predict(T, details=True)
    left = answers.status == Status.EARLY
    most = f"{100 * tolerance:g} % of the value" if relative else f"{tolerance:g}"
    assert str(fast.certificate_).startswith(f"off by more than {most} <= 10 %")
    assert off(answers.labels, full, tolerance, relative).mean() < 0.12
    assert left.mean() > 0.2
    assert answers.costs.mean() < 0.9 * fast.plan_.full_cost
    np.testing.assert_allclose(answers.labels[~left], full[~left], rtol=1e-9)
    assert answers.labels.dtype == full.dtype
    np.testing.assert_allclose([fast.predict_one(x) for x in T[:30]], answers.labels[:30], rtol=1e-12)
    assert fast.predict_one(T[0], return_cost=True)[1] == answers.costs[0]
    looks = fast.looks(T)
    stages = looks.leave(*fast.plan_.thresholds())[1]
    np.testing.assert_array_equal(stages, answers.stages)
    np.testing.assert_array_equal(
        looks.lost(np.zeros(len(T), np.int32), stages), off(answers.labels, full, tolerance, relative)
    )


@pytest.fixture(scope="module")
def near():
    X, y = rows()
    model = tree().fit(X[:800], y[:800])
    return model, EarlyExitRegressor(model, tolerance=0.4, risk=0.1, planner=UNITS, random_state=0).fit(X[800:4000])


def test_budgets_files_and_watches(near):
    model, fast = near
    X, _ = rows(2000, seed=1)
    full, values = model.predict(X), fast.predict(X)
    cheap, cost = fast.predict(X, budget=8, return_cost=True)
    assert cost.max() <= 8
    assert np.corrcoef(cheap, full)[0, 1] > 0.8
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fast)).predict(X), values)
    watched = fast.watched(1.0)
    watched.predict(X[:1000])
    for x in X[1000:1100]:
        watched.predict_one(x)
    lost = off(values, full, 0.4, False)[:1100].sum()
    assert (watched.monitor_.n_audits, watched.monitor_.n_disagreements) == (1100, lost)
    with pytest.warns(UserWarning, match="0 given"):
        fast.recertify(X[:0])
    again = fast.recertify(X, risk=0.2)
    assert str(again.certificate_).startswith("off by more than 0.4 <= 20 %")
    np.testing.assert_array_equal(again.predict(X[:0]), [])
    bad = X[:4].copy()
    bad[2, 3] = np.inf  # the model takes it for a large number
    np.testing.assert_allclose(fast.predict(bad), model.predict(bad), atol=1.0)
    assert not hasattr(fast, "classes_")
    assert fast.score(X, full) > 0.8


def test_frames_and_dicts(near):
    pd = pytest.importorskip("pandas")
    X, y = rows()
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    model = tree().fit(frame[:800], y[:800])
    fast = EarlyExitRegressor(model, tolerance=0.4, risk=0.1, planner=UNITS, random_state=0).fit(frame[800:4000])
    some = frame[4000:4010]
    values = fast.predict(some)
    assert fast.predict_one(some.iloc[3].to_dict()) == values[3]
    np.testing.assert_array_equal(fast.predict_records(some.to_dict("records")), values)
    np.testing.assert_array_equal(fast.predict(some, details=True).labels, values)


def test_libraries():
    lgb, xgb = pytest.importorskip("lightgbm"), pytest.importorskip("xgboost")
    X, y = rows()
    share = 1 / (1 + np.exp(-np.log(y) - X[:, 3]))
    quiet = {"n_estimators": 40, "n_jobs": 1}
    for model, target, tolerance in (
        (lgb.LGBMRegressor(objective="cross_entropy", verbose=-1, **quiet), share, 0.1),
        (lgb.LGBMRegressor(objective="tweedie", verbose=-1, **quiet), y, 0.4),
        (xgb.XGBRegressor(**quiet), y, 0.4),
        (xgb.XGBRegressor(objective="reg:gamma", **quiet), y, 0.4),
    ):
        model.fit(X[:800], target[:800])
        fast = EarlyExitRegressor(model, tolerance=tolerance, risk=0.1, planner=UNITS, random_state=0)
        values, cost = fast.fit(X[800:4000]).predict(X[4000:], return_cost=True)
        assert values.dtype == model.predict(X[:1]).dtype
        assert off(values, model.predict(X[4000:]), tolerance, False).mean() < 0.12
        assert cost.mean() < 0.9 * fast.plan_.full_cost
    square = lgb.LGBMRegressor(reg_sqrt=True, verbose=-1, **quiet).fit(X, y)
    with pytest.raises(ValueError, match=r"square\) is none.*leave tolerance out"):
        EarlyExitRegressor(square, tolerance=0.1, risk=0.1).fit(X)


def test_where_it_cannot_pay_everything_is_evaluated_and_told():
    X, y = rows()
    model = tree().fit(X[:800], y[:800])
    fast = EarlyExitRegressor(model, tolerance=1e-9, risk=0.01, planner=UNITS, random_state=0).fit(X[800:4000])
    assert str(fast.certificate_) == "no early exit: evaluating everything costs no more"
    np.testing.assert_array_equal(fast.predict(X), model.predict(X))
    assert fast.predict_one(X[0]) == model.predict(X[:1])[0]
    wide = EarlyExitRegressor(model, tolerance=1e9, risk=0.01, planner=UNITS, random_state=0)
    with pytest.warns(UserWarning, match=r"tolerance=1e\+09 is larger than the range of the .*, from 0\."):
        wide.fit(X[800:4000])
    assert set(wide.predict(X, details=True).stages.tolist()) == {0}  # any estimate is near enough


def test_training():
    X, y = rows()
    fast = EarlyExitRegressor(tree(), tolerance=0.4, risk=0.1, planner=UNITS, random_state=0).fit(X, y)
    assert fast.score(X, y) > 0.8
    groups = np.arange(len(X)) // 2
    fast = EarlyExitRegressor(fast.estimator_, tolerance=0.4, risk={"all": 0.1}, planner=UNITS, random_state=0)
    assert "random group" in str(fast.fit(X, groups=groups).certificate_)
    measured = fast.set_params(risk=None).fit(X)
    assert str(measured.certificate_).startswith("measured off by more than 0.4")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tolerance": 0, "risk": 0.1}, "tolerance must be a positive number.*Got 0 instead"),
        ({"tolerance": -1.0, "risk": 0.1}, "positive"),
        ({"tolerance": np.nan, "risk": 0.1}, "Got nan"),
        ({"tolerance": np.inf, "risk": 0.1}, "Got inf"),
        ({"tolerance": "1%", "risk": 0.1}, "Got '1%'"),
        ({"tolerance": True, "risk": 0.1}, "Got True"),
        ({"tolerance": 0.1, "relative": "yes", "risk": 0.1}, "relative must be"),
        ({"tolerance": 0.1}, r"tolerance=0\.1 needs a risk above 0"),
        ({"tolerance": 0.1, "risk": {"each": 0.1}}, "names strata, and values within a tolerance have none"),
        ({"tolerance": 0.1, "bands": [0.5], "risk": 0.1}, "not both"),
        ({"risk": 0.1}, r"risk=0\.1: without tolerance and bands, every row is evaluated in full"),
        ({"planner": UNITS}, "planner: without tolerance"),
        ({"relative": True}, "there is none: leave it out"),
        ({"risk": 2}, "risk must be None or a number"),
    ],
)
def test_bad_parameters(options, message):
    X, y = rows(300)
    with pytest.raises(ValueError, match=message):
        EarlyExitRegressor(Ridge().fit(X, y), **options).fit(X)


def test_models_without_a_tolerance():
    X, y = rows(600)
    for transformer, name in (
        (PowerTransformer(), "PowerTransformer"),
        (QuantileTransformer(n_quantiles=100), "Quantile"),
    ):
        model = TransformedTargetRegressor(tree(), transformer=transformer).fit(X, y)
        with pytest.raises(ValueError, match=f"the way back from the transformed target .{name}.*leave tolerance out"):
            EarlyExitRegressor(model, tolerance=0.1, risk=0.1).fit(X)
    shifted = TransformedTargetRegressor(tree(), func=np.log1p, inverse_func=np.expm1).fit(X, y)
    with pytest.raises(ValueError, match=r"relative tolerance.*expm1.*give an absolute one"):
        EarlyExitRegressor(shifted, tolerance=0.1, relative=True, risk=0.1).fit(X)
    with pytest.raises(ValueError, match="groups are for rows that certify"):
        EarlyExitRegressor(tree().fit(X, y)).fit(X, groups=np.arange(600))


@pytest.mark.long
@pytest.mark.parametrize("name", ["trees", "gamma, a share", "few distinct values", "linear"])
def test_certificates_hold(name):
    X, y = rows(20_000, seed=3)
    if name == "few distinct values":  # tolerances equal to differences of values
        model, tolerance, relative = RandomForestRegressor(8, max_depth=2, random_state=0), 0.25, False
        y = np.round(y)
    else:
        model, tolerance, relative = MODELS[name]
    model = clone(model).fit(X[:1000], y[:1000])
    fast = EarlyExitRegressor(
        model, tolerance=tolerance, relative=relative, risk=0.05, planner=UNITS, random_state=0
    ).fit(X[1000:5000])
    require_kept(fast, X[5000:], 0.05, 1500)


def test_several_values_of_many_rows_have_no_spread_of_their_own():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(7000, 6))
    model = Ridge().fit(X[:500], X[:500, :2] + 0.1 * X[:500, 2:4])
    fast = EarlyExitRegressor(model, tolerance=0.5, risk=0.05, planner=Planner(cost="units"), random_state=0)
    values = fast.fit(X[500:5500]).predict(X[5500:])
    assert np.mean((np.abs(values - model.predict(X[5500:])) > 0.5).any(axis=1)) < 0.07


@pytest.mark.parametrize("n", [0, 1])
@pytest.mark.parametrize("relative", [False, "std"])
def test_too_few_rows_are_told(n, relative):
    X = np.random.default_rng(0).normal(size=(50, 3))
    fast = EarlyExitRegressor(Ridge().fit(X, X[:, 0]), tolerance=0.1, relative=relative, risk=0.1)
    with pytest.raises(ValueError, match=r"fit has n_samples|they do not differ"):
        fast.fit(X[:n])
