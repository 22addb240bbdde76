"""P-values by betting, compared with a plain loop, with other bounds, and with their promise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wald.stopping.core.betting import betting_log_capital, betting_p_value, betting_upper_bound
from wald.stopping.core.p_values import hoeffding_bentkus_p_value

FUNCTIONS = [betting_log_capital, betting_p_value]


def play(losses, risk, level):
    """The same game, one loss at a time."""
    capital, out = 1.0, []
    weight = 1 / risk
    variance, mean_sum, square_sum = risk * (1 - risk), 1.0, 1.0 - risk
    for i, loss in enumerate(losses, start=1):
        bet = min(math.sqrt(2 * math.log(1 / level) / (len(losses) * variance)), 0.99 / (1 - risk))
        capital *= 1 + bet * (risk - loss)
        out.append(capital)
        mean_sum += loss
        square_sum += (loss - mean_sum / (weight + i)) ** 2
        variance = square_sum / (weight + i)
    return np.array(out)


@given(st.data(), st.floats(1e-3, 0.9), st.floats(1e-4, 0.5))
def test_the_loop(data, risk, level):
    losses = data.draw(st.lists(st.floats(-2, 1), max_size=60))
    expected = play(losses, risk, level)
    np.testing.assert_allclose(np.exp(betting_log_capital(losses, risk, level=level)), expected, rtol=1e-9)
    assert betting_p_value(losses, risk, level=level) == pytest.approx(1 / max([1.0, *expected]), rel=1e-9)


@given(st.data(), st.floats(1e-3, 0.9), st.floats(1e-4, 0.5))
def test_capital_is_never_lost_altogether(data, risk, level):
    losses = data.draw(st.lists(st.sampled_from([-10.0, 0.0, 0.5, 1.0]), max_size=40))
    assert np.isfinite(betting_log_capital(losses, risk, level=level)).all()
    assert 0.0 < betting_p_value(losses, risk, level=level) <= 1.0


def test_bets_do_not_look_ahead():
    rng = np.random.default_rng(0)
    losses = rng.uniform(0, 0.2, size=100)
    other = losses.copy()
    other[60:] = 1.0
    one, two = (betting_log_capital(x, 0.1) for x in (losses, other))
    np.testing.assert_array_equal(one[:60], two[:60])
    assert two[60] < one[60]


def test_fair_games_do_not_pay():
    """Over all outcomes of ten coins with probability `risk`, the expected capital is 1 at every time."""
    outcomes = (np.arange(2**10)[:, None] >> np.arange(10)) & 1
    for risk, level in ((0.1, 0.05), (0.5, 0.3), (0.8, 0.01)):
        chance = np.prod(np.where(outcomes, risk, 1 - risk), axis=1)
        expected = chance @ np.exp(betting_log_capital(outcomes, risk, level=level))
        np.testing.assert_allclose(expected, 1.0, rtol=1e-12)
        p = betting_p_value(outcomes, risk, level=level)
        for alpha in np.unique(p):
            assert chance[p <= alpha].sum() <= alpha * (1 + 1e-12) or alpha == 1.0


def test_families_are_games_side_by_side():
    losses = np.random.default_rng(1).beta(0.1, 2.0, size=(3, 4, 200))
    p = betting_p_value(losses, 0.1)
    assert p.shape == (3, 4)
    for index in np.ndindex(3, 4):
        assert p[index] == betting_p_value(losses[index], 0.1)


def test_no_losses_are_no_evidence():
    assert betting_p_value([], 0.1) == 1.0
    np.testing.assert_array_equal(betting_p_value(np.zeros((3, 0)), 0.1), np.ones(3))
    assert betting_upper_bound([], 0.95) == 1.0


def test_never_better_than_exact_where_no_loss_was_seen():
    for risk in (0.001, 0.01, 0.1, 0.5):
        needed = math.ceil(math.log(0.05) / math.log1p(-risk))
        assert betting_p_value(np.zeros(needed - 1), risk) > 0.05
        assert betting_p_value(np.zeros(math.ceil(1.03 * needed) + 1), risk) <= 0.05


def test_low_variance_is_worth_more_than_to_bounds_that_do_not_see_it():
    rng = np.random.default_rng(2)
    losses = rng.uniform(0.02, 0.06, size=500)
    assert betting_p_value(losses, 0.05) < 0.01 < hoeffding_bentkus_p_value(losses.sum(), 500, 0.05)


@pytest.mark.parametrize("confidence", [0.9, 0.99])
def test_upper_bound_is_where_the_test_turns(confidence):
    losses = np.random.default_rng(3).beta(0.2, 4.0, size=800)
    bound = betting_upper_bound(losses, confidence)
    level = 1.0 - confidence
    assert losses.mean() < bound < losses.mean() + 0.04
    assert betting_p_value(losses, bound, level=level) <= level < betting_p_value(losses, 0.999 * bound, level=level)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_arguments_are_checked(function):
    for losses in ([1.1], [np.nan], [-np.inf]):
        with pytest.raises(ValueError, match="at most 1"):
            function(losses, 0.1)
    with pytest.raises(ValueError, match="must be an array"):
        function(0.5, 0.1)
    for risk in (0.0, 1.0, np.nan):
        with pytest.raises(ValueError, match="'risk' parameter"):
            function([0.5], risk)
    with pytest.raises(ValueError, match="'level' parameter"):
        function([0.5], 0.1, level=0.0)


def test_arguments_of_the_bound_are_checked():
    for losses in ([-0.1], [[0.1]]):
        with pytest.raises(ValueError, match="numbers from 0 to 1"):
            betting_upper_bound(losses, 0.95)
    with pytest.raises(ValueError, match="'confidence' parameter"):
        betting_upper_bound([0.1], 1.0)


N_TRIALS = 4000
#: At level 5 %, 200 of 4000 may be wrong on average; more than 239 are with probability 0.3 %.
MOST_WRONG = 239


def null_losses(kind, n, risk, rng):
    """Losses whose mean equals the risk."""
    size = (N_TRIALS, n)
    if kind == "coins":
        return (rng.random(size) < risk).astype(float)
    if kind == "heavy":  # nearly nothing, but for rare losses of 1 and rarer ones in between
        return rng.beta(0.05 * risk, 0.05 * (1 - risk), size)
    if kind == "three values":
        return rng.choice([0.0, 0.5, 1.0], p=[1 - 1.5 * risk, risk, 0.5 * risk], size=size)
    if kind == "nearly constant":
        return rng.uniform(0.5 * risk, 1.5 * risk, size)
    if kind == "gains":
        return 1.0 - rng.exponential(1.0 - risk, size)
    raise AssertionError(kind)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["coins", "heavy", "three values", "nearly constant", "gains"])
@pytest.mark.parametrize(("n", "risk"), [(30, 0.3), (300, 0.05), (1000, 0.01)])
@pytest.mark.parametrize("level", [0.05, 0.001])
def test_wrong_as_seldom_as_promised(kind, n, risk, level):
    """At most 5 % of the p-values are below 5 %, whatever level the bets aim at."""
    losses = null_losses(kind, n, risk, np.random.default_rng(4))
    wrong = np.count_nonzero(betting_p_value(losses, risk, level=level) <= 0.05)
    print(f"{kind}, n = {n}, risk {risk}, aiming at {level}: {wrong} of {N_TRIALS}")
    assert wrong <= MOST_WRONG


@pytest.mark.long
def test_the_upper_bound_covers():
    rng = np.random.default_rng(5)
    missed = sum(betting_upper_bound(rng.beta(0.1, 0.9, size=200), 0.9) < 0.1 for _ in range(1000))
    assert 5 <= missed <= 123  # of 100 promised, more than 123 with probability 0.8 %
