from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from wald import EarlyExitClassifier, Planner
from wald.displays import TradeoffDisplay
from wald.stopping import ConstantBoundary

from .conftest import names, wrapped


def test_the_point_in_use_is_what_predict_does(fast: Any, digits: Any) -> None:
    display = TradeoffDisplay.from_estimator(fast, digits.X_test)
    labels, cost = fast.predict(digits.X_test, return_cost=True)
    full = fast.estimator_.predict(digits.X_test)
    counted = full == 1 if fast.certificate_.about == "positive" else np.ones(len(full), dtype=bool)
    wrong = int(np.count_nonzero((labels != full)[counted]))
    n = int(counted.sum())
    assert display.n_rows == n
    assert display.cost_in_use == pytest.approx(cost.mean())
    assert display.disagreement_in_use == wrong / n
    exact = binomtest(wrong, n).proportion_ci(0.95, method="exact")
    assert display.interval_in_use == pytest.approx((exact.low, exact.high))
    assert fast.certificate_.status == "certified"
    assert display.risk == fast.certificate_.risk
    here = np.flatnonzero(np.isclose(display.cost, display.cost_in_use))
    assert display.disagreement_in_use in display.disagreement[here]


def test_every_point_is_what_thresholds_at_that_scale_give(linear: Any, binary_digits: Any) -> None:
    display = TradeoffDisplay.from_estimator(linear, binary_digits.X_test)
    scores, _ = linear.stage_scores(binary_digits.X_test)
    plan, full = linear.plan_, linear.estimator_.predict(binary_digits.X_test)
    points = set(zip(display.cost.tolist(), display.disagreement.tolist(), strict=True))
    for q in (0.0, 0.5 * plan.q, plan.q, np.inf):
        low, high = plan.boundary.thresholds(q, "float64")
        leaves = np.column_stack([(scores[:, :-1] < low) | (scores[:, :-1] > high), np.ones(len(full), dtype=bool)])
        stage = leaves.argmax(axis=1)
        answers = np.where(stage < plan.n_stages, scores[np.arange(len(full)), stage] > 0, full)
        point = (plan.stage_costs[stage].mean(), (answers != full).mean())
        if q != 0.5 * plan.q:
            assert point in points
        else:  # between two scales of the grid
            assert display.cost.min() <= point[0] <= display.cost.max()
    assert (plan.full_cost, 0.0) in points


def test_the_curve_starts_at_its_cheapest_point(binary_digits: Any) -> None:
    fast = wrapped(LogisticRegression(max_iter=2000), binary_digits, risk=None, rule=ConstantBoundary())
    plan = fast.plan_
    assert (plan.boundary.low_center != plan.boundary.high_center).any()
    display = TradeoffDisplay.from_estimator(fast, binary_digits.X_test)
    assert (np.diff(display.cost) >= 0).all()
    assert display.cost_in_use in display.cost
    assert display.risk is None  # as published: nothing is promised


