"""From rows to a certificate: the walk over q, groups and classes, and the promise itself by simulation."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from wald.stopping import Boundary, StageScores, certify, measure, q_grid
from wald.stopping.core.binomial import upper_bound
from wald.stopping.core.certifying import counts_along, one_row_per_group
from wald.stopping.core.risks import Line

SD = np.array([1.0, 0.5, 0.25])
LADDER = Boundary.symmetric(0.0, SD)


def rows(n, seed=0, *, dtype=np.float64, mean=0.0):
    """Rows whose estimates miss the full score by `SD` at each stage."""
    rng = np.random.default_rng(seed)
    full = rng.normal(mean, 2.0, size=n)
    scores = full[:, None] + rng.normal(size=(n, 3)) * SD
    return StageScores(full=(full > 0).astype(np.int32), margins=scores.astype(dtype))


def three_classes(n, seed=0):
    """Rows as above for the largest of three scores."""
    rng = np.random.default_rng(seed)
    full = rng.normal([0.0, 0.0, -0.5], size=(n, 1, 3))
    seen = full + 0.3 * rng.normal(size=(n, 3, 3)) * SD[:, None]
    ranked = np.sort(seen, axis=2)
    return StageScores(
        full=full[:, 0].argmax(axis=1).astype(np.int32),
        answers=seen.argmax(axis=2).astype(np.int32),
        margins=ranked[:, :, 2] - ranked[:, :, 1],
    )


GRID = q_grid(rows(2000, seed=1), LADDER)

# Promises about all rows, the rows of one of two classes, and of each, with the sides that they leave open.
SIDES = {"all": "both", "positive": "negative", "negative": "positive", "each": "both"}


def bounded(about, risk):
    """The risk that promises this bound, or measures with None."""
    if about in ("all", "each"):
        return {about: risk}
    return {about: risk, SIDES[about]: 0}


def disagreements(stage_scores, boundary, q):
    return int((stage_scores.leave(*boundary.thresholds(q, stage_scores.dtype))[0] != stage_scores.full).sum())


EXTREMES = np.array([np.nan, np.inf, -np.inf, 0.0, 1e300, -1e300, 5e-324])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["binary", "binary with codes", "one side", "crossing", "multiclass"])
def test_counts_along_a_grid_are_those_of_every_row_at_every_scale(kind, dtype):
    rng = np.random.default_rng(0)
    stage_scores = (three_classes(400) if kind == "multiclass" else rows(400)).astype(dtype)
    odd = rng.random(stage_scores.margins.shape) < 0.05
    with np.errstate(over="ignore"):
        stage_scores.margins[odd] = rng.choice(EXTREMES, size=np.count_nonzero(odd)).astype(dtype)
    stage_scores.margins[:50] = rng.choice([-0.5, 0.25, 0.5, 1.0], size=(50, 3))  # on thresholds, to the bit
    if kind == "binary with codes":  # which say nothing beside scores
        stage_scores = replace(stage_scores, answers=np.zeros(stage_scores.margins.shape, np.int32))
    boundary = {
        "binary with codes": LADDER,
        "binary": Boundary.symmetric(0.125, [0.5, 0.0, 0.25]),
        "one side": LADDER.restricted("positive"),
        "crossing": Boundary([0.3, 0.2, 0.1], SD, [-0.3, -0.2, -0.1], SD),
        "multiclass": Boundary.upper([0.0, 0.125, 0.25], SD),
    }[kind]
    about = [Line("rows of class 1", 1), Line("rows", None)]
    members = [stage_scores.full == 1, np.ones(400, dtype=bool)]
    grid = [np.inf, 1e300, *np.geomspace(1e3, 1e-3, 300), 2.0, 1.0, 0.75, 0.5, 0.0]
    seen = set()
    for q, strata in counts_along(stage_scores, boundary, grid, about):
        expected = [disagreements(stage_scores.take(mask), boundary, q) for mask in members]
        assert [s.n_disagreements for s in strata] == expected
        assert [(s.name, s.n_rows) for s in strata] == [("rows of class 1", members[0].sum()), ("rows", 400)]
        seen.add(expected[1])
    assert len(seen) > 10


@pytest.mark.parametrize("kind", ["binary", "multiclass"])
def test_pairs_along_a_grid_are_those_of_every_row_at_every_scale(kind):
    stage_scores = three_classes(400) if kind == "multiclass" else rows(400)
    truth = np.random.default_rng(1).integers(-1, 2, size=400).astype(np.int32)
    stage_scores = replace(stage_scores, truth=truth)
    boundary = Boundary.upper(0.0, SD) if kind == "multiclass" else LADDER
    full, seen = stage_scores.full, set()
    for q, strata in counts_along(stage_scores, boundary, GRID, [Line("rows", None), Line("rows of class 1", 1)]):
        answers, _ = stage_scores.leave(*boundary.thresholds(q, stage_scores.dtype))
        worse, better = (answers != truth) & (full == truth), (answers == truth) & (full != truth)
        pairs = [(int(worse[mask].sum()), int(better[mask].sum())) for mask in (truth > -2, truth == 1)]
        assert [(s.n_disagreements, s.n_better) for s in strata] == pairs
        seen.add(pairs[0])
    assert len(seen) > 10


def test_many_scales_are_evaluated_at_once(monkeypatch):
    evaluated = []
    leave_along = StageScores.leave_along
    monkeypatch.setattr(StageScores, "leave_along", lambda *args: evaluated.append(len(args[2])) or leave_along(*args))
    scores = rows(400)
    assert sum(1 for _ in counts_along(scores, LADDER, GRID, [Line("rows", None)])) == len(GRID) == sum(evaluated)
    assert len(evaluated) < len(GRID) / 10
    evaluated.clear()
    next(counts_along(rows(100_000), LADDER, GRID[-1:], [Line("rows", None)]))
    for _ in counts_along(rows(100_000), LADDER, GRID[-3:], [Line("rows", None)]):
        pass
    assert evaluated == [1, 1, 1, 1]  # of many rows one at a time, lest memory runs out


def test_the_grid_spans_from_nobody_to_nearly_everybody():
    stage_scores = rows(2000, seed=1)
    assert GRID.shape == (1000,)
    np.testing.assert_allclose(GRID[1:] / GRID[:-1], GRID[1] / GRID[0])
    assert GRID[0] == pytest.approx(2.0 * np.abs(stage_scores.margins / SD).max())
    _, stage = stage_scores.leave(*LADDER.thresholds(GRID[0], np.float64))
    assert (stage == 3).all()
    _, stage = stage_scores.leave(*LADDER.thresholds(GRID[-1], np.float64))
    assert (stage == 0).mean() > 0.98


def test_the_grid_of_meaningless_scores_is_still_a_grid():
    for value in (np.nan, np.inf, 0.0):
        stage_scores = StageScores(full=np.zeros(5, np.int32), margins=np.full((5, 3), value))
        grid = q_grid(stage_scores, LADDER)
        assert np.isfinite(grid).all()
        assert (np.diff(grid) < 0).all()
    closed = LADDER.restricted("positive").restricted("negative")
    assert (np.diff(q_grid(rows(10), closed)) < 0).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("about", ["all", "positive", "negative"])
def test_it_keeps_the_last_scale_before_the_first_failure(dtype, about):
    stage_scores, risk, confidence = rows(4000, dtype=dtype), 0.01, 0.9
    certificate = certify(stage_scores, LADDER, risk=bounded(about, risk), confidence=confidence, q_grid=GRID)
    spoken_of = stage_scores if about == "all" else stage_scores.take(stage_scores.full == (about == "positive"))
    boundary = LADDER.restricted(SIDES[about])
    expected = None
    for q in GRID:
        k = disagreements(spoken_of, boundary, q)
        if stats.binom.cdf(k, spoken_of.n_rows, risk) > 1 - confidence:
            break
        expected = q, k
    assert (certificate.q, certificate.n_disagreements) == expected
    assert certificate.n_rows == spoken_of.n_rows
    assert (certificate.about, certificate.risk) == (about, risk)
    assert upper_bound(expected[1], spoken_of.n_rows, confidence) <= risk
    assert certificate.status == "certified"
    assert certificate.verify()


@pytest.mark.parametrize(
    ("stage_scores", "classes"), [(rows(6000, mean=1.0), None), (three_classes(6000), list("abc"))]
)
def test_each_class_passes_for_itself(stage_scores, classes):
    boundary = LADDER if stage_scores.two_sided else Boundary.upper(0.0, SD)
    certificate = certify(stage_scores, boundary, risk={"each": 0.02}, confidence=0.95, q_grid=GRID, classes=classes)
    assert certificate.verify()
    counts = np.bincount(stage_scores.full)
    assert [stratum.n_rows for stratum in certificate.strata] == counts.tolist()
    for code, stratum in enumerate(certificate.strata):
        one = stage_scores.take(stage_scores.full == code)
        assert stratum.n_disagreements == disagreements(one, boundary, certificate.q)
        assert upper_bound(stratum.n_disagreements, stratum.n_rows, 0.95) <= 0.02
    # A promise about each class is stricter than one about all rows.
    assert certificate.q >= certify(stage_scores, boundary, risk=0.02, confidence=0.95, q_grid=GRID).q


def test_classes_pass_with_bounds_of_their_own():
    stage_scores, boundary = three_classes(6000), Boundary.upper(0.0, SD)
    given = {"confidence": 0.95, "q_grid": GRID, "classes": list("abc")}
    alike = certify(stage_scores, boundary, risk={"each": 0.05}, **given)
    for risk in ({"each": 0.05, "b": 0.01}, {"c": 0.05, "b": 0.01, "a": 0.05}):
        certificate = certify(stage_scores, boundary, risk=risk, **given)
        assert (certificate.status, certificate.about, certificate.risk) == ("certified", "each", 0.05)
        assert certificate.verify()
        assert [s.name for s in certificate.strata] == [f"rows of class {label}" for label in "abc"]
        for code, (stratum, bound) in enumerate(zip(certificate.strata, (0.05, 0.01, 0.05), strict=True)):
            one = stage_scores.take(stage_scores.full == code)
            assert stratum.risk == bound
            assert stratum.n_disagreements == disagreements(one, boundary, certificate.q)
            assert upper_bound(stratum.n_disagreements, stratum.n_rows, 0.95) <= bound
        assert certificate.q > alike.q
    assert certify(stage_scores, boundary, risk=dict.fromkeys("abc", 0.05), **given) == alike


def test_a_class_of_which_no_row_may_differ_closes_the_other_side_next_to_a_bound_for_all_rows():
    stage_scores = rows(6000, mean=1.0)
    certificate = certify(stage_scores, LADDER, risk={"all": 0.02, 0: 0}, confidence=0.95, q_grid=GRID)
    assert (certificate.status, certificate.about, certificate.n_rows) == ("certified", "all", 6000)
    codes, stage = stage_scores.leave(*LADDER.restricted("negative").thresholds(certificate.q, np.float64))
    assert set(codes[stage < 3]) == {0}
    assert certificate.n_disagreements == np.count_nonzero(codes != stage_scores.full) > 0


@pytest.mark.parametrize("word", ["all", "each"])
def test_a_class_that_is_named_like_other_rows_is_not_guessed(word):
    given = {"confidence": 0.95, "q_grid": GRID, "classes": [word, "b", "c"]}
    with pytest.raises(ValueError, match=rf"risk\['{word}'\] may mean the class of this name.*rename the class"):
        certify(three_classes(900), Boundary.upper(0.0, SD), risk={word: 0.1}, **given)
    assert certify(three_classes(900), Boundary.upper(0.0, SD), risk=0.1, **given).status == "certified"


def test_a_class_without_rows_is_missed():
    given = {"risk": {"each": 0.01}, "confidence": 0.95, "q_grid": GRID, "classes": list("abcd")}
    certificate = certify(three_classes(3000), Boundary.upper(0.0, SD), **given)
    needed = "299 certificate rows of class d needed, 0 given, which can back no risk below 99 %"
    assert str(certificate) == f"no early exit: {needed}"
    assert certificate.q == np.inf


@pytest.mark.parametrize(("n", "status"), [(298, "too few rows"), (299, "certified")])
def test_too_few_rows_say_so(n, status):
    certificate = certify(rows(n), LADDER, risk=0.01, confidence=0.95, q_grid=GRID)
    assert certificate.status == status
    assert certificate.verify()


def test_disagreements_at_the_most_cautious_scale_say_so():
    stage_scores = rows(5000)
    certificate = certify(stage_scores, LADDER, risk=0.01, confidence=0.95, q_grid=[0.5, 0.4])
    assert certificate.status == "too many disagreements"
    assert certificate.q == np.inf
    assert certificate.n_disagreements == disagreements(stage_scores, LADDER, 0.5)
    assert certificate.verify()


def test_the_first_failure_ends_the_walk():
    """Bolder scales that would pass again are not tested: fixed-sequence testing stops at the first failure."""
    scores = np.array([[np.nan, 1.5], [3.0, -3.5]])[np.r_[np.zeros(980, int), np.ones(20, int)]]
    stage_scores = StageScores(full=(scores[:, 1] > -9).astype(np.int32), margins=scores)
    boundary = Boundary(np.zeros(2), np.ones(2), np.zeros(2), np.ones(2))
    # At q = 3.2 the twenty rows leave wrongly at the second stage, at q = 2 rightly at the first.
    wrong = [disagreements(stage_scores, boundary, q) for q in (5.0, 3.2, 2.0)]
    assert wrong == [0, 20, 0]
    certificate = certify(stage_scores, boundary, risk=0.01, confidence=0.9, q_grid=[5.0, 3.2, 2.0])
    assert certificate.q == 5.0


def test_groups_give_one_row_each():
    groups = np.random.default_rng(0).integers(0, 50, size=1000).astype(str)
    chosen = one_row_per_group(groups, np.random.default_rng(1))
    assert (np.diff(chosen) > 0).all()
    assert sorted(groups[chosen]) == sorted(set(groups))
    draws = [one_row_per_group(["a", "a", "a", "b"], np.random.default_rng(s))[0] for s in range(600)]
    assert stats.chisquare(np.bincount(draws)).pvalue > 1e-4


def test_groups_are_what_is_counted():
    stage_scores, groups = rows(8000), np.repeat(np.arange(400), 20)
    given = {"risk": 0.05, "confidence": 0.95, "q_grid": GRID, "groups": groups}
    certificate = certify(stage_scores, LADDER, **given)
    assert certificate.n_rows == 400
    assert certificate.grouped
    assert certificate == certify(stage_scores, LADDER, **given)


def test_measuring_uses_the_rule_as_published():
    stage_scores = rows(3000)
    certificate = measure(stage_scores, LADDER, risk={"positive": None, "negative": 0})
    positives = stage_scores.take(stage_scores.full == 1)
    k = disagreements(positives, LADDER.restricted("negative"), 1.0)
    assert (certificate.n_disagreements, certificate.n_rows, certificate.q) == (k, positives.n_rows, 1.0)
    assert certificate.verify()


@pytest.mark.parametrize("risk", [0.1, {"each": 0.1}, {"all": 0.1, 1: 0.2}, {"positive": 0.1, "negative": 0}], ids=str)
def test_measuring_takes_no_bound(risk):
    with pytest.raises(ValueError, match="measure promises nothing: the bounds in risk are None"):
        measure(rows(9), LADDER, risk=risk)


@pytest.mark.parametrize(
    ("stage_scores", "changes", "message"),
    [
        (rows(9), {"risk": 0.0}, "'risk'"),
        (rows(9), {"confidence": 1.0}, "'confidence'"),
        (rows(9), {"q_grid": [1.0, 2.0]}, "fall strictly"),
        (rows(9), {"q_grid": [1.0, 1.0]}, "fall strictly"),
        (rows(9), {"q_grid": [np.inf, 1.0]}, "finite"),
        (rows(9), {"q_grid": []}, "q_grid"),
        (rows(9), {"groups": [1, 2]}, "each of the 9 rows"),
        (rows(9), {"risk": None}, "'risk' of certify must lie strictly between 0 and 1"),
        (rows(9), {"risk": {"each": None}}, "'risk' of certify must lie strictly between 0 and 1"),
        (rows(9), {"risk": {"each": 0}}, "'risk' of certify must lie strictly between 0 and 1"),
        (rows(9), {"risk": 1.0}, "certify: risk must be None or a number at least 0 and below 1"),
        (rows(9), {"risk": {}}, "certify: risk names no stratum"),
        (rows(9), {"risk": {1: "0.1"}}, r"certify: risk\[1\] must be None or a number"),
        (rows(9), {"risk": {"all": 0.1, 1: None}}, "promises some strata and measures others"),
        (rows(9), {"risk": {"all": 0, 1: 0.1}}, r"risk\[\"all\"\] is 0"),
        (rows(9), {"risk": {"both": 0.1}}, "risk names 'both', which is none of the classes 0, 1"),
        (rows(9), {"risk": {1: 0.1}}, "says nothing of the rows of class 0"),
        (three_classes(9), {"risk": {"positive": 0.1, "negative": 0}, "classes": range(3)}, "needs two classes, not 3"),
        (three_classes(9), {"risk": {"each": 0.1, 2: 0}, "classes": range(3)}, "by 0, which needs two classes, not 3"),
        (three_classes(9), {"risk": {"each": 0.1}}, "needs classes="),
        (three_classes(9), {"risk": {"all": 0.1, 1: 0.2}}, "needs classes="),
    ],
)
def test_senseless_requests_are_refused(stage_scores, changes, message):
    given = {"risk": 0.1, "confidence": 0.9, "q_grid": [2.0, 1.0], **changes}
    with pytest.raises(ValueError, match=message):
        certify(stage_scores, LADDER, **given)


def test_all_scales_take_less_time_than_all_rows_at_each_scale():
    rng = np.random.default_rng(0)
    full, sd = rng.normal(size=10_000), np.geomspace(1.0, 0.01, 20)
    scores = (full[:, None] + sd * rng.normal(size=(10_000, 20))).astype(np.float32)
    stage_scores, boundary = StageScores(full=(full > 0).astype(np.int32), margins=scores), Boundary.symmetric(0.0, sd)
    grid = q_grid(stage_scores, boundary)

    def seconds(call):
        start = time.process_time()
        call()
        return time.process_time() - start

    def all_scales():  # at this risk none of them fails
        return certify(stage_scores, boundary, risk=0.7, confidence=0.95, q_grid=grid)

    assert all_scales().q == grid[-1]
    every = 20  # the peer is timed at every 20th scale
    pairs = [
        (
            seconds(all_scales),
            every * seconds(lambda: [disagreements(stage_scores, boundary, q) for q in grid[::every]]),
        )
        for _ in range(3)
    ]
    ours, theirs = np.min(pairs, axis=0)
    assert ours < theirs


# At 95 % confidence, 50 of 1000 promises may fail on average; more than 67 do with probability 0.7 %.
MOST_VIOLATIONS = 67


@pytest.mark.long
@pytest.mark.parametrize("about", ["all", "positive", "negative", "each"])
def test_promises_hold_as_often_as_they_say(about):
    """Calibrations are drawn from a large pool of rows, whose own rates are therefore the true risks."""
    risk, pool, rng = 0.02, rows(100_000, seed=7, mean=1.0), np.random.default_rng(8)
    boundary = LADDER.restricted(SIDES[about])
    spoken_of = {"positive": [1], "negative": [0], "each": [0, 1], "all": [None]}[about]
    parts = [pool if code is None else pool.take(pool.full == code) for code in spoken_of]
    grid = GRID[(GRID < 8.0) & (GRID > 0.2)]  # the part where something happens
    true_risk = {q: max(disagreements(part, boundary, q) / part.n_rows for part in parts) for q in grid}
    violations = early = 0
    for _ in range(1000):
        stage_scores = pool.take(rng.integers(0, pool.n_rows, size=1500))
        certificate = certify(stage_scores, LADDER, risk=bounded(about, risk), confidence=0.95, q_grid=grid)
        early += certificate.q < np.inf
        violations += true_risk.get(certificate.q, 0.0) > risk
    assert early > 900, "a promise that is never made is no test"
    assert violations <= MOST_VIOLATIONS


@pytest.mark.long
@pytest.mark.parametrize("fresh", [True, False], ids=["fresh rows", "plan rows"])
def test_certifying_on_the_plan_rows_is_a_cheat(fresh):
    """A readout overfits the rows that it was fitted on; a certificate from these rows promises too much."""
    rng, risk, n_rows, n_terms, n_seen = np.random.default_rng(9), 0.05, 400, 200, 150
    weights = rng.normal(size=n_terms)
    served = rng.normal(size=(20_000, n_terms))
    n_trials, violations = 200, 0

    def stage_scores(terms, readout):
        full = (terms @ weights > 0).astype(np.int32)
        return StageScores(full=full, margins=(terms[:, :n_seen] @ readout)[:, None])

    for _ in range(n_trials):
        plan, other = rng.normal(size=(2, n_rows, n_terms))
        readout, *_ = np.linalg.lstsq(plan[:, :n_seen], plan @ weights, rcond=None)
        residual = plan @ weights - plan[:, :n_seen] @ readout
        boundary = Boundary.symmetric(0.0, [residual.std()])
        grid = q_grid(stage_scores(plan, readout), boundary)
        rows_used = stage_scores(other if fresh else plan, readout)
        certificate = certify(rows_used, boundary, risk=risk, confidence=0.95, q_grid=grid)
        truth = stage_scores(served, readout)
        violations += disagreements(truth, boundary, certificate.q) / truth.n_rows > risk
    chance = stats.binom.sf(violations - 1, n_trials, 0.05)
    assert chance > 0.005 if fresh else chance < 1e-6


def test_of_several_splits_each_is_tested_at_its_share_of_the_error():
    stage_scores = rows(3000, seed=2)
    given = {"risk": 0.02, "q_grid": np.geomspace(GRID[0], GRID[-1], 4000)}
    shared = certify(stage_scores, LADDER, confidence=0.95, n_splits=4, **given)
    alone = certify(stage_scores, LADDER, confidence=0.9875, **given)
    assert (shared.q, shared.strata) == (alone.q, alone.strata)
    assert (shared.confidence, shared.n_splits, shared.verify()) == (0.95, 4, True)
    assert shared.q > certify(stage_scores, LADDER, confidence=0.95, **given).q
    scarce = certify(rows(300), LADDER, risk=0.01, confidence=0.95, q_grid=GRID, n_splits=2)
    assert (scarce.status, scarce.rows_needed) == ("too few rows", 368)
    with pytest.raises(ValueError, match="n_splits must be at least 1"):
        certify(stage_scores, LADDER, confidence=0.95, n_splits=0, **given)
