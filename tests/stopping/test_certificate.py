"""What a certificate says, and whether it checks itself."""

from __future__ import annotations

import dataclasses
import math
import pickle

import pytest

from wald.stopping import Certificate, Stratum
from wald.stopping.binomial import upper_bound


def certified(k=6, n=12_000, risk=0.001, name="rows", **changes):
    bound = upper_bound(k, n, 0.95)
    given = {"q": 4.0, "strata": (Stratum(name, n, k),), "bound": bound, **changes}
    return Certificate("certified", risk, 0.95, **given)


EACH = (Stratum("rows of class a", 900, 1), Stratum("rows of class b", 400, 0))

SENTENCES = [
    (certified(), "disagreement <= 0.1 % with 95 % confidence: 6 of 12 000 rows, bound 0.099 %"),
    (
        certified(grouped=True),
        "disagreement <= 0.1 % with 95 % confidence: 6 of 12 000 rows (one per group), bound 0.099 %",
    ),
    (
        certified(n_splits=2, bound=upper_bound(6, 12_000, 0.975)),
        "disagreement <= 0.1 % with 95 % confidence: 6 of 12 000 rows (cheapest of 2 splits), bound 0.11 %",
    ),
    (
        certified(3, 900, 0.01, "positives", protect="positive"),
        "exits as negative among positives <= 1 % with 95 % confidence: 3 of 900 positives, bound 0.86 %",
    ),
    (
        certified(3, 900, 0.01, "negatives", protect="negative"),
        "exits as positive among negatives <= 1 % with 95 % confidence: 3 of 900 negatives, bound 0.86 %",
    ),
    (
        certified(risk=0.01, protect="each", strata=EACH, bound=upper_bound(0, 400, 0.95)),
        "disagreement within each class <= 1 % with 95 % confidence: 0 of 400 rows of class b, bound 0.75 %",
    ),
    (
        Certificate("measured", None, 0.95, q=1.0, strata=(Stratum("rows", 12_000, 96),), bound=0.0),
        "measured disagreement 0.8 % (95 % interval 0.65 % to 0.98 %), 96 of 12 000 rows; not a promise",
    ),
    (
        Certificate("too few rows", 0.01, 0.95, strata=(Stratum("rows", 120, 0),)),
        "no early exit: 299 certificate rows needed, 120 given",
    ),
    (
        Certificate("too few rows", 0.01, 0.95, strata=(Stratum("rows", 120, 0),), n_splits=2),
        "no early exit: 368 certificate rows needed, 120 given (in each of 2 splits)",
    ),
    (
        Certificate("too few rows", 0.01, 0.95, protect="each", strata=(*EACH, Stratum("rows of class c", 9, 0))),
        "no early exit: 299 certificate rows of class c needed, 9 given",
    ),
    (
        Certificate("too many disagreements", 0.01, 0.95, strata=(Stratum("rows", 5000, 70),)),
        "no early exit: 70 of 5 000 rows differ at the most cautious q: not <= 1 % with 95 % confidence",
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
    certificate = certified(protect="each", strata=EACH)
    assert (certificate.n_rows, certificate.n_disagreements) == (1300, 1)
    assert certificate.worst == EACH[1]
    assert certificate.rows_needed == 2995


def test_it_verifies_itself():
    assert certified().verify()
    assert Certificate.lossless().verify()
    assert Certificate.full_evaluation("because").verify()
    measured = Certificate("measured", None, 0.95, q=1.0, strata=EACH, bound=upper_bound(0, 400, 0.95))
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
        {"bound": 0.0005},
        {"q": math.inf},
        {"status": "too many disagreements"},
        {"status": "lossless"},
        {"void": "no"},
    ],
    ids=str,
)
def test_it_notices_a_change(change):
    assert not dataclasses.replace(certified(), **change).verify()


def test_voiding_keeps_the_counts():
    void = certified().voided("drift")
    assert dataclasses.replace(void, void=None) == certified()
