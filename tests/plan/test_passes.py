"""Passes take the least work of all ways to cut stages into passes, and their times count as a plan's costs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from wald.plan.passes import MOST_GROWTH, PassTimes, cheapest_passes


def all_cuts(n: int):
    for k in range(n):
        for inner in itertools.combinations(range(1, n), k):
            yield [*inner, n]


def total(ends: list[int], terms: list[int], reached: np.ndarray, work) -> float:
    """Work of a plan; infinite where a later pass of several stages grows too much."""
    found, first, seen = 0.0, 0, 0
    for last in ends:
        if last > first + 1 and first and terms[last - 1] > MOST_GROWTH * seen:
            return np.inf
        found += reached[first] * work(seen, terms[last - 1], last - first, reached[first])
        first, seen = last, terms[last - 1]
    return found


@pytest.mark.parametrize("seed", range(20))
def test_no_other_passes_take_less_work(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    terms = np.cumsum(rng.integers(1, 30, n)).tolist()
    reached = np.sort(rng.random(n + 1))[::-1]
    fixed, by_stage, by_share = rng.uniform(0, 50), rng.uniform(0, 5), rng.uniform(0, 20)

    def work(begin: int, end: int, n_stages: int, share: float) -> float:
        return fixed / (1 + by_share * share) + (end - begin) + by_stage * n_stages

    passes, works = cheapest_passes(terms, reached, work)
    least = min(total(cut, terms, reached, work) for cut in all_cuts(n))
    assert total(passes.tolist(), terms, reached, work) == pytest.approx(least)
    assert reached[:-1] @ works == pytest.approx(least)  # each pass is paid for at its first stage
    assert np.flatnonzero(works).tolist() == [0, *passes[:-1].tolist()]


def test_passes_that_cost_nothing_to_begin_are_single_stages() -> None:
    passes, _ = cheapest_passes([5, 9, 14], np.array([1.0, 0.5, 0.2, 0.1]), lambda begin, end, *_: float(end - begin))
    assert passes.tolist() == [1, 2, 3]


def test_passes_that_cost_much_to_begin_are_one() -> None:
    passes, works = cheapest_passes(
        [5, 9, 14], np.array([1.0, 0.5, 0.2, 0.1]), lambda begin, end, *_: 1e6 + end - begin
    )
    assert passes.tolist() == [3]
    assert works.tolist() == [1e6 + 14, 0, 0]


def test_expected_times() -> None:
    times = PassTimes((3.0, 0.0, 5.0), finish=7.0, full=10.0, margin=0.95)
    reached = np.array([1.0, 0.5, 0.2, 0.1])
    assert times.expected(np.arange(3), np.arange(4.0), reached, 1) == pytest.approx(3.0 + 1.0 + 0.7)
    assert times.worthwhile(9.4)
    assert not times.worthwhile(9.6)
    half = times.scaled(0.5)
    assert (half.stages, half.finish, half.full) == ((1.5, 0.0, 2.5), 3.5, 10.0)


@pytest.mark.parametrize("wrong", [{"full": -1.0}, {"finish": np.nan}, {"stages": (np.inf,)}], ids=str)
def test_times_are_numbers(wrong: dict) -> None:
    with pytest.raises(ValueError, match="PassTimes must be finite and not negative"):
        PassTimes(**({"stages": (1.0,), "finish": 1.0, "full": 1.0} | wrong))
