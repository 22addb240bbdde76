"""The compiled plan answers as it was fitted, whatever happens to the estimator around it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from wald import CompiledPlan, EarlyExitClassifier, Planner
from wald.monitoring import DriftWarning
from wald.persistence import from_bytes, to_bytes
from wald.stopping import Lossless

pytestmark = pytest.mark.filterwarnings("ignore:no early exit")


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray]:
    return make_classification(3000, 10, n_informative=6, random_state=0)


@pytest.fixture(scope="module")
def svc(rows) -> SVC:
    X, y = rows
    return SVC().fit(X[:500], y[:500])


@pytest.fixture
def fast(rows, svc) -> EarlyExitClassifier:
    return EarlyExitClassifier(FrozenEstimator(svc), risk=0.05, planner=Planner(cost="units"), random_state=0).fit(
        rows[0][500:]
    )


def test_answers_are_those_of_the_estimator(fast, rows):
    compiled, X = fast.compiled_plan_, rows[0]
    assert isinstance(compiled, CompiledPlan)
    answers = compiled.predict(X)
    labels, costs = fast.predict(X, return_cost=True)
    np.testing.assert_array_equal(answers.labels, labels)
    np.testing.assert_array_equal(answers.costs, costs)
    np.testing.assert_array_equal(compiled.plan.stage_costs[answers.stages], costs)
    one = compiled.predict_one(X[0])
    assert (one.labels[0], one.costs[0], one.stages[0]) == (labels[0], costs[0], answers.stages[0])


# ---- what was set after fit ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("set_later", ["ladder", Lossless(low=-100, high=100)], ids=["ladder", "wider"])
def test_exits_keep_the_ranges_that_they_rely_on(set_later):
    rng = np.random.default_rng(0)
    model = LogisticRegression().fit(rng.random((500, 20)), rng.integers(0, 2, 500))
    model.coef_ = rng.normal(size=(1, 20)) * np.geomspace(10, 0.1, 20)
    model.intercept_ = -model.coef_.sum(axis=1) / 2
    rule = Lossless(low=0, high=1)
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0, planner=Planner(rule=rule, cost="units"), random_state=0)
    fast.fit(rng.random((1000, 20)))
    drifted = rng.random((400, 20))
    drifted[:, -1] = rng.normal(size=400) * 1000
    assert not fast.plan_.evaluate_all
    fast.set_params(planner__rule=set_later)
    for other in (fast, fast.recertify(rng.random((500, 20))), from_bytes(to_bytes(fast))):
        np.testing.assert_array_equal(other.predict(drifted), model.predict(drifted))
    with pytest.raises(ValueError, match="rows are read whole"):
        fast.compiled_plan_.first_stages(drifted, 1, 1)


def test_a_file_holds_the_promise_that_was_made(fast):
    fast.set_params(risk={"each": 0.5})
    loaded = from_bytes(to_bytes(fast.watched(0.1)))
    assert (loaded.risk, loaded.certificate_.about) == (0.05, "all")
    assert [line.name for line in loaded.monitor_.lines] == [line.name for line in fast.watched(0.1).monitor_.lines]


@pytest.mark.parametrize(("about", "other"), [("positive", "negative"), ("negative", "positive")])
def test_another_promise_closes_the_exits_that_it_does_not_cover(fast, rows, svc, about, other):
    X, own = rows[0], svc.predict(rows[0])
    again = fast.recertify(X[500:], risk={about: 0.2, other: 0})
    covered = own == fast.classes_[int(about == "positive")]
    np.testing.assert_array_equal(again.predict(X[~covered]), own[~covered])
    assert np.mean(again.predict(X[covered]) != own[covered]) <= 0.2
    assert again.certificate_.about == about


def test_a_failed_fit_changes_no_answer(fast, rows):
    X, y = rows
    before = [fast.predict_one(x) for x in X[:20]]
    other = LogisticRegression().fit(X, np.where(y == 1, "yes", "no"))
    fast.set_params(estimator=FrozenEstimator(other), risk={"all": 0.05, "maybe": 0.1})
    with pytest.raises(ValueError, match="maybe"):
        fast.fit(X)
    assert [fast.predict_one(x) for x in X[:20]] == before
    np.testing.assert_array_equal(fast.predict(X[:20]), before)


# ---- monitors --------------------------------------------------------------------------------------------------------


def test_a_new_certificate_keeps_what_happens_once_the_promise_is_broken(fast, rows):
    watched = fast.watched(0.5, on_broken="full")
    for monitor in (watched.monitor_, watched.recertify(rows[0][500:]).monitor_):
        assert (monitor.audit_rate, monitor.on_broken) == (0.5, "full")
    for other in (fast, fast.recertify(rows[0][500:]), watched.unwatched(), watched.watched(None)):
        with pytest.raises(AttributeError, match=r"no monitor_: watched\(...\) gives an estimator that has one"):
            _ = other.monitor_
    with pytest.raises(ValueError, match="on_broken"):
        fast.watched(None, on_broken="never")


def test_a_model_that_changed_is_not_watched(rows):
    X, y = rows
    model = LogisticRegression().fit(X[:500], y[:500])
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0.05, planner=Planner(cost="units"), random_state=0).fit(
        X[500:]
    )
    model.coef_ = -model.coef_
    with pytest.raises(ValueError, match="not the one that was planned"):
        fast.watched(0.1)


def test_a_trace_shows_what_is_served_once_the_promise_is_broken(rows, svc):
    X = rows[0]
    fast = EarlyExitClassifier(
        FrozenEstimator(svc), risk=0.3, confidence=0.5, planner=Planner(cost="units"), random_state=0
    )
    watched = fast.fit(X[500:]).watched(1.0, on_broken="full")
    x = next(x for x in X if fast.predict_one(x) != svc.predict(x[None])[0])
    with pytest.warns(DriftWarning):
        watched.predict(np.repeat(x[None], 2000, axis=0))
    trace = watched.trace(x)
    assert (trace.label, trace.cost) == watched.predict_one(x, return_cost=True)
    assert trace.label == svc.predict(x[None])[0]


# ---- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ask", ["predict", "stage_scores", "looks", "recertify"])
def test_errors_about_records_name_the_place(ask):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(2000, 3)), columns=["a", "b", "c"])
    model = SVC().fit(frame[:500], frame.a[:500] > 0)
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0.05, planner=Planner(cost="units"), random_state=0).fit(
        frame[500:]
    )
    records = frame[:5].to_dict("records")
    records[3]["b"] = np.nan
    with pytest.raises(ValueError, match=r"row 3, column 'b'"):
        getattr(fast, ask)(records)


class Forgetful(SVC):
    """Leaves out of its pickles, and so of its copies, what it needs to predict."""

    def __getstate__(self):
        return {name: value for name, value in super().__getstate__().items() if name != "support_vectors_"}


def test_the_check_of_fit_needs_no_copies_of_the_estimator(rows):
    X, y = rows
    model = Forgetful().fit(X[:500], y[:500])
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0.05, planner=Planner(cost="units"), random_state=0).fit(
        X[500:]
    )
    assert fast.compiled_plan_.agreement.n_rows > 0
