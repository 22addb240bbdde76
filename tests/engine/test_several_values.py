"""Rows of several scores leave where every value keeps its tolerance, by both engines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from engine.margins import asked

from wald.engine import PythonTerms, Readout, Stages, Status
from wald.models import NO_SURROGATES
from wald.models.linear import LinearTerms
from wald.outputs import Values

RNG = np.random.default_rng(3)
X = RNG.normal(size=(3000, 12)).astype(np.float32).astype(np.float64)
LINEAR = LinearTerms(RNG.normal(size=(3, 12)) / 2, np.array([0.3, 0.0, -1.0]))
COSTS = np.array([1.0, 2.0, 4.0, 9.0])
OUTPUTS = {
    "shares": Values(3, 0.3, "relative", relative=True, tolerances=[0.3] * 3),
    "exponentials": Values(3, 0.4, "exp", tolerances=[0.1, 0.4, 0.2]),
    "probabilities": Values(3, 0.1, "logistic", tolerances=[0.1, 0.05, 0.1]),
    "softmax": Values(3, 0.1, "softmax", tolerances=[0.1] * 3),
    "constant": Values(3, 0.4, "constant", tolerances=[0.1, 0.4, 0.2]),
}


def stages(terms: Any, order: np.ndarray) -> Stages:
    ends = np.array([4, 6, 11])
    readouts = [Readout(np.ascontiguousarray(terms.coef[:, order[:m]]) * 1.2, terms.intercept) for m in ends]
    return Stages(ends, readouts)


@pytest.mark.parametrize("name", OUTPUTS)
def test_both_engines_answer_alike(name: str) -> None:
    output, order = OUTPUTS[name], RNG.permutation(12)
    made = stages(LINEAR, order)
    packed, model = LINEAR.pack(order, NO_SURROGATES, "float64"), asked(output)
    estimates = packed.cascade(model, made, -np.ones(3), np.full(3, np.inf), COSTS).trace(X, 1).margins
    assert estimates.shape == (len(X), 3, 3)
    margins = np.column_stack([output.judged(estimates[:, t])[1] for t in range(3)])
    high = np.quantile(margins, 0.6, axis=0) if name != "constant" else np.array([2.0, 0.5, 0.5])
    ours = packed.cascade(model, made, -high, high, COSTS)
    python = PythonTerms(LINEAR, order).cascade(model, made, -high, high, COSTS)
    for n_stages, at_end in ((3, "full"), (2, "answer"), (2, "pending"), (0, "full")):
        found, expected = (engine.predict(X, n_stages, at_end, 1) for engine in (ours, python))
        same = (found.ledger.stages == expected.ledger.stages) & (found.ledger.status == expected.ledger.status)
        assert same.mean() > 0.999
        np.testing.assert_allclose(found.codes[same], expected.codes[same], rtol=1e-12, atol=1e-12)
        pending = found.ledger.status == Status.PENDING
        assert np.isnan(found.codes[pending]).all()
        assert np.isfinite(found.codes[~pending]).all()
        one = ours.predict(X[5:6], n_stages, at_end, 1)
        np.testing.assert_array_equal(one.codes[0], found.codes[5])
    early = ours.predict(X, 3, "full", 1)
    left = early.ledger.status == Status.EARLY
    assert 0.3 < left.mean() <= 1.0
    np.testing.assert_array_equal(early.codes[left], estimates[left, early.ledger.stages[left]])


def test_a_row_that_is_not_finite_has_no_values() -> None:
    output, order = OUTPUTS["softmax"], np.arange(12)
    bad = X[:3].copy()
    bad[1, 2] = np.nan
    cascade = LINEAR.pack(order, NO_SURROGATES, "float64").cascade(
        asked(output), stages(LINEAR, order), -np.ones(3), np.zeros(3), COSTS
    )
    found = cascade.predict(bad, 3, "full", 1)
    assert found.ledger.status[1] == Status.NOT_FINITE
    assert np.isnan(found.codes[1]).all()
    assert np.isfinite(found.codes[[0, 2]]).all()
    assert np.isnan(cascade.trace(bad, 1).margins[1]).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tolerances": [0.1, 0.2]}, "a tolerance for each"),
        ({"tolerances": [0.1, 0.2, -0.1]}, "positive and finite"),
        ({"tolerances": [0.1, 0.2, np.nan]}, "positive and finite"),
        ({"margin": "bands"}, "no thresholds"),
        ({"n_values": 1, "margin": "softmax"}, "several values"),
    ],
)
def test_the_core_trusts_no_output(changes: dict[str, Any], message: str) -> None:
    output = Values(3, 0.4, "constant", tolerances=[0.1, 0.4, 0.2])
    for name, value in changes.items():
        object.__setattr__(output, name, value)
    packed = LINEAR.pack(np.arange(12), NO_SURROGATES, "float64")
    with pytest.raises(ValueError, match=message):
        packed.cascade(asked(output), stages(LINEAR, np.arange(12)), -np.ones(3), np.ones(3), COSTS)


def test_single_rows_of_several_values_are_answered_by_predict() -> None:
    cascade = LINEAR.pack(np.arange(12), NO_SURROGATES, "float64").cascade(
        asked(OUTPUTS["constant"]), stages(LINEAR, np.arange(12)), -np.ones(3), np.ones(3), COSTS
    )
    with pytest.raises(ValueError, match="answered by predict"):
        cascade.predict_one(X[0], 3, "full", 0.0)
