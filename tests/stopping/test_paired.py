"""Promises about true labels: exact p-values of paired errors, and certificates that are made of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from wald.stopping import Boundary, Certificate, StageScores, calibrate, certify, measure, q_grid
from wald.stopping.core.certificate import Stratum
from wald.stopping.core.paired import (
    paired_interval,
    paired_p_value,
    paired_rows_needed,
    paired_smallest_risk,
    paired_upper_bound,
)


def at_most(total: int, n: int, worse: float, better: float) -> float:
    """P(worse rows - better rows <= total), by convolving the rows one by one."""
    one, found = np.array([better, 1 - worse - better, worse]), np.ones(1)
    for _ in range(n):
        found = np.convolve(found, one)
    return float(found[: total + n + 1].sum())


@pytest.mark.parametrize(("n_worse", "n_better", "n", "risk"), [(0, 0, 60, 0.1), (3, 4, 80, 0.1), (1, 9, 90, -0.02)])
def test_p_value_is_the_largest_over_the_limit_of_either(n_worse: int, n_better: int, n: int, risk: float) -> None:
    limit = stats.beta.ppf(0.995, n_worse + n_better + 1, n - n_worse - n_better)
    rates = np.linspace(abs(risk), limit, 25)
    largest = max(at_most(n_worse - n_better, n, (d + risk) / 2, (d - risk) / 2) for d in rates)
    assert paired_p_value(n_worse, n_better, n, risk) == pytest.approx(0.005 + largest, abs=1e-9)


@pytest.mark.parametrize(("n", "risk"), [(150, 0.05), (150, 0.6), (400, 0.02)])
def test_p_values_are_valid_exactly(n: int, risk: float) -> None:
    """P(p <= level) <= level where the difference is just the risk, for rare and frequent ties: summed, not drawn."""
    for better in (0.0, 0.02, 0.15, (1 - risk) / 2):
        worse = better + risk
        rng = np.random.default_rng(0)
        counts = rng.multinomial(n, [worse, better, max(0.0, 1 - worse - better)], size=4000)
        seen, times = np.unique(counts[:, :2], axis=0, return_counts=True)
        rejected = [paired_p_value(int(w), int(b), n, risk) <= 0.05 for w, b in seen]
        assert times[rejected].sum() <= 4000 * 0.05 + 3 * np.sqrt(4000 * 0.05)


def test_without_better_rows_hardly_less_is_allowed_than_by_the_binomial() -> None:
    assert paired_p_value(38, 0, 10_400, 0.005) <= 0.05  # 39 by the binomial


def test_better_rows_count_in_favour() -> None:
    alone, balanced = paired_p_value(60, 0, 10_400, 0.005), paired_p_value(60, 35, 10_400, 0.005)
    assert alone == 1.0
    assert balanced < 0.05


def test_bounds_needs_and_intervals_go_together() -> None:
    for risk in (0.01, 0.2, 0.8):
        n = paired_rows_needed(risk, 0.95)
        assert paired_p_value(0, 0, n, risk) <= 0.05 < paired_p_value(0, 0, n - 1, risk)
        assert paired_smallest_risk(n, 0.95) <= risk + 1e-8
    assert paired_smallest_risk(paired_rows_needed(0.01, 0.95) - 1, 0.95) > 0.01
    assert paired_rows_needed(1e-9, 0.95) == pytest.approx(1000 * paired_rows_needed(1e-6, 0.95), rel=1e-3)
    assert paired_upper_bound(3, 3, 1000, 0.95) > 0 > -paired_upper_bound(3, 3, 1000, 0.95)
    low, high = paired_interval(2, 40, 1000, 0.95)
    assert low < -0.038 < high < 0
    assert paired_interval(0, 0, 0, 0.95) == (-1.0, 1.0)


@pytest.mark.parametrize(
    ("counts", "risk", "message"),
    [((3, 1, 3), 0.1, "3 worse and 1 better"), ((-1, 1, 3), 0.1, "-1 worse"), ((0, 0, 3), 1.0, "'risk'")],
)
def test_impossible_counts_are_refused(counts: tuple[int, int, int], risk: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        paired_p_value(*counts, risk)


# ---- certificates ----------------------------------------------------------------------------------------------------

BOUNDARY, GRID = Boundary.symmetric([0.0], [1.0]), np.geomspace(20.0, 0.01, 200)


def drawn(rng: np.random.Generator, n: int, *, coarse: bool = False, rare: float = 0.5) -> StageScores:
    """Scores of a cheap look and of a full model, both of which see the truth with noise of their own."""
    truth = rng.random(n) < rare
    cheap, full = (np.where(truth, 1.0, -1.0) + noise * rng.normal(size=n) for noise in (0.7, 0.55))
    if coarse:  # few distinct values
        cheap = np.round(2 * cheap) / 2
    return StageScores(full=(full > 0).astype(np.int32), margins=cheap[:, None], truth=truth.astype(np.int32))


def losses_at(scores: StageScores, q: float) -> np.ndarray:
    answers, stage = scores.leave(*BOUNDARY.thresholds(q, scores.dtype))
    return np.asarray(scores.lost(answers, stage))


def test_losses_compare_errors_with_those_of_the_full_model() -> None:
    scores = StageScores(
        full=np.array([1, 1, 0, 0, 1]),
        margins=np.array([[2.0], [-2.0], [2.0], [2.0], [-0.1]]),
        truth=np.array([1, 1, 1, -1, 0]),
    )
    assert losses_at(scores, 1.0).tolist() == [0, 1, -1, 0, 0]
    assert scores.lost_at(0).tolist() == [0, 0, -1, 0, 0]
    assert scores.lost_at(0, above=False).tolist() == [1, 1, 0, 0, -1]
    assert scores.take(np.array([1, 2])).truth.tolist() == [1, 1]  # type: ignore[union-attr]  # given


def test_certificate_counts_worse_and_better_rows() -> None:
    scores = drawn(np.random.default_rng(0), 6000)
    found = certify(scores, BOUNDARY, risk=0.01, confidence=0.95, q_grid=GRID)
    lost = losses_at(scores, found.q)
    (stratum,) = found.strata
    assert (stratum.n_disagreements, stratum.n_better) == ((lost > 0).sum(), (lost < 0).sum())
    assert found.verify()
    assert found.reference == "labels"
    assert not replace(found, strata=(replace(stratum, n_disagreements=1000),)).verify()
    assert not replace(found, reference="model").verify()
    assert str(found) == (
        "at most 1 % more of the labels are wrong than of the model's own with 95 % confidence: "
        f"{stratum.n_disagreements} worse and {stratum.n_better} better of 6 000 rows"
    )
    alike = certify(replace(scores, truth=None), BOUNDARY, risk=0.01, confidence=0.95, q_grid=GRID)
    assert found.q < alike.q  # bolder


def test_labels_that_the_model_does_not_know_lose_nothing() -> None:
    scores = drawn(np.random.default_rng(1), 3000)
    truth = scores.truth.copy()  # type: ignore[union-attr]  # given
    truth[:1000] = -1
    found = measure(replace(scores, truth=truth), BOUNDARY, risk=None)
    rest = measure(scores.take(np.arange(1000, 3000)), BOUNDARY, risk=None)
    assert found.strata[0].n_rows == 3000
    assert (found.strata[0].n_disagreements, found.strata[0].n_better) == (
        rest.strata[0].n_disagreements,
        rest.strata[0].n_better,
    )


def test_strata_are_rows_of_a_true_label() -> None:
    scores = drawn(np.random.default_rng(2), 8000, rare=0.1)
    found = certify(scores, BOUNDARY, risk={"all": 0.01, 1: 0.05}, confidence=0.95, q_grid=GRID)
    assert found.strata[1].n_rows == (scores.truth == 1).sum() != (scores.full == 1).sum()
    assert "5 % within rows labelled 1, all with 95 % confidence" in str(found)
    each = certify(scores, BOUNDARY, risk={"each": 0.05}, confidence=0.95, q_grid=GRID)
    assert "within the rows of each true label" in str(each)
    assert each.verify()


def test_rows_of_a_label_with_the_bound_0_can_only_gain() -> None:
    scores = drawn(np.random.default_rng(3), 8000)
    found = certify(scores, BOUNDARY, risk={0: 0.01, 1: 0}, confidence=0.95, q_grid=GRID)
    low, high = BOUNDARY.restricted("positive").thresholds(found.q, scores.dtype)
    lost = scores.lost(*scores.leave(low, high))
    assert lost[scores.truth == 1].max() <= 0 < lost[scores.truth == 0].max()


def test_too_few_rows_and_too_many_worse_are_said() -> None:
    few = certify(drawn(np.random.default_rng(4), 300), BOUNDARY, risk=0.01, confidence=0.95, q_grid=GRID)
    assert few.status == "too few rows"
    assert few.verify()
    assert "408 certificate rows needed, 300 given, which can back a risk of 1.4 % at best" in str(few)
    enough = drawn(np.random.default_rng(5), 3000)
    bad = replace(enough, margins=-enough.margins)
    found = certify(bad, BOUNDARY, risk=0.01, confidence=0.95, q_grid=[0.01])
    assert found.status == "too many disagreements"
    assert "more wrong labels" in str(found)


def test_measured_certificates_give_intervals_of_the_difference() -> None:
    found = measure(drawn(np.random.default_rng(6), 4000), BOUNDARY)
    ((low, high),) = found.intervals
    assert -0.05 < low < high < 0.05
    assert "not a promise" in str(found)


def test_one_random_row_of_each_group_counts() -> None:
    scores, groups = drawn(np.random.default_rng(7), 6000), np.repeat(np.arange(2000), 3)
    found = certify(scores, BOUNDARY, risk=0.02, confidence=0.95, q_grid=GRID, groups=groups)
    assert found.strata[0].n_rows == 2000
    assert "on a random row of a random group" in str(found)


def test_what_counts_disagreements_refuses_true_labels() -> None:
    scores = drawn(np.random.default_rng(8), 100)
    with pytest.raises(ValueError, match="leave the true labels"):
        calibrate(scores, BOUNDARY, delta=0.1)
    with pytest.raises(ValueError, match="true labels"):
        StageScores(full=scores.full, margins=scores.margins, truth=scores.truth[:3])  # type: ignore[index]  # given


def test_counts_of_pairs_must_be_possible() -> None:
    for worse, better in ((3, 8), (0, -1)):
        strata = (Stratum("rows", 10, worse, n_better=better),)
        assert not Certificate("too few rows", 0.01, 0.95, strata=strata, reference="labels").verify()


@pytest.mark.long
@pytest.mark.parametrize(("coarse", "rare"), [(False, 0.5), (True, 0.5), (True, 0.03)])
def test_promise_is_violated_in_few_redraws(coarse: bool, rare: float) -> None:
    """The walk is fixed beforehand; whether the true difference at the certified q is above the risk, in 200 draws."""
    rng, risk = np.random.default_rng(9), 0.004
    whole = drawn(rng, 400_000, coarse=coarse, rare=rare)
    grid = q_grid(whole.take(np.arange(2000)), BOUNDARY, 80)
    true = {float(q): float(losses_at(whole, q).mean()) for q in grid}
    violated = 0
    for _ in range(200):
        some = whole.take(rng.integers(400_000, size=5000))
        found = certify(some, BOUNDARY, risk=risk, confidence=0.95, q_grid=grid)
        violated += found.status == "certified" and true[found.q] > risk
    assert violated <= 200 * 0.05 + 3 * np.sqrt(200 * 0.05 * 0.95)
