"""Tests that may be read at any time: false alarms, power, intervals, and windows."""

from __future__ import annotations

import math

import numpy as np
import pytest

from wald.monitoring.coins import Coins
from wald.monitoring.evidence import (
    log_rate_evidence,
    log_shift_evidence,
    mean_interval,
    rate_interval,
)
from wald.monitoring.windows import Windows

LEVEL = 0.05


@pytest.mark.parametrize("rate", [0.5, 0.1, 0.01])
def test_the_evidence_of_a_rate_is_a_fair_game(rate: float) -> None:
    """Over all outcomes of n trials, the mean capital is 1."""
    n = 40
    events = np.arange(n + 1)
    log_p = [
        math.lgamma(n + 1)
        - math.lgamma(k + 1)
        - math.lgamma(n - k + 1)
        + k * math.log(rate)
        + (n - k) * math.log1p(-rate)
        for k in events
    ]
    mean = sum(
        math.exp(p + log_rate_evidence(int(k), n, rate, 2 * rate * 0.9)) for k, p in zip(events, log_p, strict=True)
    )
    assert mean == pytest.approx(1.0, rel=1e-9)


def test_impossible_events_are_proof() -> None:
    assert log_rate_evidence(1, 100, 0.0, 1e-9) == math.inf
    assert log_rate_evidence(99, 100, 1.0, 0.5) == math.inf
    assert log_rate_evidence(0, 100, 0.0, 1e-9) <= 0.0


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.02, *(pytest.param(rate, marks=pytest.mark.long) for rate in (0.001, 0.3))])
def test_rate_intervals_hold_at_all_times(rate: float) -> None:
    rng, missed, n_streams = np.random.default_rng(0), 0, 200
    times = np.unique(np.geomspace(1, 20_000, 60).astype(int))
    for _ in range(n_streams):
        events = np.cumsum(rng.random(20_000) < rate)
        missed += any(
            not low <= rate <= high
            for low, high in (rate_interval(int(events[n - 1]), int(n), LEVEL, 0.01) for n in times)
        )
    assert missed <= 18  # 5 % of 200 are 10; 18 or more have a probability of 1 %


def test_intervals_shrink_to_the_rate() -> None:
    low, high = rate_interval(1000, 100_000, LEVEL, 0.02)
    assert 0.008 < low < 0.01 < high < 0.012
    assert rate_interval(0, 0, LEVEL, 0.02) == (0.0, 1.0)
    assert rate_interval(0, 10_000, LEVEL, 1e-9)[1] == pytest.approx(math.log(1 / LEVEL) / 10_000, rel=0.15)


def test_the_evidence_of_a_shift_stays_low_without_one_and_grows_with_one() -> None:
    rng, shares, alarms = np.random.default_rng(0), np.array([0.7, 0.2, 0.1]), 0
    for _ in range(300):
        reference = rng.multinomial(500, shares)
        counts = np.cumsum(rng.multinomial(50, shares, size=200), axis=0)
        alarms += any(log_shift_evidence(c, reference) >= math.log(1 / LEVEL) for c in counts)
    assert alarms <= 15
    assert log_shift_evidence([500, 300, 200], [3500, 1000, 500]) > 20


@pytest.mark.parametrize("counts", [[50, 30, 20], [100, 0, 0], [0, 0, 7], [0, 5, 0], [90_000, 9_000, 1_000]])
def test_mean_intervals_hold_the_mean_and_stay_within_the_values(counts: list[int]) -> None:
    values = [1.0, 4.0, 100.0]
    low, high = mean_interval(counts, values, LEVEL)
    assert 1.0 <= low <= np.average(values, weights=counts) <= high <= 100.0


def test_a_mean_interval_is_that_of_the_probabilities_that_are_kept() -> None:
    """Compared with a grid over all probabilities of three values."""
    counts, values = [50, 30, 20], np.array([1.0, 4.0, 10.0])
    p = np.linspace(1e-4, 1.0, 600)
    a, b = np.meshgrid(p, p)
    c = 1 - a - b
    inside = c > 1e-9
    a, b, c = a[inside], b[inside], c[inside]
    log_p = counts[0] * np.log(a) + counts[1] * np.log(b) + counts[2] * np.log(c)
    log_mixture = math.lgamma(1.5) - math.lgamma(101.5) + sum(math.lgamma(0.5 + k) - math.lgamma(0.5) for k in counts)
    means = (a * values[0] + b * values[1] + c * values[2])[log_mixture - log_p < math.log(1 / LEVEL)]
    assert mean_interval(counts, values.tolist(), LEVEL) == pytest.approx((means.min(), means.max()), abs=0.05)


@pytest.mark.slow
def test_mean_intervals_hold_at_all_times() -> None:
    rng, shares, values = np.random.default_rng(1), [0.9, 0.09, 0.01], [1.0, 10.0, 500.0]
    mean, missed = float(np.dot(shares, values)), 0
    for _ in range(100):
        counts = np.cumsum(rng.multinomial(100, shares, size=60), axis=0)
        bounds = (mean_interval(c.tolist(), values, LEVEL) for c in counts)
        missed += any(not low <= mean <= high for low, high in bounds)
    assert missed <= 11


def test_windows_share_the_level() -> None:
    windows, prices = Windows([0]), []
    for n in range(0, 400_000, 500):
        prices += [price for _, price in windows.closing([n])]
    shares = sum(math.exp(-price) for price in prices)
    assert 0.5 < shares < 1.0


def test_windows_forget_what_was_before_them() -> None:
    windows = Windows([0, 0])
    list(windows.closing([100_000, 10]))
    recent = {tuple(counts) for counts, _ in windows.running([100_400, 60])}
    assert (400, 50) in recent


@pytest.mark.parametrize("rate", [0.0, 1e-4, 0.05, 0.7, 1.0])
def test_coins_show_heads_at_their_rate_in_calls_of_any_size(rate: float) -> None:
    one, many = Coins(rate, seed=3), Coins(rate, seed=3)
    n = 20_000
    single = np.flatnonzero([one.next() for _ in range(n)])
    sizes = np.random.default_rng(0).integers(0, 700, 200)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    batched = np.concatenate([start + many.heads(int(size)) for start, size in zip(starts[:-1], sizes, strict=True)])
    np.testing.assert_array_equal(batched[batched < n], single[single < starts[-1]])
    assert abs(len(single) - n * rate) <= 4 * math.sqrt(n * rate * (1 - rate)) + 1e-9
