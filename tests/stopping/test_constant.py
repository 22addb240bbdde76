"""The constant boundary: its level for every walk and error, and where it degenerates."""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
import pytest
from scipy import special
from stopping.walks import make_walks, walk_of

from wald.stopping import ConstantBoundary, check_stopping_rule
from wald.stopping.papers.levels import (
    DegenerateBoundaryWarning,
    OptimisticBoundaryWarning,
    bridge_boundary,
    conditional_boundary,
    joint_boundary,
    reflection_boundary,
    simple_bridge_boundary,
)
from wald.stopping.rules.checks import example_walk

WALK = walk_of(make_walks(4000, 40, drift=0.8, random_state=0), theta=0.3, intercept=0.1)
THETA = 0.2  # on the sums
EVERY = np.ones(4000, dtype=bool)


def high_of(walk=WALK, **params):
    """Thresholds of the upper side, on the sums."""
    return ConstantBoundary(sides="positive", **params).boundary(walk).thresholds(1.0, "float64")[1] - walk.offset


def gaussian(moments, error="conditional"):
    """Mean and spread of the full sum, and the share of it below theta."""
    mu, sigma = moments.full_mean, np.sqrt(moments.full_variance)
    return mu, sigma, special.ndtr((THETA - mu) / sigma)


def test_the_bridge_on_raw_sums():
    negatives = WALK.moments(WALK.full == 0)
    for variance, value in (
        ("bridge", negatives.bridge_variance()),
        ("class", negatives.full_variance),
        ("all", WALK.full_scores.var()),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OptimisticBoundaryWarning)
            high = high_of(centre="none", variance=variance)
        np.testing.assert_allclose(high, bridge_boundary(THETA, np.sqrt(value), 0.05))


def test_the_lower_side_is_the_mirror():
    mirrored = dataclasses.replace(
        WALK,
        full=1 - WALK.full,
        full_scores=-WALK.full_scores,
        margins=-WALK.margins,
        threshold=-WALK.threshold,
        intercept=-WALK.intercept,
    )
    for kind in ("bridge", "reflection", "reflection_exact", "conditional"):
        rule = ConstantBoundary(kind=kind, delta=0.02)
        low, high = rule.boundary(WALK).thresholds(1.0, "float64")
        other_low, other_high = rule.boundary(mirrored).thresholds(1.0, "float64")
        np.testing.assert_allclose(low, -other_high, rtol=1e-9)
        np.testing.assert_allclose(high, -other_low, rtol=1e-9)


def test_the_level_of_every_kind():
    negatives, everyone = WALK.moments(WALK.full == 0), WALK.moments(EVERY)
    mu, sigma, below = gaussian(everyone)
    bridge = np.sqrt(everyone.bridge_variance())
    detrended = everyone.mean - everyone.kappa * mu
    np.testing.assert_allclose(
        high_of(kind="bridge_simple", centre="mean") - negatives.mean,
        simple_bridge_boundary(THETA - negatives.full_mean, np.sqrt(negatives.bridge_variance()), 0.05),
    )
    published = reflection_boundary(THETA, sigma, 0.05, mu)
    np.testing.assert_allclose(high_of(kind="reflection", error="joint") - everyone.mean, published)
    with pytest.warns(OptimisticBoundaryWarning, match=r"drift towards the boundary.* 2\.\d+ times"):
        np.testing.assert_allclose(high_of(kind="reflection_raw", error="joint"), published)
    np.testing.assert_allclose(
        high_of(kind="reflection_exact", error="joint", variance="all"), joint_boundary(THETA, sigma, 0.05, mu)
    )
    np.testing.assert_allclose(
        high_of(kind="conditional") - detrended, conditional_boundary(THETA, sigma, 0.05, mu, bridge_sigma=bridge)
    )
    np.testing.assert_allclose(
        high_of(kind="conditional", centre="mean", variance="all") - everyone.mean,
        reflection_boundary(THETA, sigma, 0.05 * below, mu),
    )


