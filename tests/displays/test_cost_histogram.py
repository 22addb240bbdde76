from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wald.displays import CostHistogramDisplay

from .conftest import names


def test_counts_are_rows_by_class_and_stage(fast: Any, digits: Any) -> None:
    display = CostHistogramDisplay.from_estimator(fast, digits.X_test, digits.y_test)
    _, cost = fast.predict(digits.X_test, return_cost=True)
    assert display.classes.tolist() == list(range(10))
    for code, counts in enumerate(display.counts):
        of_class = cost[digits.y_test == code]
        assert counts.tolist() == [(of_class == look).sum() for look in fast.plan_.stage_costs]
        assert display.mean[code] == pytest.approx(of_class.mean())
        assert display.median[code] == np.median(of_class)
    assert (display.bars[:, 0] < fast.plan_.stage_costs).all()
    assert (fast.plan_.stage_costs < display.bars[:, 1]).all()
    assert (display.bars[1:, 0] > display.bars[:-1, 1]).all()  # no two bars touch


def test_classes_are_answers_without_labels(linear: Any, binary_digits: Any) -> None:
    display = CostHistogramDisplay.from_estimator(linear, binary_digits.X_test)
    answers = linear.predict(binary_digits.X_test)
    assert display.counts.sum(axis=1).tolist() == [(answers == label).sum() for label in linear.classes_]


def test_bars_have_one_scale(linear: Any, binary_digits: Any) -> None:
    display = CostHistogramDisplay.from_estimator(linear, binary_digits.X_test)
    shares = display.counts / display.counts.sum(axis=1, keepdims=True)
    heights = np.array([[bar.get_height() for bar in bars] for bars in display.bars_])
    np.testing.assert_allclose(heights / heights.max(), shares / shares.max())
    assert display.medians_.get_xdata().tolist() == display.median.tolist()
    assert display.means_.get_xdata().tolist() == display.mean.tolist()
    assert f"{100 * shares.max():.2g} %" in names(display)[0]


def test_the_bar_of_everything_stands_out(linear: Any, binary_digits: Any) -> None:
    display = CostHistogramDisplay.from_estimator(linear, binary_digits.X_test)
    colours = [bar.get_facecolor() for bar in display.bars_[0]]
    assert len(set(colours[:-1])) == 1
    assert colours[-1] != colours[0]


def test_a_budget_is_kept(linear: Any, binary_digits: Any) -> None:
    budget = float(linear.plan_.stage_costs[2])
    display = CostHistogramDisplay.from_estimator(linear, binary_digits.X_test, budget=budget)
    assert display.counts[:, 3:].sum() == 0


def test_a_class_without_rows(linear: Any, binary_digits: Any) -> None:
    positive = binary_digits.X_test[linear.predict(binary_digits.X_test) == 1]
    display = CostHistogramDisplay.from_estimator(linear, positive)
    assert display.counts[0].sum() == 0
    assert np.isnan(display.mean[0])
    display.figure_.canvas.draw()


def test_many_costs_are_binned() -> None:
    cost = np.random.default_rng(0).lognormal(3, 1, size=500)
    y = np.arange(500) % 2
    display = CostHistogramDisplay.from_predictions(y, cost, n_bins=12)
    assert display.counts.shape == (2, 12)
    assert display.counts.sum() == 500
    np.testing.assert_allclose(np.diff(np.log(display.bars[:, 0])), np.log(cost.max() / cost.min()) / 12)
    assert display.bars[1:, 0].tolist() == display.bars[:-1, 1].tolist()


def test_few_costs_are_kept_apart() -> None:
    display = CostHistogramDisplay.from_predictions(["a", "a", "b"], [1, 4, 4])
    assert display.counts.tolist() == [[1, 1], [0, 1]]
    assert display.mean.tolist() == [2.5, 4.0]
    one = CostHistogramDisplay.from_predictions(["a"], [7.0])
    one.figure_.canvas.draw()
    assert one.counts.tolist() == [[1]]


@pytest.mark.parametrize(("y", "cost"), [([0, 1], [1.0]), ([], []), ([0], [[1.0]])])
def test_shapes_that_do_not_fit(y: Any, cost: Any) -> None:
    with pytest.raises(ValueError, match="one class and one cost"):
        CostHistogramDisplay.from_predictions(y, cost)


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
def test_costs_that_are_none(bad: float) -> None:
    with pytest.raises(ValueError, match="finite and positive"):
        CostHistogramDisplay.from_predictions([0, 1], [1.0, bad])


def test_other_refusals(linear: Any, binary_digits: Any) -> None:
    with pytest.raises(ValueError, match="'n_bins'"):
        CostHistogramDisplay.from_predictions([0], [1.0], n_bins=0)
    with pytest.raises(ValueError, match="one class and one cost"):
        CostHistogramDisplay.from_estimator(linear, binary_digits.X_test, [0, 1])
