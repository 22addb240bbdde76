"""Probabilities and several values within a tolerance: planned, certified, and refused by name."""

import pickle
import warnings

import numpy as np
import pytest
from outputs.redraws import require_kept
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.naive_bayes import BernoulliNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from wald import EarlyExitClassifier, EarlyExitRegressor, Planner, load, save
from wald.early_exit import Status
from wald.early_exit.compiled.answer_columns import AnswerColumns
from wald.monitoring import DriftWarning

UNITS = Planner(cost="units")


def rows(n_classes=2, n=5000):
    return make_classification(n, 8, n_informative=6, n_classes=n_classes, class_sep=1.2, random_state=0)


def targets(X):
    return np.column_stack([X[:, 0] + np.sin(2 * X[:, 1]), 10 * (X[:, 2] * X[:, 0] + X[:, 3])])


def boosted(**options):
    return HistGradientBoostingClassifier(max_iter=40, random_state=0, **options)


def within(model, X, **options):
    given = {"tolerance": 0.1, "risk": 0.1, "planner": UNITS, "random_state": 0} | options
    return EarlyExitClassifier(model, **given).fit(X[800:4000])


def forest():
    return RandomForestClassifier(40, max_depth=6, random_state=0)


CLASSIFIERS = {
    "trees": (boosted(), 2),
    "trees, classes": (boosted(), 3),
    "forest": (forest(), 2),
    "forest, classes": (forest(), 3),
    "linear": (LogisticRegression(), 2),
    "linear, classes": (LogisticRegression(), 3),
    "descent": (SGDClassifier(loss="log_loss", random_state=0), 2),
    "naive": (BernoulliNB(), 2),
    "pipeline": (make_pipeline(StandardScaler(), boosted()), 2),
}
FEWER = ("trees", "trees, classes", "forest", "shares")


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in FEWER else pytest.mark.slow) for n in CLASSIFIERS])
def test_probabilities_within_a_tolerance(name):
    model, n_classes = CLASSIFIERS[name]
    X, y = rows(n_classes)
    model = clone(model).fit(X[:800], y[:800])
    fast, T = within(model, X), X[4000:]
    assert str(fast.certificate_).startswith("probability off by more than 0.1 <= 10 %")
    full, answers, labels = model.predict_proba(T), fast.compiled_plan_.predict(T), fast.predict(T)
    early, left = fast.predict_proba(T), answers.status == Status.EARLY
    np.testing.assert_array_equal(answers.labels, early)
    off = np.abs(early - full).max(axis=1) > 0.1
    assert off.mean() < 0.12
    assert left.mean() > 0.2
    assert answers.costs.mean() < 0.95 * fast.plan_.full_cost
    np.testing.assert_allclose(early[~left], full[~left], rtol=1e-9)
    np.testing.assert_array_equal(labels, model.classes_[early.argmax(axis=1)])
    np.testing.assert_array_equal([fast.predict_one(x) for x in T[:20]], labels[:20])
    np.testing.assert_allclose([fast.predict_proba_one(x) for x in T[:20]], early[:20], rtol=1e-6)
    np.testing.assert_array_equal(fast.predict(T, details=True).labels, labels)
    np.testing.assert_array_equal(fast.predict(T, return_cost=True)[1], answers.costs)
    looks = fast.looks(T)
    stages = looks.leave(*fast.plan_.thresholds())[1]
    assert (stages == answers.stages).mean() > 0.999  # exponentials are rounded otherwise
    lost = looks.lost(np.zeros(len(T), np.int32), answers.stages.astype(np.intp))
    assert np.count_nonzero(lost != off) <= 1


@pytest.fixture(scope="module")
def near():
    X, y = rows()
    model = boosted().fit(X[:800], np.array(["no", "yes"])[y[:800]])
    return model, within(model, X), X[4000:]


