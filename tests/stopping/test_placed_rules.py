"""Rules whose thresholds are placed on the plan rows, and LightGBM's margin."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from kinds.rules import BY_ROWS
from scipy import stats

from wald.stopping import ErrorSpending, LikelihoodRatio, Margin, Qwyc, Walk
from wald.stopping.core.survivors import allowed
from wald.stopping.papers.published import published_table
from wald.stopping.rules.checks import example_walk

PLACED = [rule for rule in BY_ROWS if isinstance(rule, Qwyc | ErrorSpending)]


def noisy_walk(n_rows=600, seed=0, n_stages=6, **changes):
    """Scores whose error shrinks from stage to stage, with a fifth of them rounded so that there are ties."""
    rng = np.random.default_rng(seed)
    full = rng.normal(0.3, 1.0, size=n_rows)
    scores = full[:, None] + rng.normal(size=(n_rows, n_stages)) * np.geomspace(1.5, 0.2, n_stages)
    scores[: n_rows // 5] = scores[: n_rows // 5].round(1)
    stages = 4 * np.arange(1, n_stages + 2)
    walk = Walk(
        full=(full > 0).astype(np.int32),
        full_scores=full[:, None],
        stages=stages,
        stage_costs=stages.astype(np.float64),
        margins=scores,
        imputed=np.zeros(n_stages),
    )
    return dataclasses.replace(walk, **changes)


def served(rule, walk, q=1.0):
    """Codes and stages of the plan rows, and the rows that disagree."""
    codes, stage = walk.stage_scores.leave(*rule.boundary(walk).thresholds(q, np.float64))
    return codes, stage, codes != walk.full


@pytest.mark.parametrize("rule", BY_ROWS, ids=repr)
def test_more_rows_stay_as_q_grows_beyond_1(rule):
    walk = noisy_walk()
    left = [np.count_nonzero(served(rule, walk, q)[1] < walk.n_stages) for q in (1.0, 1.5, 3.0, 100.0)]
    assert left == sorted(left, reverse=True)
    assert left[-1] < max(1, left[0])


@pytest.mark.parametrize("rule", BY_ROWS, ids=repr)
@pytest.mark.parametrize("sides", ["negative", "positive"])
def test_what_the_promise_does_not_speak_of_stays_closed(rule, sides):
    boundary = rule.boundary(noisy_walk(sides=sides))
    assert np.isinf(boundary.high_center if sides == "negative" else boundary.low_center).all()


@pytest.mark.parametrize("rule", [r for r in BY_ROWS if r.sides != "both"] + [LikelihoodRatio(alpha=0.0)], ids=repr)
def test_sides_close_the_other_answer(rule):
    codes, stage, _ = served(rule, noisy_walk())
    early = codes[stage < 6]
    expected = 0 if getattr(rule, "sides", "both") == "negative" else 1
    assert early.size
    assert (early == expected).all()


# ---- QWYC ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.0, 0.01, 0.07])
@pytest.mark.parametrize("sides", ["both", "negative", "positive"])
@pytest.mark.parametrize("seed", range(5))
def test_qwyc_spends_its_share_of_the_plan_rows_and_no_more(alpha, sides, seed):
    walk = noisy_walk(seed=seed)
    wrong = np.count_nonzero(served(Qwyc(alpha, sides), walk)[2])
    assert wrong <= allowed(alpha, 600)
    assert wrong >= allowed(alpha, 600) - 2  # ties can leave one or two unspent


def brute_force(scores, full, budget):
    """Most rows that any pair of thresholds lets leave with at most `budget` mistakes."""
    cuts = np.concatenate([[-np.inf], np.unique(scores), [np.inf]])
    most = 0
    for low in cuts:
        for high in cuts[cuts >= low]:
            down, up = scores < low, scores > high
            if np.count_nonzero((down & (full == 1)) | (up & (full == 0))) <= budget:
                most = max(most, np.count_nonzero(down | up))
    return most


@pytest.mark.parametrize("budget", [0, 1, 3])
@pytest.mark.parametrize("seed", range(6))
def test_the_first_stage_of_qwyc_lets_as_many_rows_leave_as_any_pair_could(budget, seed):
    walk = noisy_walk(n_rows=40, seed=seed)
    stage = served(Qwyc(alpha=budget / 40), walk)[1]
    most = brute_force(walk.margins[:, 0], walk.full, budget)
    if most < 40:
        assert np.count_nonzero(stage == 0) == most


def test_qwyc_of_a_separable_stage_decides_every_row_there():
    full = np.array([1, 1, 0, 0, 0], dtype=np.int32)
    scores = np.array([3.0, 2.0, 1.0, 0.5, -4.0])[:, None].repeat(6, axis=1)
    walk = noisy_walk(n_rows=5, full=full, margins=scores, threshold=1.5)
    codes, stage, _ = served(Qwyc(alpha=0), walk)
    assert codes.tolist() == full.tolist()
    assert (stage == 0).all()


def test_qwyc_of_several_classes_lets_the_most_confident_leave():
    walk = example_walk(n_classes=3, n_rows=2000)
    for alpha in (0.0, 0.02):
        _, stage, wrong = served(Qwyc(alpha), walk)
        assert np.count_nonzero(wrong) <= 2000 * alpha
        assert (stage < walk.n_stages).mean() > 0.5


# ---- error spending --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spend", ["linear", "front", "pocock", "obrien-fleming"])
@pytest.mark.parametrize("delta", [0.0, 0.02, 0.2])
def test_wrong_exits_keep_to_the_schedule(spend, delta):
    walk, rule = noisy_walk(n_rows=2000), ErrorSpending(delta, spend)
    _, stage, wrong = served(rule, walk)
    shares = delta * rule.spent(walk.stages[:-1] / walk.stages[-1])
    for code in (0, 1):
        n = np.count_nonzero(walk.full == code)
        spent = np.cumsum(np.bincount(stage[wrong & (walk.full == code)], minlength=7))[:6]
        assert (spent <= [allowed(share, n) for share in shares]).all()
        assert spent[-1] >= allowed(shares[-1], n) - 2 or stage.max() < 6  # or there is nobody left to get wrong


def test_schedules_rise_from_0_to_1_and_are_those_of_lan_and_demets():
    seen = np.linspace(0.0, 1.0, 21)
    for spend in ("linear", "front", "pocock", "obrien-fleming"):
        for delta in (0.0, 1e-300, 0.05):
            spent = ErrorSpending(delta, spend).spent(seen)
            assert (np.diff(spent) >= 0).all()
            assert spent[[0, -1]] == pytest.approx([0.0, 1.0])
    z = stats.norm.ppf(0.975)
    assert ErrorSpending(0.05, "obrien-fleming").spent(0.5) == pytest.approx(2 * stats.norm.sf(z / 0.5**0.5) / 0.05)
    assert ErrorSpending(0.05, "pocock").spent(0.5) == pytest.approx(np.log(1 + (np.e - 1) / 2))


def test_delta_0_is_the_rejection_trace_of_a_soft_cascade():
    walk = noisy_walk()
    low, high = ErrorSpending(delta=0, sides="negative").boundary(walk).thresholds(1.0, np.float64)
    np.testing.assert_allclose(low, walk.margins[walk.full == 1].min(axis=0))  # no positive ever leaves
    assert np.isinf(high).all()


@pytest.mark.parametrize("rule", PLACED, ids=repr)
def test_a_plan_of_one_class_and_scores_that_are_nan(rule):
    one = noisy_walk(full=np.ones(600, dtype=np.int32))
    assert served(rule, one)[2].mean() <= 0.2
    nan = noisy_walk(margins=np.full((600, 6), np.nan))
    _, stage, wrong = served(rule, nan)
    assert not wrong.any()
    assert (stage == 6).all()


def few(walk, n_rows, n_stages):
    """The first rows and stages of a walk."""
    return dataclasses.replace(
        walk,
        full=walk.full[:n_rows],
        full_scores=walk.full_scores[:n_rows],
        stages=walk.stages[: n_stages + 1],
        stage_costs=walk.stage_costs[: n_stages + 1],
        margins=walk.margins[:n_rows, :n_stages],
        imputed=walk.imputed[:n_stages],
    )


@pytest.mark.parametrize("rule", BY_ROWS, ids=repr)
@pytest.mark.parametrize(("n_rows", "n_stages"), [(0, 6), (1, 6), (600, 0), (0, 0)])
def test_walks_without_rows_or_stages(rule, n_rows, n_stages):
    boundary = rule.boundary(few(noisy_walk(), n_rows, n_stages))
    assert boundary.n_stages == n_stages
    if n_rows == 0 and not isinstance(rule, Margin):  # the margin does not use the rows
        assert np.isinf(boundary.high_center).all()
        assert np.isinf(boundary.low_center).all()


@pytest.mark.parametrize("tiny", [1e-17, 1e-300, 5e-324])
def test_errors_below_machine_precision_are_none_at_all(tiny):
    walk = noisy_walk()
    for rule, zero in ((Qwyc(tiny), Qwyc(0.0)), (ErrorSpending(tiny), ErrorSpending(0.0))):
        np.testing.assert_array_equal(rule.boundary(walk).high_center, zero.boundary(walk).high_center)
    low, _ = LikelihoodRatio(alpha=tiny, density="gaussian").boundary(walk).thresholds(1.0, np.float64)
    assert (served(LikelihoodRatio(alpha=tiny), walk)[0][walk.full == 1] == 1).all()
    assert not np.isnan(low).any()


# ---- likelihood ratio ------------------------------------------------------------------------------------------------


def two_gaussians(n=20_000, gap=2.0, seed=0):
    rng = np.random.default_rng(seed)
    full = (rng.uniform(size=n) < 0.4).astype(np.int32)
    scores = np.where(full == 1, 0.5 * gap, -0.5 * gap) + rng.normal(size=n)
    return noisy_walk(n, full=full, margins=scores[:, None].repeat(6, axis=1))


@pytest.mark.parametrize(("density", "tolerance"), [("gaussian", 0.06), ("kernel", 0.35), ("isotonic", 0.5)])
def test_the_ratio_of_two_gaussians_is_known(density, tolerance):
    """Log R falls by `gap` per unit of z, and is 0 half-way."""
    alpha, beta, gap = 0.05, 0.1, 2.0
    rule = LikelihoodRatio(alpha, beta, density=density)
    low, high = rule.boundary(two_gaussians(gap=gap)).thresholds(1.0, np.float64)
    assert low[0] == pytest.approx(-np.log((1 - beta) / alpha) / gap, abs=tolerance)
    assert high[0] == pytest.approx(np.log((1 - alpha) / beta) / gap, abs=tolerance)


def test_walds_bounds_hold_for_a_true_ratio():
    """For partial sums of log likelihood ratios, the thresholds keep Wald's bounds."""
    alpha, beta, n, n_stages = 0.05, 0.02, 40_000, 60
    rng = np.random.default_rng(1)
    positive = rng.uniform(size=n) < 0.5
    drift = np.where(positive, 0.2, -0.2)[:, None]
    sums = (drift + rng.normal(size=(n, n_stages))).cumsum(axis=1)
    walk = noisy_walk(n, n_stages=n_stages, full=positive.astype(np.int32), margins=sums)
    _, stage, wrong = served(LikelihoodRatio(alpha, beta, density="gaussian"), walk)
    assert (stage < n_stages).mean() > 0.6
    assert wrong[positive].mean() < alpha / (1 - beta) + 0.005
    assert wrong[~positive].mean() < beta / (1 - alpha) + 0.005


