"""A classifier that watches its promise: the same answers, audits of served rows, files, and what happens after."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from kinds.parameters import nested
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PowerTransformer
from sklearn.svm import SVC

import wald
from wald import EarlyExitClassifier, Planner
from wald.monitoring import DriftWarning

X, y = make_classification(14_000, 12, n_informative=6, class_sep=1.4, random_state=0)
MODELS: dict[str, Any] = {
    "kernel": SVC(),
    "linear": LogisticRegression(),
    "trees": HistGradientBoostingClassifier(max_iter=60, early_stopping=False),
    "pipeline": make_pipeline(PowerTransformer(), LogisticRegression()),
}
SERVED = X[8000:]


@pytest.fixture(scope="module", params=MODELS)
def fitted(request: pytest.FixtureRequest) -> tuple[EarlyExitClassifier, EarlyExitClassifier]:
    """The same plan with and without audits."""
    model = clone(MODELS[request.param]).fit(X[:2000], y[:2000])
    params: dict[str, Any] = {"risk": 0.02, "cost": "units", "random_state": 0}
    plain = EarlyExitClassifier(FrozenEstimator(model), **nested(**params)).fit(X[2000:8000])
    return plain, plain.watched(0.2)


@pytest.fixture
def watching(fitted: tuple[EarlyExitClassifier, EarlyExitClassifier]) -> EarlyExitClassifier:
    fitted[1].monitor_.reset()
    return fitted[1]


def test_answers_are_the_same_and_rows_are_counted(fitted, watching) -> None:
    plain, _ = fitted
    with warnings.catch_warnings():
        warnings.simplefilter("error", DriftWarning)
        labels, costs = watching.predict(SERVED, return_cost=True)
        np.testing.assert_array_equal([watching.predict_one(x) for x in SERVED[:200]], labels[:200])
    expected = plain.predict(SERVED, return_cost=True)
    np.testing.assert_array_equal(labels, expected[0])
    np.testing.assert_array_equal(costs, expected[1])
    monitor = watching.monitor_
    assert not hasattr(plain, "monitor_")
    assert monitor.state == "holding"
    assert monitor.n_rows == len(SERVED) + 200
    assert abs(monitor.n_audits - 0.2 * monitor.n_rows) < 150
    low, high = monitor.disagreement
    differ = np.mean(labels != watching.estimator_.predict(SERVED))
    assert low <= differ <= high
    low, high = monitor.mean_cost
    assert low <= costs.mean() <= high


def test_all_rows_can_be_audited(watching) -> None:
    every = watching.watched(1.0).recertify(X[2000:8000])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DriftWarning)
        labels = every.predict(SERVED)
    assert every.monitor_.n_audits == len(SERVED)
    assert every.monitor_.n_disagreements == np.count_nonzero(labels != every.estimator_.predict(SERVED))


def test_calls_with_a_budget_are_not_counted(watching) -> None:
    most = float(watching.plan_.full_cost)
    watching.predict(SERVED, budget=most)
    watching.predict_one(SERVED[0], budget=most)
    assert watching.monitor_.n_rows == 0


def test_a_row_that_cannot_be_read_is_not_counted(watching) -> None:
    if not isinstance(watching.estimator_, HistGradientBoostingClassifier):  # which takes NaN and infinity
        bad = np.full((3, 12), np.inf)
        for call in (lambda: watching.predict(bad), lambda: watching.predict_one(bad[0])):
            with pytest.raises(ValueError, match="infinity"):
                call()
    with pytest.raises(ValueError, match="features"):
        watching.predict(SERVED[:, :3])
    assert watching.monitor_.n_rows == 0


def test_counts_are_kept_in_files_and_pickles(watching, tmp_path: Path) -> None:
    watching.predict(SERVED[:1000])
    before = watching.monitor_.as_dict()
    assert pickle.loads(pickle.dumps(watching)).monitor_.as_dict() == before
    pipeline = "skops" if hasattr(watching.estimator_, "steps") else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wald.save(watching, tmp_path / "m.wald", pipeline=pipeline)
        loaded = wald.load(tmp_path / "m.wald")
    assert loaded.monitor_.as_dict() == before
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DriftWarning)  # the same audits, counted twice
        assert loaded.monitor_.merge(watching.monitor_).n_rows == 2000
    np.testing.assert_array_equal(loaded.predict(SERVED[:100]), watching.predict(SERVED[:100]))


def drifted() -> np.ndarray:
    """Rows on which early exits of the kernel machine are often wrong."""
    return np.random.default_rng(0).normal(scale=0.7, size=(4000, 12))


def test_broken_promises_end_in_full_evaluation() -> None:
    model = SVC().fit(X[:2000], y[:2000])
    fast = (
        EarlyExitClassifier(
            FrozenEstimator(model),
            risk=0.001,
            confidence=0.8,
            planner=Planner(cost="units"),
            random_state=0,
        )
        .fit(X[2000:8000])
        .watched(0.5, on_broken="full")
    )
    fast.monitor_.restore(fast.monitor_.stage_counts, **fast.monitor_.counts() | {"state": "broken"})
    labels, costs = fast.predict(SERVED, return_cost=True)
    np.testing.assert_array_equal(labels, model.predict(SERVED))
    assert (costs == fast.plan_.full_cost).all()
    assert fast.predict_one(SERVED[0], return_cost=True) == (labels[0], fast.plan_.full_cost)
    fast.monitor_.reset()
    assert fast.predict(SERVED, return_cost=True)[1].mean() < fast.plan_.full_cost


def test_drifting_rows_are_noticed() -> None:
    model = SVC().fit(X[:2000], y[:2000])
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0.02, planner=Planner(cost="units"), random_state=0)
    fast = fast.fit(X[2000:8000]).watched(0.0)
    with pytest.warns(DriftWarning, match="Served rows are not like those of the certificate"):
        fast.predict(drifted())
    assert fast.monitor_.state == "doubtful"
    assert fast.monitor_.n_audits == 0


def test_records_and_frames_are_counted() -> None:
    names = [f"f{i}" for i in range(12)]
    frame = pd.DataFrame(X, columns=names)
    model = LogisticRegression().fit(frame[:2000], y[:2000])
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0.05, random_state=0).fit(frame[2000:5000]).watched(0.5)
    fast.predict(frame[5000:6000])
    fast.predict_records(frame[6000:6100].to_dict("records"))
    fast.predict_one(frame.iloc[0].to_dict())
    assert fast.monitor_.n_rows == 1101


def test_a_new_certificate_begins_a_new_monitor(watching) -> None:
    watching.predict(SERVED[:500])
    again = watching.recertify(X[8000:11_000])
    assert (again.monitor_.n_rows, watching.monitor_.n_rows) == (0, 500)


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"audit_rate": 1.5}, ValueError, r"audit_rate must be from 0 to 1: .* Got 1\.5"),
        ({"audit_rate": -0.1}, ValueError, "audit_rate must be from 0 to 1"),
        ({"audit_rate": float("nan")}, ValueError, "audit_rate must be from 0 to 1"),
        ({"audit_rate": "0.1"}, TypeError, "audit_rate must be None or a number from 0 to 1. Got str"),
        ({"audit_rate": True}, TypeError, "Got bool"),
        ({"on_broken": "stop"}, ValueError, "on_broken must be 'warn' or 'full'. Got 'stop'"),
    ],
)
def test_wrong_parameters_are_refused(params: dict[str, Any], error: type[Exception], message: str) -> None:
    fast = EarlyExitClassifier(LogisticRegression().fit(X[:2000], y[:2000]), risk=0).fit(X[2000:5000])
    with pytest.raises(error, match=message):
        fast.watched(**{"audit_rate": 0.1} | params)
