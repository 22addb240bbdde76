"""Calibrated classifiers of several folds, and of several classes that are calibrated one by one: bit for bit."""

import pickle

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PowerTransformer, StandardScaler
from sklearn.svm import LinearSVC

from wald import EarlyExitClassifier

HIST = HistGradientBoostingClassifier(max_iter=4)
FOREST = RandomForestClassifier(4, max_depth=4, random_state=0)
#: Models whose scores the engine gives, and such as are asked themselves.
INNER = {
    "scores": HIST,
    "probabilities": FOREST,
    "behind a step": make_pipeline(PowerTransformer(), HIST),
    "linear": LinearSVC(),
    "neighbours": KNeighborsClassifier(),
}


def rows(n_classes=2, n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    z = X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.3 * rng.normal(size=n)
    return X, np.array(["ant", "bee", "cow"])[np.digitize(z, [0.5] if n_classes == 2 else [0.0, 1.0])]


def require_own(fast, model, X):
    np.testing.assert_array_equal(fast.predict(X), model.predict(X))
    np.testing.assert_array_equal(fast.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(fast.predict(X[:1]), model.predict(X[:1]))
    assert [fast.predict_one(x) for x in X[:9]] == model.predict(X[:9]).tolist()


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("method", "n_classes"), [("sigmoid", 2), ("isotonic", 3), ("temperature", 3)])
@pytest.mark.parametrize("name", INNER)
def test_folds(name, method, n_classes):
    X, y = rows(n_classes)
    model = CalibratedClassifierCV(INNER[name], method=method, cv=3).fit(X, y)
    fast = EarlyExitClassifier(model, risk=0).fit()
    by_engine = name in ("scores", "probabilities", "behind a step")
    assert (type(fast.compiled_plan_.model.terms).__name__ == "CalibratedVotes") == by_engine
    require_own(fast, model, X)
    require_own(pickle.loads(pickle.dumps(fast)), model, X[:20])


@pytest.mark.parametrize(
    ("name", "method"), [("scores", "sigmoid"), ("probabilities", "isotonic"), ("linear", "sigmoid")]
)
def test_classes_that_are_calibrated_one_by_one(name, method):
    X, y = rows(3)
    model = CalibratedClassifierCV(INNER[name], method=method, cv=2, ensemble=False).fit(X, y)
    require_own(EarlyExitClassifier(model, risk=0).fit(X), model, X)


@pytest.mark.parametrize("library", ["lightgbm", "xgboost", "catboost"])
def test_libraries(library):
    module, (X, y) = pytest.importorskip(library), rows(3)
    made = {
        "lightgbm": lambda: module.LGBMClassifier(n_estimators=3, verbose=-1),
        "xgboost": lambda: module.XGBClassifier(n_estimators=3),
        "catboost": lambda: module.CatBoostClassifier(iterations=3, verbose=0, allow_writing_files=False),
    }[library]()
    codes = np.unique(y, return_inverse=True)[1]
    X[::5, 0] = np.nan
    for target in (codes, np.minimum(codes, 1)):
        model = CalibratedClassifierCV(made, method="isotonic", cv=2).fit(X, target)
        require_own(EarlyExitClassifier(model, risk=0).fit(), model, X)


def test_thresholds_and_calibrators_around():
    X, y = rows()
    inner = CalibratedClassifierCV(HIST, method="isotonic", cv=2)
    frozen = FrozenEstimator(inner.fit(X, y))
    for model in (
        FixedThresholdClassifier(frozen, threshold=0.3, pos_label="bee", response_method="predict_proba"),
        TunedThresholdClassifierCV(inner, cv=2),
        CalibratedClassifierCV(frozen, method="sigmoid"),
    ):
        fast = EarlyExitClassifier(model.fit(X, y), risk=0).fit(X)
        np.testing.assert_array_equal(fast.predict(X), model.predict(X))


def test_frames_and_changes():
    pd = pytest.importorskip("pandas")
    X, y = rows()
    frame = pd.DataFrame(X, columns=list("abcd"))
    for name in ("probabilities", "linear"):
        model = CalibratedClassifierCV(INNER[name], cv=2).fit(frame, y)
        fast = EarlyExitClassifier(model, risk=0).fit(frame)
        np.testing.assert_array_equal(fast.predict(frame), model.predict(frame))
        assert fast.predict_one(frame.iloc[3].to_dict()) == model.predict(frame[3:4])[0]
        model.calibrated_classifiers_[1].calibrators[0].a_ += 0.5
        with pytest.raises(ValueError, match="not the one that was planned"):
            fast.predict(frame)


def test_early_exits_keep_the_promise():
    X, y = rows(n=1500)
    model = CalibratedClassifierCV(HIST, cv=3).fit(X[:500], y[:500])
    fast = EarlyExitClassifier(model, risk=0.2).fit(X[500:1000])
    assert (fast.predict(X[1000:]) != model.predict(X[1000:])).mean() <= 0.2


@pytest.mark.long
@pytest.mark.parametrize("seed", range(200))
def test_random_models(seed):
    rng = np.random.default_rng(seed)
    lightgbm, xgboost = pytest.importorskip("lightgbm"), pytest.importorskip("xgboost")
    catboost = pytest.importorskip("catboost")
    n_trees, n_classes = int(rng.integers(1, 6)), int(rng.integers(2, 5))
    inner = [
        HistGradientBoostingClassifier(max_iter=n_trees),
        RandomForestClassifier(n_trees, max_depth=5, random_state=seed),
        GradientBoostingClassifier(n_estimators=n_trees),
        lightgbm.LGBMClassifier(n_estimators=n_trees, verbose=-1),
        xgboost.XGBClassifier(n_estimators=n_trees),
        catboost.CatBoostClassifier(iterations=n_trees, verbose=0, allow_writing_files=False),
        AdaBoostClassifier(n_estimators=n_trees),
        make_pipeline(StandardScaler(), ExtraTreesClassifier(n_trees, max_depth=5, random_state=seed)),
    ][seed % 8]
    X = np.round(rng.normal(size=(200, 4)), int(rng.integers(0, 3))).astype(rng.choice(["float32", "float64"]))
    y = np.digitize(X[:, 0] + 0.5 * rng.normal(size=200), [[0.0], [-0.5, 0.5], [-0.7, 0.0, 0.7]][n_classes - 2])
    options = {"method": str(rng.choice(["sigmoid", "isotonic", "temperature"])), "cv": int(rng.integers(2, 5))}
    model = CalibratedClassifierCV(inner, **options).fit(X, y)
    fast = EarlyExitClassifier(model, risk=0).fit(X if rng.random() < 0.5 else None)
    others = rng.normal(size=(100, 4)) * rng.choice([1e-3, 1, 1e3])
    for rows in (X, others, others.astype(np.float32), np.asfortranarray(others)):
        require_own(fast, model, rows)
