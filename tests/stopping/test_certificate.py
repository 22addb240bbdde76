"""The text of a certificate, and its own verification."""

from __future__ import annotations

import dataclasses
import math
import pickle

import numpy as np
import pytest

from wald.stopping import Boundary, Certificate, rows_needed
from wald.stopping.core.certificate import Stratum


def certified(k=6, n=12_000, risk=0.001, name="rows", **changes):
    given = {"q": 4.0, "strata": (Stratum(name, n, k),), **changes}
    return Certificate("certified", risk, 0.95, **given)


EACH = (Stratum("rows of class a", 900, 1), Stratum("rows of class b", 400, 0))

CLASSES = (
    Stratum("rows", 1300, 1),
    Stratum("rows of class fraud", 900, 0, risk=0.005),
    Stratum("rows of class b", 400, 1, risk=0.02),
)
FEW = (Stratum("rows of class c", 9, 0), Stratum("rows of class d", 0, 0))

SENTENCES = [
    (certified(), "disagreement <= 0.1 % with 95 % confidence: 6 of 12 000 rows"),
    (
        certified(grouped=True),
        "disagreement on a random row of a random group <= 0.1 % with 95 % confidence: "
        "6 of 12 000 rows (one per group)",
    ),
    (
        certified(5, n_splits=2),
        "disagreement <= 0.1 % with 95 % confidence: 5 of 12 000 rows (cheapest of 2 splits)",
    ),
    (
        certified(3, 900, 0.01, "positives", about="positive"),
        "exits as negative among positives <= 1 % with 95 % confidence: 3 of 900 positives",
    ),
    (
        certified(3, 900, 0.01, "negatives", about="negative"),
        "exits as positive among negatives <= 1 % with 95 % confidence: 3 of 900 negatives",
    ),
    (
        certified(risk=0.01, about="each", strata=EACH),
        "disagreement within each class <= 1 % with 95 % confidence: 0 of 400 rows of class b",
    ),
    (
        certified(risk=0.01, about="classes", strata=CLASSES),
        "disagreement <= 1 %, <= 0.5 % within class fraud, <= 2 % within class b, all with 95 % confidence: "
        "1 of 1 300 rows, 0 of 900 rows of class fraud, 1 of 400 rows of class b",
    ),
    (
        Certificate("measured", None, 0.95, about="each", q=1.0, strata=EACH),
        "measured disagreement within each class, at worst 0 % (0 % to 1.1 %, one of 2 intervals that hold together "
        "with 95 % confidence), 0 of 400 rows of class b; not a promise",
    ),
    (
        Certificate("measured", None, 0.95, q=1.0, strata=(Stratum("rows", 12_000, 96),)),
        "measured disagreement 0.8 % (95 % interval 0.65 % to 0.98 %), 96 of 12 000 rows; not a promise",
    ),
    (
        Certificate("too few rows", 0.01, 0.95, strata=(Stratum("rows", 120, 0),)),
        "no early exit: 299 certificate rows needed, 120 given, which can back a risk of 2.5 % at best",
    ),
    (
        Certificate("too few rows", 0.01, 0.95, strata=(Stratum("rows", 120, 0),), n_splits=2),
        "no early exit: 368 certificate rows needed, 120 given (in each of 2 splits), which can back a risk of 3.1 % "
        "at best",
    ),
    (
        Certificate("too few rows", 0.01, 0.95, about="each", strata=(*EACH, Stratum("rows of class c", 9, 0))),
        "no early exit: 299 certificate rows of class c needed, 9 given, which can back a risk of 29 % at best",
    ),
    (
        Certificate("too few rows", 0.01, 0.95, about="each", strata=(EACH[0], *FEW)),
        "no early exit: 299 certificate rows of class c needed, 9 given, which can back a risk of 29 % at best; "
        "299 certificate rows of class d needed, 0 given, which can back no risk below 99 %",
    ),
    (
        Certificate(
            "too few rows", 0.01, 0.95, about="classes", strata=(CLASSES[0], Stratum("rows of x", 50, 0, 0.05))
        ),
        "no early exit: 59 certificate rows of x needed, 50 given, which can back a risk of 5.9 % at best",
    ),
    (
        Certificate("too many disagreements", 0.01, 0.95, strata=(Stratum("rows", 5000, 70),)),
        "no early exit: 70 of 5 000 rows differ at the most cautious q: not <= 1 % with 95 % confidence",
    ),
    (
        Certificate("too many disagreements", 0.01, 0.95, strata=(Stratum("rows", 5000, 70.25, p_value=1.0),)),
        "no early exit: a loss of 70.25 of 5 000 rows at the most cautious q: not <= 1 % with 95 % confidence",
    ),
    (Certificate.lossless(), "lossless: no row can differ"),
    (
        Certificate.full_evaluation("evaluating everything is faster", 0.01, 0.95),
        "no early exit: evaluating everything is faster",
    ),
    (certified().voided("certified on training rows"), "void: certified on training rows"),
]


@pytest.mark.parametrize(("certificate", "sentence"), SENTENCES, ids=[s for _, s in SENTENCES])
def test_it_prints_one_sentence(certificate, sentence):
    assert str(certificate) == sentence


def test_counts_are_summed_over_the_strata():
    certificate = certified(about="each", strata=EACH)
    assert (certificate.n_rows, certificate.n_disagreements) == (1300, 1)
    assert certificate.worst == EACH[1]
    assert certificate.rows_needed == 2995


