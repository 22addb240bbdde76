"""Thresholds and calibrators around trees and naive Bayes: labels and probabilities are those of the wrapped object."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.naive_bayes import BernoulliNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import wald
from wald import EarlyExitClassifier
from wald.codec.header import parse, render
from wald.codec.reading import Section
from wald.models import decompose
from wald.models.calibrators import has_temperature
from wald.models.encoding import encode_terms
from wald.sources import source_of

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning", "ignore::RuntimeWarning")

NAMES = np.array(["no", "yes"])


def _temperature_is_known() -> bool:
    import sklearn.calibration

    return hasattr(sklearn.calibration, "_TemperatureScaling")


CALIBRATORS = ["sigmoid", "isotonic", *(["temperature"] if _temperature_is_known() else [])]


def lightgbm(**options: Any) -> Any:
    library = pytest.importorskip("lightgbm")
    return library.LGBMClassifier(**({"n_estimators": 12, "verbose": -1, "n_jobs": 1} | options))


def xgboost(**options: Any) -> Any:
    return pytest.importorskip("xgboost").XGBClassifier(**({"n_estimators": 12, "n_jobs": 1} | options))


def catboost(**options: Any) -> Any:
    library = pytest.importorskip("catboost")
    quiet = {"verbose": 0, "allow_writing_files": False, "thread_count": 1}
    return library.CatBoostClassifier(**({"iterations": 12} | quiet | options))


def soft_vote(**options: Any) -> Any:
    trees = [(f"t{depth}", DecisionTreeClassifier(max_depth=depth)) for depth in (2, 4, 6)]
    return VotingClassifier(trees, voting="soft", **options)


BAGGED = {"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.6}
#: Models by name; a random number generator varies them.
MODELS: dict[str, Any] = {
    "lightgbm": lambda r: lightgbm(num_leaves=int(r.integers(2, 32)), sigmoid=float(r.choice([0.7, 1.0, 2.0]))),
    "lightgbm forest": lambda r: lightgbm(**BAGGED),
    "lightgbm cross entropy": lambda r: lightgbm(objective="cross_entropy"),
    "xgboost": lambda r: xgboost(max_depth=int(r.integers(1, 7)), learning_rate=float(r.uniform(0.05, 1))),
    "xgboost dart": lambda r: xgboost(booster="dart", rate_drop=0.2),
    "catboost": lambda r: catboost(depth=int(r.integers(1, 6))),
    "histogram boosting": lambda r: HistGradientBoostingClassifier(max_iter=12, max_depth=int(r.integers(1, 8))),
    "gradient boosting": lambda r: GradientBoostingClassifier(n_estimators=10, learning_rate=float(r.uniform(0.05, 1))),
    "exponential": lambda r: GradientBoostingClassifier(n_estimators=10, loss="exponential"),
    "adaboost": lambda r: AdaBoostClassifier(DecisionTreeClassifier(max_depth=int(r.integers(1, 4))), n_estimators=10),
    "forest": lambda r: RandomForestClassifier(10, max_depth=int(r.integers(2, 12)), n_jobs=1),
    "extra trees": lambda r: ExtraTreesClassifier(10, min_samples_leaf=int(r.integers(1, 5)), n_jobs=1),
    "tree": lambda r: DecisionTreeClassifier(max_depth=int(r.integers(1, 8))),
    "bagging": lambda r: BaggingClassifier(n_estimators=8, max_features=float(r.choice([0.5, 1.0]))),
    "vote": lambda r: soft_vote(weights=[None, [1.0, 2.5, 0.3]][r.integers(2)]),
    "multinomial": lambda r: MultinomialNB(alpha=float(r.uniform(0.1, 2))),
    "bernoulli": lambda r: BernoulliNB(binarize=float(r.choice([0.0, 1.5]))),
    "complement": lambda r: ComplementNB(),
}
COUNTS = ("multinomial", "bernoulli", "complement")


def data(rng: np.random.Generator, counts: bool = False) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_classification(900, 8, n_informative=5, flip_y=0.15, random_state=int(rng.integers(2**31)))
    X *= 10.0 ** rng.integers(-2, 3, 8)
    if counts or rng.random() < 0.3:
        X = np.round(X - X.min(axis=0) if counts else X)
    return X, y


def fitted(name: str, rng: np.random.Generator) -> tuple[Any, np.ndarray, np.ndarray]:
    """A model, rows and labels for what is around it; the second half are rows that nobody has seen."""
    X, y = data(rng, name in COUNTS)
    model = MODELS[name](rng)
    if "xgboost" not in name:  # which takes numbers only
        y = NAMES[y]
    return FrozenEstimator(model.fit(X[:300], y[:300])), X[300:], y[300:]


def agree(outer: Any, X: np.ndarray) -> float:
    """Check labels and probabilities of rows whose scores are the model's own; return the share handed over."""
    read = decompose(outer)
    assert read.changed() is None
    seen = X if read.preprocessing is None else read.preprocessing.transform(source_of(X))
    scores = read.terms.scores(seen)
    errors = np.zeros(len(X))
    if read.row_by_row != "always":
        errors += 1e-9  # naive Bayes adds in another order
    codes, sure = read.decision.settled(scores, errors + read.tie_margin)
    own = np.asarray(outer.predict(X))
    np.testing.assert_array_equal(read.classes[codes][sure], own[sure])
    if read.links.predict_proba is not None:
        found, expected = read.links.predict_proba(scores), outer.predict_proba(X)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    return 1 - float(sure.mean())


