"""Certificates for structures: their text, their conditions, and how often they are wrong."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from wald.stopping.core.betting import betting_p_value
from wald.structured import examples_needed
from wald.structured.certificate import StructureCertificate, certify_structures
from wald.structured.protocol import output_of

RNG = np.random.default_rng(0)
N_PARTS = RNG.integers(3, 12, size=2500)
RATES = [0.0, 0.001, 0.004, 0.02, 0.0]
THRESHOLDS = [0.1, 0.2, 0.3, 0.4, 0.5]
GAPS = [RNG.binomial(N_PARTS, rate) for rate in RATES]


def certify(gaps=GAPS, n_parts=N_PARTS, thresholds=THRESHOLDS, risk=0.01, max_parts=11, **parameters):
    return certify_structures(gaps, n_parts, thresholds, risk=risk, max_parts=max_parts, **parameters)


def test_the_walk_ends_at_the_first_failure():
    certificate = certify()
    assert certificate.status == "certified"
    assert certificate.threshold == 0.3  # the last one would pass, too
    assert certificate.verify()
    np.testing.assert_array_equal(certificate.gaps, GAPS[2])
    assert certificate.mean == GAPS[2].sum() / N_PARTS.sum() < certificate.risk


def test_families_are_computed_only_as_far_as_the_walk_goes():
    asked = []

    def rows():
        for i, row in enumerate(GAPS):
            asked.append(i)
            yield row

    assert certify(rows()).threshold == 0.3
    assert asked == [0, 1, 2, 3]
    assert certify(np.array(GAPS)).threshold == 0.3


def test_the_test_is_one_of_the_mean_of_a_part():
    """The mean is over parts, not examples: the bet is on ``risk * n - gap``, scaled by its range."""
    z = 0.01 * N_PARTS - GAPS[2]
    losses = 0.01 - z / 11
    assert losses.max() <= 1
    certificate = certify(GAPS[2:3], thresholds=[0.0])
    assert (certificate.status == "certified") == (betting_p_value(losses, 0.01) <= 0.05)


def test_the_mean_is_per_part_and_not_per_example():
    """Short examples that are always wrong are 3 % of the examples, but 0.1 % of the parts."""
    n_parts = np.where(np.arange(4000) % 33 == 0, 1, 33)
    gaps = (n_parts == 1).astype(float)
    assert certify([gaps], n_parts, [0.0], max_parts=33).status == "certified"
    assert certify([gaps * 0 + (n_parts == 33) * 0.4], n_parts, [0.0], max_parts=33).status == "too much loss"


def test_longer_examples_lose_nothing():
    n_parts = N_PARTS.copy()
    n_parts[::100] = 60
    gaps = [row + (n_parts == 60) * 60 for row in GAPS]
    certificate = certify(gaps, n_parts)
    assert certificate.threshold == 0.3
    assert certificate.max_parts == 11
    assert not certificate.gaps[::100].any()
    assert certify(gaps, n_parts, max_parts=60).status != "certified"


def test_sentences():
    few, bad = certify([row[:300] for row in GAPS], N_PARTS[:300]), certify(GAPS[3:4], thresholds=[0.4])
    needed = few.examples_needed
    promise = "disagreement with all features <= 1 % of parts with 95 % confidence"
    total, parts = GAPS[2].sum(), f"{N_PARTS.sum():,}".replace(",", " ")
    assert str(certify()) == f"{promise}: {total} in {parts} parts of 2 500 examples"
    assert str(few) == f"everything is bought: {needed} certificate examples needed, 300 given, for {promise}"
    assert str(bad) == (
        f"everything is bought: {GAPS[3].sum()} in {parts} parts of 2 500 examples at the most cautious threshold, not "
        f"{promise}"
    )
    for loss in ("clipped gap", "gap"):
        assert str(certify(loss=loss)).startswith(f"{loss} to all features <= 1 % of parts")
    assert str(StructureCertificate.none("a budget was asked for")) == "no promise: a budget was asked for"
    assert str(certify().voided("a deadline was set")) == "void: a deadline was set"
    halves = certify([GAPS[1] / 2], thresholds=[0.0], loss="clipped gap")
    assert f": {GAPS[1].sum() / 2:g} in" in str(halves)


def test_failures_say_which_and_how_many():
    few = certify([row[:300] for row in GAPS], N_PARTS[:300])
    assert few.status == "too few examples"
    assert few.threshold == -math.inf
    assert 300 < few.examples_needed == examples_needed(N_PARTS[:300], risk=0.01, max_parts=11)
    bad = certify(GAPS[3:4], thresholds=[0.4])
    assert bad.status == "too much loss"
    worst = bad.worst_examples
    assert set(worst) == set(np.flatnonzero(GAPS[3]))
    assert (np.diff(GAPS[3][worst]) <= 0).all()
    for certificate in (few, bad):
        assert certificate.verify()


@pytest.mark.parametrize("lengths", [[1], [8], [2, 8, 14], np.arange(1, 60)])
@pytest.mark.parametrize(("risk", "confidence"), [(0.01, 0.95), (0.1, 0.9), (0.001, 0.99)])
def test_as_many_as_needed_are_enough(lengths, risk, confidence):
    needed = examples_needed(lengths, risk=risk, confidence=confidence)
    assert needed >= math.log(1 - confidence) / math.log1p(-risk)
    for n, status in ((needed, "certified"), (needed - 1, "too few examples")):
        n_parts = np.resize(lengths, n)
        certificate = certify([np.zeros(n)], n_parts, [0.0], risk, max(lengths), confidence=confidence)
        assert certificate.status == status


def test_many_more_are_counted_by_a_formula():
    assert examples_needed([8], risk=1e-9) == pytest.approx(3e9, rel=0.03)
    lengths = [2, 8, 14]
    assert examples_needed(lengths, risk=1e-6) == pytest.approx(100 * examples_needed(lengths, risk=1e-4), rel=0.05)


def test_no_examples():
    certificate = certify([[]], np.empty(0, dtype=int), [0.0])
    assert certificate.status == "too few examples"
    assert certificate.verify()


def test_forgeries_are_found():
    certificate = certify()
    for forged in (
        replace(certificate, risk=0.002),
        replace(certificate, confidence=1 - 1e-9),
        replace(certificate, gaps=GAPS[3].astype(float)),
        replace(certificate, gaps=certificate.gaps - 1.0),
        replace(certificate, gaps=certificate.gaps[1:]),
        replace(certificate, status="too much loss"),
        replace(certify([row[:300] for row in GAPS], N_PARTS[:300]), threshold=0.1),
        certificate.voided("a deadline was set"),
        StructureCertificate.none("a budget was asked for"),
    ):
        assert not forged.verify()
    assert pickle.loads(pickle.dumps(certificate)).verify()


def test_gains_make_up_for_losses_in_the_signed_gap_only():
    gaps = RNG.choice([-1, 0, 1], p=[0.1, 0.8, 0.1], size=len(N_PARTS))
    assert certify([gaps], thresholds=[0.0], loss="gap", risk=0.05).status == "certified"
    for loss in ("disagreement", "clipped gap"):
        with pytest.raises(ValueError, match="must lie between 0 and"):
            certify([gaps], thresholds=[0.0], loss=loss)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"risk": 0.0}, "'risk' parameter"),
        ({"confidence": 1.0}, "'confidence' parameter"),
        ({"loss": "accuracy"}, "'loss' parameter"),
        ({"max_parts": 0}, "'max_parts' parameter"),
        ({"max_parts": 2.5}, "'max_parts' parameter"),
        ({"n_parts": N_PARTS - 3}, "'n_parts'"),
        ({"n_parts": N_PARTS * 1.0}, "'n_parts'"),
        ({"n_parts": N_PARTS[1:]}, "one entry for each of 2499 examples"),
        ({"thresholds": []}, "'thresholds'"),
        ({"thresholds": [0.1, np.nan, 0.3, 0.4, 0.5]}, "'thresholds'"),
        ({"thresholds": [0.1]}, "each of the 1 thresholds. Got 5"),
        ({"gaps": iter(GAPS[:2])}, "fewer rows"),
        ({"gaps": [N_PARTS + 1] * 5}, "must lie between 0 and the number of parts"),
        ({"gaps": [np.full(2500, np.nan)] * 5}, "must lie between 0 and the number of parts"),
        ({"gaps": [-N_PARTS - 1] * 5, "loss": "gap"}, "between minus the number of parts and"),
    ],
)
def test_arguments_are_checked(change, message):
    with pytest.raises(ValueError, match=message):
        certify(**change)


def test_arguments_of_the_count_are_checked():
    for change, message in (
        ({"n_parts": []}, "at least one example"),
        ({"n_parts": [0]}, "'n_parts'"),
        ({"risk": 1.0}, "'risk'"),
        ({"confidence": 0.0}, "'confidence'"),
        ({"max_parts": 0}, "'max_parts'"),
    ):
        with pytest.raises(ValueError, match=message):
            examples_needed(**{"n_parts": [3], "risk": 0.1, **change})


# ---- the losses ------------------------------------------------------------------------------------------------------


class Graded:
    """A loss between 0 and 1."""

    def loss(self, truth, answer):
        return np.abs(truth - answer) / 4


def test_losses_by_hand_and_in_falling_strength():
    rng = np.random.default_rng(1)
    truth, codes, everything = rng.integers(0, 5, size=(3, 1000)).astype(np.int32)
    truth[::50] = -1
    offsets = np.array([0, 10, 11, 500, 1000])
    output = output_of(Graded())
    named = {loss: output.lost(loss, codes, everything, offsets, truth) for loss in ("clipped gap", "gap")}
    differ = output.lost("disagreement", codes, everything, offsets)
    part = np.where(truth < 0, 0, (np.abs(truth - codes) - np.abs(truth - everything)) / 4)
    for i, (first, end) in enumerate(pairwise(offsets)):
        assert differ[i] == np.count_nonzero(codes[first:end] != everything[first:end])
        assert named["gap"][i] == pytest.approx(part[first:end].sum())
        assert named["clipped gap"][i] == pytest.approx(np.maximum(part[first:end], 0).sum())
    assert (named["gap"] <= named["clipped gap"]).all()
    assert (named["clipped gap"] <= differ).all()


def test_losses_without_truth():
    codes = np.zeros(3, dtype=np.int32)
    for loss in ("clipped gap", "gap"):
        with pytest.raises(ValueError, match="needs true answers"):
            output_of(Graded()).lost(loss, codes, codes, np.array([0, 3]))


# ---- what is promised ------------------------------------------------------------------------------------------------

N_TRIALS = 1000
# At 95 % confidence, 50 of 1000 promises may fail on average; more than 67 do with probability 0.7 %.
MOST_VIOLATIONS = 67


def population(kind, rng, size=50_000):
    """Lengths, gaps for a family of thresholds around a risk of 2 %, and the largest length to bet on."""
    n_parts = np.minimum(1 + rng.poisson(6, size), 14)
    rates = np.linspace(0.002, 0.06, 40)
    start = rng.random(size)[None]
    if kind == "independent":
        gaps = np.array([rng.binomial(n_parts, rate) for rate in rates])
    elif kind == "clumpy":  # an example is wrong in all of its parts, or in none
        gaps = n_parts * (start < rates[:, None])
    elif kind == "long ones":  # rare, very long, and far more often wrong than others
        n_parts[: size // 100] = 60
        rates = rates[:, None] * np.where(n_parts == 60, 5, 0.5)
        gaps = n_parts * (start < rates)
    elif kind == "not nested":
        gaps = n_parts * (start < rng.permutation(rates)[:, None])
    elif kind == "gains":
        gaps = np.array([rng.binomial(n_parts, 0.2 + rate) - rng.binomial(n_parts, 0.2) for rate in rates])
    return n_parts, gaps, int(n_parts.max())


@pytest.mark.long
@pytest.mark.parametrize("kind", ["independent", "clumpy", "long ones", "not nested", "gains"])
@pytest.mark.parametrize("n", [600, 3000])
def test_promises_kept(kind, n):
    rng = np.random.default_rng(6)
    n_parts, gaps, longest = population(kind, rng)
    truth = gaps.sum(axis=1) / n_parts.sum()
    thresholds = np.arange(len(gaps))
    loss = "gap" if kind == "gains" else "disagreement"
    violations = made = 0
    for _ in range(N_TRIALS):
        rows = rng.integers(len(n_parts), size=n)
        certificate = certify_structures(
            (row[rows] for row in gaps), n_parts[rows], thresholds, risk=0.02, loss=loss, max_parts=longest
        )
        if certificate.status == "certified":
            made += 1
            violations += truth[int(certificate.threshold)] > 0.02
    print(f"{kind}, {n} examples: {made} promises made, {violations} of {N_TRIALS} broken")
    assert violations <= MOST_VIOLATIONS
    if n == 3000 and kind not in ("not nested", "gains"):
        assert made > 500, "a promise that is never made is no test"


@pytest.mark.long
def test_parts_taken_for_examples_promise_too_much():
    """With clustered losses, parts are no independent draws; the check must detect this."""
    rng = np.random.default_rng(7)
    n_parts, gaps, _ = population("clumpy", rng)
    truth = gaps.sum(axis=1) / n_parts.sum()
    violations = 0
    for _ in range(300):
        rows = rng.integers(len(n_parts), size=600)
        n = n_parts[rows]
        parts = (np.repeat(row[rows] > 0, n).astype(float) for row in gaps)
        ones = np.ones(n.sum(), dtype=int)
        certificate = certify_structures(parts, ones, np.arange(len(gaps)), risk=0.02, max_parts=1)
        if certificate.status == "certified":
            violations += truth[int(certificate.threshold)] > 0.02
    assert violations > 30