def test_doors_of_probabilities(near, tmp_path):
    model, fast, T = near
    early = fast.predict_proba(T)
    save(fast, tmp_path / "fast.wald")
    for other in (pickle.loads(pickle.dumps(fast)), load(tmp_path / "fast.wald")):
        np.testing.assert_array_equal(other.predict_proba(T), early)
        np.testing.assert_array_equal(other.predict(T), fast.predict(T))
        assert other.classes_.tolist() == ["no", "yes"]
        assert other.tolerance == 0.1
    columns = AnswerColumns.of(fast.compiled_plan_)
    assert (columns.name, columns.names, columns.plural) == ("probability", ("proba_no", "proba_yes"), "probabilities")
    watched = fast.watched(1.0)
    watched.predict(T[:300])
    watched.predict_proba(T[300:400])
    lost = (np.abs(early - model.predict_proba(T))[:400] > 0.1).any(axis=1).sum()
    assert (watched.monitor_.n_audits, watched.monitor_.n_disagreements) == (400, lost)
    assert fast.predict_proba(T[:0]).shape == (0, 2)
    assert fast.predict(T[:0]).shape == (0,)
    assert str(fast.explain(T[0])).startswith("Probability 0.")
    again = fast.recertify(T, risk=0.2)
    assert str(again.certificate_).startswith("probability off by more than 0.1 <= 20 %")
    cheap = fast.predict(T, budget=6, details=True)
    assert cheap.costs.max() <= 6
    np.testing.assert_array_equal(fast.decision_function(T), model.decision_function(T))


def test_single_rows_of_probabilities_pass_the_monitor(near):
    model, fast, T = near
    watched = fast.watched(1.0, on_broken="full")
    early = [watched.predict_proba_one(x) for x in T[:30]] + [watched.predict_one(x, details=True) for x in T[30:60]]
    lost = (np.abs(fast.predict_proba(T[:60]) - model.predict_proba(T[:60])) > 0.1).any(axis=1).sum()
    monitor = watched.monitor_
    assert (len(early), monitor.n_rows, monitor.n_audits, monitor.n_disagreements) == (60, 60, 60, lost)
    with pytest.raises(ValueError, match="groups are for a watched promise about groups"):
        fast.predict_one(T[0], details=True, group=1)
    left = np.zeros(fast.plan_.n_stages + 1, dtype=np.int64)
    left[0] = 300
    with pytest.warns(DriftWarning, match="broken|refute"):
        monitor.record(left, np.array([300]), np.array([300.0]))
    n_rows = monitor.n_rows
    full = [watched.predict_proba_one(x) for x in T[:30]]
    np.testing.assert_allclose(full, model.predict_proba(T[:30]), rtol=1e-9)
    assert (np.abs(fast.predict_proba(T[:30]) - full) > 1e-3).any()
    assert monitor.n_rows == n_rows


def test_single_values_pass_the_monitor():
    X, _ = rows(n=2000)
    model = HistGradientBoostingRegressor(max_iter=30).fit(X[:800], targets(X[:800])[:, 0])
    options = {"tolerance": 0.5, "risk": 0.1, "planner": UNITS, "random_state": 0}
    groups = np.arange(1200) // 2
    watched = EarlyExitRegressor(model, **options).fit(X[800:], groups=groups).watched(1.0)
    for group in (7, 7, 8):
        watched.predict_one(X[0], details=True, group=group)
    assert watched.monitor_.n_rows == 2  # one of each group
    never = EarlyExitRegressor(model, **options | {"tolerance": 1e-9}).fit(X[800:]).watched(1.0)
    assert never.plan_.evaluate_all
    assert never.predict_one(X[0], details=True).labels[0] == model.predict(X[:1])[0]
    assert never.monitor_.n_rows == 1


def test_estimates_of_scores_that_are_probabilities_stay_in_their_range(tmp_path):
    X, y = rows(3)
    model = forest().fit(X[:800], y[:800])
    fast = within(model, X, tolerance=0.3)
    links, full = fast.compiled_plan_.model.links, model.predict_proba(X[:50])
    np.testing.assert_array_equal(links.predict(full), full)
    tried = np.array([[-0.1, 1.2, np.nan], [1.0 + 2e-16, -1e-17, 0.5]])
    np.testing.assert_array_equal(links.predict(tried), [[0.0, 1.0, np.nan], tried[1]])
    save(fast, tmp_path / "fast.wald")
    again = load(tmp_path / "fast.wald")
    np.testing.assert_array_equal(again.compiled_plan_.model.links.predict(tried), links.predict(tried))
    early = fast.predict_proba(X[4000:])
    assert 0.0 <= early.min() < early.max() <= 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(fast.predict_log_proba(X[4000:]), np.log(early))


