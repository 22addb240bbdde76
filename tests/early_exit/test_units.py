"""Features of any scale: plans of kernel machines are as good as for features of scale 1."""

from __future__ import annotations

import functools

import pytest
from early_exit.models import make, wrap
from sklearn.svm import SVC

X, y = make(n=5000)
X = (X - X.mean(axis=0)) / X.std(axis=0)


@functools.cache
def mean_cost(sd: float) -> float:
    """Mean number of units of new rows under the plan for features of this standard deviation."""
    rows = X * sd
    model = SVC(gamma=0.1 / sd**2).fit(rows[:800], y[:800])
    fast = wrap(model, rows[800:3500])
    labels, cost = fast.predict(rows[3500:], return_cost=True)
    assert not fast.plan_.evaluate_all
    assert (labels != model.predict(rows[3500:])).mean() <= 0.03
    return float(cost.mean())


@pytest.mark.parametrize("sd", [1e-6, 1e-3, 1e3, 1e6])
def test_rbf_plans_cost_no_more_in_other_units(sd: float) -> None:
    assert mean_cost(sd) <= 2 * mean_cost(1.0)  # of 570 units; landmarks differ by rounding, and with them the cost


@pytest.mark.parametrize("sd", [16.0**-5, 16.0**5])
def test_rbf_plans_cost_the_same_in_powers_of_16(sd: float) -> None:
    assert mean_cost(sd) == pytest.approx(mean_cost(1.0), rel=0.1)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("sd", [1e-6, 1e-3, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("kernel", ["poly", "sigmoid"])
def test_other_kernels_fit_in_any_unit(kernel: str, sd: float) -> None:
    rows = X * sd
    model = SVC(kernel=kernel, gamma=0.02 / sd**2, coef0=0.5).fit(rows[:800], y[:800])
    fast = wrap(model, rows[800:3500])
    labels, cost = fast.predict(rows[3500:], return_cost=True)
    assert (labels != model.predict(rows[3500:])).mean() <= 0.03
    assert cost.mean() <= fast.plan_.full_cost
