"""Recipes: orders of the units, with all possible stages of a ladder and their readouts."""

from __future__ import annotations

import numpy as np
import pytest
from plan.cases import correlated, moments_of, problem
from scipy import sparse

from wald.models import Units
from wald.plan import CostModel, recipes
from wald.plan.moments import boundary_weights
from wald.plan.order import greedy_order, sorted_order
from wald.plan.qwyc import qwyc_order
from wald.plan.recipes import LEAST_POOL, SPARSE_POOL
from wald.plan.recipes import recipes as recipes_of
from wald.stopping import Budget, Ladder, Needs

COSTS = CostModel(row=0.0, unit=1.0, readout=0.01, stage=0.1, full=100.0)
D = 12
X = correlated(600, D)
COEF = np.random.default_rng(1).normal(size=D)
UNITS = Units(tuple(np.array(u) for u in ([3, 5], [0], [1, 2, 11], [4], [6, 7], [8], [9, 10])), np.arange(1.0, 8.0))


def made(**changes):
    return list(recipes_of(problem(X, COEF, COSTS, **changes)))


@pytest.mark.parametrize("order", ["greedy", "sorted", "random", "qwyc", np.array([6, 2, 0, 5, 1])], ids=str)
@pytest.mark.parametrize("readout", ["regressed", "partial"])
def test_stages_count_the_units_terms_and_costs_that_stand_before_them(order, readout):
    for found in made(order=order, rule=Ladder(readout), units=UNITS):
        assert len(np.unique(found.order)) == len(found.order)
        np.testing.assert_array_equal(found.terms, np.concatenate([UNITS.members[u] for u in found.order]))
        assert found.stages[-1] == 7
        assert found.stage_costs[-1] == UNITS.costs.sum()
        for m, n_terms, cost in zip(found.stages, found.stage_terms, found.stage_costs, strict=False):
            seen = found.order[:m]
            assert n_terms == sum(len(UNITS.members[u]) for u in seen)
            assert cost == UNITS.costs[seen].sum()
        assert [r.weights.shape for r in found.early.readouts] == [(1, m) for m in found.stage_terms]
        assert (np.diff(found.stages) > 0).all()


