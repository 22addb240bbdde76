"""Forests and boosted trees of scikit-learn in files, alone and behind encoders and functions, without skops."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from persistence.forge import put_together, taken_apart
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    SplineTransformer,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier

import wald
from wald.persistence import FileFormatError, from_bytes, to_bytes

pandas = pytest.importorskip("pandas")
pytestmark = pytest.mark.filterwarnings("ignore:Found unknown", "ignore:Bins whose width")

TREES: dict[str, Any] = {
    "forest": lambda: RandomForestClassifier(12, max_depth=6, random_state=0),
    "random thresholds": lambda: ExtraTreesClassifier(12, max_depth=6, random_state=0),
    "boosting": lambda: GradientBoostingClassifier(n_estimators=12, random_state=0),
    "one tree": lambda: DecisionTreeClassifier(max_depth=6, random_state=0),
    "bagging": lambda: BaggingClassifier(n_estimators=6, random_state=0),
}
#: Two classes, three, and so many that NumPy adds up rows and columns in different orders.
CLASSES = (2, 3, 11)


def frame(n_classes: int = 2, n: int = 700) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = pandas.DataFrame(
        {
            "age": rng.normal(45, 15, n).round(),
            "income": rng.lognormal(10, 0.5, n),
            "city": np.array(["Graz", "Brno", "Linz", None], dtype=object)[rng.integers(0, 4, n)],
        }
    )
    score = X["age"] / 15 + (X["city"] == "Linz") + rng.normal(size=n)
    return X, np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)


def pipeline(model: Any, encoder: Any = None) -> Any:
    encoder = encoder or OneHotEncoder(handle_unknown="ignore")
    return make_pipeline(
        ColumnTransformer([("c", encoder, ["city"]), ("n", "passthrough", ["age", "income"])], sparse_threshold=0),
        model,
    )


def at_thresholds(model: Any, X: Any) -> Any:
    """Rows whose numbers are thresholds of a tree, and their neighbours."""
    tree = model
    while hasattr(tree, "estimators_"):
        tree = np.ravel(tree.estimators_)[0]
    found = tree.tree_.threshold[tree.tree_.children_left >= 0]
    every = np.concatenate([found, np.nextafter(found, np.inf), np.nextafter(found, -np.inf), np.float32(found)])
    return X.iloc[np.arange(len(every)) % len(X)].assign(age=every, income=every)


def without_skops(fast: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    raw = to_bytes(fast)
    monkeypatch.setitem(sys.modules, "skops", None)  # imports of it raise
    return from_bytes(raw)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("n_classes", CLASSES)
@pytest.mark.parametrize("name", TREES)
def test_trees_behind_encoders(name: str, n_classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = frame(n_classes)
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2)
    for each in (None, encoder):
        model = pipeline(TREES[name](), each).fit(X[:500], y[:500])
        back = without_skops(wald.EarlyExitClassifier(FrozenEstimator(model), risk=0).fit(), monkeypatch)
        for rows in (X[500:], at_thresholds(model[-1], X), X[:20].assign(city="Wien"), X[["income", "city", "age"]]):
            np.testing.assert_array_equal(back.predict(rows), model.predict(rows))
            np.testing.assert_array_equal(back.predict_proba(rows), model.predict_proba(rows))
        assert hasattr(back, "decision_function") == hasattr(model, "decision_function")
        row = X.iloc[3].to_dict()
        assert back.predict_one(row) == model.predict(X.iloc[[3]])[0]


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
@pytest.mark.parametrize("n_classes", CLASSES)
@pytest.mark.parametrize("name", TREES)
def test_trees_alone(name: str, n_classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = frame(n_classes)
    rows = X[["age", "income"]].to_numpy()
    model = TREES[name]().fit(rows, y)
    back = without_skops(wald.EarlyExitClassifier(FrozenEstimator(model), risk=0).fit(), monkeypatch)
    np.testing.assert_array_equal(back.predict(rows), model.predict(rows))
    np.testing.assert_array_equal(back.predict_proba(rows), model.predict_proba(rows))
    huge = np.array([[1e300, 1.0]])  # which is infinite in float32
    with pytest.raises(ValueError, match="infinity"):
        model.predict(huge)
    with pytest.raises(ValueError, match="infinity"):
        back.predict(huge)


@pytest.mark.parametrize("kind", ["classifier", "regressor"])
def test_sparse_rows_are_refused_by_a_file_as_by_the_model(kind: str) -> None:
    X, y = frame()
    rows = X[["age", "income"]].to_numpy()
    made: Any = HistGradientBoostingClassifier if kind == "classifier" else HistGradientBoostingRegressor
    early: Any = wald.EarlyExitClassifier if kind == "classifier" else wald.EarlyExitRegressor
    data = to_bytes(early(FrozenEstimator(made(max_iter=3).fit(rows, y)), risk=0).fit())
    back = from_bytes(data)
    for refuses in (back.predict, back.estimator_.predict):
        with pytest.raises(ValueError, match=r"X is sparse, .* takes dense rows only.*Give X\.toarray\(\)"):
            refuses(sparse.csr_matrix(rows))
    assert not back.__sklearn_tags__().input_tags.sparse
    header, arrays = taken_apart(data)
    del header["model"]["dense_only"]  # as of earlier versions
    older = from_bytes(put_together(header, arrays))
    np.testing.assert_array_equal(older.predict(rows), back.predict(rows))


def test_an_exponential_loss_has_probabilities_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = frame()
    model = pipeline(GradientBoostingClassifier(n_estimators=9, loss="exponential")).fit(X, y)
    back = without_skops(wald.EarlyExitClassifier(FrozenEstimator(model), risk=0).fit(), monkeypatch)
    np.testing.assert_array_equal(back.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(back.decision_function(X), model.decision_function(X))


def test_early_exit_of_a_forest_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = frame()
    model = pipeline(TREES["forest"]()).fit(X[:300], y[:300])
    planner = wald.Planner(cost="units")
    fast = wald.EarlyExitClassifier(FrozenEstimator(model), risk=0.2, planner=planner, random_state=0).fit(X[300:])
    back = without_skops(fast, monkeypatch)
    assert str(back.certificate_) == str(fast.certificate_)
    for ours, theirs in zip(back.predict(X, return_cost=True), fast.predict(X, return_cost=True), strict=True):
        np.testing.assert_array_equal(ours, theirs)


# ---- functions of numbers --------------------------------------------------------------------------------------------

STEPS: dict[str, Any] = {
    "bins": lambda: KBinsDiscretizer(5, encode="onehot-dense", quantile_method="averaged_inverted_cdf"),
    "ordinal bins": lambda: KBinsDiscretizer(5, encode="ordinal", strategy="uniform", dtype=np.float32),
    "sparse bins": lambda: KBinsDiscretizer(3, strategy="kmeans"),
    "filled bins": lambda: make_pipeline(SimpleImputer(), KBinsDiscretizer(4, encode="ordinal", strategy="uniform")),
    "binary": lambda: Binarizer(threshold=40.0),
    "splines": lambda: SplineTransformer(n_knots=4),
    "periodic splines": lambda: SplineTransformer(degree=2, extrapolation="periodic", include_bias=False),
    "linear splines": lambda: SplineTransformer(extrapolation="linear"),
    "products": lambda: PolynomialFeatures((1, 3), include_bias=False),
    "interactions": lambda: PolynomialFeatures(2, interaction_only=True),
    "logarithm": lambda: FunctionTransformer(np.log1p),
    "root": lambda: FunctionTransformer(np.sqrt, validate=True),
}


def behind(step: Any, trees: bool) -> tuple[Any, Any, Any]:
    X, y = frame()
    X["age"] = X["age"].abs()
    columns = [("f", step, ["age", "income"]), ("c", OneHotEncoder(handle_unknown="ignore"), ["city"])]
    model: Any = RandomForestClassifier(5, random_state=0) if trees else LogisticRegression(max_iter=50)
    made = make_pipeline(ColumnTransformer(columns, sparse_threshold=0), model)
    return made.fit(X[:400], y[:400]), X, y


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:lbfgs failed", "ignore:.*overflow")
@pytest.mark.parametrize("trees", [False, True])
@pytest.mark.parametrize("name", STEPS)
def test_functions_of_numbers_come_back(name: str, trees: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    model, X, _ = behind(STEPS[name](), trees)
    fast = wald.EarlyExitClassifier(FrozenEstimator(model), risk=0, planner=wald.Planner(cost="units")).fit(X[400:])
    back = without_skops(fast, monkeypatch)
    step = model[0].named_transformers_["f"]
    step = step[-1] if hasattr(step, "steps") else step
    edges = np.concatenate([np.ravel(each) for each in getattr(step, "bin_edges_", [[40.0]])])
    near = X.iloc[np.arange(len(edges))].assign(age=edges, income=edges)
    beyond = X[:4].assign(age=[0.0, 500.0, 40.0, np.nextafter(40.0, 50)], income=[0.0, 1e7, 3.0, 5.0])
    for rows in (X, near, beyond):
        np.testing.assert_array_equal(back.predict(rows), model.predict(rows))
        np.testing.assert_array_equal(back.predict_proba(rows), fast.predict_proba(rows))


def forged(name: str, change: Any) -> bytes:
    model = behind(STEPS[name](), True)[0]
    fields, arrays = taken_apart(to_bytes(wald.EarlyExitClassifier(FrozenEstimator(model), risk=0).fit()))
    step = fields["estimator"]["steps"][0][1]["transformers_"][0][1]
    change(step, arrays)
    return put_together(fields, arrays)


def put(ending: str, change: Any) -> Any:
    def altered(step: Any, arrays: Any) -> None:
        (name, *_) = [each for each in arrays if each.endswith(ending)]
        arrays[name] = np.ascontiguousarray(change(arrays[name]))

    return altered


LIES: dict[str, tuple[str, Any]] = {
    "another function": ("logarithm", lambda step, _: step["func"].update(ufunc="frompyfunc")),
    "a function of two arrays": ("logarithm", lambda step, _: step["func"].update(ufunc="add")),
    "a function elsewhere": ("logarithm", lambda step, _: step.update(kw_args={"ufunc": "log"})),
    "a huge degree": ("products", lambda step, _: step.update(degree=10**9)),
    "a negative degree": ("products", lambda step, _: step.update(degree=-1)),
    "an order of degrees": ("products", lambda step, _: step.update(degree=[3, 1])),
    "knots that descend": ("splines", put("bsplines_.0.t", lambda t: t[::-1])),
    "too few knots": ("splines", put("bsplines_.0.t", lambda t: t[:3])),
    "knots that are NaN": ("splines", put("bsplines_.0.t", lambda t: t * np.nan)),
    "too few weights": ("splines", put("bsplines_.1.c", lambda c: c[:1])),
    "another degree": ("splines", lambda step, _: step["bsplines_"][0].update(spline=31)),
    "a degree beyond": ("splines", lambda step, _: step["bsplines_"][0].update(spline=10**6)),
    "bins of another encoder": ("bins", lambda step, _: step["_encoder"].update(_n_features_outs=[1, 1])),
}


@pytest.mark.parametrize("lie", LIES)
def test_forged_functions_are_refused_before_they_run(lie: str) -> None:
    raw = forged(*LIES[lie])
    with pytest.raises(FileFormatError):
        from_bytes(raw)


@pytest.mark.parametrize("link", ["sigmoid", "expit", "nothing", None])
def test_a_forest_takes_no_link_of_two_classes(link: Any) -> None:
    X, y = frame(3)
    rows = X[["age", "income"]].to_numpy()
    fields, arrays = taken_apart(
        to_bytes(wald.EarlyExitClassifier(FrozenEstimator(TREES["one tree"]().fit(rows, y)), risk=0).fit())
    )
    assert fields["estimator"]["link"]["kind"] == "mean"
    fields["estimator"]["link"]["kind"] = link
    with pytest.raises(FileFormatError):
        from_bytes(put_together(fields, arrays))


@pytest.mark.parametrize("selector", [SelectKBest(k=2), VarianceThreshold()], ids=["best", "variance"])
def test_selectors_in_files_take_missing_values_or_not_as_they_do(selector: Any) -> None:
    X = np.random.default_rng(0).normal(size=(300, 4))
    columns = ColumnTransformer([("chosen", make_pipeline(StandardScaler(), selector), [0, 1, 2])])
    model = make_pipeline(columns, RandomForestClassifier(4, random_state=0)).fit(X, X[:, 0] > 0)
    back = from_bytes(to_bytes(wald.EarlyExitClassifier(model, risk=0).fit()))
    np.testing.assert_array_equal(back.predict_proba(X), model.predict_proba(X))
    X[3, 0] = np.nan
    if isinstance(selector, VarianceThreshold):
        np.testing.assert_array_equal(back.predict_proba(X), model.predict_proba(X))
    else:
        with pytest.raises(ValueError, match="Input X contains NaN"):
            back.predict(X)