@pytest.mark.parametrize("kind", ["bridge", "bridge_simple", "reflection", "reflection_exact"])
def test_errors_are_translated_by_the_share_of_protected_rows(kind):
    share = float((WALK.full == 0).mean()) if kind.startswith("bridge") else gaussian(WALK.moments(EVERY))[2]
    conditional = high_of(kind=kind, delta=0.04)
    np.testing.assert_allclose(high_of(kind=kind, error="joint", delta=0.04 * share), conditional)
    # One side: a disagreement is its joint error. Both sides: conditional errors average to the disagreement.
    np.testing.assert_allclose(high_of(kind=kind, error="disagreement", delta=0.04 * share), conditional)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateBoundaryWarning)  # the simple bridge has no lower side here
        both = ConstantBoundary(kind=kind, delta=0.04, error="disagreement").boundary(WALK)
    np.testing.assert_allclose(both.thresholds(1.0, "float64")[1] - WALK.offset, conditional)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"kind": "sprt"}, "must be one of 'bridge', 'bridge_simple', 'reflection'"),
        ({"delta": 0.0}, "strictly between 0 and 1"),
        ({"delta": 1.0}, "strictly between 0 and 1"),
        ({"delta": 1.0 - 1e-17}, "strictly between 0 and 1"),
        ({"delta": "5%"}, "strictly between 0 and 1. Got '5%'"),
        ({"sides": "upper"}, "'sides'"),
        ({"centre": "median"}, "'centre'"),
        ({"variance": "pooled"}, "'variance'"),
        ({"error": "total"}, "'error'"),
        ({"error": "posterior"}, r"kind='bridge'\) has no formula for error='posterior'.*CurvedBoundary"),
        ({"kind": "conditional", "error": "joint"}, r"kind='conditional'\).*'joint'.*reflection_exact"),
        ({"kind": "reflection", "centre": "none"}, r"kind='reflection'\) has no formula for centre='none'"),
        ({"kind": "reflection_raw", "centre": "mean"}, "no formula for centre='mean'"),
        ({"kind": "reflection", "variance": "bridge"}, "no formula for variance='bridge'"),
        ({"kind": "conditional", "variance": "class"}, "no formula for variance='class'"),
    ],
)
def test_what_has_no_formula_is_refused(params, message):
    with pytest.raises(ValueError, match=message):
        ConstantBoundary(**params)


def test_several_classes_are_refused():
    with pytest.raises(ValueError, match=r"ConstantBoundary is for binary models.*Ladder\(\)"):
        ConstantBoundary().boundary(example_walk(n_classes=3))


@pytest.mark.parametrize("kind", ["bridge", "conditional", "reflection_exact"])
def test_detrending_takes_a_bent_path_off_the_walk(kind):
    """A bend that all rows share must not move any row's exit."""
    walk = example_walk(n_rows=2000)
    detour = np.array([3.0, -5.0, 7.0, 0.0])
    bent = dataclasses.replace(walk, margins=walk.margins + detour)
    rule = ConstantBoundary(kind=kind, centre="detrended")
    plain_low, plain_high = rule.boundary(walk).thresholds(1.0, "float64")
    low, high = rule.boundary(bent).thresholds(1.0, "float64")
    np.testing.assert_allclose(low, plain_low + detour)
    np.testing.assert_allclose(high, plain_high + detour)


def test_a_shared_factor_is_known_from_the_end():
    walk = walk_of(make_walks(20_000, 40, kind="correlated", random_state=0))
    assert walk.moments(walk.full >= 0).bridge_variance() == pytest.approx(0.5, abs=0.02)
    for kind in ("bridge", "conditional"):
        wide, narrow = (high_of(walk, kind=kind, variance=v, delta=0.01)[0] for v in ("all", "bridge"))
        assert narrow == pytest.approx(np.sqrt(0.5) * wide, rel=0.1)


def test_a_variance_that_is_too_small_is_noticed():
    """The full sums of the protected rows are all on one side of theta, so that they vary less than their walks."""
    with pytest.warns(OptimisticBoundaryWarning, match="times as much as variance='class'"):
        high_of(variance="class")
    terms = make_walks(4000, 40, random_state=0)
    undoing = walk_of(terms - 0.9 * terms.mean(axis=1, keepdims=True))  # terms that make up for each other
    with pytest.warns(OptimisticBoundaryWarning, match="times as much as variance='all'"):
        high_of(undoing, kind="conditional", variance="all")


