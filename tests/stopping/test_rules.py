"""The tables of the rules, and the rules as values."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from kinds.rules import BY_FORMULA, BY_ROWS
from sklearn.base import clone
from sklearn.dummy import DummyClassifier

import wald.stopping
from wald.stopping import Boundary, Budget, Ladder, Lossless, Needs, check_stopping_rule
from wald.stopping.rules.checks import example_walk
from wald.stopping.rules.rules import check_rule

RULES = BY_FORMULA + BY_ROWS


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_every_rule_keeps_the_contract(rule):
    check_stopping_rule(rule)


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_rules_are_values_that_scikit_learn_can_clone(rule):
    assert clone(DummyClassifier(constant=rule)).constant == rule
    assert hash(rule) == hash(dataclasses.replace(rule))
    assert eval(repr(rule), vars(wald.stopping)) == rule


def fourth_power_mean(error):
    return (error**4).mean(axis=0) ** 0.25


def test_ladder_measures_each_stage_with_its_own_residual():
    walk = dataclasses.replace(example_walk(), threshold=0.3)
    boundary = Ladder().boundary(walk)
    expected = np.maximum(fourth_power_mean(walk.margins - walk.full_scores), 0.02 * walk.goal.std())
    np.testing.assert_allclose(boundary.high_scale, expected)
    assert (boundary.low_center == 0.3).all()
    assert (boundary.high_center == 0.3).all()


def test_ladder_measures_the_gap_of_several_classes():
    walk = example_walk(n_classes=3)
    boundary = Ladder().boundary(walk)
    error = fourth_power_mean(walk.margins - walk.full_margins[:, None])
    expected = np.maximum(error, 0.02 * walk.goal.std())
    np.testing.assert_allclose(boundary.high_scale, expected)
    assert (boundary.high_center == 0.0).all()


def test_a_perfect_stage_still_has_a_scale():
    walk = example_walk()
    walk = dataclasses.replace(walk, margins=np.repeat(walk.full_scores, 4, axis=1))
    assert (Ladder().boundary(walk).high_scale > 0).all()
    check = dataclasses.replace(walk, full_scores=np.ones_like(walk.full_scores), margins=np.ones((300, 4)))
    assert (Ladder().boundary(check).high_scale > 0).all()


@pytest.mark.parametrize("n_classes", [2, 5])
def test_lossless_exits_early_and_never_differs(n_classes):
    walk = example_walk(n_classes, n_rows=5000)
    codes, stage = walk.stage_scores.leave(*Lossless().boundary(walk).thresholds(1.0, np.float64))
    np.testing.assert_array_equal(codes, walk.full)
    assert (stage < walk.n_stages).mean() > 0.5


def test_lossless_leaves_ties_to_the_model():
    walk = example_walk(n_rows=3)
    walk = dataclasses.replace(
        walk,
        margins=np.array([[1.0], [1.0 + 1e-9], [-1.0]]).repeat(4, axis=1),
        remainder_low=np.full(4, -1.0),
        remainder_high=np.full(4, 1.0),
        slack=np.zeros(4),
    )
    _, stage = walk.stage_scores.leave(*Lossless().boundary(walk).thresholds(1.0, np.float64))
    assert stage.tolist() == [4, 0, 4]


def test_lossless_without_sure_bounds_never_exits():
    walk = dataclasses.replace(example_walk(), remainder_low=np.full(4, -np.inf), remainder_high=np.full(4, np.inf))
    low, high = Lossless().boundary(walk).thresholds(1.0, np.float64)
    assert np.isneginf(low).all()
    assert np.isposinf(high).all()
    with pytest.raises(ValueError, match="needs 'remainder_low'"):
        Lossless().boundary(dataclasses.replace(walk, remainder_low=None))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(("k", "stage"), [(2, 0), (11.5, 1), (12, 2), (23, 3), (24, 4), (1e9, 4)])
def test_budget_answers_at_the_deepest_stage_it_pays_for(n_classes, k, stage):
    walk = example_walk(n_classes)
    _, stages = walk.stage_scores.leave(*Budget(k).boundary(walk).thresholds(1.0, np.float64))
    assert (stages == stage).all()


def test_budget_carries_a_tie_to_the_next_stage():
    walk = example_walk(n_rows=2)
    walk.margins[:] = [[0.0, 0.0, 2.0, 2.0], [0.0, -1.0, 2.0, 2.0]]
    codes, stages = walk.stage_scores.leave(*Budget(6).boundary(walk).thresholds(1.0, np.float64))
    assert codes.tolist() == [1, 0]
    assert stages.tolist() == [2, 1]


def test_budget_below_the_first_stage_is_refused():
    with pytest.raises(ValueError, match="below the first stage, which costs 2"):
        Budget(1).boundary(example_walk())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Ladder(readout="best"), "'readout' parameter of Ladder"),
        (lambda: Lossless(low=1, high=0), "must not exceed"),
        (lambda: Lossless(low=[0, 2], high=[1, 1]), "must not exceed"),
        (lambda: Lossless(low=np.nan), "without NaN"),
        (lambda: Budget(0), "'k' parameter of Budget"),
        (lambda: Budget(np.inf), "'k' parameter of Budget"),
    ],
)
def test_parameters_are_checked(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_risk_needs_a_rule_that_can_keep_it():
    for rule in RULES:
        check_rule(rule, None)
    check_rule(Ladder(), 0.001)
    check_rule(Lossless(), 0.0)
    check_rule(Lossless(), 0.1)
    with pytest.raises(ValueError, match="certified by proof"):
        check_rule(Ladder(), 0.0)
    with pytest.raises(ValueError, match="forces exits"):
        check_rule(Budget(9), 0.1)
    with pytest.raises(ValueError, match="risk must be"):
        check_rule(Ladder(), 1.0)


#: What rules with an error declare.
NEEDS = {
    "lossless": Needs(lossless=True),
    "no needs": {"lossless": False},
}


@dataclasses.dataclass(frozen=True)
class Broken(Ladder):
    """A rule with one error."""

    fault: str = ""

    @property
    def needs(self):
        return NEEDS.get(self.fault, Ladder.needs)

    def boundary(self, walk):
        boundary = super().boundary(walk)
        if self.fault == "short":
            return Boundary.symmetric(boundary.high_center[1:], 1.0)
        if self.fault == "stuck":
            return Boundary.symmetric(boundary.high_center, 0.0)
        if self.fault == "meddles":
            walk.stage_costs[0] += 1.0
        if self.fault == "refuses":
            raise ValueError("no")
        if self.fault == "bounds":
            return Lossless().boundary(walk)
        if self.fault == "fixed scales":
            return dataclasses.replace(boundary, high_scale=np.ones(walk.n_stages))
        if self.fault == "moved":
            return dataclasses.replace(boundary, high_center=boundary.high_center + 0.1)
        if self.fault == "table":
            return boundary.thresholds(1.0, np.float64)
        return boundary


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("short", "row per early stage"),
        ("stuck", "q must move"),
        ("meddles", "must not change the walk"),
        ("refuses", "alike"),
        ("table", "must return a Boundary"),
        ("lossless", "as the full model does"),
        ("no needs", "instance of wald.stopping.Needs"),
        ("bounds", "alike: Lossless needs 'remainder_low'"),
        ("fixed scales", "scales must grow"),
        ("moved", "at the decision threshold"),
    ],
)
def test_the_checker_names_the_fault(fault, message):
    with pytest.raises(AssertionError, match=message):
        check_stopping_rule(Broken(fault=fault))


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"stages": (2.5,)}, TypeError, "tuple of whole numbers"),
        ({"stages": 5}, TypeError, "tuple of whole numbers"),
        ({"lossless": "yes"}, TypeError, "True or False"),
        ({"order_share": 1.0}, ValueError, "below 1"),
        ({"lossless": True, "forced": True}, ValueError, "a proof has no scales"),
        ({"lossless": True, "error_scales": True}, ValueError, "a proof has no scales"),
    ],
)
def test_needs_that_cannot_be(given, error, message):
    with pytest.raises(error, match=message):
        Needs(**given)