def test_the_greedy_order_is_that_of_weighted_moments():
    found, _ = made(own=False)
    order_rows = X[::2]
    scores = (order_rows @ COEF)[:, None]
    moments = moments_of(order_rows, scores, boundary_weights(np.abs(scores[:, 0])))
    expected = greedy_order(moments, list(np.arange(D)[:, None]), np.ones(D), D // 2)
    np.testing.assert_array_equal(found.order, expected)


def test_other_costs_give_another_order_and_cost_a_row_the_same():
    alone = Units.single(D)
    shared = Units.sharing(
        alone.members, tuple(np.array([u // 6, 2 + u]) for u in range(D)), np.r_[50.0, 50.0, np.ones(D)]
    )
    found = made(units=alone, also_ordered_by=shared)
    assert len(found) == 2
    for one in found:
        np.testing.assert_array_equal(one.stage_costs, [*one.stage_terms, D])
    together = (found[1].order[:5] // 6).tolist()
    assert together in ([0] * 5, [1] * 5)  # units that share what is dear
    assert (found[0].order[:5] // 6).tolist() != together
    assert len(made(also_ordered_by=alone)) == len(made(also_ordered_by=shared, order="sorted")) == 1


def test_models_without_weights_of_their_own_try_all_rows_alike_too():
    near, alike = made(own=False)
    order_rows = X[::2]
    scores = (order_rows @ COEF)[:, None]
    expected = greedy_order(moments_of(order_rows, scores), list(np.arange(D)[:, None]), np.ones(D), D // 2)
    np.testing.assert_array_equal(alike.order, expected)
    assert not np.allclose(near.early.readouts[-1].weights, alike.early.readouts[-1].weights)
    assert len(made(own=True)) == len(made(own=False, rule=Ladder("partial"))) == 1


def test_rows_may_come_in_any_order():
    mixed = X.copy()
    mixed[::2] = X[::2][np.random.default_rng(0).permutation(300)]
    for own in (False, True):
        for one, other in zip(made(own=own), recipes_of(problem(mixed, COEF, COSTS, own=own)), strict=True):
            np.testing.assert_array_equal(one.order, other.order)
            for a, b in zip(one.early.readouts, other.early.readouts, strict=True):
                np.testing.assert_allclose(a.weights, b.weights, rtol=1e-7, atol=1e-10)


def test_sorted_random_and_qwyc_orders_are_those_functions():
    order_rows = X[::2]
    scores = order_rows @ COEF
    plain = moments_of(order_rows, scores[:, None], boundary_weights(np.abs(scores)))
    sorted_, random_, qwyc = (
        made(order=name, units=UNITS, rule=Ladder("partial"))[0].order for name in ("sorted", "random", "qwyc")
    )
    np.testing.assert_array_equal(sorted_, sorted_order(np.abs(COEF), plain, UNITS.members, UNITS.costs))
    np.testing.assert_array_equal(random_, np.random.default_rng(0).permutation(7))
    sums = np.stack([order_rows[:, m] @ COEF[m] for m in UNITS.members], axis=1)
    np.testing.assert_array_equal(qwyc, qwyc_order(sums, scores, 0.0, UNITS.costs, 0.01))


def test_partial_readouts_put_the_rest_at_the_mean_of_weighted_rows():
    (found,) = made(order="sorted", rule=Ladder("partial"))
    order_rows = X[::2]
    mean = np.average(order_rows, axis=0, weights=boundary_weights(np.abs(order_rows @ COEF)))
    for m, readout in zip(found.stage_terms, found.early.readouts, strict=True):
        unseen = np.setdiff1d(np.arange(D), found.terms[:m])
        np.testing.assert_allclose(readout.bias, COEF[unseen] @ mean[unseen])
        np.testing.assert_array_equal(readout.weights[0], COEF[found.terms[:m]])


class Asking(Ladder):
    """A ladder with stages that no plan can have."""

    needs = Needs(stages=(D, 50, 0))


def test_stages_come_after_blocks_and_where_a_budget_wants_one():
    (blocks,) = made(block=4, stages_at_blocks=True, order="sorted")
    assert (blocks.stages[:-1] % 4 == 0).all()
    (requested,) = made(rule=Budget(7), order=np.arange(D))
    assert 7 in requested.stages
    (beyond,) = made(rule=Asking(), order="sorted")
    assert beyond.stages[-1] == D
    assert (beyond.stages[:-1] < D).all()


@pytest.mark.parametrize(
    ("order", "message"),
    [
        (np.array([0, 0]), "different unit indices"),
        (np.array([], dtype=int), "different unit indices"),
        (np.array([[0, 1]]), "different unit indices"),
        (np.array([0.0, 1.0]), "different unit indices"),
        (np.array([0, D]), "from 0 to 11. Got 0 to 12"),
        (np.array([-1, 3]), "from 0 to 11. Got -1 to 3"),
    ],
)
def test_an_order_given_holds_different_units(order, message):
    with pytest.raises(ValueError, match=message):
        made(order=order)


def test_qwyc_is_for_two_classes():
    with pytest.raises(ValueError, match="order='qwyc' is for binary models"):
        list(recipes_of(problem(X, np.stack([COEF, -COEF]), COSTS, order="qwyc")))


def test_one_feature_has_no_early_stage():
    (found,) = recipes_of(problem(X[:, :1], COEF[:1], COSTS))
    assert found.stages.tolist() == [1]
    assert found.early.readouts == ()


@pytest.mark.parametrize("degenerate", ["one row", "constant", "copies"])
@pytest.mark.parametrize("own", [False, True])
def test_degenerate_rows_give_numbers(degenerate, own):
    rows = {"one row": X[:2], "constant": np.ones_like(X), "copies": np.repeat(X[:, :1], D, axis=1)}[degenerate]
    for found in recipes_of(problem(rows, COEF, COSTS, own=own)):
        assert found.stages[-1] == D
        for readout in found.early.readouts:
            assert np.isfinite(readout.weights).all()
            assert np.isfinite(readout.bias).all()


# ---- the pool ------------------------------------------------------------------------------------------------------


def test_terms_beyond_the_pool_contribute_least(monkeypatch):
    monkeypatch.setattr(recipes, "MAX_POOL", 5)
    monkeypatch.setattr(recipes, "VALUE_BYTES", 1)  # then 64 would be the least
    spread = np.abs(COEF) * X[::2].std(axis=0)
    (found,) = made(order="sorted")
    assert set(found.order.tolist()) == set(np.argsort(-spread)[:5].tolist())
    missing = int(np.argmin(spread))
    with pytest.raises(ValueError, match="order names 1 units that are no candidates: early stages can have 5 terms"):
        made(order=np.array([int(np.argmax(spread)), missing]))


def test_the_pool_has_whole_units_and_may_have_none(monkeypatch):
    monkeypatch.setattr(recipes, "MAX_POOL", 5)
    spread = np.abs(COEF) * X[::2].std(axis=0)
    best = sorted(range(7), key=lambda u: -spread[UNITS.members[u]].max())
    whole = [best[: k + 1] for k in range(7) if sum(len(UNITS.members[u]) for u in best[: k + 1]) <= 5][-1]
    (grouped,) = made(order="sorted", units=UNITS)
    assert sorted(grouped.order.tolist()) == sorted(whole)
    large = Units((np.arange(6), np.arange(6, D)), np.full(2, 6.0))
    for order in ("greedy", "sorted", "random", "qwyc"):
        for readout in ("regressed", "partial"):
            for found in made(order=order, units=large, rule=Ladder(readout)):
                assert found.stages.tolist() == [2]
                assert found.stage_costs.tolist() == [12.0]


def test_of_sparse_rows_the_pool_is_a_few_times_what_a_row_has():
    rng = np.random.default_rng(0)
    rows = sparse.random(400, 900, 0.05, random_state=0, format="csr")
    coef = rng.normal(size=900)
    sparse_problem = problem(rows.toarray(), coef, COSTS, order="sorted")
    object.__setattr__(sparse_problem, "order_rows", rows[::2])
    (found,) = recipes_of(sparse_problem)
    assert len(found.order) == SPARSE_POOL * rows[::2].nnz // 200
    object.__setattr__(sparse_problem, "order_rows", sparse.csr_matrix(rows[::2].shape))
    (found,) = recipes_of(sparse_problem)
    assert len(found.order) == LEAST_POOL
    pairs = Units(tuple(np.arange(900).reshape(-1, 2)), np.full(450, 2.0))
    object.__setattr__(sparse_problem, "units", pairs)
    (found,) = recipes_of(sparse_problem)
    assert len(found.order) == LEAST_POOL


def test_few_groups_are_all_ordered():
    """Half of three groups would be one, and the dearest would be bought with the second."""
    groups = Units(
        tuple(np.array(u) for u in ([0, 1, 2, 3], [4, 5, 6], [7, 8, 9, 10, 11])), np.array([1.0, 20.0, 150.0])
    )
    (found,) = made(units=groups)
    assert sorted(found.order) == [0, 1, 2]
    np.testing.assert_array_equal(found.stages, [1, 2, 3])
