"""The bridge boundary: reference values, symmetry and limits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wald.stopping.papers.brownian import crossing_probability
from wald.stopping.papers.levels import bridge_boundary


@pytest.mark.parametrize(
    ("theta", "sigma", "delta", "start", "level"),
    [
        (0, 1, 0.05, 0, 1.223873),
        (0, 1, 0.01, 0, 1.517427),
        (1, 2, 0.05, 0, 2.998292),
        (-1, 2, 0.05, 0, 1.998292),
        (1, 3, 0.1, 0, 3.757550),
        (1, 2, 0.05, 0.5, 3.210481),
    ],
)
def test_reference_values(theta, sigma, delta, start, level):
    assert bridge_boundary(theta, sigma, delta, start) == pytest.approx(level, abs=5e-7)


@given(st.floats(-20, 20), st.floats(0.1, 10), st.floats(1e-9, 0.9), st.floats(-20, 20))
def test_the_edge_walk_crosses_with_probability_delta(theta, sigma, delta, start):
    level = bridge_boundary(theta, sigma, delta, start)
    assert level >= max(theta, start)
    assert crossing_probability(level, theta, sigma, start) == pytest.approx(delta, rel=1e-3)


@given(st.floats(-5, 5), st.floats(0.1, 3), st.floats(0.01, 0.5))
def test_the_mirror_is_the_other_root(theta, sigma, delta):
    upper, lower = bridge_boundary(theta, sigma, delta), -bridge_boundary(-theta, sigma, delta)
    assert upper + lower == pytest.approx(theta, abs=1e-9)
    assert upper * lower == pytest.approx(0.5 * sigma**2 * np.log(delta), rel=1e-6)


def test_far_thresholds_keep_their_digits():
    assert bridge_boundary(-1e8, 1e-3, 0.05) == pytest.approx(1e-6 * np.log(20) / 2e8, rel=1e-6)


def test_certain_and_impossible_crossings():
    assert crossing_probability(1.0, end=2.0, sigma=1.0) == 1.0
    assert crossing_probability(1.0, end=0.0, sigma=0.0) == 0.0
    assert bridge_boundary(2.0, 0.0, 0.05) == 2.0


def test_parameters_are_checked():
    for delta in (0.0, 1.0, np.nan):
        with pytest.raises(ValueError, match="'delta'"):
            bridge_boundary(0.0, 1.0, delta)
    with pytest.raises(ValueError, match="'sigma'"):
        bridge_boundary(0.0, -1.0, 0.05)
