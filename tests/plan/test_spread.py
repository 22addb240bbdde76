"""The spread of each row's error, as a linear function of the terms that a row has bought."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from plan.cases import moments_of, problem

from wald.engine import Readout
from wald.plan import CostModel
from wald.plan.readout import regressed_readouts
from wald.plan.recipes import recipes
from wald.plan.spread import LEAST_ROWS, with_spread
from wald.stopping import Budget, Ladder

COSTS = CostModel(row=0.0, unit=1.0, readout=0.01, stage=0.1, full=100.0)
N, D = 6000, 8
RNG = np.random.default_rng(4)
#: The first term says how large the others are, which make the score.
SIZE = RNG.uniform(0.1, 2.0, N)
X = np.column_stack([SIZE, SIZE[:, None] * RNG.normal(size=(N, D - 1))])
COEF = np.array([0.0, *np.geomspace(1.0, 0.3, D - 1)])
SCORES = X @ COEF
ORDER = np.arange(D)
STAGES = [0, 1, 2, 4, D]


def fitted(values: np.ndarray = X, scores: np.ndarray = SCORES, weights: np.ndarray | None = None) -> list[Readout]:
    weights = np.ones(len(values)) if weights is None else weights
    moments = moments_of(values, scores[:, None], weights)
    readouts = regressed_readouts(moments, ORDER, STAGES, 1e-13, still_weights=COEF[None])
    return list(with_spread(readouts, values, ORDER, moments, scores, weights))


def variances(readout: Readout, values: np.ndarray = X) -> np.ndarray:
    return readout.spread_bias + values[:, : readout.weights.shape[1]] @ readout.spread


def test_rows_with_large_errors_have_large_variances() -> None:
    for readout in fitted()[1:4]:
        m = readout.weights.shape[1]
        errors = X[:, :m] @ readout.weights[0] + readout.bias[0] - SCORES
        small, large = SIZE < 0.5, SIZE > 1.5
        found = variances(readout)
        assert 2 * found[small].mean() < found[large].mean()
        spread = (errors**2 / np.maximum(found, 0.2))[small | large]
        assert spread[large[small | large]].mean() < 8 * spread[~large[small | large]].mean()
        assert (errors[large] ** 2).mean() > 16 * (errors[small] ** 2).mean()


def test_estimates_are_untouched_and_have_the_shapes_of_their_terms() -> None:
    weights = RNG.uniform(0.5, 2.0, N)
    moments = moments_of(X, SCORES[:, None], weights)
    plain = regressed_readouts(moments, ORDER, STAGES, 1e-13, still_weights=COEF[None])
    for one, other in zip(plain, fitted(weights=weights), strict=True):
        np.testing.assert_array_equal(one.weights, other.weights)
        np.testing.assert_array_equal(one.bias, other.bias)
        assert other.spread is not None
        assert other.spread.shape == one.weights.shape[1:]


def test_a_stage_that_is_exact_or_has_no_terms_says_nothing_of_rows() -> None:
    first, *_, last = fitted()
    for readout in (first, last):
        assert readout.spread_bias == 1.0
        assert not readout.spread.any()


@pytest.mark.parametrize("unit", [1e-150, 1e-3, 1e6, 1e120])
def test_units_do_not_matter(unit: float) -> None:
    for one, other in zip(fitted(), fitted(X * unit, SCORES * unit), strict=True):
        np.testing.assert_allclose(variances(other, X * unit), variances(one), rtol=1e-6, atol=1e-9)


def test_terms_that_do_not_vary_have_no_weight() -> None:
    values = X.copy()
    values[:, 2] = 3.0
    for readout in fitted(values, values @ COEF):
        assert np.isfinite(readout.spread).all()
        assert not readout.spread[2:3].any()


def asked(n: int = 2 * N, **changes: Any) -> list[bool]:
    rows = np.tile(X, (2, 1))[:n]
    return [r.early.has_spread for r in recipes(problem(rows, COEF, COSTS, **changes))]


def test_candidates_with_a_spread_come_where_rows_leave_by_a_margin() -> None:
    assert asked(by_margin=True) == [False, True]
    assert asked() == [False]  # labels gain nothing
    assert asked(2 * LEAST_ROWS - 2, by_margin=True) == [False]
    assert asked(by_margin=True, rule=Ladder("partial")) == [False]
    assert asked(by_margin=True, rule=Budget(3)) == [False]