def test_rows_are_evaluated_once(linear: Any, binary_digits: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    passes = []
    really = EarlyExitClassifier.looks
    monkeypatch.setattr(EarlyExitClassifier, "looks", lambda *given: passes.append(1) or really(*given))
    monkeypatch.setattr(EarlyExitClassifier, "predict", lambda *_, **__: pytest.fail("predict was called"))
    display = TradeoffDisplay.from_estimator(linear, binary_digits.X_test)
    assert len(display.cost) > 10
    assert len(passes) == 1


def test_the_same_stage_for_every_row(fast: Any, digits: Any) -> None:
    display = TradeoffDisplay.from_estimator(fast, digits.X_test, budgeted=True)
    assert display.cost.tolist() == fast.plan_.stage_costs.tolist()
    assert display.disagreement[-1] == 0
    assert display.point_ is None
    assert display.risk_line_ is None
    assert names(display)[0].endswith(", budgeted")


def test_the_same_stage_is_what_a_budget_pays_for(everything: Any, binary_digits: Any) -> None:
    display = TradeoffDisplay.from_estimator(everything, binary_digits.X_test, budgeted=True)
    full = everything.estimator_.predict(binary_digits.X_test)
    for budget, share in zip(display.cost, display.disagreement, strict=True):
        assert share == (everything.predict(binary_digits.X_test, budget=budget) != full).mean()


def test_a_plan_that_evaluates_everything_is_in_use_at_full_cost(everything: Any, binary_digits: Any) -> None:
    display = TradeoffDisplay.from_estimator(everything, binary_digits.X_test)
    assert (display.cost_in_use, display.disagreement_in_use) == (everything.plan_.full_cost, 0.0)
    assert display.risk is None
    assert display.cost.min() < display.cost_in_use


def test_several_predictors_share_axes(linear: Any, kernel: Any, binary_digits: Any) -> None:
    first = TradeoffDisplay.from_estimator(linear, binary_digits.X_test)
    second = TradeoffDisplay.from_estimator(kernel, binary_digits.X_test, ax=first.ax_, name="kernel")
    assert second.ax_ is first.ax_
    assert first.line_.get_color() != second.line_.get_color()
    assert first.line_.get_linestyle() != second.line_.get_linestyle()
    assert names(second) == [*("LogisticRegression (certified ≤ 2 %)", "kernel (certified ≤ 2 %)", "in use (95 % CI)")]
    assert first.risk_line_ is not None
    assert second.risk_line_ is None  # one line serves both
    assert second.ax_.get_xlabel() == "cost per row"  # features and support vectors
    left, right = second.ax_.get_xlim()
    assert left < min(first.cost.min(), second.cost.min())
    assert right > max(first.cost.max(), second.cost.max())


def test_what_none_among_so_many_rules_out() -> None:
    display = TradeoffDisplay.from_predictions(np.zeros(1000), np.zeros(1000), np.full(1000, 3.0))
    display.figure_.canvas.draw()
    labels = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert labels[0] == "0 seen\n(< 0.3 %)"  # 1 - 0.05 ** (1 / 1000)
    low, high = display.ax_.get_ylim()
    assert low < 0 < high
    TradeoffDisplay.from_predictions(np.zeros(100), np.zeros(100), np.full(100, 3.0), ax=display.ax_)
    display.figure_.canvas.draw()
    assert display.ax_.get_yticklabels()[0].get_text() == "0 seen\n(< 3 %)"  # the fewer rows, the less is ruled out


def test_from_predictions_counts() -> None:
    full = np.array(["a", "b", "b", "c"])
    answers = np.array([["a", "a", "a", "a"], ["a", "b", "b", "a"], ["a", "b", "b", "c"]])
    cost = np.array([[1.0], [2.0], [5.0]])
    display = TradeoffDisplay.from_predictions(full, answers, cost, unit="trees", full_cost=5.0, name="mine")
    assert display.cost.tolist() == [1.0, 2.0, 5.0]
    assert display.disagreement.tolist() == [0.75, 0.25, 0.0]
    assert display.line_.get_ydata().tolist() == [0.75, 0.25, 0.0]
    assert display.ax_.get_xlabel() == "trees per row, mean"
    one = TradeoffDisplay.from_predictions(full, answers[1], [1, 2, 3, 6], ax=display.ax_)
    assert (one.cost.tolist(), one.disagreement.tolist()) == ([3.0], [0.25])
    assert one.line_.get_marker() == "o"


def test_from_predictions_refuses_what_does_not_fit() -> None:
    with pytest.raises(ValueError, match="y_full of shape"):
        TradeoffDisplay.from_predictions([0, 1], [0, 1, 1], [1, 1, 1])
    with pytest.raises(ValueError, match="'cost' parameter"):
        TradeoffDisplay.from_predictions([0, 1], [0, 1], [1, 1, 1])
    with pytest.raises(ValueError, match="n_rows at least 1"):
        TradeoffDisplay.from_predictions([], [], [])
    with pytest.raises(ValueError, match="'confidence'"):
        TradeoffDisplay.from_predictions([0, 1], [0, 1], [1, 1], confidence=95)


def test_one_sided_needs_rows_of_its_side(one_sided: Any, binary_digits: Any) -> None:
    negative = binary_digits.X_test[one_sided.estimator_.predict(binary_digits.X_test) == 0]
    with pytest.raises(ValueError, match=f"by the full model, none of the {len(negative)} rows are positives"):
        TradeoffDisplay.from_estimator(one_sided, negative)


def test_keywords_go_to_the_curve(linear: Any, binary_digits: Any) -> None:
    display = TradeoffDisplay.from_estimator(linear, binary_digits.X_test, color="black", linewidth=3)
    assert (display.line_.get_color(), display.line_.get_linewidth()) == ("black", 3)


def test_names_units_and_kinds_of_rows(digits: Any, binary_digits: Any) -> None:
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    model.fit(binary_digits.X_train, binary_digits.y_train)
    costs = np.linspace(1, 3, 64)
    fast = EarlyExitClassifier(
        FrozenEstimator(model), risk=0.02, planner=Planner(cost="units"), feature_costs=costs, random_state=0
    )
    display = TradeoffDisplay.from_estimator(fast.fit(binary_digits.X_fit), digits.X_test.astype(np.float32))
    assert (display.name, display.unit) == ("LogisticRegression", "feature cost")
    assert display.full_cost == pytest.approx(costs.sum())
    _, ax = plt.subplots()
    assert display.plot(ax).ax_ is ax


def test_a_long_name_leaves_the_axes_their_width(linear: Any, binary_digits: Any) -> None:
    rows = binary_digits.X_test[:50]
    short, long = (TradeoffDisplay.from_estimator(linear, rows, name=name) for name in ("short", 30 * "x"))
    assert names(long)[0].count("\n") == 1
    widths = []
    for display in (short, long):
        display.figure_.canvas.draw()
        widths.append(display.ax_.get_position().width)
    assert widths[1] > 0.8 * widths[0]