def test_a_side_without_protected_rows_is_closed():
    walk = example_walk()
    for full, name in ((1, "high"), (0, "low")):
        with pytest.warns(
            DegenerateBoundaryWarning, match="lets no row exit as " + ("positive" if full else "negative")
        ):
            boundary = ConstantBoundary().boundary(dataclasses.replace(walk, full=np.full_like(walk.full, full)))
        assert np.isinf(getattr(boundary, f"{name}_center")).all()
        assert np.isfinite(getattr(boundary, f"{'low' if full else 'high'}_center")).all()


@pytest.mark.parametrize("kind", ["bridge", "reflection", "reflection_exact", "conditional"])
def test_sums_without_spread_never_stop(kind):
    walk = walk_of(np.full((50, 10), 0.1))
    with pytest.warns(DegenerateBoundaryWarning, match="all their full scores are equal"):
        low, high = ConstantBoundary(kind=kind).boundary(walk).thresholds(1.0, "float64")
    assert np.isinf(low).all()
    assert np.isinf(high).all()


def test_no_rows_at_all():
    walk = walk_of(np.empty((0, 10)))
    with pytest.warns(DegenerateBoundaryWarning, match="fewer than two"):
        boundary = ConstantBoundary().boundary(walk)
    assert np.isinf(boundary.high_center).all()


@pytest.mark.parametrize("kind", ["reflection", "reflection_exact"])
def test_rare_rows_are_no_joint_error(kind):
    """P(S_n < 0) = 0.02 is below 0.05: stopping at once keeps the promise, and the formula says so."""
    walk = walk_of(make_walks(20_000, 40, drift=2.0, random_state=0))
    with pytest.warns(DegenerateBoundaryWarning, match="rows to protect are rare"):
        boundary = ConstantBoundary(kind=kind, error="joint", sides="positive").boundary(walk)
    path = walk.moments(walk.full >= 0).mean if kind == "reflection" else 0.0
    np.testing.assert_allclose(boundary.thresholds(1.0, "float64")[1], path + np.zeros(39), atol=1e-12)
    assert (boundary.high_scale > 0).all()  # a certificate can still move it
    assert (high_of(walk, kind=kind) > path).all()  # conditionally, rare rows are protected as well


def test_a_bridge_for_more_errors_than_there_are():
    with pytest.warns(DegenerateBoundaryWarning, match="errs no more than allowed"):
        high = high_of(centre="none", error="joint", delta=0.6)
    np.testing.assert_allclose(high, THETA)


def test_the_simple_bridge_closes_the_side_that_it_cannot_bound():
    rule = ConstantBoundary(kind="bridge_simple")
    with pytest.warns(DegenerateBoundaryWarning, match="negative threshold -0.2"):
        boundary = rule.boundary(WALK)
    assert np.isneginf(boundary.low_center).all()
    assert np.isfinite(boundary.high_center).all()
    with pytest.warns(DegenerateBoundaryWarning):
        check_stopping_rule(rule)


@pytest.mark.parametrize(("sides", "closed"), [("negative", "high"), ("positive", "low")])
def test_the_other_side_is_closed(sides, closed):
    boundary = ConstantBoundary(sides=sides).boundary(example_walk())
    assert np.isinf(getattr(boundary, f"{closed}_center")).all()


def test_walks_that_their_end_determines():
    ends = np.linspace(-1.0, 2.0, 301)
    walk = walk_of(np.tile(ends[:, None] / 10, 10))
    for kind in ("bridge", "conditional"):
        high = high_of(walk, kind=kind)
        np.testing.assert_allclose(high, 0.0, atol=1e-5)


def test_q_scales_the_level():
    boundary = ConstantBoundary(kind="conditional").boundary(WALK)
    level = boundary.thresholds(1.0, "float64")[1] - boundary.high_center
    np.testing.assert_allclose(boundary.thresholds(2.5, "float64")[1], boundary.high_center + 2.5 * level)
