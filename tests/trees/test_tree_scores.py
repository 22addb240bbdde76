"""Scores and probabilities from the engine: the bits of the libraries' own, and at most one unit in the last place."""

from __future__ import annotations

import ctypes
import math
import pickle
import platform
from typing import Any

import numpy as np
import pytest
from kinds.parameters import nested
from scipy import sparse
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from trees.libraries import random_data

from wald import EarlyExitClassifier
from wald.models.exponentials import float32_logarithms

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")

METHODS = ("decision_function", "predict_proba")


def lightgbm(**options: Any) -> Any:
    library = pytest.importorskip("lightgbm")
    return library.LGBMClassifier(n_estimators=20, min_child_samples=5, verbose=-1, n_jobs=1, **options)


def xgboost(**options: Any) -> Any:
    return pytest.importorskip("xgboost").XGBClassifier(n_estimators=20, n_jobs=1, **options)


def catboost(**options: Any) -> Any:
    library = pytest.importorskip("catboost")
    return library.CatBoostClassifier(iterations=20, verbose=0, allow_writing_files=False, thread_count=1, **options)


BAGGED = {"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.6}
#: Models that the engine serves, by name; those of two classes only, and of more only, say so.
SERVED: dict[str, Any] = {
    "histogram boosting": lambda: HistGradientBoostingClassifier(max_iter=20),
    "gradient boosting": lambda: GradientBoostingClassifier(n_estimators=20),
    "gradient boosting, exponential (2)": lambda: GradientBoostingClassifier(n_estimators=20, loss="exponential"),
    "forest": lambda: RandomForestClassifier(20, random_state=0),
    "extra trees": lambda: ExtraTreesClassifier(20, random_state=0),
    "decision tree": lambda: DecisionTreeClassifier(min_samples_leaf=5),
    "bagging": lambda: BaggingClassifier(n_estimators=20, random_state=0),
    "adaboost": lambda: AdaBoostClassifier(n_estimators=20),
    "lightgbm": lightgbm,
    "lightgbm, sigmoid 0.7 (2)": lambda: lightgbm(sigmoid=0.7),
    "lightgbm, cross entropy (2)": lambda: lightgbm(objective="cross_entropy", sigmoid=0.7),
    "lightgbm, random forest": lambda: lightgbm(**BAGGED),
    "lightgbm, one-vs-all (3)": lambda: lightgbm(objective="multiclassova", sigmoid=0.7),
    "xgboost": xgboost,
    "xgboost, softmax (3)": lambda: xgboost(objective="multi:softmax"),
    "catboost (2)": lambda: catboost(loss_function="Logloss"),
    "catboost, one-vs-all (3)": lambda: catboost(loss_function="MultiClassOneVsAll"),
}
CASES = [(name, k) for name in SERVED for k in (2, 3) if f"({5 - k})" not in name]


def wrapped(model: Any, X: np.ndarray, **params: Any) -> EarlyExitClassifier:
    settings = {"risk": 0.05, "cost": "units", "random_state": 0} | params
    return EarlyExitClassifier(FrozenEstimator(model), **nested(**settings)).fit(X)


def answers(model: Any, X: Any) -> dict[str, np.ndarray]:
    return {method: np.asarray(getattr(model, method)(X)) for method in METHODS if hasattr(model, method)}


def own_is_called(model: Any, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the methods of a model that are called from now on."""
    called: list[str] = []
    for method in METHODS:
        if hasattr(model, method):
            own = getattr(type(model), method)

            def counted(self: Any, *args: Any, own: Any = own, method: str = method, **options: Any) -> Any:
                called.append(method)
                return own(self, *args, **options)

            monkeypatch.setattr(type(model), method, counted)
    return called


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize(("name", "n_classes"), CASES)
def test_scores_have_the_bits_of_the_models_own(name: str, n_classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, others = random_data(np.random.default_rng(len(name)), n_classes)
    model = SERVED[name]().fit(X, y)
    fast = wrapped(model, others)
    large = np.sign(others) * np.minimum(np.abs(others) * 1e3, 1e30)
    tables = [others, others.astype(np.float32), np.asfortranarray(others), others[:1], large]
    own = [answers(model, rows) for rows in tables]
    called = own_is_called(model, monkeypatch)
    for rows, expected in zip(tables, own, strict=True):
        found = answers(fast, rows)
        assert found.keys() == expected.keys()
        assert found
        for method, values in expected.items():
            assert found[method].dtype == values.dtype
            assert found[method].shape == values.shape
        if "decision_function" in expected:
            np.testing.assert_array_equal(found["decision_function"], expected["decision_function"])
        np.testing.assert_array_max_ulp(found["predict_proba"], expected["predict_proba"], 1)
    summed = "random forest" in name  # LightGBM's decision_function of these is a sum, and no mean
    assert set(called) <= {"decision_function"} if summed else called == []
    again = pickle.loads(pickle.dumps(fast))
    np.testing.assert_array_equal(again.predict_proba(others), fast.predict_proba(others))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_row_has_the_same_probabilities_in_every_call(n_classes: int) -> None:
    X, y, others = random_data(np.random.default_rng(0), n_classes)
    fast = wrapped(RandomForestClassifier(20, n_jobs=2, random_state=0).fit(X, y), others)
    together = fast.predict_proba(others)
    for n in (1, 7, 65):
        np.testing.assert_array_equal(fast.predict_proba(others[:n]), together[:n])
    fast.n_jobs = 2
    np.testing.assert_array_equal(fast.predict_proba(others), together)


def test_extreme_scores_do_not_overflow() -> None:
    from wald.models.links import float32_sigmoids, float32_softmax, sigmoids, softmax

    scores = np.array([[-1e300], [-800.0], [-700.0], [0.0], [40.0], [1e300]])
    with np.errstate(all="raise", under="ignore"):
        np.testing.assert_array_equal(sigmoids(1.0, scores)[:, 1] <= 1e-300, [True, True, True, False, False, False])
        assert sigmoids(1.0, scores)[-1].tolist() == [0.0, 1.0]
        assert np.isfinite(float32_sigmoids(np.clip(scores, -1e30, 1e30))).all()
        wide = np.array([[0.0, 800.0, -1e30], [1e30, -1e30, 1e30]])
        np.testing.assert_array_equal(softmax(wide), [[0, 1, 0], [0.5, 0, 0.5]])
        np.testing.assert_array_equal(float32_softmax(wide), np.float32([[0, 1, 0], [0.5, 0, 0.5]]))


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library rounds otherwise")
def test_exponentials_have_the_bits_of_the_c_librarys() -> None:
    from wald.models.exponentials import exponentials, float32_exponentials

    rng = np.random.default_rng(5)
    values = np.concatenate([rng.normal(size=20_000) * 3, rng.uniform(-150, 88.7, 20_000), [0.0, -1e30]])
    single = values.astype(np.float32)
    library = ctypes.CDLL("libm.so.6")
    library.expf.restype, library.expf.argtypes = ctypes.c_float, [ctypes.c_float]
    np.testing.assert_array_equal(float32_exponentials(single), np.float32([library.expf(x) for x in single.tolist()]))
    np.testing.assert_array_equal(exponentials(values), [math.exp(x) for x in values.tolist()])


@pytest.mark.parametrize(
    "wrap",
    [
        lambda model, X, y: GridSearchCV(model, {"max_leaf_nodes": [5]}, cv=2).fit(X, y),
        lambda model, X, y: make_pipeline(QuantileTransformer(n_quantiles=20), model).fit(X, y),
    ],
    ids=["search", "pipeline"],
)
def test_wrappers_around_a_model(wrap: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, others = random_data(np.random.default_rng(1), 2)
    model = wrap(HistGradientBoostingClassifier(max_iter=10), X, y)
    fast = wrapped(model, others)
    expected = answers(model, others)
    called = own_is_called(HistGradientBoostingClassifier(), monkeypatch)
    for method, values in answers(fast, others).items():
        np.testing.assert_array_equal(values, expected[method])
    assert called == []


def test_categories_and_files_without_rows() -> None:
    pd = pytest.importorskip("pandas")
    X, y, _ = random_data(np.random.default_rng(2), 2)
    frame = pd.DataFrame(X, columns=list("abcdefgh")).assign(a=pd.Categorical((X[:, 0] > 0).astype(str)))
    model = HistGradientBoostingClassifier(max_iter=10).fit(frame, y)
    fast = wrapped(model, frame)
    for method, values in answers(fast, frame).items():
        np.testing.assert_array_equal(values, getattr(model, method)(frame))


class Doubled(GradientBoostingClassifier):
    """Its probabilities do not follow from its scores as in scikit-learn."""

    def predict_proba(self, X: Any) -> np.ndarray:
        return np.square(super().predict_proba(X))


def test_what_the_engine_does_not_know_comes_from_the_model() -> None:
    X, y, others = random_data(np.random.default_rng(3), 2)
    for model in (
        Doubled(n_estimators=5).fit(X, y),
        FixedThresholdClassifier(FrozenEstimator(SVC(probability=False).fit(X, y)), threshold=0.1).fit(X, y),
        SVC().fit(X, y),
    ):
        fast = wrapped(model, others)
        for method, values in answers(model, others).items():
            np.testing.assert_array_equal(getattr(fast, method)(others), values)


def test_rows_that_the_model_refuses() -> None:
    X, y, others = random_data(np.random.default_rng(4), 2)
    model = GradientBoostingClassifier(n_estimators=5).fit(X, y)
    fast = wrapped(model, others)
    others[3, :] = np.nan
    for method in METHODS:
        with pytest.raises(ValueError, match="NaN"):
            getattr(fast, method)(others)
        with pytest.raises(ValueError, match="features"):
            getattr(fast, method)(others[:, 1:])
    np.testing.assert_array_equal(fast.predict_proba(sparse.csr_array(X)), model.predict_proba(sparse.csr_array(X)))


def test_logarithms_are_those_of_the_c_library() -> None:
    # those of XGBoost's base scores; the second is not the nearest float32
    odds = np.array([1.0, 1 / np.float32(0.50666666) - np.float32(1), 3.0, 1e-6, 1e6], dtype=np.float32)
    expected = ["0x0p+0", "-0x1.b4eedp-6", "0x1.193ea8p+0", "-0x1.ba18aap+3", "0x1.ba18aap+3"]
    assert [float(each).hex() for each in float32_logarithms(odds)] == [float.fromhex(each).hex() for each in expected]
    assert np.float32(np.log(float(odds[1]))) != float32_logarithms(odds)[1]
