"""The curved boundary: its two models of the remainder, its errors, its limits."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy import special
from stopping.walks import make_walks, walk_of

from wald.stopping import CurvedBoundary
from wald.stopping.papers.levels import DegenerateBoundaryWarning, curved_boundary
from wald.stopping.rules.checks import example_walk

WALK = walk_of(make_walks(4000, 40, drift=0.8, random_state=0), theta=0.3, intercept=0.1)
EVERY = np.ones(4000, dtype=bool)


def test_independent_terms_as_published():
    moments = WALK.moments(EVERY)
    _, high = CurvedBoundary(remainder="independent").boundary(WALK).thresholds(1.0, "float64")
    left = moments.full_mean - moments.mean, np.sqrt(moments.full_variance - moments.variance)
    np.testing.assert_allclose(high - WALK.offset, curved_boundary(0.2, 0.05, *left), atol=1e-9)


def test_the_regression_stops_at_the_given_probability():
    """At the thresholds, the normal prediction lies beyond theta with probability 1 - delta, on either side."""
    sums, full = WALK.partial_sums(), WALK.full_scores[:, 0]
    low, high = CurvedBoundary(delta=0.01).boundary(WALK).thresholds(1.0, "float64")
    for t in (0, 10, 30):
        slope, intercept = np.polyfit(sums[:, t], full, 1)
        sd = np.std(full - slope * sums[:, t] - intercept)
        for threshold, odds in ((high[t], 0.01), (low[t], 0.99)):
            predicted = slope * (threshold - WALK.offset[t]) + intercept
            assert special.ndtr((WALK.threshold - predicted) / sd) == pytest.approx(odds, rel=1e-6)


def test_both_forms_agree_on_independent_terms():
    walk = walk_of(make_walks(100_000, 20, drift=0.5, random_state=0))
    regression, independent = (
        CurvedBoundary(remainder=r).boundary(walk).thresholds(1.0, "float64")[1] for r in ("regression", "independent")
    )
    np.testing.assert_allclose(regression, independent, atol=0.15)
    np.testing.assert_allclose(regression[4:], independent[4:], atol=0.03)


def test_the_regression_uses_correlations():
    walk = walk_of(make_walks(20_000, 40, kind="correlated", random_state=0))
    regression, independent = (
        CurvedBoundary(remainder=r).boundary(walk).thresholds(1.0, "float64")[1] for r in ("regression", "independent")
    )
    assert (regression[5:-5] < 0.8 * independent[5:-5]).all()


def test_stages_that_predict_the_opposite_are_closed():
    terms = make_walks(2000, 10, random_state=0)
    terms[:, 1:] -= 0.5 * terms[:, :1]  # the first term is more than undone by the others
    walk = walk_of(terms)
    boundary = CurvedBoundary().boundary(walk)
    assert np.isposinf(boundary.high_center[0])
    assert np.isneginf(boundary.low_center[0])
    assert np.isfinite(boundary.high_center[-1])
    growing = walk_of(np.c_[5.0 * terms[:, :1], -4.5 * terms[:, :1], terms[:, 2:]])  # var(S_1) > var(S_n)
    assert np.isposinf(CurvedBoundary(remainder="independent").boundary(growing).high_center[0])


def test_errors_and_their_budgets():
    share = float((WALK.full == 0).mean())

    def high(**params):
        return CurvedBoundary(sides="positive", **params).boundary(WALK).thresholds(1.0, "float64")[1]

    for error in ("joint", "disagreement"):
        np.testing.assert_array_equal(high(error=error), high())
    np.testing.assert_allclose(high(error="conditional"), high(delta=0.05 * share))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"delta": 0.0}, "strictly between 0 and 0.5"),
        ({"delta": 0.5}, "strictly between 0 and 0.5"),
        ({"delta": np.nan}, "strictly between 0 and 0.5"),
        ({"delta": "small"}, "'delta'.*Got 'small'"),
        ({"error": "total"}, "'error'"),
        ({"sides": "up"}, "'sides'"),
        ({"remainder": "hoeffding"}, "'remainder'"),
    ],
)
def test_parameters_are_checked(params, message):
    with pytest.raises(ValueError, match=message):
        CurvedBoundary(**params)


def test_bad_walks():
    with pytest.raises(ValueError, match="CurvedBoundary is for binary models"):
        CurvedBoundary().boundary(example_walk(3))
    with pytest.warns(DegenerateBoundaryWarning, match="equal"):
        boundary = CurvedBoundary().boundary(walk_of(np.ones((9, 4))))
    assert np.isinf(boundary.high_center).all()
    one_sided = dataclasses.replace(WALK, full=np.ones_like(WALK.full))
    with pytest.warns(DegenerateBoundaryWarning, match="no row exit as positive"):
        CurvedBoundary(error="conditional").boundary(one_sided)


def test_errors_below_machine_precision_have_thresholds():
    _, high = CurvedBoundary(delta=1e-200).boundary(WALK).thresholds(1.0, "float64")
    assert np.isfinite(high).all()
    assert (high > CurvedBoundary(delta=1e-20).boundary(WALK).thresholds(1.0, "float64")[1]).all()
