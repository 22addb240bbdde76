"""Binomial bounds, compared with scipy's distribution and published values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from wald.stopping import rows_needed
from wald.stopping.core.binomial import interval, most_disagreements, p_value, smallest_risk, upper_bound

SHARES = st.floats(1e-5, 0.5)
CONFIDENCES = st.floats(0.5, 0.999)


@pytest.mark.parametrize(
    ("k", "n", "risk", "expected"),
    [(0, 100, 0.05, 0.00592053), (2, 200, 0.05, 0.00233629), (5, 1000, 0.01, 0.0661395)],
)
def test_reference_p_values(k, n, risk, expected):
    assert p_value(k, n, risk) == pytest.approx(expected, rel=1e-5)


@given(st.data(), SHARES)
def test_p_value_is_the_binomial_distribution(data, risk):
    n = data.draw(st.integers(1, 20_000))
    k = data.draw(st.integers(0, n))
    assert p_value(k, n, risk) == pytest.approx(
        stats.binom.cdf(k, n, risk), rel=1e-8, abs=1e-100
    )  # both round in the far tail


@given(st.data(), CONFIDENCES)
def test_the_bound_is_where_the_test_turns(data, confidence):
    n = data.draw(st.integers(1, 5000))
    k = data.draw(st.integers(0, n - 1))
    bound = upper_bound(k, n, confidence)
    assert p_value(k, n, bound) == pytest.approx(1 - confidence, rel=1e-6)


@given(st.data(), CONFIDENCES)
def test_interval_is_clopper_and_pearsons(data, confidence):
    n = data.draw(st.integers(1, 5000))
    k = data.draw(st.integers(0, n))
    expected = stats.binomtest(k, n).proportion_ci(confidence, method="exact")
    assert interval(k, n, confidence) == pytest.approx((expected.low, expected.high), rel=1e-6, abs=1e-12)


def test_no_rows_say_nothing():
    assert p_value(0, 0, 0.5) == 1.0
    assert interval(0, 0, 0.95) == (0.0, 1.0)


@given(SHARES, CONFIDENCES)
def test_rows_needed_is_the_least_number_that_can_pass(risk, confidence):
    n = rows_needed(risk, confidence)
    assert p_value(0, n, risk) <= (1 - confidence) * (1 + 1e-9)
    assert p_value(0, n - 1, risk) > (1 - confidence) * (1 - 1e-9)


def test_rows_needed_values():
    assert [rows_needed(0.01, 0.95), rows_needed(0.001, 0.95)] == [299, 2995]
    with pytest.raises(ValueError, match="'risk'"):
        rows_needed(0.0, 0.95)


@pytest.mark.parametrize("confidence", [0.05, 0.5, 0.95])
@pytest.mark.parametrize("n", [0, 1, 10, 300])
def test_most_disagreements_are_the_last_that_prove_the_risk(n, confidence):
    proving = [k for k in range(n + 1) if p_value(k, n, 0.1) <= 1 - confidence]
    assert most_disagreements(n, 0.1, confidence) == max(proving, default=-1)


@pytest.mark.parametrize("confidence", [1e-3, 0.5, 0.8, 0.9, 0.95, 0.99, 0.999, 1 - 1e-6, 1 - 1e-12])
def test_the_smallest_risk_is_backed_and_no_smaller_one(confidence):
    for n in [*range(1, 3000), 10**4, 123_456, 10**6, 10**7]:
        risk = smallest_risk(n, confidence)
        assert p_value(0, n, risk) <= 1 - confidence
        assert p_value(0, n, risk * (1 - 1e-8) - 5e-16) > 1 - confidence
