"""The stage at which a row is left, computed in NumPy from the state of a learner."""

from __future__ import annotations

import numpy as np
import pytest
from online.reference import walk_problem

from wald.online import AttentivePegasos, AttentivePerceptron

RUN = 8


def depth(state, side, x, y, at, scale):
    """Features read until the first stage at which the row is clear, and the smallest distance to a boundary."""
    w, b = state["weights"][: len(x)], state["intercept"]
    order, stages, mean = (state[f"{side}.{name}"] for name in ("order", "checkpoints", "mean"))
    factors = np.split(state[f"{side}.factors"], np.cumsum(stages)[:-1])
    closest = np.inf
    for m, factor, spread in zip(stages, factors, state[f"{side}.spread"], strict=True):
        margin = b + w @ mean[: len(x)]
        for unit, f in zip(order[:m], factor, strict=True):
            run = slice(RUN * unit, RUN * (unit + 1))
            margin += f * (w[run] @ (x[run] - mean[run]))
        error = state[f"{side}.width"] * spread * scale / state[f"{side}.scale"]
        clear = y * margin - at - error
        closest = min(closest, abs(clear))
        if clear > 0:
            return m * RUN, closest
    return len(x), closest


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("model", [AttentivePerceptron(), AttentivePegasos(alpha=0.01)])
def test_rows_are_left_where_the_regression_says(model, dtype):
    X, Y = walk_problem(np.random.default_rng(3), 4000, 96)
    X = X.astype(dtype)
    model.set_params(run_length=RUN, audit_rate=0.0, random_state=0, average=False)
    model.partial_fit(X[:3000], Y[:3000], classes=[-1, 1])
    learner, seen = model.problems_[0].learner, []
    for x, y in zip(X[3000:], Y[3000:], strict=True):
        state = learner.state()
        scale = 0.01 * state["step"] if isinstance(model, AttentivePegasos) else 1.0
        at = scale if isinstance(model, AttentivePegasos) else 0.0
        expected, closest = depth(state, "positive" if y > 0 else "negative", x.astype(float), y, at, scale)
        before = model.features_seen_
        model.partial_fit(x[None], [y])
        if closest > 1e-4 * np.abs(state["weights"]).max():
            assert model.features_seen_ - before == expected
        seen.append(expected)
    assert len(set(seen)) > 3
    assert np.mean(seen) < 80