def thresholds(model: Any, X: np.ndarray, rng: np.random.Generator) -> list[Any]:
    """Levels of a probability: usual ones, ends, and some that rows attain."""
    attained = model.predict_proba(X)[rng.integers(len(X), size=2), 1]
    return [0.3, 0.5, "auto", np.float64(0.7), 0.999, 1e-20, *map(float, attained), attained[0]]


def section_of(terms: Any) -> Section:
    """Terms as a file describes them."""
    arrays: dict[str, Any] = {}
    fields = parse(render(encode_terms(terms, arrays, "terms")))
    return Section(fields, "terms", arrays)


def fixed(model: Any, X: Any, y: Any, **options: Any) -> Any:
    return FixedThresholdClassifier(model, **options).fit(X, y)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", MODELS)
def test_thresholds_on_probabilities(name: str) -> None:
    rng = np.random.default_rng(len(name))
    model, X, y = fitted(name, rng)
    for level in thresholds(model, X, rng):
        for label in (*model.classes_, *([None] if level == 0.3 else [])):
            outer = fixed(model, X[:300], y[:300], threshold=level, pos_label=label)
            handed = agree(outer, X)
            assert handed < 0.01 or level not in (0.3, 0.999)


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_calibrators(name: str) -> None:
    if name == "lightgbm forest":
        pytest.skip("its decision function is a sum, and no mean")
    rng = np.random.default_rng(len(name))
    model, X, y = fitted(name, rng)
    for method in CALIBRATORS:
        calibrated = CalibratedClassifierCV(model, method=method).fit(X[:300], y[:300])
        agree(calibrated, X)
        around = FrozenEstimator(calibrated)
        for label in model.classes_:
            agree(fixed(around, X[:300], y[:300], threshold=0.3, pos_label=label), X)
        other = CALIBRATORS[(CALIBRATORS.index(method) + 1) % len(CALIBRATORS)]
        agree(CalibratedClassifierCV(around, method=other).fit(X[:300], y[:300]), X)


@pytest.mark.parametrize("name", ["lightgbm", "xgboost", "catboost", "gradient boosting", "adaboost", "forest"])
@pytest.mark.parametrize(("level", "code"), [(-0.1, 1), (0.0, 1), (1.1, 0)])
def test_levels_that_all_or_no_rows_reach(name: str, level: float, code: int) -> None:
    model, X, y = fitted(name, np.random.default_rng(0))
    for label, other in zip(model.classes_, model.classes_[::-1], strict=True):
        outer = fixed(model, X[:300], y[:300], threshold=level, pos_label=label)
        expected = label if code else other
        assert set(outer.predict(X)) == {expected}
        fast = EarlyExitClassifier(FrozenEstimator(outer), risk=0).fit(X[:20])
        assert set(fast.predict(X)) == {expected}
        assert agree(outer, X) == 0


def test_an_answer_that_never_changes_leaves_at_once() -> None:
    model, X, y = fitted("lightgbm", np.random.default_rng(0))
    outer = fixed(model, X[:300], y[:300], threshold=1.5, pos_label="yes")
    fast = EarlyExitClassifier(FrozenEstimator(outer), risk=0.05, random_state=0).fit(X)
    assert set(fast.predict(X)) == {"no"}


@pytest.mark.parametrize("level", ["auto", -0.4, 0.25])
@pytest.mark.parametrize("name", ["lightgbm", "histogram boosting", "gradient boosting", "adaboost"])
def test_thresholds_on_decision_functions(name: str, level: Any) -> None:
    model, X, y = fitted(name, np.random.default_rng(1))
    if not hasattr(model, "decision_function"):
        pytest.skip("this version has none")
    for label in ("yes", "no"):
        outer = fixed(model, X[:300], y[:300], threshold=level, pos_label=label, response_method="decision_function")
        assert agree(outer, X) == 0
        attained = float(model.decision_function(X[:1])[0])
        assert agree(outer.set_params(threshold=attained), X) == 0
        assert agree(outer.set_params(threshold=-attained), X) == 0


