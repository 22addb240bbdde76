"""A call that ends with an exception leaves the whole state of the learner unchanged."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import wald
from wald.online import AttentiveBoosting, AttentivePassiveAggressive, AttentivePegasos, AttentivePerceptron

RNG = np.random.default_rng(0)
X = RNG.standard_normal((3000, 30))
Y = (X[:, :3] + 0.3 * RNG.standard_normal((3000, 3))).argmax(axis=1)
BAD = X.copy()
BAD[2900] = np.nan


class Stop(BaseException):
    pass


def vote(rows: Any) -> Any:
    if np.isnan(rows).any():
        raise Stop
    return np.where(rows[:, 0] > 0, 1.0, -1.0)


LEARNERS: dict[str, Any] = {
    "perceptron": lambda: AttentivePerceptron(random_state=0, max_iter=3, tol=None),
    "pegasos": lambda: AttentivePegasos(random_state=0, max_iter=3, tol=None),
    "passive-aggressive": lambda: AttentivePassiveAggressive(random_state=0, max_iter=3, tol=None),
    "boosting": lambda: AttentiveBoosting(random_state=0, max_iter=3, tol=None),
    "first rows": lambda: AttentiveBoosting(random_state=0, threshold_rows=5000),
    "voters": lambda: AttentiveBoosting([vote, lambda rows: np.sign(rows[:, 1])], random_state=0, max_iter=3, tol=None),
}


def inside(learner: Any) -> bytes:
    return pickle.dumps({k: v for k, v in vars(learner).items() if k != "hypotheses_" and k != "hypotheses"})


@pytest.mark.parametrize("name", LEARNERS)
def test_a_chunk_that_fails_has_taught_nothing(name):
    learner, other = (LEARNERS[name]().partial_fit(X[:500], Y[:500], classes=[0, 1, 2]) for _ in range(2))
    before, labels = inside(learner), learner.predict(X, attention="conditional")
    with pytest.raises((ValueError, Stop)):
        learner.partial_fit(BAD, Y)
    assert inside(learner) == before
    np.testing.assert_array_equal(learner.predict(X, attention="conditional"), labels)
    learner.partial_fit(X, Y)
    other.partial_fit(X, Y)
    np.testing.assert_array_equal(learner.coef_, other.coef_)
    assert inside(learner) == inside(other)


@pytest.mark.parametrize("name", [name for name in LEARNERS if name != "first rows"])
def test_a_warm_fit_that_fails_has_taught_nothing(name):
    learner = LEARNERS[name]().set_params(warm_start=True).fit(X, Y)
    before, labels = inside(learner), learner.predict(X, attention="conditional")
    with pytest.raises((ValueError, Stop)):
        learner.fit(BAD, Y)
    assert inside(learner) == before
    np.testing.assert_array_equal(learner.predict(X, attention="conditional"), labels)


def test_a_learner_whose_chunk_failed_can_be_saved():
    learner = AttentivePerceptron(random_state=0).partial_fit(X[:500], Y[:500], classes=[0, 1, 2])
    with pytest.raises(ValueError, match="NaN"):
        learner.partial_fit(BAD, Y)
    assert wald.persistence.to_bytes(learner)


@pytest.mark.parametrize(
    ("n", "value"), [*((n, value) for n in (1, 5, 100) for value in (np.nan, np.inf)), (1, -1e200), (5, -1e200)]
)
def test_a_few_wide_rows_that_fail_have_taught_nothing(n, value):
    wide = np.tile(X[:600], (1, 20))
    learner = AttentivePassiveAggressive(attention="full").partial_fit(wide[:500], Y[:500], classes=[0, 1, 2])
    before = inside(learner)
    rows = wide[500 : 500 + n].copy()
    rows[-1] = value
    with pytest.raises(ValueError, match=r"NaN|infinit|long"):
        learner.partial_fit(rows, Y[500 : 500 + n])
    assert inside(learner) == before


def test_a_first_chunk_that_fails_leaves_nothing():
    learner = AttentivePerceptron()
    with pytest.raises(ValueError, match="NaN"):
        learner.partial_fit(BAD, Y, classes=[0, 1, 2])
    assert not hasattr(learner, "problems_")
    with pytest.raises(ValueError, match="NaN"):
        learner.set_params(warm_start=True).fit(BAD, Y)
    assert not hasattr(learner, "problems_")
