"""The candidate plan that is chosen, and the scale at which candidates are compared."""

from __future__ import annotations

import itertools
import warnings
from dataclasses import replace

import numpy as np
import pytest
from plan.cases import problem
from scipy.stats import binom

from wald.plan import CertificateSize, CostModel, boldest, build_plan, shares_reached
from wald.plan.ladder import _ladders
from wald.plan.recipes import recipes
from wald.stopping import Boundary, Ladder, StageScores, q_grid
from wald.stopping.core.risks import Promised, promised


@pytest.mark.one_in(2)
@pytest.mark.slow
@pytest.mark.parametrize("n_certificate", [10_000, 10**7])
@pytest.mark.parametrize("about", ["positive", "negative", "each", "all"])
def test_the_rows_that_the_promise_speaks_of_err_as_rarely_as_the_certificate_will_want(about, n_certificate):
    rng = np.random.default_rng(0)
    score = rng.normal(-1.5, 1.0, 20_000)  # positives are rare: of all rows, few can be wrong
    stage_scores = StageScores(full=(score > 0).astype(np.int32), margins=(score + rng.normal(size=20_000))[:, None])
    risk = {about: 0.02}
    if about in ("positive", "negative"):
        risk = {"positive": 0, "negative": 0} | risk
    promise = promised(risk, [0, 1])
    boundary = Boundary.symmetric([0.0], [1.0]).restricted(promise.sides)
    size = CertificateSize(n_certificate, 0.95)
    q = boldest(stage_scores, boundary, Ladder(), promise, size)
    left = 1.0 - shares_reached(stage_scores, boundary, q, "float64")[-1]
    kept = {"positive": [1], "negative": [0], "each": [0, 1], "all": [None]}[about]
    masks = [np.ones(20_000, dtype=bool) if code is None else stage_scores.full == code for code in kept]
    sizes = [round(n_certificate * mask.mean()) for mask in masks]
    allowed = [np.flatnonzero(binom.cdf(np.arange(n // 40), n, 0.02) <= 0.05)[-1] / n for n in sizes]
    assert n_certificate < 10**6 or np.allclose(allowed, 0.02, rtol=0.02)

    def leaves_and_keeps(q):
        codes, stage = stage_scores.leave(*boundary.thresholds(q, np.float64))
        wrong = codes != stage_scores.full
        return (stage == 0).mean(), all(wrong[mask].mean() <= share for mask, share in zip(masks, allowed, strict=True))

    most = max(leaves for leaves, keeps in map(leaves_and_keeps, np.geomspace(10, 0.01, 2000)) if keeps)
    assert 0.85 * most <= left <= most + 0.005


# ---- which candidate is taken --------------------------------------------------------------------------------------


def subsets(n):
    return itertools.chain.from_iterable(itertools.combinations(range(n), k) for k in range(n + 1))


def expected_cost(recipe, evaluation, keep, task):
    """Cost of a ladder at the boldest scale that the validation rows allow, as in a certificate."""
    some, walk = recipe.subset(list(keep)), evaluation.walk.subset(list(keep))
    seen, boundary = walk.stage_scores, task.rule.boundary(walk).restricted(task.promised.sides)
    scale = np.inf
    for q in q_grid(seen, boundary):
        codes, _ = seen.leave(*boundary.thresholds(q, np.float64))
        if np.mean(codes != seen.full) > task.certificate_size.allowed_share(1.0, task.promised.risk):
            break
        scale = q
    _, stage = seen.leave(*boundary.thresholds(scale, np.float64))
    reached = np.array([(stage >= t).mean() for t in range(len(keep) + 1)])
    return evaluation.cost_model.expected(some.stage_terms, some.stage_costs, reached, 1)


def small_task(seed=0, n=4000, d=9, own=True, **prices):
    rng = np.random.default_rng(seed)
    X, coef = rng.normal(size=(n, d)), np.geomspace(3.0, 0.1, d)[rng.permutation(d)]
    costs = CostModel(**{"row": 0.0, "unit": 1.0, "readout": 0.05, "stage": 0.2, "full": 20.0} | prices)
    return problem(X, coef, costs, own=own, promised=Promised(0.01))


def chosen_cost(plan):
    return plan.cost_model.expected(plan.stage_terms, plan.stage_costs, plan.reached, 1)


@pytest.mark.one_in(2)
@pytest.mark.slow
@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("stage", [0.05, 0.5, 3.0])
def test_the_plan_is_the_cheapest_of_its_candidates_and_near_the_best_of_all_ladders(stage, own):
    task = small_task(n=1000, d=6, own=own, stage=stage)
    plan = build_plan(task)
    candidates, every = [], []
    for recipe in recipes(task):
        evaluation = task.evaluate(recipe)
        keeps = {tuple(keep) for keep in _ladders(recipe, evaluation.cost_model, task)}
        candidates += [expected_cost(recipe, evaluation, keep, task) for keep in keeps]
        every += [expected_cost(recipe, evaluation, keep, task) for keep in subsets(recipe.stages.size - 1)]
    assert chosen_cost(plan) == pytest.approx(min(candidates))
    assert chosen_cost(plan) <= 1.15 * min(every)
    assert chosen_cost(plan) < np.mean(every)


def test_dearer_stages_are_fewer():
    counts = [build_plan(small_task(n=1500, d=12, stage=stage)).n_stages for stage in (0.0, 0.3, 5.0)]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[-1] > 0


def test_stages_that_cost_nothing_are_all_taken():
    task = small_task(readout=0.0, stage=0.0)
    (recipe,) = recipes(task)
    np.testing.assert_array_equal(build_plan(task).stages, recipe.stages)


def test_the_plan_leaves_thresholds_to_the_certificate():
    plan = build_plan(small_task())
    assert plan.q == np.inf
    assert not plan.evaluate_all
    assert plan.reached[0] == 1.0
    assert (np.diff(plan.reached) <= 0).all()
    assert plan.reached[-1] < 0.2  # as these rows will leave


def test_rows_may_come_in_any_order():
    task = small_task()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 9))
    mixed = X.copy()
    for part in (0, 1):
        mixed[part::2] = X[part::2][rng.permutation(2000)]
    coef, costs = task.terms.coef, task.evaluate(next(iter(recipes(task)))).cost_model
    one, other = (build_plan(problem(rows, coef, costs)) for rows in (X, mixed))
    np.testing.assert_array_equal(one.order, other.order)
    np.testing.assert_array_equal(one.stages, other.stages)
    np.testing.assert_allclose(one.reached, other.reached, atol=1e-3)


@pytest.mark.parametrize("rows", ["constant", "one each", "one class"])
def test_degenerate_rows_still_give_a_plan(rows):
    rng = np.random.default_rng(0)
    X = {"constant": np.ones((40, 5)), "one each": rng.normal(size=(2, 5)), "one class": rng.random((40, 5)) + 1}[rows]
    plan = build_plan(problem(X, np.ones(5), CostModel(0.0, 1.0, 0.1, 0.1, 10.0)))
    assert plan.stages[-1] == 5
    assert plan.reached[0] == 1.0
    assert ((plan.reached >= 0) & (plan.reached <= 1)).all()


def test_shares_reached_count_the_rows_that_reach_a_stage():
    rng = np.random.default_rng(0)
    seen = StageScores(full=(rng.random(500) > 0.5).astype(np.int32), margins=rng.normal(size=(500, 3)))
    boundary = Boundary.symmetric(0.0, [2.0, 1.0, 0.5])
    left = np.abs(seen.margins) > 0.7 * np.array([2.0, 1.0, 0.5])
    stage = np.where(left.any(axis=1), left.argmax(axis=1), 3)
    found = shares_reached(seen, boundary, 0.7, "float64")
    np.testing.assert_allclose(found, [(stage >= t).mean() for t in range(4)])
    assert 0 < found[-1] < found[1] < 1
    np.testing.assert_array_equal(shares_reached(seen, boundary, np.inf, "float64"), 1.0)
    none = StageScores(full=np.empty(0, dtype=np.int32), margins=np.empty((0, 3)))
    np.testing.assert_array_equal(shares_reached(none, boundary, 1.0, "float64"), 1.0)


@pytest.mark.parametrize("risk", [0.01, {"positive": 0.01, "negative": 0}], ids=str)
def test_only_warnings_of_the_plan_that_is_chosen_are_given(risk, monkeypatch):
    task = small_task()
    made = []

    class Loud(Ladder):
        def boundary(self, walk):
            made.append(walk.stages.tolist())
            warnings.warn(f"stages {walk.stages.tolist()}", UserWarning, stacklevel=2)
            return super().boundary(walk)

    with pytest.warns(UserWarning, match="stages") as caught:
        plan = build_plan(replace(task, rule=Loud(), promised=promised(risk, [0, 1])))
    assert len(made) > 1
    assert [str(w.message) for w in caught] == [f"stages {plan.stages.tolist()}"]
