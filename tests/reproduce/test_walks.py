"""The simulated walks: their distribution, and the rates that are counted on them."""

from __future__ import annotations

import numpy as np
import pytest

from reproduce._walks import (
    errors_seen,
    exponents,
    mean_terms,
    negative_walks,
    simulate_costs,
    simulate_errors,
)
from wald.stopping.papers.levels import bridge_boundary


def test_walks_that_end_on_the_threshold_are_bridges():
    walks = negative_walks(None, 100, 20_000, np.random.default_rng(0))
    t = np.arange(1, 100) / 100
    np.testing.assert_allclose(walks.mean(axis=0), 0, atol=0.02)
    np.testing.assert_allclose(walks.var(axis=0), t * (1 - t), rtol=0.06)


@pytest.mark.parametrize("drift", [-0.5, 1.0])
def test_walks_have_the_right_ends(drift):
    walks = negative_walks(drift, 400, 20_000, np.random.default_rng(0))
    free = drift + np.random.default_rng(1).standard_normal(200_000)
    ends = free[free < 0]
    assert walks[:, -1].mean() == pytest.approx(ends.mean(), abs=0.02)
    assert walks[:, -1].std() == pytest.approx(ends.std(), abs=0.02)


# n = 1 000 Gaussian steps: simulated elsewhere with free walks of which the negative ones were kept
@pytest.mark.parametrize(("drift", "error"), [(-0.5, 0.010), (1.0, 0.018), (1.5, 0.024)])
def test_the_boundary_is_conservative(drift, error):
    (seen,) = errors_seen(drift, [0.05], 1000, 6000, np.random.default_rng(0))
    assert seen == pytest.approx(error, abs=0.006)


def test_the_bound_is_nearly_tight_on_the_threshold():
    seen = errors_seen(None, [0.3, 0.05], 1000, 6000, np.random.default_rng(0))
    assert 0.26 < seen[0] < 0.3
    assert 0.035 < seen[1] < 0.055


def test_terms_are_counted_to_the_first_sum_above_the_level():
    rng = np.random.default_rng(0)
    assert mean_terms(2000, [0.0, 2.5e6, 1500.5e6, 1e12], 1e6, 5, rng) == [1, 3, 1501, 2000]


def test_mean_terms_are_those_of_a_plain_loop():
    n, levels = 700, [2.0, 10.0, 60.0]
    seen = mean_terms(n, levels, 0.1, 4000, np.random.default_rng(0))
    sums = np.cumsum(np.random.default_rng(1).standard_normal((4000, n)) + 0.1, axis=1)[:, :-1]
    for level, mean in zip(levels, seen, strict=True):
        above = sums > level
        plain = np.where(above.any(axis=1), above.argmax(axis=1) + 1, n)
        assert mean == pytest.approx(plain.mean(), abs=5 * plain.std() / np.sqrt(2000))


def test_exponents_are_found():
    records = [
        {"n": n, "delta": delta, "mean_terms": 3 * n**0.6 * (0.5 * np.log(1 / delta)) ** 0.4}
        for n in (100, 1000, 5000)
        for delta in (0.2, 0.01, 1e-5)
    ]
    assert exponents(records) == pytest.approx((0.6, 0.4))


def test_records_are_complete_and_follow_the_seed():
    records = simulate_costs(0, lengths=(100, 400), n_walks=200)
    assert records == simulate_costs(0, lengths=(100, 400), n_walks=200)
    assert records != simulate_costs(1, lengths=(100, 400), n_walks=200)
    assert {(r["regime"], r["n"]) for r in records} == {(g, n) for g in ("steady", "thinning") for n in (100, 400)}
    for r in records:
        assert r["level"] == bridge_boundary(0.0, np.sqrt(r["n"]), r["delta"])
        assert 1 <= r["mean_terms"] <= r["n"]
    errors = simulate_errors(0, n_terms=50, n_walks=200)
    assert len({(r["drift"], r["requested"]) for r in errors}) == len(errors) == 35