def test_dicts_have_probabilities_too():
    pd = pytest.importorskip("pandas")
    X, y = rows()
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    model = boosted().fit(frame[:800], y[:800])
    fast = within(model, frame)
    some = frame[4000:4010].to_dict("records")
    early = fast.predict_proba(frame[4000:4010])
    np.testing.assert_array_equal(fast.predict_proba_records(some), early)
    np.testing.assert_array_equal(fast.predict_proba_one(some[3]), early[3])
    np.testing.assert_array_equal(fast.predict_records(some), early.argmax(axis=1))
    assert fast.predict_proba_records([]).shape == (0, 2)


@pytest.mark.slow
def test_libraries():
    lgb, xgb = pytest.importorskip("lightgbm"), pytest.importorskip("xgboost")
    for model, n_classes in (
        (lgb.LGBMClassifier(n_estimators=40, verbose=-1, n_jobs=1, sigmoid=2.0), 2),
        (xgb.XGBClassifier(n_estimators=40, n_jobs=1), 3),
    ):
        X, y = rows(n_classes)
        fast = within(model.fit(X[:800], y[:800]), X)
        early, full = fast.predict_proba(X[4000:]), model.predict_proba(X[4000:])
        assert early.dtype == full.dtype
        assert (np.abs(early - full).max(axis=1) > 0.1).mean() < 0.12
        assert fast.predict(X, details=True).costs.mean() < 0.9 * fast.plan_.full_cost


def test_calibrators_of_one_score():
    X, y = rows()
    svc = SVC().fit(X[:800], y[:800])
    calibrated = CalibratedClassifierCV(FrozenEstimator(svc)).fit(X[:800], y[:800])
    fast = within(calibrated, X)
    off = np.abs(fast.predict_proba(X[4000:]) - calibrated.predict_proba(X[4000:])) > 0.1
    assert off.any(axis=1).mean() < 0.12
    assert fast.compiled_plan_.model.decision.slope > 1.1
    linear = LogisticRegression().fit(X[:800], y[:800])
    logs = within(linear, X)
    np.testing.assert_array_equal(logs.predict_log_proba(X[:5]), np.log(logs.predict_proba(X[:5])))
    steps = CalibratedClassifierCV(FrozenEstimator(svc), method="isotonic").fit(X[:800], y[:800])
    one = r"CalibratedClassifierCV is not supported.*Calibrate by one sigmoid, with.*ensemble=False\), or leave"
    several = CalibratedClassifierCV(SVC(), ensemble=True).fit(X[:800], y[:800])
    for refused in (steps, several):
        with pytest.raises(ValueError, match=one):
            within(refused, X)
    X, y = rows(3)
    three = CalibratedClassifierCV(SVC(), ensemble=False).fit(X[:800], y[:800])
    with pytest.raises(ValueError, match=r"may be off\. Leave tolerance out"):
        within(three, X)


def test_probabilities_that_cannot_be_promised_are_refused_by_name():
    X, y = rows()
    trees, svc = boosted().fit(X[:800], y[:800]), SVC().fit(X[:800], y[:800])
    with pytest.raises(TypeError, match=r"this SVC has none: wrap a CalibratedClassifierCV\(ensemble=False\)"):
        within(svc, X)
    with pytest.raises(TypeError, match="a threshold decides the labels of this FixedThresholdClassifier"):
        within(FixedThresholdClassifier(FrozenEstimator(trees), threshold=0.3).fit(X[:800], y[:800]), X)
    loose = SGDClassifier(loss="modified_huber", random_state=0).fit(X[:800], y[:800])
    with pytest.raises(ValueError, match="probabilities of this SGDClassifier is not supported"):
        within(loose, X)
    with pytest.raises(TypeError, match="is a regressor: wrap it in EarlyExitRegressor"):
        within(Ridge().fit(X, y), X)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tolerance": 0}, "tolerance must be a positive number, such as 0.05, or None for probabilities.*Got 0"),
        ({"tolerance": np.array(0.3)}, r"Got array\(0.3\)"),
        ({"tolerance": -0.1}, "positive"),
        ({"tolerance": np.nan}, "Got nan"),
        ({"tolerance": 0.5}, "half of the range of probabilities or more, which lie between 0 and 1"),
        ({"tolerance": [0.1, 0.1]}, r"Got \[0.1, 0.1\]"),
        ({"risk": 0}, r"tolerance=0.1 needs a risk above 0.*for probabilities in full"),
        ({"risk": {"each": 0.1}}, "names strata, and probabilities within a tolerance have none"),
        ({"bands": [0.5]}, "not both"),
    ],
)
def test_bad_parameters_of_classifiers(near, options, message):
    with pytest.raises(ValueError, match=message):
        within(near[0], near[2], **options)


