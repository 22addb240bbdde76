"""Moments of a walk, and the shapes of its arrays."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from wald.stopping.rules.checks import example_walk


def test_moments_are_those_of_the_partial_sums():
    walk = example_walk()
    rows = walk.full == 1
    moments = walk.moments(rows)
    sums = (walk.margins - walk.intercept - walk.imputed)[rows]
    full = walk.full_scores[rows, 0] - walk.intercept
    np.testing.assert_allclose(moments.mean, sums.mean(axis=0))
    np.testing.assert_allclose(moments.variance, sums.var(axis=0))
    np.testing.assert_allclose(moments.covariance, [np.cov(s, full, ddof=0)[0, 1] for s in sums.T])
    np.testing.assert_allclose(moments.kappa, moments.covariance / full.var())
    assert (moments.full_mean, moments.n_rows) == (pytest.approx(full.mean()), rows.sum())


def test_the_clock_of_independent_terms_is_their_share_of_the_variance():
    walk = example_walk(n_rows=100_000)
    moments = walk.moments(np.ones(100_000, dtype=bool))
    np.testing.assert_allclose(moments.kappa, moments.variance / moments.full_variance, atol=0.02)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"full_scores": np.zeros(300)}, "full_scores"),
        ({"stages": np.arange(4)}, "stages and stage_costs"),
        ({"stage_costs": np.arange(4.0)}, "stages and stage_costs"),
        ({"slack": np.zeros(5)}, "slack must have shape"),
    ],
)
def test_shapes_are_checked(change, message):
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(example_walk(), **change)


def test_what_is_missing_is_named():
    walk = dataclasses.replace(example_walk(), imputed=None)
    with pytest.raises(ValueError, match="'imputed'"):
        walk.partial_sums()
    with pytest.raises(ValueError, match="'full_margins'"):
        dataclasses.replace(example_walk(3), full_margins=None).residual_size()
