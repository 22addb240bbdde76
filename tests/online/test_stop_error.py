"""The stop error that audits estimate, compared with the true one."""

from __future__ import annotations

import numpy as np
import pytest
from online.reference import walk_problem

from wald import _core
from wald.online import AttentivePerceptron
from wald.online.attention import ERROR_OF, rule_of
from wald.online.stop_error import StopError
from wald.stopping.core.binomial import interval


def watched(model, X, y, epochs=2):
    """Train the model's compiled learner with every row evaluated in secret: (audits, truth)."""
    settings = model.partial_fit(X[:0], y[:0], classes=[-1, 1]).problems_[0].settings
    learner = _core.OnlineLearner(settings | {"watch_all": True})
    rows, positive = _core.Rows.dense(X), (y > 0).astype(np.uint8)
    for _ in range(epochs):
        learner.train(rows, positive, None, 1.0, 1.0, None)
    plain = _core.OnlineLearner(settings)
    for _ in range(epochs):
        plain.train(rows, positive, None, 1.0, 1.0, None)
    np.testing.assert_array_equal(plain.answer(True)[0], learner.answer(True)[0])
    return learner.audits.sum(axis=0), learner.truth.sum(axis=0)


MODELS = {
    "conditional": AttentivePerceptron(run_length=8, audit_rate=0.05),
    "centred": AttentivePerceptron(attention="constant", run_length=8, audit_rate=0.05),
    "bridge": AttentivePerceptron(attention="constant", boundary="bridge", delta=0.1, run_length=8, audit_rate=0.2),
}


@pytest.mark.long
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_intervals_cover_the_truth(model):
    among = {"joint": 0, "posterior": 1, "conditional": 2}[ERROR_OF[rule_of(model)]]
    covered, runs = 0, 200
    for seed in range(runs):
        X, y = walk_problem(np.random.default_rng(seed), 4000, 96, signal=0.25)
        audits, truth = watched(model.set_params(random_state=seed), X, y)
        assert truth[3] > 0
        low, high = interval(int(audits[3]), int(audits[among]), 0.95)
        covered += low <= truth[3] / truth[among] <= high
    assert covered >= 0.93 * runs


@pytest.mark.slow
@pytest.mark.parametrize("target", [0.01, 0.05])
def test_feedback_holds_the_stop_error(target):
    errors = np.zeros(4)
    for seed in range(4):
        X, y = walk_problem(np.random.default_rng(seed), 36000, 96, signal=0.12)
        model = AttentivePerceptron(
            delta="auto", max_stop_error=target, run_length=8, audit_rate=0.1, random_state=seed
        )
        errors += watched(model, X, y)[1]
    assert errors[3] / errors[1] < target + 0.004  # a finite stream starts somewhere
    assert errors[1] > 0.1 * errors[0]


def test_a_stop_error_in_words():
    assert StopError.from_counts("joint", (200, 100, 50, 4)) == StopError("joint", 4, 200)
    assert StopError.from_counts("posterior", (200, 100, 50, 4)).rate == 0.04
    assert StopError.from_counts("conditional", (200, 100, 50, 4)).n_trials == 50
    assert "unknown" in str(StopError("posterior", 0, 0))
    assert np.isnan(StopError("joint", 0, 0).rate)
    assert StopError("joint", 0, 0).interval == (0.0, 1.0)
