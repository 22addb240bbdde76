"""Values of regressors: those of the wrapped model, bit for bit where trees are added in the library's order."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.ensemble import (
    AdaBoostRegressor,
    BaggingRegressor,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import (
    ElasticNet,
    GammaRegressor,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    SGDRegressor,
    TweedieRegressor,
)
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import SVR, LinearSVR, NuSVR
from sklearn.tree import DecisionTreeRegressor, ExtraTreeRegressor

from wald import EarlyExitClassifier, EarlyExitRegressor
from wald.early_exit import Status

KERNELS = ("rbf", "linear", "poly", "sigmoid")
TREES = {
    "hist": HistGradientBoostingRegressor(max_iter=20),
    "hist poisson": HistGradientBoostingRegressor(max_iter=20, loss="poisson"),
    "hist gamma": HistGradientBoostingRegressor(max_iter=20, loss="gamma"),
    "hist quantile": HistGradientBoostingRegressor(max_iter=20, loss="quantile", quantile=0.2),
    "forest": RandomForestRegressor(12, random_state=0),
    "forest poisson": RandomForestRegressor(12, criterion="poisson", random_state=0),
    "extra trees": ExtraTreesRegressor(12, random_state=0),
    "tree": DecisionTreeRegressor(max_depth=6),
    "tree of medians": DecisionTreeRegressor(max_depth=4, criterion="absolute_error"),
    "extra tree": ExtraTreeRegressor(random_state=0),
    "bagging": BaggingRegressor(n_estimators=8, max_features=0.6, random_state=0),
    "boosting": GradientBoostingRegressor(n_estimators=20),
    "boosting from zero": GradientBoostingRegressor(n_estimators=20, init="zero", loss="huber"),
}
SUMS = {
    "linear": LinearRegression(),
    "ridge": Ridge(),
    "no intercept": Ridge(fit_intercept=False),
    "elastic net": ElasticNet(0.01),
    "sgd": SGDRegressor(random_state=0),
    "linear svr": LinearSVR(max_iter=20_000, random_state=0),
    "poisson": PoissonRegressor(),
    "gamma": GammaRegressor(),
    "tweedie": TweedieRegressor(power=0, link="identity"),
    "scaled": make_pipeline(StandardScaler(), Ridge()),
    **{f"svr {kernel}": SVR(kernel=kernel) for kernel in KERNELS},
    "nu svr": NuSVR(),
    **{f"kernel ridge {kernel}": KernelRidge(kernel=kernel, alpha=9.0, gamma=0.1) for kernel in KERNELS},
}


def rows(n=400, seed=0, missing=False, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 5)), 1).astype(dtype)
    y = np.exp(0.4 * X[:, 0] - 0.2 * X[:, 1] ** 2 + 0.1 * rng.normal(size=n))
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def at_thresholds(model, X):
    """Rows whose cells are thresholds of a tree, and the floats next to them."""
    trees = [np.ravel(getattr(model, "estimators_", [model]))[0]]
    found = trees[0].tree_.threshold if hasattr(trees[0], "tree_") else np.unique(X)
    found = found[np.isfinite(found)]
    values = np.resize(np.concatenate([found, np.nextafter(found, np.inf), np.nextafter(found, -np.inf)]), (50, 5))
    return np.ascontiguousarray(values)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", TREES)
def test_trees_bit_for_bit(name, dtype):
    missing = name.startswith(("hist", "forest", "tree")) and "medians" not in name
    X, y = rows(missing=missing, dtype=dtype)
    model = copy.deepcopy(TREES[name]).fit(X, y)
    fast = EarlyExitRegressor(model).fit()
    for some in (X, at_thresholds(model, X).astype(dtype), X[:1], X[:5], np.asfortranarray(X), X[:0]):
        if len(some):
            np.testing.assert_array_equal(fast.predict(some), model.predict(some))
    assert fast.predict(X).dtype == model.predict(X).dtype
    assert fast.predict_one(X[3]) == model.predict(X[3:4])[0]
    again = pickle.loads(pickle.dumps(fast))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("name", SUMS)
def test_sums_within_rounding(name):
    X, y = rows()
    model = copy.deepcopy(SUMS[name]).fit(X, y)
    fast = EarlyExitRegressor(model).fit(X[:50])
    for some, rounding in ((X, 1e-9), (X[:1], 1e-9), (X.astype(np.float32), 1e-5)):  # scalers keep float32
        np.testing.assert_allclose(fast.predict(some), model.predict(some), rtol=rounding, atol=rounding)
    assert abs(fast.predict_one(X[3]) - model.predict(X[3:4])[0]) < 1e-9


@pytest.mark.parametrize("name", ["forest", "extra trees", "tree", "ridge", "kernel ridge rbf"])
def test_several_values(name):
    X, y = rows()
    model = copy.deepcopy((TREES | SUMS)[name]).fit(X, np.column_stack([y, -y, 2 * y]))
    fast = EarlyExitRegressor(model).fit()
    assert fast.predict(X).shape == (400, 3)
    np.testing.assert_allclose(fast.predict(X), model.predict(X), rtol=1e-9 if name in SUMS else 0, atol=0)
    assert fast.predict_one(X[0]).shape == (3,)


@pytest.mark.parametrize("inner", [HistGradientBoostingRegressor(max_iter=10), DecisionTreeRegressor(), Ridge()])
def test_behind_columns(inner):
    pd = pytest.importorskip("pandas")
    X, y = rows()
    frame = pd.DataFrame({"kind": np.random.default_rng(0).choice(["a", "b", "c"], len(X)), "x": X[:, 0], "z": X[:, 1]})
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    model = make_pipeline(make_column_transformer((encoder, ["kind"]), (StandardScaler(), ["x", "z"])), inner)
    model.fit(frame, y)
    fast = EarlyExitRegressor(model).fit(frame)
    some = frame.assign(kind=np.resize(["a", "unknown", "c"], len(frame)))[["z", "kind", "x"]]
    for given in (frame, some):
        np.testing.assert_allclose(fast.predict(given), model.predict(given), rtol=1e-12)
    record = frame.iloc[7].to_dict()
    assert abs(fast.predict_one(record) - model.predict(frame[7:8])[0]) < 1e-12
    np.testing.assert_allclose(fast.predict_records(frame[:9].to_dict("records")), model.predict(frame[:9]), rtol=1e-12)


def test_behind_orders():
    pd = pytest.importorskip("pandas")
    X, y = rows()
    frame = pd.DataFrame({"kind": np.random.default_rng(0).choice(["a", "b", "c"], len(X)), "x": X[:, 0]})
    order = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    model = make_pipeline(make_column_transformer((order, ["kind"]), remainder="passthrough"), RandomForestRegressor(5))
    model.fit(frame, y)
    np.testing.assert_array_equal(EarlyExitRegressor(model).fit().predict(frame), model.predict(frame))


def test_texts():
    texts = ["one two three", "two two", "", "four one"] * 20
    model = make_pipeline(TfidfVectorizer(), Ridge()).fit(texts, np.arange(80.0))
    fast = EarlyExitRegressor(model).fit(texts)
    np.testing.assert_allclose(fast.predict(texts), model.predict(texts), rtol=1e-12, atol=1e-12)
    assert abs(fast.predict_one("three one") - model.predict(["three one"])[0]) < 1e-12
    with pytest.raises(AttributeError, match="row 1 is 3"):
        fast.predict(["one", 3])


def test_a_transformed_target():
    X, y = rows()
    for inner in (Ridge(), HistGradientBoostingRegressor(max_iter=10), make_pipeline(StandardScaler(), Ridge())):
        model = TransformedTargetRegressor(inner, func=np.log, inverse_func=np.exp).fit(X, y)
        fast = EarlyExitRegressor(model).fit(X)
        np.testing.assert_allclose(fast.predict(X), model.predict(X), rtol=1e-12)
    scaled = TransformedTargetRegressor(DecisionTreeRegressor(), transformer=StandardScaler())
    scaled.fit(X, np.column_stack([y, -y]))
    np.testing.assert_array_equal(EarlyExitRegressor(scaled).fit().predict(X), scaled.predict(X))


def test_what_is_wrapped():
    X, y = rows()
    for model in (FrozenEstimator(Ridge().fit(X, y)), GridSearchCV(Ridge(), {"alpha": [0.1, 1]}, cv=2).fit(X, y)):
        np.testing.assert_allclose(EarlyExitRegressor(model).fit().predict(X), model.predict(X), rtol=1e-12)
    trained = EarlyExitRegressor(DecisionTreeRegressor(random_state=0)).fit(X, y)
    np.testing.assert_array_equal(trained.predict(X), DecisionTreeRegressor(random_state=0).fit(X, y).predict(X))
    assert trained.score(X, y) > 0.9
    answers = trained.predict(X, details=True)
    assert (answers.status == Status.FULL).all()
    np.testing.assert_array_equal(answers.labels, trained.predict(X))


def test_refusals():
    X, y = rows()
    with pytest.raises(ValueError, match=r"requires y to be passed.*DecisionTreeRegressor is not fitted yet"):
        EarlyExitRegressor(DecisionTreeRegressor()).fit(X)
    with pytest.raises(ValueError, match="is fitted already, so that y would be ignored"):
        EarlyExitRegressor(DecisionTreeRegressor().fit(X, y)).fit(X, y)
    with pytest.raises(TypeError, match="LogisticRegression is a classifier: wrap it in EarlyExitClassifier"):
        EarlyExitRegressor(LogisticRegression().fit(X, y > 1)).fit()
    with pytest.raises(TypeError, match="Ridge is a regressor: wrap it in EarlyExitRegressor"):
        EarlyExitClassifier(Ridge().fit(X, y), risk=0).fit(X)
    with pytest.raises(TypeError, match="weighted median"):
        EarlyExitRegressor(AdaBoostRegressor().fit(X, y)).fit()

    class Own(DecisionTreeRegressor):
        def predict(self, X, check_input=True):
            return super().predict(X) + 1

    with pytest.raises(TypeError, match="Own has its own predict"):
        EarlyExitRegressor(Own().fit(X, y)).fit()
    assert not hasattr(EarlyExitRegressor(Ridge().fit(X, y)).fit(), "predict_proba")


def test_bad_rows():
    X, y = rows()
    fast = EarlyExitRegressor(GradientBoostingRegressor(n_estimators=3).fit(X, y)).fit()
    bad = X.copy()
    bad[2, 1] = np.nan
    with pytest.raises(ValueError, match="row 2"):
        fast.predict(bad)
    with pytest.raises(ValueError, match="5 features"):
        fast.predict(X[:, :4])
    for texts in (X.astype(str), X.astype("S8")):
        with pytest.raises(ValueError, match="X is an array of texts"):
            fast.predict(texts)
        with pytest.raises(ValueError, match="must hold real numbers"):
            fast.predict_one(texts[0])
    model = DecisionTreeRegressor().fit(X, y)
    fast = EarlyExitRegressor(model).fit()
    model.fit(X, -y)
    with pytest.raises(ValueError, match="not the one that was planned"):
        fast.predict(X)


@pytest.mark.parametrize("name", ["linear", "poisson", "scaled", "svr linear", "kernel ridge linear"])
def test_infinity_is_refused_as_by_the_model(name):
    X, y = rows()
    model = copy.deepcopy(SUMS[name]).fit(X, y)
    fast = EarlyExitRegressor(model).fit()
    for infinity in (np.inf, -np.inf):
        bad = X[:3].copy()
        bad[1, 0] = infinity
        for ask, given in ((fast.predict, bad), (fast.predict_one, bad[1]), (model.predict, bad)):
            with pytest.raises(ValueError, match="infinity"):
                ask(given)


def test_a_model_that_is_misread_is_found():
    X, y = rows()
    model = HistGradientBoostingRegressor(max_iter=5).fit(X, y)
    model._baseline_prediction = np.array([[100.0]])
    fast = EarlyExitRegressor(model).fit()  # both read it
    np.testing.assert_array_equal(fast.predict(X), model.predict(X))
    model = DecisionTreeRegressor(max_depth=3).fit(X, y)
    model.predict = lambda X: np.zeros(len(X))
    with pytest.raises(ValueError, match="wald misreads this DecisionTreeRegressor"):
        EarlyExitRegressor(model).fit(X)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(200))
def test_random_trees(seed):
    rng = np.random.default_rng(seed)
    name = list(TREES)[seed % len(TREES)]
    X, y = rows(int(rng.integers(30, 800)), seed)
    model = copy.deepcopy(TREES[name]).fit(X, y if rng.random() < 0.5 else np.round(y, 1) + 0.1)
    fast = EarlyExitRegressor(model).fit(X if rng.random() < 0.5 else None)
    new = rng.normal(size=(500, 5)) * rng.choice([1e-3, 1, 1e3])
    for some in (X, new, new.astype(np.float32), at_thresholds(model, X)):
        np.testing.assert_array_equal(fast.predict(some), model.predict(some))
