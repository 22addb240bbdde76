"""Strata by the early answer: how a risk names them, what is counted, and what certificates say of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from wald.stopping import Boundary, Certificate, StageScores, certify, measure, q_grid
from wald.stopping.core.certificate import Stratum
from wald.stopping.core.certifying import counts_along
from wald.stopping.core.family import certify_family
from wald.stopping.core.risks import Line, promised

SD = np.array([1.0, 0.5, 0.25])
TWO, THREE = ["fine", "fraud"], ["a", "b", "c"]
FRAUD = "rows of predicted class fraud"


def rows(n=4000, seed=0, mean=-1.5):
    """Rows of two answers whose estimates miss the full score by `SD`."""
    rng = np.random.default_rng(seed)
    full = rng.normal(mean, 2.0, size=n)
    scores = np.round((full[:, None] + rng.normal(size=(n, 3)) * SD) * 8) / 8  # many ties
    return StageScores(full=(full > 0).astype(np.int32), margins=scores)


def of_three(n=4000, seed=0, losses=False):
    """Rows of three answers, with losses of their own if wanted."""
    rng = np.random.default_rng(seed)
    full = rng.choice(3, n, p=[0.7, 0.25, 0.05]).astype(np.int32)
    margins = np.abs(rng.normal(size=(n, 3)) + np.arange(3))
    answers = np.where(rng.random((n, 3)) < 0.4 * np.exp(-2 * margins), rng.integers(0, 3, (n, 3)), full[:, None])
    # some rows that differ lose nothing, others a part
    lost = (answers != full[:, None]) * rng.choice([0.0, 0.5, 1.0], (n, 3)) if losses else None
    return StageScores(full=full, answers=answers.astype(np.int32), margins=margins, losses=lost)


LADDER = Boundary.symmetric(0.0, SD)
GRID = q_grid(rows(2000, seed=1), LADDER)


def counted(risk, classes=TWO):
    """Name and bound of each stratum, in a few words."""
    return [(line.name, line.risk) for line in promised(risk, classes).lines]


def test_a_stratum_is_named_by_the_label_as_it_is_written():
    assert counted({"all": 0.01, "predicted fraud": 0.02}) == [("rows", None), (FRAUD, 0.02)]
    assert promised({"all": 0.01, "predicted fraud": 0.02}, TWO).lines[1] == Line(FRAUD, 1, 0.02, early=True)
    for labels, word in (([0, 1], "1"), ([0.0, 1.0], "1"), ([0.0, 1.0], "1.0"), ([False, True], "True")):
        assert promised({"all": 0.01, f"predicted {word}": 0.02}, labels).lines[1][1:] == (1, 0.02, True)
    assert counted({"all": 0.01, "predicted positive": 0.02})[1] == (FRAUD, 0.02)
    assert counted({"all": 0.01, "predicted 2": 0.02}, [0, 1, 2])[1][0] == "rows of predicted class 2"
    # full answers come first, whatever the order of the dict
    names = [name for name, _ in counted({"predicted fraud": 0.02, "fraud": 0.05, "all": 0.01})]
    assert names == ["rows", "rows of class fraud", FRAUD]


def test_each_predicted_class_has_the_bound_that_is_not_its_own():
    alike = promised({"predicted each": 0.02}, THREE)
    assert (alike.about, alike.risk) == ("predicted", 0.02)
    assert counted({"predicted each": 0.02}, THREE) == [(f"rows of predicted class {c}", None) for c in THREE]
    unequal = counted({"predicted each": 0.02, "predicted b": 0.1}, THREE)
    assert [bound for _, bound in unequal] == [0.02, 0.1, 0.02]
    both = promised({"each": 0.05, "predicted each": 0.02}, TWO)
    assert [(line.code, line.early, line.risk) for line in both.lines] == [
        *((0, False, 0.05), (1, False, 0.05)),
        *((0, True, 0.02), (1, True, 0.02)),
    ]


@pytest.mark.parametrize(
    ("risk", "classes"),
    [
        ({"fraud": 0.05, "predicted fraud": 0.02}, TWO),  # few missed, few wrong: nothing else can differ
        ({"fine": 0.05, "predicted fine": 0.02}, TWO),
        ({"a": 0.1, "b": 0.1, "predicted a": 0.1, "predicted b": 0.1}, THREE),  # of c as c, nothing differs
    ],
    ids=str,
)
def test_bounds_by_both_answers_may_cover_all_that_differs(risk, classes):
    found = promised(risk, classes)
    assert found.about == "predicted"
    assert len(found.lines) == len(risk)
    with pytest.raises(ValueError, match="risk says nothing of the rows of class"):
        promised(dict(list(risk.items())[1:]), classes)


def test_a_bound_of_0_closes_the_side_of_its_answer():
    early = promised({"fraud": 0.05, "predicted fraud": 0}, TWO)
    assert early == promised({"fraud": 0.05, "fine": 0}, TWO)  # both say that no row leaves as fraud
    assert (early.sides, early.about) == ("negative", "positive")
    other = promised({"predicted fraud": 0.05, "predicted fine": 0}, TWO)
    assert (other.sides, other.about) == ("positive", "predicted")
    assert [(line.name, line.risk) for line in other.lines] == [(FRAUD, 0.05)]
    whole = promised({"all": 0.05, "predicted fraud": 0}, TWO)
    assert (whole.sides, whole.about, len(whole.lines)) == ("negative", "all", 1)


@pytest.mark.parametrize(
    ("risk", "classes", "message"),
    [
        ({"predicted fraud": 0.1}, TWO, "class 'fraud' that predict calls 'fine': give \"all\", 'fraud' or 'predicted"),
        ({"predicted fraud": 0.1, "fine": 0.1}, TWO, "rows of class 'fraud' that predict calls 'fine'"),
        ({"all": 0.1, "predicted Fraud": 0.1}, TWO, r"\['predicted Fraud'\] names 'Fraud', .* none of the classes 'fi"),
        ({"all": 0.1, "predicted 7": 0.1}, [0, 1], r"\['predicted 7'\] names '7', which is none of the classes 0, 1"),
        ({"predicted all": 0.1}, TWO, "names 'all', which is all rows: say \"all\""),
        ({"all": 0.1, "predicted positive": 0.1}, THREE, r"'predicted positive'\] needs two classes, not 3"),
        ({"all": 0.1, "predicted fraud": 0.1, "predicted positive": 0.1}, TWO, "rows of predicted class fraud twice"),
        ({"all": 0.1, "predicted b": 0}, THREE, "predicted class b by 0, which needs two classes, not 3"),
        ({"all": 0.1, "predicted each": 0}, THREE, "lets no row of any class differ"),
        ({"all": 0.1, "predicted fraud": 0, "fraud": 0}, TWO, "lets no row of any class differ"),
        ({"fraud": 0.1, "fine": 0.1, "predicted fraud": 0}, TWO, "class fine by 0.1, and none of them can differ"),
        ({"fine": 0, "predicted each": 0.1}, TWO, "predicted class fraud by 0.1, and none of them can differ"),
        ({"all": 0.1, "predicted fraud": 1.0}, TWO, r"risk\['predicted fraud'\] must be None or a number"),
        ({"all": 0.1, "predicted fraud": None}, TWO, "promises some strata and measures others"),
        ({"all": 0.1, "predicted fraud": 0.1}, ["fraud", "predicted fraud"], "class of this name or rows that predict"),
        ({"all": 0.1, "predicted each": 0.1}, ["each", "some"], "more than one class, or each of them"),
        ({"all": 0.1, "predicted each": 0.1}, ["predicted each", "some"], "class of this name or rows that predict"),
        ({"all": 0.1, "predicted 1": 0.1}, np.array([1, "1"], dtype=object), "more than one class, or each of them"),
    ],
    ids=str,
)
def test_what_names_no_stratum_is_refused(risk, classes, message):
    with pytest.raises(ValueError, match=message):
        promised(risk, classes)


def test_a_class_called_like_a_stratum_is_itself_where_nothing_else_is_meant():
    odd = promised({"all": 0.1, "predicted fraud": 0.05}, ["fine", "predicted fraud"])
    assert odd.lines[1] == Line("rows of class predicted fraud", 1, 0.05)


# ---- what is counted -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scores", [rows(), of_three(), of_three(losses=True)], ids=["two", "three", "losses"])
def test_counts_are_those_of_every_row_at_every_scale(scores):
    boundary = LADDER if scores.two_sided else Boundary.upper(0.0, SD)
    codes = range(2 if scores.two_sided else 3)
    lines = [Line("rows", None), *(Line(f"{c} {e}", c, early=e) for c in codes for e in (False, True))]
    grid = q_grid(scores, boundary, 60)
    seen = set()
    for q, strata in counts_along(scores, boundary, grid, lines):
        answers, stage = scores.leave(*boundary.thresholds(q, scores.dtype))
        lost = scores.lost(answers, stage)
        for line, stratum in zip(lines, strata, strict=True):
            own = answers if line.early else scores.full
            member = np.ones(len(own), bool) if line.code is None else own == line.code
            assert stratum.n_rows == member.sum()
            assert stratum.n_disagreements == pytest.approx(lost[member].sum())
            if stratum.losses is not None:
                np.testing.assert_array_equal(stratum.losses, lost[member])
        seen.add(strata[-1].n_rows)
    assert len(seen) > 5  # the rows of an early answer change with the scale


def test_the_last_scale_is_kept_at_which_every_stratum_passes():
    scores, bounds = rows(), {"all": 0.05, "fraud": 0.08, "predicted fraud": 0.02}
    certificate = certify(scores, LADDER, risk=bounds, confidence=0.9, q_grid=GRID, classes=TWO)
    last = None
    for q in GRID:
        answers, _ = scores.leave(*LADDER.thresholds(q, scores.dtype))
        wrong = answers != scores.full
        of = [np.ones(len(wrong), bool), scores.full == 1, answers == 1]
        counts = [(int(wrong[each].sum()), int(each.sum())) for each in of]
        if any(stats.binom.cdf(k, n, r) > 0.1 for (k, n), r in zip(counts, bounds.values(), strict=True)):
            break
        last = q, counts
    assert certificate.status == "certified"
    assert (certificate.q, [(s.n_disagreements, s.n_rows) for s in certificate.strata]) == last
    assert certificate.verify()
    without = certify(scores, LADDER, risk={"all": 0.05, "fraud": 0.08}, confidence=0.9, q_grid=GRID, classes=TWO)
    assert certificate.q > without.q  # the bound is felt


def test_a_family_holds_it_for_every_candidate():
    one, other = certify_family(
        *(rows(), [LADDER, LADDER.rescaled(2.0)]),
        risk={"all": 0.1, "predicted 1": 0.05},
        confidence=0.95,
        q_grids=[GRID, GRID],
    )
    assert [c.strata[1].name for c in (one, other)] == ["rows of predicted class 1"] * 2
    assert one.verify()
    assert other.verify()


def test_one_row_of_each_group_is_counted():
    scores, groups = rows(6000), np.repeat(np.arange(3000), 2)
    risk = {"predicted each": 0.1}
    certificate = certify(scores, LADDER, risk=risk, confidence=0.95, q_grid=GRID, groups=groups, random_state=3)
    assert (certificate.n_rows, certificate.grouped) == (3000, True)


def test_without_a_row_that_gets_the_answer_nothing_is_promised():
    scores = rows(mean=-50.0)  # the full model never answers 1
    certificate = certify(scores, LADDER, risk={"all": 0.1, "predicted 1": 0.1}, confidence=0.95, q_grid=GRID)
    assert certificate.status == "too few rows"
    assert "29 certificate rows of predicted class 1 needed, 0 given" in str(certificate)
    # and where bold scales leave too few rows with the answer, the scale before stays
    few = replace(rows(), margins=rows().margins - 0.5 * SD)  # early stages rarely say 1
    alone, both = (
        certify(few, LADDER, risk={"all": 0.3} | own, confidence=0.95, q_grid=GRID, classes=TWO)
        for own in ({}, {"predicted fraud": 0.01})
    )
    assert both.q > alone.q
    assert both.strata[1].n_rows >= 299


# ---- what certificates say -------------------------------------------------------------------------------------------

PARTS = (Stratum("rows", 5000, 19), Stratum("rows of class fraud", 809, 11, 0.05), Stratum(FRAUD, 806, 8, 0.02))
SENTENCES = [
    (
        Certificate("certified", 0.01, 0.95, "classes", 4.0, PARTS),
        "disagreement <= 1 %, <= 5 % within class fraud, <= 2 % within predicted class fraud, all with 95 % "
        "confidence: 19 of 5 000 rows, 11 of 809 rows of class fraud, 8 of 806 rows of predicted class fraud",
    ),
    (
        Certificate("certified", 0.05, 0.95, "predicted", 4.0, PARTS[1:]),
        "disagreement <= 5 % within class fraud, <= 2 % within predicted class fraud, all with 95 % confidence: "
        "11 of 809 rows of class fraud, 8 of 806 rows of predicted class fraud",
    ),
    (
        Certificate("certified", 0.02, 0.95, "predicted", 4.0, PARTS[2:]),
        "disagreement <= 2 % within predicted class fraud with 95 % confidence: 8 of 806 rows of predicted class fraud",
    ),
    (
        Certificate(
            *("certified", 0.02, 0.95, "predicted", 4.0),
            (Stratum("rows of predicted class fine", 4194, 11), Stratum(FRAUD, 806, 8)),
        ),
        "disagreement within each predicted class <= 2 % with 95 % confidence: 8 of 806 rows of predicted class fraud",
    ),
    (
        Certificate(
            "certified", 0.1, 0.95, "classes", 4.0, (Stratum("rows", 900, 9), Stratum("predicted outliers", 90, 1, 0.2))
        ),
        "disagreement <= 10 %, <= 20 % within predicted outliers, all with 95 % confidence: "
        "9 of 900 rows, 1 of 90 predicted outliers",
    ),
    (
        Certificate("too few rows", 0.01, 0.95, "classes", strata=(PARTS[0], Stratum(FRAUD, 50, 0, 0.05))),
        "no early exit: 59 certificate rows of predicted class fraud needed, 50 given, which can back a risk of 5.9 % "
        "at best",
    ),
]


@pytest.mark.parametrize(("certificate", "sentence"), SENTENCES, ids=[sentence for _, sentence in SENTENCES])
def test_it_prints_one_sentence(certificate, sentence):
    assert str(certificate) == sentence
    assert certificate.verify()


def test_rows_are_those_that_get_the_answers():
    assert SENTENCES[0][0].n_rows == 5000
    assert SENTENCES[1][0].n_rows == 806  # those of the class may be among them
    assert SENTENCES[3][0].n_rows == 5000


def test_a_certificate_without_its_bounds_is_no_promise():
    good = SENTENCES[1][0]
    assert not replace(good, about="each").verify()
    assert not replace(good, strata=PARTS[1:2]).verify()
    for strata in (
        (replace(PARTS[1], risk=None), PARTS[2]),
        (PARTS[1], replace(PARTS[2], risk=0.05 + 1e-9)),
        (PARTS[1], replace(PARTS[2], n_disagreements=30)),
    ):
        assert not replace(good, strata=strata).verify()


def test_what_is_only_measured_says_so():
    scores = rows()
    certificate = measure(scores, LADDER, risk={"fraud": None, "predicted fraud": None}, q=0.5, classes=TWO)
    assert (certificate.about, certificate.status) == ("predicted", "measured")
    answers, _ = scores.leave(*LADDER.thresholds(0.5, scores.dtype))
    assert certificate.strata[1].n_rows == np.sum(answers == 1)
    assert str(certificate).startswith("measured disagreement, at worst")
    each = measure(scores, LADDER, risk={"predicted each": None}, q=0.5, classes=TWO)
    assert str(each).startswith("measured disagreement within each predicted class, at worst")
    assert each.verify()


# ---- the promise itself ----------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("kind", ["two", "three"])
def test_it_is_broken_no_more_often_than_it_says(kind):
    """Rows are drawn from a pool, whose own rates are the true ones; a promise about all rows does not do."""
    if kind == "two":
        pool, boundary, risk = rows(40_000, mean=-3.0), LADDER, {"all": 0.05, "predicted 1": 0.1}
        classes, code = [0, 1], 1
    else:
        pool, boundary, risk = of_three(40_000), Boundary.upper(0.0, SD), {"all": 0.05, "predicted c": 0.1}
        classes, code = THREE, 2
    grid = q_grid(pool.take(np.arange(2000)), boundary, 200)

    def rate(q):
        answers, _ = pool.leave(*boundary.thresholds(q, pool.dtype))
        return np.mean(pool.full[answers == code] != code)

    rng = np.random.default_rng(5)
    broken, alone, made, n = 0, 0, 0, 400
    for _ in range(n):
        drawn = pool.take(rng.integers(0, 40_000, 1500))
        given = {"confidence": 0.8, "q_grid": grid, "classes": classes}
        certificate = certify(drawn, boundary, risk=risk, **given)
        made += certificate.status == "certified"
        broken += certificate.status == "certified" and rate(certificate.q) > 0.1
        other = certify(drawn, boundary, risk=0.05, **given)
        alone += other.status == "certified" and rate(other.q) > 0.1
    most = stats.binom.ppf(0.995, n, 0.2)
    assert made > n / 4
    assert broken <= most
    assert alone > most  # the check above would catch it


def test_true_labels_have_no_strata_by_the_early_answer():
    """Pairs are counted by the true label: the counts of another stratum would stand for this one."""
    scores, message = replace(rows(), truth=rows().full), r"bounds the rows of predicted class fine, .* true labels are"
    both = ["predicted fraud", "predicted fine"]
    with pytest.raises(ValueError, match=message):
        certify(scores, LADDER, risk=dict.fromkeys(both, 0.02), confidence=0.95, q_grid=GRID, classes=TWO)
    with pytest.raises(ValueError, match=message):
        measure(scores, LADDER, risk=dict.fromkeys(both), classes=TWO)