@pytest.mark.parametrize("name", ["lightgbm", "xgboost", "forest", "multinomial"])
def test_tuned(name: str) -> None:
    rng = np.random.default_rng(2)
    X, y = data(rng, name in COUNTS)
    tuned = TunedThresholdClassifierCV(MODELS[name](rng), cv=2, thresholds=20).fit(X[:600], y[:600])
    agree(tuned, X)


def test_without_folds_and_behind_a_scaler() -> None:
    X, y = data(np.random.default_rng(3))
    for inner in (lightgbm(), RandomForestClassifier(5, random_state=0)):
        calibrated = CalibratedClassifierCV(make_pipeline(StandardScaler(), inner), ensemble=False, cv=2)
        agree(calibrated.fit(X[:600], y[:600]), X)


def test_a_threshold_at_an_attained_float32_is_compared_as_numpy_does() -> None:
    model, X, y = fitted("xgboost", np.random.default_rng(4))
    p = model.predict_proba(X)[:, 1]
    for level in (float(p[0]), float(p[0]) + 1e-9, np.float64(p[0]) + 1e-9, 1e-60, np.float64(1e-60)):
        outer = fixed(model, X[:300], y[:300], threshold=level, pos_label=1)
        fast = EarlyExitClassifier(FrozenEstimator(outer), risk=0).fit(X[:50])
        np.testing.assert_array_equal(fast.predict(X), outer.predict(X))


@pytest.mark.parametrize("name", ["lightgbm", "xgboost", "forest", "bernoulli"])
def test_early_exit(name: str) -> None:
    rng = np.random.default_rng(5)
    model, X, y = fitted(name, rng)
    # few rows of binary features differ, and the model itself is asked one by one about those at the threshold
    level = 0.3 if name == "bernoulli" else float(model.predict_proba(X)[7, 1])
    for outer in (
        fixed(model, X[:300], y[:300], threshold=level, pos_label=model.classes_[1]),
        CalibratedClassifierCV(model, method="isotonic").fit(X[:300], y[:300]),
    ):
        own = outer.predict(X)
        fast = EarlyExitClassifier(FrozenEstimator(outer), risk=0).fit(X[:50])
        np.testing.assert_array_equal(fast.predict(X), own)
        assert [fast.predict_one(x) for x in X[:20]] == own[:20].tolist()
        np.testing.assert_array_equal(fast.predict_proba(X), outer.predict_proba(X))
        again = pickle.loads(pickle.dumps(fast))
        np.testing.assert_array_equal(again.predict(X), own)
        early = EarlyExitClassifier(FrozenEstimator(outer), risk=0.1, random_state=0).fit(X)
        assert np.mean(early.predict(X) != own) <= 0.1


@pytest.mark.parametrize("name", ["lightgbm", "xgboost", "catboost", "histogram boosting", "bernoulli"])
def test_files(name: str) -> None:
    model, X, y = fitted(name, np.random.default_rng(6))
    calibrated = CalibratedClassifierCV(model, method=CALIBRATORS[-1]).fit(X[:300], y[:300])
    for outer in (
        fixed(model, X[:300], y[:300], threshold=0.3, pos_label=model.classes_[0]),
        calibrated,
        fixed(FrozenEstimator(calibrated), X[:300], y[:300], threshold=0.7, pos_label=model.classes_[1]),
    ):
        fast = EarlyExitClassifier(FrozenEstimator(outer), risk=0).fit(X[:50])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            again = wald.persistence.from_bytes(wald.persistence.to_bytes(fast))
        np.testing.assert_array_equal(again.predict(X), outer.predict(X))
        np.testing.assert_array_equal(again.predict_proba(X), outer.predict_proba(X))
        np.testing.assert_array_equal(again.estimator_.predict(X), outer.predict(X))
        inner = again.estimator_
        while not isinstance(inner, wald.models.TreeClassifier | BernoulliNB):
            inner = getattr(inner, "estimator_", None) or (
                inner.calibrated_classifiers_[0].estimator
                if isinstance(inner, CalibratedClassifierCV)
                else inner.estimator
            )
        np.testing.assert_array_equal(inner.predict(X), model.predict(X).ravel())
        assert hasattr(inner, "decision_function") == hasattr(model, "decision_function")


