"""The levels of the papers: reference values, the equations that they solve, and their limits."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from wald.stopping.papers.brownian import conditional_crossing_probability, joint_crossing_probability
from wald.stopping.papers.levels import (
    DegenerateBoundaryWarning,
    bridge_boundary,
    conditional_boundary,
    curved_boundary,
    joint_boundary,
    joint_level,
    reflection_boundary,
    reflection_level,
    simple_bridge_boundary,
)


@pytest.mark.parametrize(
    ("theta", "drift", "sigma", "delta", "level"),
    [(0, 0, 1, 0.05, 0.822427), (0, 1, 1, 0.05, 0.322427), (1, 2, 3, 0.01, 2.989522)],
)
def test_reflection(theta, drift, sigma, delta, level):
    assert reflection_boundary(theta, sigma, delta, drift) == pytest.approx(level, abs=5e-7)


@pytest.mark.parametrize(
    ("theta", "drift", "centred", "raw"),
    [(0, 1, 0.705997, 1.049172), (0, 2, 0.525882, 1.090572), (0.5, 1, 0.829477, 1.263919)],
)
def test_conditional(theta, drift, centred, raw):
    below = special.ndtr(theta - drift)
    assert reflection_boundary(theta, 1.0, 0.05 * below, drift) == pytest.approx(centred, abs=5e-7)
    assert conditional_boundary(theta - drift, 1.0, 0.05) == pytest.approx(centred, abs=5e-7)
    assert conditional_boundary(theta, 1.0, 0.05, drift) == pytest.approx(raw, abs=5e-7)


def test_joint():
    assert joint_boundary(0.0, 1.0, 0.05, 1.0) == pytest.approx(0.573861, abs=5e-7)
    assert joint_boundary(0.5, 1.0, 0.05, 1.0) == pytest.approx(0.976148, abs=5e-7)
    with pytest.warns(DegenerateBoundaryWarning, match="rows to protect are rare"):
        assert joint_boundary(0.0, 1.0, 0.05, 2.0) == 0.0


def test_curved():
    sd = np.sqrt(1.0 - np.array([0.0, 0.25, 0.5, 0.75]))
    expected = [1.644854, 1.424485, 1.163087, 0.822427]
    np.testing.assert_allclose(curved_boundary(0.0, 0.05, 0.0, sd), expected, atol=5e-7)
    np.testing.assert_allclose(curved_boundary(3.0, 0.05, 1.0, 2.0 * sd), 2.0 + 2.0 * np.array(expected), atol=2e-6)


MOMENTS = st.floats(-2, 2), st.floats(0.2, 5), st.floats(-2, 2)


@given(*MOMENTS, st.floats(1e-9, 0.5), st.sampled_from([None, 0.5, 1.3]))
def test_exact_levels_solve_their_equations(theta, sigma, drift, delta, bridge):
    sd = None if bridge is None else bridge * sigma
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateBoundaryWarning)
        joint = joint_boundary(theta, sigma, delta, drift, bridge_sigma=sd)
        conditional = conditional_boundary(theta, sigma, delta, drift, bridge_sigma=sd)
    for level, error in ((joint, joint_crossing_probability), (conditional, conditional_crossing_probability)):
        reached = error(level, theta, sigma, drift, bridge_sigma=sd)
        if level > max(0.0, theta):
            assert reached == pytest.approx(delta, rel=1e-6)
        else:
            assert level == max(0.0, theta)
            assert reached <= delta * (1 + 1e-9)


@given(*MOMENTS, st.floats(1e-9, 0.5))
def test_the_bridge_is_above_the_exact_level(theta, sigma, drift, delta):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateBoundaryWarning)
        exact = conditional_boundary(theta, sigma, delta, drift)
    assert bridge_boundary(theta, sigma, delta) >= exact * (1 - 1e-9)


@given(st.floats(0, 10), st.floats(0, 10), st.floats(1e-300, 0.99))
def test_the_simple_bridge_is_above_the_exact_root(theta, sigma, delta):
    assert simple_bridge_boundary(theta, sigma, delta) >= bridge_boundary(theta, sigma, delta) * (1 - 1e-12)


@pytest.mark.parametrize("log_budget", [-30.0, -690.0, -1e4, -1e8])
def test_budgets_below_the_smallest_float(log_budget):
    """Without a drift the closed form and the search give the same level."""
    level = joint_level(0.5, 2.0, log_budget)
    assert np.isfinite(level)
    assert level == pytest.approx(reflection_level(0.5, 2.0, log_budget, 0.0), rel=1e-9)


def test_errors_below_machine_precision():
    assert bridge_boundary(0.0, 1.0, 1e-300) == pytest.approx(np.sqrt(150 * np.log(10)))
    assert conditional_boundary(0.0, 1.0, 1e-300, drift=30.0) > 15.0
    assert conditional_crossing_probability(
        conditional_boundary(0.0, 1.0, 1e-200, drift=8.0), 0.0, 1.0, 8.0
    ) == pytest.approx(1e-200, rel=1e-6)
    assert np.isfinite(curved_boundary(0.0, 1e-300, 0.0, 1.0))
    assert reflection_boundary(0.0, 1.0, 1e-300) > 18.0


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, np.nan, 1.0 - 1e-17])
def test_an_error_of_nothing_or_everything_is_refused(delta):
    for level in (bridge_boundary, simple_bridge_boundary, reflection_boundary, joint_boundary, conditional_boundary):
        with pytest.raises(ValueError, match="'delta'"):
            level(0.0, 1.0, delta)
    with pytest.raises(ValueError, match="'delta'"):
        curved_boundary(0.0, delta, 0.0, 1.0)


def test_parameters_are_checked():
    for level in (simple_bridge_boundary, reflection_boundary, joint_boundary, conditional_boundary):
        with pytest.raises(ValueError, match="sigma"):
            level(0.0, -1.0, 0.05)
    with pytest.raises(ValueError, match="bridge_sigma"):
        joint_boundary(0.0, 1.0, 0.05, bridge_sigma=0.0)
    with pytest.raises(ValueError, match="negative theta"):
        simple_bridge_boundary(-0.1, 1.0, 0.05)
    with pytest.raises(ValueError, match="remainder_sd"):
        curved_boundary(0.0, 0.05, 0.0, [-1.0])
