from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from wald.displays import StoppingPathDisplay

from .conftest import names, wrapped


def test_walks_are_traces(fast: Any, digits: Any) -> None:
    rows = [0, 5, 7]
    display = StoppingPathDisplay.from_estimator(fast, digits.X_test, rows=rows)
    for row, scores, stage, label, line, later, end in zip(
        rows,
        display.scores,
        display.stages,
        display.labels,
        display.lines_,
        display.later_lines_,
        display.exits_,
        strict=True,
    ):
        trace = fast.trace(digits.X_test[row])
        np.testing.assert_array_equal(scores[:-1], trace.scores[:-1])
        assert scores[-1] == pytest.approx(trace.scores[-1])
        assert (stage, label) == (trace.stage, trace.label)
        assert line.get_xdata().tolist() == trace.costs[: trace.stage + 1].tolist()
        assert line.get_ydata().tolist() == scores[: trace.stage + 1].tolist()
        assert later.get_xdata().tolist() == trace.costs[trace.stage :].tolist()
        assert (end.get_xdata()[0], end.get_ydata()[0]) == (trace.cost, scores[trace.stage])


def test_rows_are_chosen_from_easy_to_hard(fast: Any, digits: Any) -> None:
    display = StoppingPathDisplay.from_estimator(fast, digits.X_test)
    _, stages = fast.stage_scores(digits.X_test)
    early = stages[stages < fast.plan_.n_stages]
    assert {early.min(), early.max()} <= set(display.stages.tolist())
    assert (fast.plan_.n_stages in display.stages) == (fast.plan_.n_stages in stages)
    assert len(display.lines_) <= 7


def test_the_region_lies_between_the_thresholds(linear: Any, binary_digits: Any) -> None:
    display = StoppingPathDisplay.from_estimator(linear, binary_digits.X_test)
    low, high = linear.plan_.thresholds()
    corners = display.region_.get_paths()[0].vertices
    for cost, bottom, top in zip(linear.plan_.stage_costs, low, high, strict=False):
        at_cost = corners[corners[:, 0] == cost, 1]
        assert (at_cost.min(), at_cost.max()) == (bottom, top)
    assert display.threshold == 0.0
    assert display.ax_.get_ylabel() == "estimate of the score"


def test_a_closed_side_reaches_to_the_edge(one_sided: Any, binary_digits: Any) -> None:
    display = StoppingPathDisplay.from_estimator(one_sided, binary_digits.X_test)
    assert np.isposinf(display.high).all()
    assert np.isfinite(display.low).any()
    bottom, top = display.ax_.get_ylim()
    assert np.isfinite([bottom, top]).all()
    corners = display.region_.get_paths()[0].vertices
    assert np.isfinite(corners).all()
    assert corners[:, 1].max() > top
    assert display.labels[display.stages < one_sided.plan_.n_stages].tolist().count(1) == 0


def test_a_confidence_has_an_upper_side_only(linear_ten: Any, digits: Any) -> None:
    display = StoppingPathDisplay.from_estimator(linear_ten, digits.X_test)
    assert np.isneginf(display.low).all()
    assert display.threshold is None
    assert display.ax_.get_ylabel() == "confidence of the estimate"


@pytest.mark.parametrize("risk", [1e-4, 0])
@pytest.mark.filterwarnings("ignore:no early exit")
def test_a_plan_that_evaluates_everything_lets_nobody_leave(risk: float, binary_digits: Any) -> None:
    everything = wrapped(LogisticRegression(max_iter=2000), binary_digits, risk=risk)
    assert everything.plan_.evaluate_all
    display = StoppingPathDisplay.from_estimator(everything, binary_digits.X_test)
    assert (display.stages == everything.plan_.n_stages).all()
    assert np.isinf(display.high).all()
    display.figure_.canvas.draw()


def test_a_plan_without_early_stages() -> None:
    display = StoppingPathDisplay(scores=[[1.5]], costs=[10], low=[], high=[], stages=[0], threshold=0.0).plot()
    display.figure_.canvas.draw()
    assert display.region_ is None
    assert display.exits_[0].get_marker() == "s"
    assert display.ax_.get_legend() is None


def test_each_answer_has_its_colour(linear: Any, binary_digits: Any) -> None:
    display = StoppingPathDisplay.from_estimator(linear, binary_digits.X_test)
    colours = {(int(label), line.get_color()) for label, line in zip(display.labels, display.lines_, strict=True)}
    assert len(colours) == 2
    assert names(display) == ["answer 0", "answer 1", "not yet clear"]


@pytest.mark.parametrize("rows", [[], [400], [-1], [0.5], [[1]], "all"])
def test_rows_that_are_none(rows: Any, linear: Any, binary_digits: Any) -> None:
    with pytest.raises(ValueError, match="'rows' parameter of StoppingPathDisplay"):
        StoppingPathDisplay.from_estimator(linear, binary_digits.X_test, rows=rows)
