"""Calibrations of one side: exact order statistics, and the result for too few rows."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from wald.stopping import Boundary, StageScores, calibrate
from wald.stopping.core.calibration import METHODS, allowed_mistakes, crossings
from wald.stopping.core.certifying import one_row_per_group

SD = np.array([1.0, 0.5, 0.25])
LADDER = Boundary.symmetric(0.1, SD)


def rows(n, seed=0, *, dtype=np.float64, digits=None):
    rng = np.random.default_rng(seed)
    full = rng.normal(0.2, 1.0, size=n)
    scores = full[:, None] + rng.normal(size=(n, 3)) * SD
    scores = scores if digits is None else scores.round(digits)
    return StageScores(full=(full > 0).astype(np.int32), margins=scores.astype(dtype))


def mistakes(stage_scores, boundary, sides, q):
    """Number of protected rows that leave early, by the engine's own comparisons."""
    _, stage = stage_scores.leave(*boundary.restricted(sides).thresholds(q, stage_scores.dtype))
    return int(np.count_nonzero((stage < stage_scores.n_stages) & (stage_scores.full == (sides == "negative"))))


@pytest.mark.parametrize(
    ("n", "delta", "eta", "k"),
    [(298, 0.01, 0.05, None), (299, 0.01, 0.05, 299), (1000, 0.01, 0.05, 996), (1000, 0.05, 0.1, 960)],
)
def test_reference_ranks_of_pac(n, delta, eta, k):
    left = allowed_mistakes("pac", n, delta, 1 - eta)
    assert left == (None if k is None else n - k)


@pytest.mark.parametrize(("n", "delta", "k"), [(299, 0.01, 297), (1000, 0.01, 991), (1000, 0.05, 951)])
def test_reference_ranks_of_conformal(n, delta, k):
    assert n - allowed_mistakes("conformal", n, delta, 0.95) == k