def test_beta_0_only_rejects():
    boundary = LikelihoodRatio(alpha=0.05, beta=0).boundary(two_gaussians())
    assert np.isinf(boundary.high_center).all()
    assert np.isfinite(boundary.low_center).all()


@pytest.mark.parametrize("density", ["gaussian", "kernel", "isotonic"])
def test_an_uninformative_stage_stays_closed(density):
    rule = LikelihoodRatio(density=density)
    one_class = two_gaussians(n=400)
    walks = [
        dataclasses.replace(one_class, full=np.ones(400, dtype=np.int32)),
        dataclasses.replace(one_class, margins=np.zeros((400, 6))),
        dataclasses.replace(one_class, margins=np.full((400, 6), np.nan)),
        dataclasses.replace(one_class, margins=-one_class.margins),  # the wrong way round
    ]
    for walk in walks:
        assert (served(rule, walk)[1] == 6).all()


def test_likelihood_ratio_refuses_several_classes():
    with pytest.raises(ValueError, match=r"binary models.*Ladder\(\)"):
        LikelihoodRatio().boundary(example_walk(n_classes=3))


# ---- LightGBM's margin -----------------------------------------------------------------------------------------------


def test_margin_is_lightgbms_loop():
    walk = example_walk(n_rows=2000)
    raw = walk.margins - walk.imputed  # intercept and terms seen
    for value, every in ((1.0, 1), (2.0, 5), (0.5, 6), (3.0, 12)):
        codes, stage, _ = served(Margin(value, every), walk)
        last, is_open = 0, []
        for seen in walk.stages[:-1]:
            is_open.append(seen - last >= every)
            last = seen if is_open[-1] else last
        leaves = (2 * np.abs(raw) > value) & is_open
        expected = np.where(leaves.any(axis=1), leaves.argmax(axis=1), walk.n_stages)
        np.testing.assert_array_equal(stage, expected)
        early = stage < walk.n_stages
        np.testing.assert_array_equal(codes[early], raw[early, stage[early]] > 0)