@pytest.mark.parametrize("label", [0, 1])
def test_votes_of_other_models(label: int) -> None:
    X, y = data(np.random.default_rng(7))
    members = [("linear", LogisticRegression()), ("naive", GaussianNB()), ("tree", DecisionTreeClassifier(max_depth=4))]
    soft = VotingClassifier(members, voting="soft", weights=[1, 2, 0.5])
    bagged = BaggingClassifier(LogisticRegression(), n_estimators=4, max_features=0.7, random_state=0)
    for vote in (soft, bagged):
        model = FrozenEstimator(vote.fit(X[:300], y[:300]))
        outers = [fixed(model, X[:300], y[:300], threshold=0.3, pos_label=label)]
        if vote is soft:
            calibrated = CalibratedClassifierCV(model, method="isotonic").fit(X[300:600], y[300:600])
            outers += [fixed(FrozenEstimator(calibrated), X[:300], y[:300], threshold=0.4, pos_label=label)]
        for outer in outers:
            fast = EarlyExitClassifier(FrozenEstimator(outer), risk=0).fit(X[:50])
            np.testing.assert_array_equal(fast.predict(X), outer.predict(X))
            np.testing.assert_array_equal(fast.predict_proba(X), outer.predict_proba(X))
            read = decompose(outer)
            assert read.terms.n_outputs == 1
            again = type(read.terms).decode(section_of(read.terms), 1)
            np.testing.assert_array_equal(again.coef, read.terms.coef)


# ---- several classes -------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not _temperature_is_known(), reason="scikit-learn has no temperature")
@pytest.mark.parametrize(
    "make",
    [
        lambda: lightgbm(),
        lambda: xgboost(),
        lambda: HistGradientBoostingClassifier(max_iter=10),
        lambda: RandomForestClassifier(10, random_state=0),
        lambda: LogisticRegression(max_iter=1000),
        lambda: MultinomialNB(),
    ],
    ids=["lightgbm", "xgboost", "histogram boosting", "forest", "linear", "multinomial"],
)
def test_one_temperature_keeps_the_order_of_classes(make: Any) -> None:
    X, y = make_classification(900, 8, n_informative=6, n_classes=4, random_state=0)
    X = np.abs(np.round(3 * X))
    model = FrozenEstimator(make().fit(X[:300], y[:300]))
    calibrated = CalibratedClassifierCV(model, method="temperature").fit(X[300:600], y[300:600])
    assert has_temperature(calibrated.calibrated_classifiers_[0])
    fast = EarlyExitClassifier(FrozenEstimator(calibrated), risk=0).fit(X[:50])
    np.testing.assert_array_equal(fast.predict(X), calibrated.predict(X))
    np.testing.assert_allclose(fast.predict_proba(X), calibrated.predict_proba(X))


class OwnProbabilities(MultinomialNB):
    def predict_proba(self, X: Any) -> Any:
        return super().predict_proba(X) ** 2


def test_what_is_refused() -> None:
    X, y = make_classification(900, 8, n_informative=6, n_classes=4, random_state=0)
    two = y % 2
    forest = CalibratedClassifierCV(FrozenEstimator(lightgbm(**BAGGED).fit(X, two))).fit(X, two)
    if hasattr(forest.estimator, "decision_function"):
        with pytest.raises(TypeError, match="compares decision_function of LGBMClassifier"):
            decompose(forest)
    with pytest.raises(TypeError, match="compares predict_proba of OwnProbabilities"):
        decompose(fixed(FrozenEstimator(OwnProbabilities().fit(abs(X), two)), abs(X), two, threshold=0.3))
    calibrated = CalibratedClassifierCV(FrozenEstimator(LinearSVC().fit(X, two))).fit(X, two)
    outer = fixed(FrozenEstimator(calibrated), X, two, threshold=0.2)
    with pytest.raises(TypeError, match="it has none"):
        decompose(outer.set_params(response_method="decision_function"))


# ---- many random models ----------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("name", MODELS)
def test_many_random_models(name: str) -> None:
    for seed in range(200):
        rng = np.random.default_rng(seed)
        model, X, y = fitted(name, rng)
        level = thresholds(model, X, rng)[seed % 9]
        label = model.classes_[rng.integers(2)]
        agree(fixed(model, X[:300], y[:300], threshold=level, pos_label=label), X)
        if name != "lightgbm forest":
            method = CALIBRATORS[seed % len(CALIBRATORS)]
            calibrated = CalibratedClassifierCV(model, method=method).fit(X[:300], y[:300])
            if getattr(calibrated.calibrated_classifiers_[0].calibrators[0], "a_", -1.0) > 0:
                with pytest.raises(ValueError, match="reverses the order"):
                    decompose(calibrated)
                continue
            agree(calibrated, X)
            attained = float(calibrated.predict_proba(X[:1])[0, 1])
            level = [0.3, attained, 0.9][seed % 3]
            agree(fixed(FrozenEstimator(calibrated), X[:300], y[:300], threshold=level, pos_label=label), X)