@given(st.integers(0, 3000), st.floats(1e-4, 0.6), st.floats(0.5, 0.999))
def test_ranks_are_those_of_the_definitions(n, delta, confidence):
    left = allowed_mistakes("conformal", n, delta, confidence)
    k = math.ceil((n + 1) * (1 - Fraction(delta)))
    assert left == (None if k > n else n - k) or abs((n + 1) * delta - round((n + 1) * delta)) < 1e-9
    left = allowed_mistakes("pac", n, delta, confidence)
    # k = n - left is the smallest with P(Bin(n, 1 - delta) <= k - 1) >= confidence, up to rounding.
    if left is None:
        assert stats.binom.cdf(n - 1, n, 1 - delta) <= confidence * (1 + 1e-9)
    else:
        assert stats.binom.cdf(n - left - 1, n, 1 - delta) >= confidence * (1 - 1e-9)
        assert left == n or stats.binom.cdf(n - left - 2, n, 1 - delta) <= confidence * (1 + 1e-9)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("sides", ["negative", "positive"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("digits", [None, 1])
def test_it_takes_the_least_scale_that_lets_no_more_rows_leave_wrongly(method, sides, dtype, digits):
    for seed in range(5):
        stage_scores = rows(2000, seed, dtype=dtype, digits=digits)
        result = calibrate(stage_scores, LADDER, delta=0.02, method=method, sides=sides)
        n = np.count_nonzero(stage_scores.full == (sides == "negative"))
        assert (result.n_protected, result.n_rows, result.sides) == (n, 2000, sides)
        most = allowed_mistakes(method, n if result.conditional else 2000, 0.02, 0.95)
        assert result.k == n - most
        assert mistakes(stage_scores, LADDER, sides, result.q) <= most
        bolder = result.q * (1 - 1e-5)
        assert mistakes(stage_scores, LADDER, sides, bolder) > most


def test_crossings_are_the_largest_over_the_stages_on_the_open_sides():
    stage_scores = rows(500)
    by_hand = ((LADDER.low_center - stage_scores.margins) / SD).max(axis=1)
    np.testing.assert_allclose(crossings(stage_scores, LADDER.restricted("negative")), by_hand)
    both = np.maximum(by_hand, ((stage_scores.margins - LADDER.high_center) / SD).max(axis=1))
    np.testing.assert_allclose(crossings(stage_scores, LADDER), both)
    for q in (0.5, 1.0, 2.0):
        _, stage = stage_scores.leave(*LADDER.thresholds(q, np.float64))
        np.testing.assert_array_equal(stage < 3, crossings(stage_scores, LADDER) > q)


def test_rows_that_are_never_judged_never_cross():
    nan = StageScores(full=np.ones(400, np.int32), margins=np.full((400, 3), np.nan))
    assert np.isneginf(crossings(nan, LADDER)).all()
    assert calibrate(nan, LADDER, delta=0.01).q == 0.0
    closed = Boundary.symmetric(np.inf, np.ones(3)).restricted("positive")
    assert calibrate(rows(1000), closed, delta=0.01).q == 0.0


def test_a_threshold_that_no_scale_moves():
    fixed = Boundary.symmetric(0.0, np.zeros(3))
    result = calibrate(rows(1000), fixed, delta=0.01)
    assert result.q == math.inf
    assert str(result) == "no early exit: too many positives cross thresholds that no q moves"
    far = Boundary.symmetric([-50.0, -50.0, -50.0], np.zeros(3))
    assert calibrate(rows(1000), far, delta=0.01).q == 0.0


@pytest.mark.parametrize(
    ("method", "needed", "rows_named"),
    [("conformal", 99, "positives"), ("pac", 299, "positives"), ("crc", 99, "rows"), ("rcps", 299, "rows")],
)
def test_too_few_rows_say_how_many_are_needed(method, needed, rows_named):
    def of(n):
        return StageScores(full=np.ones(n, np.int32), margins=np.zeros((n, 3)))

    few, enough = (calibrate(of(n), LADDER, delta=0.01, method=method) for n in (needed - 1, needed))
    assert few.rows_needed == enough.rows_needed == needed
    assert few.q == math.inf
    assert str(few) == f"no early exit: {needed} calibration {rows_named} needed, {needed - 1} given"
    assert math.isfinite(enough.q)
    assert enough.guarantee in str(enough)


@given(st.floats(5e-324, 1, exclude_max=True), st.sampled_from(METHODS))
def test_rows_needed_is_the_least_number_that_can_pass(delta, method):
    nobody = StageScores(full=np.ones(0, np.int32), margins=np.zeros((0, 3)))
    needed = calibrate(nobody, LADDER, delta=delta, method=method).rows_needed
    if needed < 10**9:
        assert allowed_mistakes(method, needed, delta, 0.95) is not None
        if method in ("conformal", "crc"):
            assert needed == 0 or allowed_mistakes(method, needed - 1, delta, 0.95) is None
    else:
        assert needed >= Fraction(99, 100) / Fraction(delta)


@pytest.mark.parametrize("method", METHODS)
def test_no_rows_at_all_and_no_protected_rows(method):
    nobody = StageScores(full=np.zeros(0, np.int32), margins=np.zeros((0, 3)))
    result = calibrate(nobody, LADDER, delta=0.01, method=method)
    assert result.q == math.inf
    assert "0 given" in str(result)
    negatives = StageScores(full=np.zeros(500, np.int32), margins=np.ones((500, 3)))
    result = calibrate(negatives, LADDER, delta=0.01, method=method)
    # 500 rows without a positive do say that mistakes on positives are rare; nothing about a positive.
    assert (result.q == math.inf) == (method in ("conformal", "pac"))
    assert result.n_protected == 0


def test_delta_below_machine_precision_needs_more_rows_than_there_are():
    for delta in (1e-17, 1e-300, 5e-324):
        for method in METHODS:
            result = calibrate(rows(100), LADDER, delta=delta, method=method)
            assert result.q == math.inf
            assert "more than 10^15 calibration" in str(result)


def test_groups_count_once():
    stage_scores, groups = rows(3000), np.repeat(np.arange(600), 5)
    result = calibrate(stage_scores, LADDER, delta=0.05, groups=groups, random_state=3)
    picked = stage_scores.take(one_row_per_group(groups, np.random.default_rng(3)))
    assert result == calibrate(picked, LADDER, delta=0.05)
    assert result.n_rows == 600


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"delta": 0.0}, "'delta' parameter of calibrate"),
        ({"delta": 1.0}, "'delta' parameter of calibrate"),
        ({"delta": float("nan")}, "'delta' parameter of calibrate"),
        ({"confidence": 1.0}, "'confidence' parameter of calibrate"),
        ({"method": "bootstrap"}, "'method' parameter of calibrate"),
        ({"sides": "both"}, "only one side's mistakes.*calibrate each side for itself"),
        ({"sides": "each"}, "calibrate needs sides='negative' or 'positive'"),
    ],
)
def test_parameters_are_checked(changes, message):
    with pytest.raises(ValueError, match=message):
        calibrate(rows(100), LADDER, **({"delta": 0.05} | changes))


def test_stage_scores_must_fit():
    with pytest.raises(ValueError, match="2 stages, the stage scores 3"):
        calibrate(rows(100), Boundary.symmetric(0.0, [1.0, 2.0]), delta=0.05)
    many = StageScores(full=np.zeros(5, np.int32), answers=np.zeros((5, 3), np.int32), margins=np.ones((5, 3)))
    with pytest.raises(ValueError, match="binary models"):
        calibrate(many, LADDER, delta=0.05)
    with pytest.raises(ValueError, match="groups must name the group of each of the 100 rows"):
        calibrate(rows(100), LADDER, delta=0.05, groups=np.arange(99))
