"""A rule gets what it says that it needs, whatever its class."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from kinds.parameters import nested
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from wald import EarlyExitClassifier, Planner
from wald.plan import CostModel, Plan
from wald.stopping import Boundary, Budget, Ladder, Lossless, Needs, Qwyc, Rule, Walk, check_stopping_rule

X, Y = make_classification(9000, n_informative=8, n_classes=4, n_clusters_per_class=1, random_state=0)
X2, Y2 = make_classification(9000, 20, n_informative=8, n_clusters_per_class=1, class_sep=0.8, random_state=1)


def boosted() -> HistGradientBoostingClassifier:
    return HistGradientBoostingClassifier(max_iter=30, early_stopping=False, random_state=0)


CLASSES = boosted().fit(X[:1500], Y[:1500])
TREES = boosted().fit(X2[:1500], Y2[:1500])
LINEAR = LogisticRegression(max_iter=500).fit(X[:1500], Y[:1500] > 1)
LINES = CostModel(row=10.0, unit=1.0, readout=0.1, stage=1.0, full=40.0, rows_per_line=8)


@dataclass(frozen=True)
class Twin:
    """A rule by another class, which does not tell whose boundary it has."""

    inner: Rule
    needs: Needs
    readout: Any

    @classmethod
    def of(cls, rule: Rule, needs: Needs | None = None) -> Twin:
        return cls(rule, rule.needs if needs is None else needs, rule.readout)

    def boundary(self, walk: Walk) -> Boundary:
        return self.inner.boundary(walk)


def planned(model: Any, rule: Any, risk: float | None = 0.05, **parameters: Any) -> Plan:
    parameters = {"cost": "units", "random_state": 0} | parameters
    fast = EarlyExitClassifier(FrozenEstimator(model), **nested(risk=risk, rule=rule, **parameters))
    return fast.fit((X2 if model is TREES else X)[1500:]).plan_


def drops_classes(plan: Plan) -> bool:
    return plan.early.race is not None


def sharpens(plan: Plan) -> bool:
    return any(readout.spread is not None for readout in plan.early.readouts)


def shares_lines(plan: Plan) -> bool:
    return isinstance(plan.cost_model, CostModel) and plan.cost_model.rows_per_line > 1


@pytest.mark.parametrize(
    ("model", "has", "parameters"),
    [(CLASSES, drops_classes, {}), (TREES, sharpens, {}), (LINEAR, shares_lines, {"cost": LINES})],
    ids=["races", "spread", "late boldness"],
)
def test_a_ladder_by_another_class_gets_the_plan_of_the_ladder(model: Any, has: Any, parameters: Any) -> None:
    ladder = planned(model, "ladder", **parameters)
    assert has(ladder)
    assert pickle.dumps(planned(model, Twin.of(Ladder()), **parameters)) == pickle.dumps(ladder)
    plain = planned(model, Twin.of(Ladder(), Needs()), **parameters)  # a rule that only has thresholds
    assert pickle.dumps(plain) != pickle.dumps(ladder)


@pytest.mark.parametrize(
    ("rule", "risk", "order"),
    [
        (Lossless(), 0, "greedy"),
        (Lossless(low=-30, high=30), 0, "greedy"),
        (Budget(7), None, "greedy"),
        (Qwyc(), 0.05, "qwyc"),
    ],
    ids=repr,
)
def test_bounds_stages_and_orders_are_given_to_who_needs_them(rule: Rule, risk: float | None, order: str) -> None:
    own = planned(LINEAR, rule, risk, order=order)
    assert len(own.early)
    assert pickle.dumps(planned(LINEAR, Twin.of(rule), risk, order=order)) == pickle.dumps(own)


def test_ranges_are_compared_with_rows_whoever_names_them() -> None:
    rule = Twin.of(Lossless(low=-30, high=30))
    fast = EarlyExitClassifier(FrozenEstimator(LINEAR), risk=0, planner=Planner(rule=rule), random_state=0)
    rows = np.where(np.arange(20) == 7, 31.0, X[1500:])
    with pytest.raises(ValueError, match=r"column 7, but the rule says that this feature lies in \[-30, 30\]"):
        fast.fit(rows)
    with pytest.raises(ValueError, match=r"Twin\(low=\) must be a number, or one for each of 20 features. Got 3"):
        planned(LINEAR, Twin.of(Lossless(low=np.zeros(3))), 0)


def test_the_checker_takes_such_rules() -> None:
    for rule in (Ladder(), Lossless(), Budget(7), Qwyc()):
        check_stopping_rule(Twin.of(rule))
    with pytest.raises(AssertionError, match="needs 'remainder_low'"):
        check_stopping_rule(Twin.of(Lossless(), Needs()))
