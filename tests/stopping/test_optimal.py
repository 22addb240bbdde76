"""The optimal boundary spends the allowed errors, and no cheaper boundary does."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special
from stopping.walks import errors_of, make_walks, walk_of

from wald.stopping import ConstantBoundary, CurvedBoundary, OptimalBoundary, check_stopping_rule
from wald.stopping.papers.induction import Problem
from wald.stopping.papers.levels import DegenerateBoundaryWarning
from wald.stopping.rules.checks import example_walk


def brownian(start, n, **changes):
    params = {
        "start": start,
        "clock": np.arange(1, n) / n,
        "costs": np.arange(1, n + 1) / n,
        "usable": np.ones(n - 1, dtype=bool),
    } | changes
    return Problem(**params)


@pytest.mark.parametrize("start", [-0.5, 0.0, 1.0])
def test_the_errors_allowed_are_spent(start):
    below = special.ndtr(-start)
    allowed = 0.05 * np.array([below, 1 - below])
    for open_sides in ([1, 1], [1, 0], [0, 1]):
        policy = brownian(start, 40).best(allowed * open_sides)
        spent = policy.errors / allowed
        np.testing.assert_allclose(spent, open_sides, atol=0.02)
        assert (spent <= 1.0).all()
        assert (policy.levels[0] >= policy.levels[1]).all()


def test_errors_that_jump_stay_below_what_is_allowed():
    """Where nearly every walk ends above 0, either all walks or very few exit as negative."""
    above = special.ndtr(3.0)
    policy = brownian(3.0, 40).best(np.array([0.0, 0.05 * above]))
    assert 0.0 < policy.errors[1] < 0.05 * above


def test_one_stage_follows_from_the_bivariate_normal():
    """With a single stage the boundary follows from the bivariate normal distribution."""
    policy = brownian(0.0, 2).best(np.array([0.01, 0.0]))
    x = np.linspace(-8, 8, 200_001)
    density = np.exp(-(x**2)) / np.sqrt(np.pi)  # variance 1/2
    wrong = density * special.ndtr(-x * np.sqrt(2.0)) * (x[1] - x[0])
    assert wrong[x > policy.levels[0, 0]].sum() == pytest.approx(0.01, rel=0.02)
    assert policy.cost == pytest.approx(1.0 - 0.5 * density[x > policy.levels[0, 0]].sum() * (x[1] - x[0]), abs=1e-3)


def test_cheap_last_stages_delay_exits():
    """Where the last terms cost nothing, no row stops before them."""
    costs = np.r_[np.arange(1, 20) / 20, 0.96]
    costly, cheap = (brownian(0.0, 20, costs=c).best(np.array([0.02, 0.02])) for c in (np.arange(1, 21) / 20, costs))
    assert cheap.levels[0, -1] > costly.levels[0, -1]


def test_stages_may_be_closed_or_uninformative():
    usable = np.arange(9) % 2 == 0
    policy = brownian(0.5, 10, usable=usable).best(np.array([0.01, 0.01]))
    assert np.isinf(policy.levels[:, ~usable]).all()
    policy = brownian(0.5, 10, usable=np.zeros(9, dtype=bool)).best(np.array([0.01, 0.01]))
    assert np.isinf(policy.levels).all()
    blind = brownian(0.5, 10, clock=np.zeros(9)).best(np.array([0.01, 0.01]))
    assert (blind.errors <= 0.01).all()
    assert (blind.levels[0] > 0.5).all()
    assert (blind.levels[1] < 0.5).all()
    certain = brownian(0.5, 10, clock=np.ones(9)).best(np.array([0.01, 0.01]))
    assert certain.cost == pytest.approx(0.1, abs=0.005)


def test_errors_that_the_grid_cannot_see_are_not_made():
    policy = brownian(1.0, 10).best(np.array([1e-300, 0.0]))
    assert policy.errors[0] <= 1e-300


def test_it_is_cheaper_than_boundaries_of_a_given_shape():
    """Every boundary is scaled on the same rows to a conditional error of 0.05, with exits as positive only."""
    walk = walk_of(make_walks(40_000, 50, drift=1.0, random_state=0))
    costs = []
    for rule in (OptimalBoundary, lambda sides: ConstantBoundary("conditional", sides=sides), CurvedBoundary):
        boundary = rule(sides="positive").boundary(walk)
        grid = np.geomspace(1.4, 0.85, 60)
        costs.append(min(e.cost for q in grid if (e := errors_of(boundary, walk, q)).conditional[0] <= 0.05))
    assert costs[0] < 0.995 * min(costs[1:])


def test_the_walk_without_early_stages():
    walk = walk_of(make_walks(100, 5, random_state=0), stage_scores=np.array([], dtype=int))
    assert OptimalBoundary().boundary(walk).n_stages == 0
    assert ConstantBoundary().boundary(walk).n_stages == 0
    assert CurvedBoundary().boundary(walk).n_stages == 0


def test_every_stage_moves_with_q():
    """Thresholds move by at least a standard deviation of the remainder, also where the level equals the threshold."""
    walk = walk_of(make_walks(4000, 20, drift=0.5, random_state=0))
    boundary = OptimalBoundary(delta=0.2).boundary(walk)
    moments = walk.moments(np.ones(4000, dtype=bool))
    slope, sd, _ = moments.prediction()
    is_open = np.isfinite(boundary.high_center)
    assert is_open.sum() > 10
    assert (boundary.high_scale >= (1.0 - 1e-9) * sd / slope)[is_open].all()
    on_threshold = moments.mean - moments.full_mean / slope + walk.offset
    height = boundary.high_center + boundary.high_scale - on_threshold
    assert (height < 0.9 * sd / slope)[is_open].any()  # there are such levels


def test_bad_input():
    with pytest.raises(ValueError, match="OptimalBoundary is for binary models"):
        OptimalBoundary().boundary(example_walk(3))
    for delta in (0.0, 1.0, np.nan):
        with pytest.raises(ValueError, match="'delta' parameter of OptimalBoundary"):
            OptimalBoundary(delta=delta)
    with pytest.raises(ValueError, match="'sides' parameter of OptimalBoundary"):
        OptimalBoundary(sides="up")
    with pytest.warns(DegenerateBoundaryWarning, match="equal"):
        boundary = OptimalBoundary().boundary(walk_of(np.ones((9, 4))))
    assert np.isinf(boundary.high_center).all()
    far = walk_of(make_walks(100, 5, drift=100.0, random_state=0))
    with pytest.warns(DegenerateBoundaryWarning, match="no row exit as positive"):
        boundary = OptimalBoundary().boundary(far)
    assert np.isposinf(boundary.high_center).all()
    check_stopping_rule(OptimalBoundary(delta=0.999))
    check_stopping_rule(OptimalBoundary(delta=1e-300))
    check_stopping_rule(OptimalBoundary(delta=1e-320))


@pytest.mark.long
@pytest.mark.parametrize(("drift", "best"), [(1.0, 0.683), (2.0, 0.491)])
def test_within_two_percent_of_the_best_known_cost(drift, best):
    """Mean share of terms at a conditional error of 0.05, exits as positive only, 500 checks, 200 000 walks."""
    rule = OptimalBoundary(sides="positive")
    fit = walk_of(make_walks(20_000, 500, drift=drift, random_state=0))
    boundary = rule.boundary(fit)
    wrong, below, cost = 0.0, 0.0, []
    for seed in range(1, 21):
        walk = walk_of(make_walks(10_000, 500, drift=drift, random_state=seed))
        errors = errors_of(boundary, walk)
        wrong, below = wrong + errors.joint[0], below + (walk.full == 0).mean()
        cost.append(errors.cost)
    assert wrong / below == pytest.approx(0.05, abs=0.006)
    assert np.mean(cost) < 1.02 * best
