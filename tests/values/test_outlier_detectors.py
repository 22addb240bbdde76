"""Outlier detectors: labels and scores of the wrapped detector, and promises about its outliers."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import LogisticRegression, SGDOneClassSVM
from sklearn.neighbors import LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from wald import EarlyExitClassifier, EarlyExitOutlierDetector, Planner
from wald.early_exit import Status

FORESTS = {
    "default": {},
    "contamination": {"contamination": 0.03},
    "some columns": {"max_features": 0.5, "contamination": 0.1},
    "bootstrap": {"bootstrap": True, "max_samples": 0.4},
    "small samples": {"max_samples": 3},
}


def rows(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 5)), 2)
    X[::40] *= 4
    return X


def forest(seed=0, **options):
    return IsolationForest(n_estimators=25, random_state=seed, **options).fit(rows(600, seed))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("options", FORESTS.values(), ids=list(FORESTS))
def test_forests_in_full(options, dtype):
    model = forest(**options)
    fast = EarlyExitOutlierDetector(model, risk=0).fit()
    X = rows(seed=1).astype(dtype)
    odd = X.copy()
    odd[::7, 1], odd[::5, 2], odd[::9, 3] = np.nan, np.inf, -np.inf
    for some in (X, odd, rows(600).astype(dtype), X[:1], X[:5], sparse.csr_array(X[:200])):
        np.testing.assert_array_equal(fast.predict(some), model.predict(some))
        np.testing.assert_array_equal(fast.score_samples(some), model.score_samples(some))
        np.testing.assert_array_equal(fast.decision_function(some), model.decision_function(some))
    assert [fast.predict_one(x) for x in X[:50]] == model.predict(X[:50]).tolist()
    assert list(fast.classes_) == [-1, 1]


@pytest.mark.slow
def test_rows_whose_score_is_the_offset():
    model = forest(contamination=0.1)
    scores = model.score_samples(rows(600))
    for score in np.unique(scores)[[5, 60, 300]]:  # attained scores, so that many rows lie on the threshold
        model.offset_ = score
        fast = EarlyExitOutlierDetector(model, risk=0).fit()
        np.testing.assert_array_equal(fast.predict(rows(600)), model.predict(rows(600)))


def test_offsets_out_of_reach():
    model = forest()
    for offset in (-2.0, 1.0):
        model.offset_ = offset
        fast = EarlyExitOutlierDetector(model, risk=0).fit()
        np.testing.assert_array_equal(fast.predict(rows(600)), model.predict(rows(600)))


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "sigmoid"])
def test_one_class_machines(kernel):
    model = OneClassSVM(kernel=kernel, nu=0.1).fit(rows(300))
    X = rows(2000, 1)
    fast = EarlyExitOutlierDetector(model, risk=0, random_state=0).fit(X)
    np.testing.assert_array_equal(fast.predict(X), model.predict(X))
    np.testing.assert_allclose(fast.decision_function(X), model.decision_function(X))


def test_everything_is_evaluated_in_single_precision_where_no_row_leaves_by_proof():
    model = OneClassSVM(nu=0.1).fit(rows(300))
    X = rows(2000, 1)
    fast = EarlyExitOutlierDetector(model, risk=0, random_state=0).fit(X)
    assert fast.plan_.evaluate_all
    assert fast.plan_.precision == "float32"
    vectors = np.repeat(model.support_vectors_, 2, axis=0)  # on the boundary, where float32 does not tell
    answers = fast.predict(vectors, details=True)
    np.testing.assert_array_equal(answers.labels, model.predict(vectors))
    by_units = EarlyExitOutlierDetector(model, risk=0, planner=Planner(cost="units"), random_state=0).fit(X)
    assert by_units.plan_.precision == "float64"


def test_linear_machines():
    X = rows(2000, 1)
    model = SGDOneClassSVM(nu=0.2, random_state=0).fit(X[:300])
    fast = EarlyExitOutlierDetector(model, risk=0, random_state=0).fit(X)
    for some in (X, X.astype(np.float32), sparse.csr_array(X)):
        np.testing.assert_array_equal(fast.predict(some), model.predict(some))


def test_a_promise_about_outliers():
    model = forest(contamination=0.05)
    fast = EarlyExitOutlierDetector(model, risk={"outlier": 0.1}, planner=Planner(cost="units"), random_state=0)
    answers = fast.fit(rows(12_000, 1)).predict(rows(12_000, 2), details=True)
    full = model.predict(rows(12_000, 2))
    assert (answers.labels[full == 1] == 1).all()  # no inlier is called an outlier
    assert (answers.labels[full == -1] == 1).mean() < 0.13
    assert (answers.status == Status.EARLY).mean() > 0.5
    assert (answers.labels[answers.status == Status.EARLY] == 1).all()


def test_words_of_a_risk():
    both = EarlyExitOutlierDetector(None, risk={"outlier": 0.1, "inlier": 0.01})
    assert both.promised_risk == {-1: 0.1, 1: 0.01}
    assert EarlyExitOutlierDetector(None, risk={"outlier": 0.1}).promised_risk == {-1: 0.1, 1: 0.0}
    assert EarlyExitOutlierDetector(None, risk={"outlier": 0.1, "all": 0.01}).promised_risk == {-1: 0.1, "all": 0.01}
    assert EarlyExitOutlierDetector(None, risk={-1: 0.1, 1: 0.2}).promised_risk == {-1: 0.1, 1: 0.2}
    assert EarlyExitOutlierDetector(None, risk=0.01).promised_risk == 0.01
    with pytest.raises(ValueError, match="bounds one class twice"):
        EarlyExitOutlierDetector(forest(), risk={"outlier": 0.1, -1: 0.2}).fit(rows())
    with pytest.raises(ValueError, match="'odd', which is none of the labels 'outlier', 'inlier'"):
        EarlyExitOutlierDetector(forest(), risk={"odd": 0.1}).fit(rows())


def test_a_detector_that_is_not_fitted_and_one_in_a_pipeline():
    X = rows(4000)
    fast = EarlyExitOutlierDetector(
        IsolationForest(n_estimators=25, random_state=0), risk={"outlier": 0.2}, random_state=0
    ).fit(X)
    assert (fast.predict(X) == fast.estimator_.predict(X)).mean() > 0.95
    piped = make_pipeline(StandardScaler(), IsolationForest(n_estimators=10, random_state=0)).fit(X)
    np.testing.assert_array_equal(EarlyExitOutlierDetector(piped, risk=0).fit(X).predict(X), piped.predict(X))


def test_refusals():
    X = rows()
    with pytest.raises(TypeError, match="IsolationForest is an outlier detector: wrap it in EarlyExitOutlierDetector"):
        EarlyExitClassifier(forest(), risk=0).fit()
    with pytest.raises(TypeError, match="LogisticRegression is a classifier: wrap it in EarlyExitClassifier"):
        EarlyExitOutlierDetector(LogisticRegression().fit(X, X[:, 0] > 0)).fit(X)
    with pytest.raises(TypeError, match="LocalOutlierFactor is not supported"):
        EarlyExitOutlierDetector(LocalOutlierFactor(novelty=True).fit(X), risk=0).fit()


@pytest.mark.parametrize("offset", [-0.5, -0.4, -0.6])
def test_trees_of_one_row(offset):
    X = rows()
    model = IsolationForest(n_estimators=3, max_samples=1).fit(X)
    model.offset_ = offset
    fast = EarlyExitOutlierDetector(model, risk=0).fit()
    np.testing.assert_array_equal(fast.predict(X), model.predict(X))
    np.testing.assert_array_equal(fast.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(fast.score_samples(X), model.score_samples(X))
    assert fast.predict_one(X[0]) == model.predict(X[:1])[0]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(200))
def test_random_detectors(seed):
    rng = np.random.default_rng(seed)
    options = list(FORESTS.values())[seed % len(FORESTS)]
    model = IsolationForest(n_estimators=int(rng.integers(1, 60)), random_state=seed, **options).fit(rows(700, seed))
    X = rows(900, seed + 1) * rng.choice([1e-3, 1, 1e3])
    fast = EarlyExitOutlierDetector(model, risk=0).fit(X if rng.random() < 0.5 else None)
    np.testing.assert_array_equal(fast.predict(X), model.predict(X))
    np.testing.assert_array_equal(fast.score_samples(X), model.score_samples(X))