# ---- several values ------------------------------------------------------------------------------------------------


REGRESSORS = {
    "forest": (RandomForestRegressor(40, max_depth=6, random_state=0), {"tolerance": [0.5, 5.0]}),
    "linear": (Ridge(), {"tolerance": [0.5, 5.0]}),
    "shares": (Ridge(), {"tolerance": 0.3, "relative": True}),
    "vectors": (KernelRidge(kernel="rbf", gamma=0.05), {"tolerance": 0.2, "relative": "std"}),
    "quantiles": (RandomForestRegressor(40, max_depth=6, random_state=0), {"tolerance": 0.1, "relative": "quantile"}),
}


@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in FEWER else pytest.mark.slow) for n in REGRESSORS])
def test_several_values_within_a_tolerance(name, tmp_path):
    X, _ = rows()
    model, options = REGRESSORS[name]
    model = clone(model).fit(X[:800], targets(X[:800]))
    fast = EarlyExitRegressor(model, **options, risk=0.1, planner=UNITS, random_state=0).fit(X[800:4000])
    T = X[4000:]
    full, answers = model.predict(T), fast.predict(T, details=True)
    assert "a value off by more than" in str(fast.certificate_)
    most = np.array(fast.tolerance_) * (np.abs(full) if options.get("relative") is True else 1.0)
    off = (np.abs(answers.labels - full) > most).any(axis=1)
    left = answers.status == Status.EARLY
    assert off.mean() < 0.12
    assert left.mean() > 0.2
    assert answers.costs.mean() < 0.95 * fast.plan_.full_cost
    np.testing.assert_allclose(answers.labels[~left], full[~left], rtol=1e-9)
    np.testing.assert_allclose([fast.predict_one(x) for x in T[:20]], answers.labels[:20], rtol=1e-9)
    watched = fast.watched(1.0)
    watched.predict(T)
    assert watched.monitor_.n_disagreements == off.sum()
    save(fast, tmp_path / "fast.wald")
    again = load(tmp_path / "fast.wald")
    np.testing.assert_array_equal(again.predict(T), answers.labels)
    assert again.tolerance_ == fast.tolerance_
    assert again.relative == fast.relative
    assert AnswerColumns.of(fast.compiled_plan_).names == ("value_0", "value_1")
    assert fast.predict(T[:0]).shape == (0, 2)


def test_a_tolerance_in_the_unit_of_the_values_chooses_none_of_its_certificate_rows():
    X, _ = rows()
    y = targets(X)[:, 0]
    model = RandomForestRegressor(30, max_depth=5, random_state=0).fit(X[:800], y[:800])
    fast = EarlyExitRegressor(model, tolerance=0.25, relative="std", risk=0.1, planner=UNITS, random_state=0)
    fast.fit(X[800:4000])
    assert fast.tolerance_ == pytest.approx(0.25 * model.predict(X[800:4000]).std(), rel=0.15)
    assert str(fast.certificate_).startswith(f"off by more than {fast.tolerance_:g} <= 10 %")
    assert fast.certificate_.n_rows == 1440  # a tenth of 3200 rows is looked at, and half of the others certify
    absolute = EarlyExitRegressor(model, tolerance=0.25, risk=0.1, planner=UNITS, random_state=0).fit(X[800:4000])
    assert (absolute.tolerance_, absolute.certificate_.n_rows) == (0.25, 1600)
    groups = np.arange(3200) // 4
    grouped = fast.fit(X[800:4000], groups=groups)
    assert "random group" in str(grouped.certificate_)
    constant = RandomForestRegressor(2).fit(X[:50], np.ones(50))
    with pytest.raises(ValueError, match=r"relative='std' measures how far.*they do not differ: give an absolute"):
        fast.set_params(estimator=constant).fit(X[800:])


