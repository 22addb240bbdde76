"""P-values for bounded losses, compared with published values and with each other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wald.stopping.core.binomial import p_value
from wald.stopping.core.p_values import bentkus_p_value, hoeffding_bentkus_p_value, hoeffding_p_value

FUNCTIONS = [hoeffding_p_value, bentkus_p_value, hoeffding_bentkus_p_value]


@pytest.mark.parametrize(
    ("k", "n", "risk", "hoeffding", "bentkus"),
    [(2, 200, 0.05, 0.00710306, 0.00635071), (5, 1000, 0.01, 0.212914, 0.179786)],
)
def test_reference_values(k, n, risk, hoeffding, bentkus):
    assert hoeffding_p_value(k, n, risk) == pytest.approx(hoeffding, rel=1e-5)
    assert bentkus_p_value(k, n, risk) == pytest.approx(bentkus, rel=1e-5)
    assert hoeffding_bentkus_p_value(k, n, risk) == pytest.approx(bentkus, rel=1e-5)


@given(st.data(), st.floats(1e-4, 0.9))
def test_no_bound_is_below_the_exact_value_for_losses_of_0_or_1(data, risk):
    n = data.draw(st.integers(0, 3000))
    k = data.draw(st.integers(0, n))
    for function in FUNCTIONS:
        value = function(k, n, risk)
        assert value >= p_value(k, n, risk) * (1 - 1e-9)
        assert 0.0 <= value <= 1.0
        assert function(min(n, k + 0.5), n, risk) >= value  # a larger loss is less evidence


def test_a_mean_at_the_risk_is_no_evidence():
    assert hoeffding_p_value(5, 100, 0.05) == 1.0
    assert hoeffding_p_value(100, 100, 0.05) == 1.0
    assert bentkus_p_value(0, 0, 0.05) == 1.0


@pytest.mark.parametrize("function", FUNCTIONS)
def test_arguments_are_checked(function):
    for total in (-1, 11, np.nan):
        with pytest.raises(ValueError, match="'total' parameter"):
            function(total, 10, 0.1)
    for risk in (0.0, 1.0):
        with pytest.raises(ValueError, match="'risk' parameter"):
            function(1, 10, risk)
