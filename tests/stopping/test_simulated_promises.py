"""The limits that certificates print, over simulated draws of rows with many ties and with rare classes.

Certificate rows are drawn from a large pool, whose own rates are therefore the true ones. The same checks that pass for
what is printed must fail for what would be wrong to print: limits computed at the scale that was chosen, the interval
of the class that came out worst, and a promise about all rows read as one about a rare class.
"""

from __future__ import annotations

import functools
import re

import numpy as np
import pytest
from scipy import stats

from wald.stopping import Boundary, Certificate, StageScores, certify, measure, q_grid
from wald.stopping.core.binomial import interval, upper_bound

pytestmark = pytest.mark.long

N_TRIALS = 400
POOL = 40_000


def most_broken(confidence, n=N_TRIALS):
    """Number of broken promises that 99 % of the runs do not exceed."""
    return int(stats.binom.ppf(0.995, n, 1 - confidence))


@functools.cache
def pool(kind):
    """Rows to draw from."""
    rng = np.random.default_rng(1)
    stages = np.array([3, 6, 9, 12, 16, 24])
    if kind in ("votes", "rare votes"):  # small whole numbers: most scores are shared by many rows, and some are ties
        share = 0.5 if kind == "votes" else 0.02
        tilt = np.where(rng.random(POOL) < share, 0.2, -0.2 if kind == "votes" else -0.3)
        terms = np.where(rng.random((POOL, 24)) < 0.5 + tilt[:, None], 1, -1) * rng.integers(1, 6, 24)
        sums = terms.cumsum(axis=1)[:, stages - 1]
        return StageScores(full=(sums[:, -1] > 0).astype(np.int32), margins=sums[:, :-1].astype(np.float32))
    # several classes, a few of them rare; confidence in steps of a quarter
    shares = np.array([0.4, 0.3, 0.2, 0.06, 0.03, 0.01]) if kind == "rare classes" else np.full(10, 0.1)
    full = rng.choice(len(shares), size=POOL, p=shares).astype(np.int32)
    confidence = np.round(4 * np.abs(rng.normal(size=(POOL, 4)) + np.arange(4))) / 4
    wrong = rng.random((POOL, 4)) < 0.5 * np.exp(-2.0 * confidence) * (1 + (full[:, None] >= len(shares) // 2))
    codes = np.where(wrong, (full[:, None] + 1) % len(shares), full[:, None]).astype(np.int32)
    return StageScores(full=full, answers=codes, margins=confidence.astype(np.float32))


@functools.cache
def family(kind):
    """A boundary and scales, chosen on other rows than those of the certificates, and the truth at every scale."""
    rows = pool(kind)
    shape = rows.take(np.random.default_rng(2).integers(0, POOL, 2000))
    scale = np.sqrt(np.arange(rows.n_stages, 0, -1.0))
    boundary = Boundary.symmetric(0.0, scale) if rows.two_sided else Boundary.upper(0.0, scale)
    if kind == "rare votes":  # bolder towards the common class, as costs would have it
        zero = np.zeros(rows.n_stages)
        boundary = Boundary(zero, 0.25 * scale, zero, 2.0 * scale)
    grid = q_grid(shape, boundary, 200)
    n = np.bincount(rows.full)
    truth = {np.inf: (0.0, np.zeros(len(n)))}
    for q in grid.tolist():
        wrong = rows.leave(*boundary.thresholds(q, rows.dtype))[0] != rows.full
        truth[q] = (float(wrong.mean()), np.bincount(rows.full[wrong], minlength=len(n)) / n)
    return boundary, grid, truth


def draws(kind, n, seed, trials=N_TRIALS):
    rng = np.random.default_rng(seed)
    for _ in range(trials):
        yield pool(kind).take(rng.integers(0, POOL, size=n))


def limits_of(certificate):
    """All limits in a sentence, as shares."""
    return [float(limit) / 100 for limit in re.findall(r"<= ([\d.]+) %", str(certificate))]


@pytest.mark.parametrize("confidence", [0.8, 0.95])
@pytest.mark.parametrize("kind", ["votes", "rare votes", "rare classes"])
def test_printed_limits_hold_after_choosing(kind, confidence):
    boundary, grid, truth = family(kind)
    broken = by_the_counts = made = 0
    for stage_scores in draws(kind, 1500, seed=3):
        certificate = certify(stage_scores, boundary, risk=0.02, confidence=confidence, q_grid=grid)
        if certificate.status != "certified":
            continue
        made += 1
        true = truth[certificate.q][0]
        (limit,) = limits_of(certificate)
        assert not re.search(r"bound|interval", str(certificate))
        broken += true > limit
        by_the_counts += true > upper_bound(certificate.n_disagreements, certificate.n_rows, confidence)
    print(f"{kind} at {confidence}: {broken} of {made} limits broken; {by_the_counts} computed at the chosen scale")
    assert made > 0.9 * N_TRIALS
    assert broken <= most_broken(confidence)
    assert by_the_counts >= broken


def test_limits_at_the_chosen_scale_would_not_hold():
    boundary, grid, truth = family("rare classes")
    broken = 0
    for stage_scores in draws("rare classes", 1500, seed=4):
        certificate = certify(stage_scores, boundary, risk=0.02, confidence=0.8, q_grid=grid)
        broken += truth[certificate.q][0] > upper_bound(certificate.n_disagreements, certificate.n_rows, 0.8)
    assert broken > most_broken(0.8)  # the check above would catch it


@pytest.mark.parametrize("kind", ["ten classes", "rare classes"])
def test_the_interval_of_the_class_that_came_out_worst(kind):
    boundary, grid, truth = family(kind)
    q = float(grid[120])
    rates, classes = truth[q][1], np.arange(len(truth[q][1]))
    assert rates.max() > 0.01
    missed = any_missed = alone = 0
    for stage_scores in draws(kind, 1000, seed=5):
        certificate = measure(stage_scores, boundary, risk={"each": None}, q=q, classes=classes)
        worst = certificate.strata.index(certificate.worst)
        inside = [low <= rate <= high for (low, high), rate in zip(certificate.intervals, rates, strict=True)]
        missed += not inside[worst]
        any_missed += not all(inside)
        low, high = interval(certificate.worst.n_disagreements, certificate.worst.n_rows, 0.95)
        alone += not low <= rates[worst] <= high
    print(f"{kind}: {missed} of {N_TRIALS} worst intervals miss, {any_missed} sets; {alone} if each stood for itself")
    assert missed <= any_missed <= most_broken(0.95)
    if kind == "ten classes":
        assert alone > 1.5 * any_missed  # the check above would catch it


PROMISES = [
    ("votes", {1: 0.01}, 0.03),
    ("rare votes", {1: 0.15}, 0.02),
    ("rare classes", {5: 0.15, 4: 0.08, 0: 0.01}, 0.03),
    ("ten classes", {7: 0.03, 2: 0.04}, 0.05),
]


@pytest.mark.parametrize("confidence", [0.8, 0.95])
@pytest.mark.parametrize(("kind", "named", "risk"), PROMISES, ids=[kind for kind, *_ in PROMISES])
def test_classes_keep_their_risks_all_at_once(kind, named, risk, confidence):
    boundary, grid, truth = family(kind)
    classes = np.arange(len(truth[np.inf][1]))
    broken = made = 0
    for stage_scores in draws(kind, 3000, seed=6):
        certificate = certify(
            stage_scores,
            boundary,
            risk={"all": risk, **named},
            confidence=confidence,
            q_grid=grid,
            classes=classes,
        )
        if certificate.status != "certified":
            continue
        assert certificate.verify()
        overall, by_class = truth[certificate.q]
        assert limits_of(certificate) == pytest.approx([risk, *named.values()])
        made += 1
        broken += overall > risk or any(by_class[label] > own for label, own in named.items())
    print(f"{kind} at {confidence}: {broken} of {made} promises by class broken")
    assert made > 0.8 * N_TRIALS
    assert broken <= most_broken(confidence)


def test_a_promise_about_all_rows_is_none_about_a_rare_class():
    boundary, grid, truth = family("rare votes")
    lost = []
    for stage_scores in draws("rare votes", 3000, seed=7, trials=50):
        certificate: Certificate = certify(stage_scores, boundary, risk=0.02, confidence=0.95, q_grid=grid)
        lost.append(truth[certificate.q][1][1])
    assert np.median(lost) > 0.2  # of the rare class, where less than 0.02 of all rows may differ
