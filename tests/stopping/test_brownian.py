"""Crossing probabilities: limits, consistency, and simulated walks."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, special, stats
from stopping.walks import make_walks, walk_of

from wald.stopping.papers.brownian import (
    conditional_crossing_probability,
    crossing_probability,
    discrete_boundary,
    joint_crossing_probability,
)
from wald.stopping.papers.levels import bridge_boundary, conditional_boundary, reflection_boundary


@pytest.mark.parametrize("bridge_sigma", [0.6, 1.5, 2.5])
@pytest.mark.parametrize(("level", "theta", "drift"), [(1.2, 0.5, 1.0), (0.3, -1.0, -0.5), (0.4, 2.0, 0.3), (0, 1, 1)])
def test_the_joint_error_is_the_bridges_averaged_over_the_ends(level, theta, drift, bridge_sigma):
    """Levels above and below theta, and walks whose variance given the end is above or below that of the end."""

    def density(end):
        return crossing_probability(level, end, bridge_sigma) * stats.norm.pdf(end, drift, 1.5)

    expected, _ = integrate.quad(density, -20, theta, points=[level] if level < theta else None)
    found = joint_crossing_probability(level, theta, 1.5, drift, bridge_sigma=bridge_sigma)
    assert found == pytest.approx(expected, rel=1e-6)


def test_the_papers_formula():
    level, theta, sigma, drift = 1.1, 0.4, 1.5, 0.7
    expected = np.exp(2 * drift * level / sigma**2) * special.ndtr((theta - 2 * level - drift) / sigma)
    assert joint_crossing_probability(level, theta, sigma, drift) == pytest.approx(expected)


def test_factors_that_overflow_and_underflow():
    assert 0.0 < conditional_crossing_probability(2.0, 0.0, 1.0, drift=500.0) < 1.0
    assert joint_crossing_probability(0.0, 0.0, 1.0, drift=5.0) == pytest.approx(special.ndtr(-5.0))
    assert conditional_crossing_probability(-1.0, 0.0, 1.0) == 1.0


def test_a_published_level_and_its_true_error():
    """The raw reading of the reflection errs exp(2 drift level) times as often as delta says."""
    level = reflection_boundary(0.0, 1.0, 0.05, 1.0)
    assert joint_crossing_probability(level, 0.0, 1.0, 1.0) == pytest.approx(0.05 * np.exp(2 * level))


def test_fewer_steps_allow_a_lower_level():
    levels = [discrete_boundary(1.05, 1.0, n) for n in (10, 100, 10**8)]
    assert levels == sorted(levels)
    assert levels[1] == pytest.approx(1.05 - 0.05826, abs=1e-5)
    assert levels[-1] == pytest.approx(1.05, abs=1e-4)
    for sigma, n_steps, name in ((0.0, 10, "sigma"), (1.0, 0, "n_steps")):
        with pytest.raises(ValueError, match=name):
            discrete_boundary(1.0, sigma, n_steps)


def crossings(drift, level, n_steps, theta=0.0, n_rows=20_000, centred=False, seed=0):
    """How often walks cross and end below theta, and how often they end there; a thousand walks at a time."""
    crossed = below = 0
    rng = np.random.default_rng(seed)
    path = drift * np.arange(1, n_steps) / n_steps if centred else 0.0
    for _ in range(n_rows // 1000):
        walk = walk_of(make_walks(1000, n_steps, drift=drift, random_state=rng), theta)
        protected = walk.full == 0
        below += protected.sum()
        crossed += ((walk.margins - path > level).any(axis=1) & protected).sum()
    return crossed / n_rows, below / n_rows


@pytest.mark.long
@pytest.mark.parametrize(
    ("drift", "theta", "delta", "raw", "centred"),
    [
        (1.0, 0.0, 0.05, 0.091, 0.046),
        (1.0, 0.5, 0.05, 0.154, 0.049),
        (-0.5, 0.0, 0.05, 0.016, 0.047),
        (0.0, 0.0, 0.1, 0.094, 0.094),
    ],
)
def test_joint_error_of_the_reflection(drift, theta, delta, raw, centred):
    level = reflection_boundary(theta, 1.0, delta, drift)
    joint, _ = crossings(drift, level, 1000, theta)
    assert joint == pytest.approx(raw, abs=0.006)
    assert joint <= joint_crossing_probability(level, theta, 1.0, drift) + 0.003
    joint, _ = crossings(drift, level, 1000, theta, centred=True)
    assert joint == pytest.approx(centred, abs=0.006)


@pytest.mark.long
@pytest.mark.parametrize(("drift", "theta", "expected"), [(1.0, 0.0, 0.018), (1.0, 0.5, 0.011), (-0.5, 0.0, 0.010)])
def test_conditional_error_of_the_bridge(drift, theta, expected):
    """Known values, all below delta = 0.05."""
    crossed, below = crossings(drift, bridge_boundary(theta, 1.0, 0.05), 1000, theta)
    assert crossed / below == pytest.approx(expected, abs=0.006)


@pytest.mark.long
def test_the_correction_for_steps():
    """At 200 steps the exact level errs 0.044 instead of 0.05; corrected for the steps, it errs 0.05."""
    level = conditional_boundary(0.0, 1.0, 0.05, drift=1.0)
    crossed, below = crossings(1.0, level, 200, n_rows=200_000)
    assert 0.041 < crossed / below < 0.0465
    crossed, below = crossings(1.0, discrete_boundary(level, 1.0, 200), 200, n_rows=200_000)
    assert crossed / below == pytest.approx(0.05, abs=0.004)
