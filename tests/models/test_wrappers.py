"""Frozen, thresholded and calibrated models give their own labels."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Perceptron, SGDClassifier
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from wald.models import decompose

NAMES = np.array(["no", "yes"])


def half(model, X, y):
    return FrozenEstimator(model.fit(X[:100], y[:100]))


def test_frozen_twice(rows, check_same_labels):
    X, y = rows(3)
    model = FrozenEstimator(half(make_pipeline(StandardScaler(), SVC()), X, y))
    assert check_same_labels(model, X).terms.columns is not None


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("pos_label", [None, "yes", "no"])
@pytest.mark.parametrize("threshold", ["auto", 0.3, 0.8, 0.0, 1.0, -0.1, 1.1])
@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        LinearDiscriminantAnalysis(),
        SGDClassifier(loss="log_loss", random_state=0),
        SGDClassifier(loss="modified_huber", random_state=0),
    ],
    ids=str,
)
def test_thresholds_on_probabilities(model, threshold, pos_label, dtype, rows, check_same_labels):
    X, y = rows(dtype=dtype)
    fixed = FixedThresholdClassifier(half(model, X, NAMES[y]), threshold=threshold, pos_label=pos_label)
    read = check_same_labels(fixed.fit(X, NAMES[y]), X, min_clear=0.6 if threshold in (0.0, 1.0) else 0.97)
    assert read.tie_margin < 1e-3 or threshold in (0.0, 1.0)


@pytest.mark.parametrize("pos_label", [None, 1, 0])
@pytest.mark.parametrize("threshold", ["auto", -0.5, 0.8, np.inf, -np.inf])
@pytest.mark.parametrize("model", [LinearSVC(max_iter=5000), Perceptron(), SVC(), SVC(kernel="linear", C=0.1)], ids=str)
def test_thresholds_on_scores_are_exact(model, threshold, pos_label, rows, check_same_labels):
    X, y = rows()
    pipeline = make_pipeline(StandardScaler(), model)
    fixed = FixedThresholdClassifier(half(pipeline, X, y), threshold=threshold, pos_label=pos_label).fit(X, y)
    assert check_same_labels(fixed, X).tie_margin == 0


@pytest.mark.parametrize("pos_label", [0, 1])
def test_ties_at_a_threshold_on_scores(pos_label):
    X = np.array([[-1.0], [1.0]])
    model = LinearSVC().fit(X, [0, 1])
    model.coef_, model.intercept_ = np.ones((1, 1)), np.zeros(1)
    fixed = FixedThresholdClassifier(FrozenEstimator(model), threshold=0.5, pos_label=pos_label).fit(X, [0, 1])
    read = decompose(fixed)
    rows = np.array([[-0.75], [-0.5], [-0.25], [0.25], [0.5], [0.75]])
    assert read.decision.answers(read.terms.scores(rows)).tolist() == fixed.predict(rows).tolist()


def test_float32_thresholds_on_scores_have_a_tie_margin(rows):
    X, y = rows(dtype=np.float32)
    model = half(LogisticRegression(), X, y)
    model.estimator.coef_ = np.float32(model.estimator.coef_)
    fixed = FixedThresholdClassifier(model, threshold=0.1, response_method="decision_function").fit(X, y)
    assert 0 < decompose(fixed).tie_margin < 1e-7
    assert decompose(fixed.set_params(threshold=0.5)).tie_margin == 0


@pytest.mark.parametrize("scoring", ["balanced_accuracy", "f1", "no"])
@pytest.mark.parametrize("model", [LogisticRegression(), LinearSVC(max_iter=5000)], ids=str)
def test_tuned(model, scoring, rows, check_same_labels):
    X, y = rows()
    labels = NAMES[y] if scoring == "no" else y
    scorer = make_scorer(f1_score, pos_label="no") if scoring == "no" else scoring
    tuned = TunedThresholdClassifierCV(make_pipeline(StandardScaler(), model), scoring=scorer, cv=2)
    check_same_labels(tuned.fit(X, labels), X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("model", [SVC(), LinearSVC(max_iter=5000), LogisticRegression()], ids=str)
@pytest.mark.parametrize("level", [None, 0.2, 0.9])
def test_calibrated(model, method, level, dtype, rows, check_same_labels):
    X, y = rows(dtype=dtype)
    y = NAMES[y]
    calibrated = CalibratedClassifierCV(half(make_pipeline(StandardScaler(), model), X, y), method=method).fit(X, y)
    if level is not None:
        calibrated = FixedThresholdClassifier(FrozenEstimator(calibrated), threshold=level, pos_label="yes").fit(X, y)
    read = check_same_labels(calibrated, X)
    assert read.tie_margin <= (0 if method == "isotonic" else 1e-3 if dtype is np.float32 else 1e-12)


def test_calibrated_without_an_ensemble_and_in_a_pipeline(rows, check_same_labels):
    X, y = rows()
    model = make_pipeline(StandardScaler(), CalibratedClassifierCV(LinearSVC(), ensemble=False, cv=2))
    read = check_same_labels(model.fit(X, y), X)
    assert read.preprocessing is None
    assert read.folded is not None


@pytest.mark.parametrize(("label", "threshold"), [(0, np.inf), (1, -np.inf)])
def test_a_constant_calibrator(label, threshold, rows, check_same_labels):
    X, y = rows()
    calibrated = CalibratedClassifierCV(half(SVC(), X, y), method="isotonic").fit(X, y)
    calibrator = calibrated.calibrated_classifiers_[0].calibrators[0]
    calibrator.fit(np.linspace(-2, 2, 9), np.full(9, float(label)))
    assert check_same_labels(calibrated, X).decision.threshold == threshold


def test_a_reversed_calibrator_is_refused(rows):
    X, y = rows()
    calibrated = CalibratedClassifierCV(half(SVC(), X, y)).fit(X, y)
    calibrator = calibrated.calibrated_classifiers_[0].calibrators[0]
    calibrator.a_ = -calibrator.a_
    with pytest.raises(ValueError, match="reverses the order"):
        decompose(calibrated)


def test_rules_around_rules(rows, check_same_labels):
    X, y = rows()
    inner = FixedThresholdClassifier(half(LogisticRegression(), X, y), threshold=0.9).fit(X, y)
    check_same_labels(FixedThresholdClassifier(FrozenEstimator(inner), threshold=0.4).fit(X, y), X)
    calibrated = CalibratedClassifierCV(FrozenEstimator(inner)).fit(X, y)
    check_same_labels(calibrated, X)
    twice = CalibratedClassifierCV(FrozenEstimator(calibrated), method="isotonic").fit(X, y)
    check_same_labels(twice, X)
    check_same_labels(FixedThresholdClassifier(FrozenEstimator(twice), threshold=0.3, pos_label=0).fit(X, y), X)


def test_probabilities_of_another_kind_are_refused(rows):
    X, y = rows()
    with pytest.warns(FutureWarning) if _deprecated() else _nothing():
        svc = SVC(probability=True).fit(X, y)
    fixed = FixedThresholdClassifier(FrozenEstimator(svc), threshold=0.4).fit(X, y)
    with pytest.raises(TypeError, match=r"predict_proba of SVC,.* response_method='decision_function'"):
        decompose(fixed)
    decompose(fixed.set_params(response_method="decision_function"))


def _deprecated():
    return SVC().probability == "deprecated"


def _nothing():
    from contextlib import nullcontext

    return nullcontext()


def test_unknown_calibrators_are_refused(rows):
    X, y = rows()
    other = CalibratedClassifierCV(half(SVC(), X, y)).fit(X, y)
    other.calibrated_classifiers_[0].calibrators[0] = type("Temperature", (), {})()
    with pytest.raises(TypeError, match="method='sigmoid', 'isotonic' or 'temperature'"):
        decompose(other)


def test_thresholds_that_are_no_numbers_are_refused(rows):
    X, y = rows()
    fixed = FixedThresholdClassifier(half(LinearSVC(), X, y), threshold=0.0).fit(X, y)
    fixed.threshold = np.nan
    with pytest.raises(ValueError, match="NaN"):
        decompose(fixed)
    fixed.set_params(threshold=0.0, pos_label=7)
    with pytest.raises(ValueError, match="pos_label=7"):
        decompose(fixed)
