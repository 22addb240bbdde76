"""Values of CatBoost's regressors and rankers, bit for bit: raw values, exponentials, several outputs, files."""

import numpy as np
import pytest

import wald
from wald import EarlyExitClassifier, EarlyExitRanker, EarlyExitRegressor
from wald.models.exponentials import fast_exponentials

catboost = pytest.importorskip("catboost")
QUIET = {"verbose": 0, "allow_writing_files": False, "thread_count": 1}
LOSSES = (
    *("RMSE", "MAE", "Quantile:alpha=0.7", "Poisson", "Tweedie:variance_power=1.5", "Huber:delta=1", "MAPE", "Lq:q=3"),
    *("LogCosh", "Expectile:alpha=0.3", "LogLinQuantile", "RMSEWithUncertainty", "MultiRMSE"),
    *("MultiQuantile:alpha=0.1,0.5,0.9", "Cox"),
)


def rows(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 4)), 1)
    y = np.exp(0.4 * X[:, 0] - 0.2 * X[:, 1] ** 2 + 0.1 * rng.normal(size=n))
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, y


def fitted(loss, **options):
    X, y = rows()
    target = np.column_stack([y, -y]) if loss == "MultiRMSE" else y
    return catboost.CatBoostRegressor(iterations=9, loss_function=loss, **QUIET, **options).fit(X, target), X


def require_own(fast, model, X):
    for some in (X, X.astype(np.float32), X[:1], np.nan_to_num(X)):
        np.testing.assert_array_equal(fast.predict(some), model.predict(some))
    np.testing.assert_array_equal(fast.predict_one(X[4]), model.predict(X[4:5])[0])


@pytest.mark.parametrize("loss", LOSSES)
def test_regressors(loss, tmp_path):
    model, X = fitted(loss)
    require_own(EarlyExitRegressor(model).fit(X), model, X)
    model.save_model(str(tmp_path / "model.json"), format="json")
    read = wald.read_model(tmp_path / "model.json")
    assert isinstance(read, wald.models.TreeRegressor)
    np.testing.assert_array_equal(read.predict(X), model.predict(X))
    require_own(EarlyExitRegressor(read).fit(), model, X)


@pytest.mark.parametrize("options", [{"grow_policy": "Lossguide", "max_leaves": 7}, {"nan_mode": "Max"}, {"depth": 1}])
def test_shapes_of_trees(options):
    model, X = fitted("RMSE", **options)
    require_own(EarlyExitRegressor(model).fit(), model, X)
    model.set_scale_and_bias(0.3, [7.0])
    require_own(EarlyExitRegressor(model).fit(), model, X)


def test_binary_files_and_plain_models(tmp_path):
    model, X = fitted("Poisson")
    model.save_model(str(tmp_path / "model.cbm"))
    np.testing.assert_array_equal(wald.read_model(tmp_path / "model.cbm").predict(X), model.predict(X))
    plain = catboost.CatBoost().load_model(str(tmp_path / "model.cbm"))
    assert not np.array_equal(plain.predict(X), model.predict(X))  # which answers raw values
    require_own(EarlyExitRegressor(plain).fit(), plain, X)
    loaded = catboost.CatBoostRegressor().load_model(str(tmp_path / "model.cbm"))
    require_own(EarlyExitRegressor(loaded).fit(), loaded, X)
    with pytest.warns(RuntimeWarning, match="ignores an important ranking parameter"):
        ranker = catboost.to_ranker(plain)
    for converted in (catboost.to_regressor(plain), ranker):
        shell = EarlyExitRegressor if type(converted).__name__.endswith("Regressor") else EarlyExitRanker
        require_own(shell(converted).fit(), converted, X)


@pytest.mark.parametrize("loss", ["YetiRank", "PairLogit", "QueryRMSE", "QuerySoftMax", "LambdaMart", "RMSE"])
def test_rankers(loss, tmp_path):
    X, y = rows()
    ranker = catboost.CatBoostRanker(iterations=9, loss_function=loss, **QUIET)
    with pytest.warns() if loss == "RMSE" else np.errstate():
        ranker.fit(X, np.clip(np.round(y), 0, 4), group_id=np.repeat(range(20), 20))
    fast = EarlyExitRanker(ranker).fit(X)
    require_own(fast, ranker, X)
    np.testing.assert_array_equal(fast.rank(X[:20]), np.argsort(-ranker.predict(X[:20]), kind="stable"))
    with pytest.raises(TypeError, match="CatBoostRanker is a ranker: wrap it in EarlyExitRanker"):
        EarlyExitClassifier(ranker, risk=0).fit()
    if loss != "RMSE":
        ranker.save_model(str(tmp_path / "model.json"), format="json")
        require_own(EarlyExitRanker(wald.read_model(tmp_path / "model.json")).fit(), ranker, X)


def test_frames():
    pd = pytest.importorskip("pandas")
    X, y = rows()
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = catboost.CatBoostRegressor(iterations=9, **QUIET).fit(frame, y)
    fast = EarlyExitRegressor(model).fit(frame)
    np.testing.assert_array_equal(fast.predict(frame[list("dcba")]), model.predict(frame[list("dcba")]))
    np.testing.assert_array_equal(fast.predict_one(frame.iloc[3].to_dict()), model.predict(frame[3:4])[0])


def test_a_model_that_changed():
    model, X = fitted("RMSE")
    fast = EarlyExitRegressor(model).fit()
    model.fit(X, -np.nan_to_num(X[:, 0]))
    with pytest.raises(ValueError, match="not the one that was planned"):
        fast.predict(X)


def test_what_is_refused():
    X, y = rows()
    with pytest.raises(ValueError, match="not fitted"):
        EarlyExitRegressor(catboost.CatBoostRegressor(**QUIET)).fit()
    model = catboost.CatBoostRegressor(iterations=3, **QUIET).fit(
        np.column_stack([np.round(y).astype(int)] * 2), y, [0]
    )
    with pytest.raises(TypeError, match="with cat features is not supported"):
        EarlyExitRegressor(model).fit()
    classifier = catboost.CatBoostClassifier(iterations=3, **QUIET).fit(X, y > 1)
    with pytest.raises(TypeError, match="holds a classifier"):
        EarlyExitRegressor(catboost.to_regressor(classifier)).fit()
    with pytest.raises(TypeError, match="wrap it in EarlyExitRegressor"):
        EarlyExitClassifier(fitted("RMSE")[0], risk=0).fit()


@pytest.mark.parametrize("bias", [0.0, 50.0, 708.0, 709.8, 1e4, -700.0, -708.5, -1e4])
def test_exponentials_of_any_size(bias):
    model, X = fitted("Poisson")
    model.set_scale_and_bias(1, [bias])
    raw = model.predict(X, prediction_type="RawFormulaVal")
    np.testing.assert_array_equal(fast_exponentials(raw), model.predict(X))
    np.testing.assert_array_equal(EarlyExitRegressor(model).fit().predict(X), model.predict(X))


def test_probabilities_of_several_classes():
    X, y = rows()
    model = catboost.CatBoostClassifier(iterations=9, **QUIET).fit(X, np.digitize(y, [0.7, 1.2]))
    fast = EarlyExitClassifier(model, risk=0).fit()
    np.testing.assert_array_equal(fast.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(fast.predict_proba(X[:1]), model.predict_proba(X[:1]))
