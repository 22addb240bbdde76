"""Thresholds on probabilities, mapped to thresholds on scores without missing a float."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression

from wald.models.thresholds import Response, above_half, at_least, decision_from, logistic, other_at_least

LEVELS = st.sampled_from([-1.0, 0.0, 1e-300, 1e-20, 0.25, 0.5, 0.75, 1 - 2**-53, 1.0, 1.5]) | st.floats(0, 1)


def check(response, rule, scores):
    decision, tie_margin = decision_from(response, rule)
    assert tie_margin >= 0
    near = [
        np.nextafter(decision.threshold, -np.inf),
        decision.threshold,
        np.nextafter(decision.threshold, np.inf),
    ]
    near += [decision.threshold - 2 * tie_margin, decision.threshold + 2 * tie_margin]
    scores = np.concatenate([scores, [each for each in near if abs(each) < 1e30]])
    exact = np.abs(scores - decision.threshold) > tie_margin if tie_margin else np.ones(len(scores), dtype=bool)
    expected = rule(response.probability(scores), 0.0)
    np.testing.assert_array_equal(decision.answers(scores)[exact], expected[exact])
    return decision, tie_margin


@settings(max_examples=60)
@given(LEVELS, st.sampled_from([1e-6, 0.3, 1.0, 50.0]), st.floats(-5, 5), st.booleans())
def test_logistic(level, slope, offset, single):
    scores = (np.linspace(-60, 60, 2001) - offset) / slope
    response = logistic(slope, offset, single=single)
    for rule in (at_least(level), other_at_least(level), above_half):
        decision, tie_margin = check(response, rule, scores)
        if rule is above_half or 0.01 < level < 0.99:
            assert tie_margin * slope < (1e-12 if not single else 3e-4)  # a few roundings, no more
    assert np.isclose(decision.threshold, -offset / slope, rtol=1e-6, atol=1e-12 / slope)


def test_constant_probability():
    for offset, threshold in ((1.0, -np.inf), (-1.0, np.inf)):
        decision, tie_margin = decision_from(logistic(0.0, offset), above_half)
        assert (decision.threshold, tie_margin) == (threshold, 0.0)


@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.integers(-20, 20), st.sampled_from([0, 1])), min_size=1, max_size=30),
    LEVELS,
    st.sampled_from([np.float32, np.float64]),
)
def test_isotonic_is_exact(pairs, level, dtype):
    scores, labels = np.array(pairs, dtype=dtype).T / 7
    calibrator = IsotonicRegression(out_of_bounds="clip").fit(scores, labels * 7)
    response = Response(lambda s: calibrator.predict(s).astype(np.float64), calibrator.X_thresholds_)
    knots = calibrator.X_thresholds_
    near = [knots, np.nextafter(knots, dtype(-np.inf)), np.nextafter(knots, dtype(np.inf))]
    scores = np.concatenate([np.linspace(-4, 4, 1001), *near]).astype(np.float64)
    for rule, cut in ((at_least(level), level), (other_at_least(level), 1 - level), (above_half, 0.5)):
        _, tie_margin = check(response, rule, scores)
        # Only where a knot lies on the level can rounding before it overshoot the level.
        assert tie_margin == 0 or np.isclose(calibrator.y_thresholds_, cut, rtol=1e-6, atol=1e-6).any()


def test_a_plateau_at_one_half_costs_nothing():
    calibrator = IsotonicRegression(out_of_bounds="clip").fit([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 0.0, 1.0])
    assert calibrator.predict([1.0, 1.5, 2.0]).tolist() == [0.5, 0.5, 0.5]
    response = Response(calibrator.predict, calibrator.X_thresholds_)
    decision, tie_margin = decision_from(response, above_half)
    assert tie_margin == 0
    codes = decision.answers(np.array([1.5, 2.0, 2.0 + 1e-9, 3.0]))
    assert codes.tolist() == (calibrator.predict([1.5, 2.0, 2.0 + 1e-9, 3.0]) > 0.5).astype(int).tolist()


def test_the_threshold_is_the_last_float():
    decision, tie_margin = decision_from(Response(lambda s: (np.clip(s, -1, 1) + 1) / 2), at_least(0.7))
    assert tie_margin == 0
    assert decision.tie_positive
    below = np.nextafter(decision.threshold, -np.inf)
    assert (np.array([below, decision.threshold]) + 1).__truediv__(2).__ge__(0.7).tolist() == [False, True]


def test_float32_probabilities_lie_within_the_tie_margin():
    decision, tie_margin = decision_from(logistic(single=True), at_least(0.7))
    scores = np.linspace(decision.threshold - 3 * tie_margin, decision.threshold + 3 * tie_margin, 999)
    single = scores.astype(np.float32)
    clear = np.abs(single.astype(float) - decision.threshold) > tie_margin
    assert clear.any()
    np.testing.assert_array_equal(decision.answers(single)[clear], (expit(single) >= 0.7)[clear])


def test_without_a_threshold_every_row_is_handed_over():
    decision, tie_margin = decision_from(Response(lambda s: np.full(len(s), 0.5), relative_error=1e-15), at_least(0.5))
    assert np.isposinf(tie_margin)
    assert decision.kind == "sign"
    with pytest.raises(ValueError, match="shape"):
        decision.answers(np.zeros((2, 2)))
