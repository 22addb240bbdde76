"""One-vs-one machines: full scores class by class, and labels whose votes the rounding error cannot turn."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from engine import cases
from engine.reference import Decision, Plan
from hypothesis import given, settings
from hypothesis import strategies as st

from wald import _core
from wald.outputs import Labels

U32, U64 = 2.0**-24, 2.0**-53


def one_vs_one(rng, n_classes, n, d=17, kernel="rbf"):
    """A machine whose terms have coefficients for the pairs of their own class only, and the class of each term.

    Some coefficients and whole terms are zero, and some classes may have no term at all.
    """
    pairs = list(combinations(range(n_classes), 2))
    plain = cases.machine(rng, kernel, d, n, len(pairs))
    own = rng.integers(0, n_classes, n)
    belongs = np.array([[c in pair for c in own] for pair in pairs])
    keeps = (rng.random(belongs.shape) < 0.8) & (rng.random(n) < 0.9)
    return replace(plain, coef=np.where(belongs & keeps, plain.coef, 0.0)), own


@settings(max_examples=60)
@given(
    seed=cases.seeds,
    n_classes=st.sampled_from([3, 4, 5, 9, 17, 26]),
    n=cases.n_terms,
    kernel=st.sampled_from(cases.KERNELS),
)
def test_scores_are_within_their_bounds(seed, n_classes, n, kernel):
    rng = np.random.default_rng(seed)
    model, _ = one_vs_one(rng, n_classes, n, kernel=kernel)
    X = cases.rows(rng, 20, 17)
    packed = model.pack(single=True)
    exact = model.scores(X, np.longdouble)
    for single in (False, True):
        scores, errors = packed.scores(_core.Rows.dense(X), 0.0, 1, single=single)
        assert scores.shape == exact.shape
        assert (np.abs(scores - exact).max(axis=1) <= errors).all()


@pytest.mark.parametrize("single", [False, True])
def test_bounds_count_the_terms_of_two_classes_only(single):
    rng = np.random.default_rng(0)
    model, own = one_vs_one(rng, 26, 600, d=100)
    X = cases.rows(rng, 20, 100)
    sizes = np.abs(model.terms(X)) * np.abs(model.coef).max(axis=0)
    by_class = np.sort([sizes[:, own == c].sum(axis=1) for c in range(26)], axis=0)
    of_a_pair = by_class[-2:].sum(axis=0)
    _, errors = model.pack(single=True).scores(_core.Rows.dense(X), 0.0, 1, single=single)
    unit = U32 if single else U64
    assert (errors <= 300 * unit * (of_a_pair + 1)).all()


def test_a_term_without_a_class_of_its_own_is_counted_too():
    rng = np.random.default_rng(1)
    model, own = one_vs_one(rng, 4, 50)
    coef = model.coef.copy()
    coef[0, own == 3] = 1.0  # the pair of classes 0 and 1
    model = replace(model, coef=coef)
    X = cases.rows(rng, 20, 17)
    scores, errors = model.pack().scores(_core.Rows.dense(X), 0.0, 1)
    assert (np.abs(scores - model.scores(X, np.longdouble)).max(axis=1) <= errors).all()
    assert errors.max() < 1e-9


def compiled_codes(decision, scores, error):
    packed = cases.linear(np.random.default_rng(0), 2, decision.n_outputs).pack()
    engine = Plan(decision, [], [], [], np.array([]), np.array([])).engine(packed)
    return marked_codes(*engine.decide(scores, error))


def marked_codes(codes, status):
    return cases.marked((codes, codes, None, status))[0]


@settings(max_examples=100)
@given(
    seed=cases.seeds,
    n_classes=st.sampled_from([3, 4, 5]),
    break_ties=st.booleans(),
    error=st.sampled_from([0.0, 0.3, 1.0]),
)
def test_no_error_within_the_bound_changes_a_label(seed, n_classes, break_ties, error):
    rng = np.random.default_rng(seed)
    decision = Decision("votes", n_classes, break_ties=break_ties)
    scores = rng.integers(-4, 5, size=(30, decision.n_outputs)) / 2
    codes = compiled_codes(decision, scores, error)
    answers, sure = Labels("votes", n_classes, break_ties=break_ties).settled(scores, np.full(len(scores), error))
    np.testing.assert_array_equal(codes, np.where(sure, answers, cases.HANDED_OVER))
    for row, code in zip(scores, codes, strict=True):
        open_pairs = np.flatnonzero((np.abs(row) <= error) & (error > 0) | (row == 0) & break_ties)
        labels, tied = set(), False
        for signs in product([-1.0, 1.0], repeat=len(open_pairs)):
            turned = np.where(row > 0, 1.0, -1.0)
            turned[open_pairs] = signs
            votes = [0] * n_classes
            for (i, j), sign in zip(combinations(range(n_classes), 2), turned, strict=True):
                votes[i if sign > 0 else j] += 1
            labels.add(int(np.argmax(votes)))
            tied |= votes.count(max(votes)) > 1
        assert code == cases.HANDED_OVER or (labels == {code} and not (tied and break_ties))
        if len(open_pairs) == 0:
            assert (code == cases.HANDED_OVER) == (tied and break_ties)


def test_a_doubtful_pair_of_two_losers_costs_nothing():
    decision = Decision("votes", 4)
    scores = np.array([[1.0, 1.0, 1.0, 0.01, 1.0, 1.0]])  # 0 beats everybody; 1 against 2 is in doubt
    assert compiled_codes(decision, scores, 0.1).tolist() == [0]
    scores[0, 0] = 0.05  # 0 against 1 is in doubt, too
    assert compiled_codes(decision, scores, 0.1).tolist() == [cases.HANDED_OVER]