def test_it_verifies_itself():
    assert certified().verify()
    assert Certificate.lossless().verify()
    assert Certificate.full_evaluation("because").verify()
    measured = Certificate("measured", None, 0.95, q=1.0, strata=EACH)
    assert measured.verify()
    few = Certificate("too few rows", 0.01, 0.95, strata=(Stratum("rows", 120, 0),))
    many = Certificate("too many disagreements", 0.01, 0.95, strata=(Stratum("rows", 5000, 70),))
    assert few.verify()
    assert many.verify()
    assert pickle.loads(pickle.dumps(few)) == few


@pytest.mark.parametrize(
    "change",
    [
        {"strata": (Stratum("rows", 12_000, 7),)},
        {"strata": (Stratum("rows", 1200, 6),)},
        {"strata": ()},
        {"risk": 0.0009},
        {"risk": None},
        {"confidence": 0.999},
        {"risk": 0.0},
        {"strata": (Stratum("rows", 12_000, 6, risk=0.01),)},
        {"about": "classes"},
        {"q": math.inf},
        {"status": "too many disagreements"},
        {"status": "lossless"},
        {"void": "no"},
    ],
    ids=str,
)
def test_it_notices_a_change(change):
    assert not dataclasses.replace(certified(), **change).verify()


@pytest.mark.parametrize(
    "stratum",
    [
        Stratum("rows", 100, 100, p_value=0.0),
        Stratum("rows", 12_000, 6, p_value=0.01),
        Stratum("rows", 12_000, 6.5),
        Stratum("rows", 12_000, 6.5, p_value=-1.0),
        Stratum("rows", 12_000, 6.5, p_value=0.0),
        Stratum("rows", 12_000, 6.5, p_value=math.nan),
        Stratum("rows", 12_000, 12.5, p_value=0.01),
        Stratum("rows", 12_000, -0.5, p_value=0.01),
        Stratum("rows", 12_000, -1),
        Stratum("rows", 3, 0.001, p_value=0.04),
        Stratum("rows", 12_000, 0.5, losses=np.zeros(12_000)),
        Stratum("rows", 12_000, 0.5, losses=np.full(1, 0.5)),
    ],
    ids=str,
)
def test_counts_that_no_rows_have_are_false(stratum):
    assert not certified(strata=(stratum,)).verify()


def test_losses_between_0_and_1_need_a_p_value_that_their_bets_can_have():
    losses = np.zeros(12_000)
    losses[::2000] = 0.25
    held = Stratum("rows", 12_000, 1.5, losses=losses)
    counted = held.counted(0.001, 0.95)
    assert certified(strata=(held,)).verify()
    assert certified(strata=(counted,)).verify()
    assert not certified(strata=(dataclasses.replace(counted, p_value=0.051),)).verify()
    assert not Certificate("measured", None, 0.95, q=1.0, strata=(counted,)).verify()
    assert Certificate("measured", None, 0.95, q=1.0, strata=(Stratum("rows", 12_000, 1.5),)).verify()


def test_losses_whose_mean_is_above_the_risk_prove_nothing():
    late = np.r_[np.zeros(12_000), np.ones(12), np.full(2, 0.5)]  # bets on the first ones alone win
    stratum = Stratum("rows", len(late), float(late.sum()), losses=late)
    assert stratum.p_value_of(0.001, 0.95) == 1.0
    assert stratum.p_value_of(0.0012, 0.95) < 0.05


def test_voiding_keeps_the_counts():
    void = certified().voided("drift")
    assert dataclasses.replace(void, void=None) == certified()


def test_a_proof_needs_thresholds_that_nothing_moves():
    proof = Certificate.lossless()
    assert proof.verify(Boundary.symmetric(0.0, [0.0, 0.0]))
    assert not proof.verify(Boundary.symmetric(0.0, [0.0, 0.1]))
    for change in ({"risk": 0.01}, {"q": 2.0}, {"strata": EACH}):
        assert not dataclasses.replace(proof, **change).verify()


def test_classes_with_risks_of_their_own_are_part_of_what_is_checked():
    certificate = certified(risk=0.01, about="classes", strata=CLASSES)
    assert certificate.verify()
    assert (certificate.n_rows, certificate.n_disagreements) == (1300, 1)
    assert [certificate.needed_by(s) for s in CLASSES] == [299, 598, 149]
    loose = dataclasses.replace(CLASSES[1], n_disagreements=2)  # 2 of 900 do not prove 0.5 %
    assert not dataclasses.replace(certificate, strata=(CLASSES[0], loose, CLASSES[2])).verify()
    assert not dataclasses.replace(certificate, strata=CLASSES[:1]).verify()
    assert not dataclasses.replace(certificate, about="each").verify()


@pytest.mark.parametrize("n", [2, 9, 120, 2000, 5000, 123_456])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.999])
def test_the_smallest_risk_can_be_certified_as_printed(n, confidence):
    few = Certificate("too few rows", 1e-6, confidence, strata=(Stratum("rows", n, 0),))
    assert few.verify()
    printed = float(str(few).split("a risk of ")[1].split(" %")[0]) / 100
    assert few.smallest_risk <= printed <= 1.1 * few.smallest_risk
    assert rows_needed(printed, confidence) <= n < rows_needed(0.999 * few.smallest_risk, confidence)