def test_margin_scales_with_q_and_keeps_its_stages_apart():
    walk = example_walk(n_rows=2000)
    once = Margin(3.0, 4).boundary(walk).thresholds(1.0, np.float64)
    scaled = Margin(1.5, 4).boundary(walk).thresholds(2.0, np.float64)
    np.testing.assert_array_equal(once, scaled)
    many = example_walk(n_classes=3)
    boundary = Margin(0.5, every=10).boundary(many)
    assert boundary.thresholds(1.0, np.float64)[1].tolist() == [np.inf, np.inf, 0.5, np.inf]


# ---- tables and parameters -------------------------------------------------------------------------------------------


def test_a_published_table_is_never_bolder_than_the_paper():
    rng = np.random.default_rng(0)
    n = 5000
    walk = noisy_walk(n_stages=n, n_rows=3, threshold=0.1)
    low, high = np.sort(rng.normal(size=(2, n)) * 10.0 ** rng.integers(-12, 12, size=n), axis=0)
    low[:10], high[10:20] = -np.inf, np.inf
    at_one_low, at_one_high = published_table(walk, low, high).thresholds(1.0, np.float64)
    assert (at_one_low <= low).all()
    assert (at_one_high >= high).all()
    np.testing.assert_allclose(at_one_low, low, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(at_one_high, high, rtol=1e-9, atol=1e-9)


def test_allowed_counts_like_a_division():
    for n in range(301):
        for k in range(n + 1):
            assert allowed(k / max(n, 1), n) == k
    assert allowed(1e-320, 10**6) == 0
    assert allowed(0.0, 5) == 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Qwyc(alpha=1.0), "'alpha' parameter of Qwyc must be at least 0 and below 1"),
        (lambda: Qwyc(alpha=float("nan")), "'alpha' parameter of Qwyc"),
        (lambda: Qwyc(sides="upper"), "'sides' parameter of Qwyc"),
        (lambda: Qwyc(readout="full"), "'readout' parameter of Qwyc"),
        (lambda: ErrorSpending(delta=-0.1), "'delta' parameter of ErrorSpending"),
        (lambda: ErrorSpending(spend="late"), "'spend' parameter of ErrorSpending"),
        (lambda: ErrorSpending(sides="left"), "'sides' parameter of ErrorSpending"),
        (lambda: LikelihoodRatio(alpha=1.0), "'alpha' parameter of LikelihoodRatio"),
        (lambda: LikelihoodRatio(alpha=0.5, beta=0.5), "alpha \\+ beta"),
        (lambda: LikelihoodRatio(density="beta"), "'density' parameter of LikelihoodRatio"),
        (lambda: Margin(value=0), "'value' parameter of Margin"),
        (lambda: Margin(value=np.inf), "'value' parameter of Margin"),
        (lambda: Margin(every=0), "'every' parameter of Margin"),
        (lambda: Margin(every=2.5), "'every' parameter of Margin"),
        (lambda: Margin(every=True), "'every' parameter of Margin"),
        (lambda: Margin(sides=None), "'sides' parameter of Margin"),
    ],
)
def test_parameters_are_checked(make, message):
    with pytest.raises(ValueError, match=message):
        make()