@pytest.mark.parametrize("probable", [True, False])
def test_where_it_cannot_pay_everything_is_evaluated_and_told(probable):
    X, y = rows()
    if probable:
        model = boosted().fit(X[:800], y[:800])
        fast = EarlyExitClassifier(model, tolerance=1e-6, risk=0.01, random_state=0).fit(X[800:4000])
        np.testing.assert_array_equal(fast.predict_proba(X), model.predict_proba(X))
        np.testing.assert_array_equal(fast.predict(X), model.predict(X))
    else:
        model = RandomForestRegressor(30, max_depth=6, random_state=0).fit(X[:800], targets(X[:800]))
        fast = EarlyExitRegressor(model, tolerance=1e-6, risk=0.01, random_state=0).fit(X[800:4000])
        np.testing.assert_array_equal(fast.predict(X), model.predict(X))
        np.testing.assert_array_equal(fast.predict_one(X[0]), model.predict(X[:1])[0])
    assert str(fast.certificate_) == "no early exit: evaluating everything is not slower"


def test_rows_of_any_form_are_looked_at():
    pd = pytest.importorskip("pandas")
    from scipy import sparse
    from sklearn.svm import SVR

    X, _ = rows(n=1500)
    y = targets(X)[:, 0]
    svr = SVR(C=0.1).fit(sparse.csr_matrix(X[:200]), y[:200])  # which takes dense rows, too
    options = {"tolerance": 0.5, "risk": 0.2, "planner": UNITS, "random_state": 0, "relative": "std"}
    dense, thin = (EarlyExitRegressor(svr, **options).fit(R) for R in (X[200:], sparse.csr_matrix(X[200:])))
    assert dense.tolerance_ == pytest.approx(thin.tolerance_)
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    ridge = Ridge().fit(frame[:200], y[:200])
    found = [EarlyExitRegressor(ridge, **options).fit(R).tolerance_ for R in (frame[200:], X[200:])]
    assert found[0] == pytest.approx(found[1])


def test_bad_tolerances_of_several_values():
    X, _ = rows(n=2000)
    model = RandomForestRegressor(10, max_depth=4, random_state=0).fit(X[:800], targets(X[:800]))

    def fitted(**options):
        return EarlyExitRegressor(model, risk=0.1, planner=UNITS, random_state=0, **options).fit(X[800:])

    with pytest.raises(ValueError, match=r"one for each of the 2 values this RandomForestRegressor has\. Got 3"):
        fitted(tolerance=[0.1, 0.2, 0.3])
    with pytest.raises(ValueError, match=r"in the unit of the values.*Got array\(0\.2\)"):
        fitted(tolerance=np.array(0.2))
    with pytest.raises(ValueError, match=r"Got -0\.2"):
        fitted(tolerance=[0.1, -0.2])
    with pytest.warns(UserWarning, match=r"larger than the range of the model's value 0 on these rows, from -"):
        fitted(tolerance=[100.0, 1.0])
    with pytest.raises(AttributeError, match=r"a regressor has none; predict gives.*EarlyExitClassifier\(model"):
        _ = EarlyExitRegressor(model).predict_proba
    assert not hasattr(EarlyExitRegressor(model).fit(), "predict_proba")


@pytest.mark.long
@pytest.mark.parametrize("name", ["trees", "few distinct values", "trees, classes", "two values", "ties"])
def test_certificates_hold(name):
    X, y = rows(3 if name == "trees, classes" else 2, n=20_000)
    options = {"risk": 0.05, "planner": UNITS, "random_state": 0}
    if name == "two values":
        model = RandomForestRegressor(10, max_depth=3, random_state=0).fit(X[:1000], np.round(targets(X[:1000])))
        fast = EarlyExitRegressor(model, tolerance=[0.5, 5.0], **options)
    else:
        model = boosted()
        if name == "few distinct values":
            model = RandomForestClassifier(8, max_depth=2, random_state=0)
        elif name == "ties":  # tolerances equal to differences of probabilities
            model = RandomForestClassifier(8, max_depth=None, random_state=0)
        fast = EarlyExitClassifier(model.fit(X[:1000], y[:1000]), tolerance=0.125, **options)
    require_kept(fast.fit(X[1000:5000]), X[5000:], 0.05, 1500)
