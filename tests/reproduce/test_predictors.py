"""The contenders over support vectors as terms."""

from __future__ import annotations

import numpy as np
import pytest

from reproduce.focus_of_attention.predictors import LadderPredictor, PartialSums, Run, best_threshold
from wald.stopping import Boundary, StageScores


@pytest.fixture(scope="module")
def parts(rbf):
    plan, certificate, test = rbf.deal(0)
    return PartialSums(rbf, plan, 0, every=4), plan, certificate, test


def test_terms_add_up_to_the_models_scores(rbf, linear):
    for material in (rbf, linear):
        rows = material.rows
        assert len(material.model.support_) == material.n_terms > 50
        np.testing.assert_allclose(rows.scores, material.model.decision_function(rows.X), atol=1e-9)
        np.testing.assert_allclose(rows.values @ material.coef + material.intercept, rows.scores, atol=1e-4)
        np.testing.assert_array_equal(rows.full == 1, material.model.predict(rows.X))


def test_roles_are_disjoint_and_follow_the_seed(rbf):
    parts = rbf.deal(0)
    assert [len(p.labels) for p in parts] == [500, 500, 500]
    assert len(np.unique(np.concatenate([p.scores for p in parts]))) == len(np.unique(rbf.rows.scores))
    np.testing.assert_array_equal(parts[2].scores, rbf.deal(0)[2].scores)
    assert not np.array_equal(parts[2].scores, rbf.deal(1)[2].scores)


def test_partial_sums(parts, rbf):
    sums, plan, _, test = parts
    weighted = test.values[:, sums.order].astype(np.float64) * sums.coef
    expected = np.cumsum(weighted, axis=1)[:, sums.stages - 1]
    assert sums.stages.tolist() == list(range(4, rbf.n_terms, 4))
    np.testing.assert_allclose(sums.at_stages(test), expected, atol=1e-4)
    np.testing.assert_allclose(sums.after(test, 9), weighted[:, :9].sum(axis=1), atol=1e-4)
    mean = (plan.values[:, sums.order].astype(np.float64) * sums.coef).mean(axis=0)
    assert sums.rest_of_mean(9) == pytest.approx(mean[9:].sum())
    assert sums.rest_of_mean(rbf.n_terms) == 0


def test_attentive_is_the_papers_loop(parts, rbf):
    sums, plan, _, test = parts
    run = sums.attentive(test)
    q = float(np.median(run.settings))
    outcome = run.outcome(q)
    mean = plan.values[plan.full == 1].mean(axis=0, dtype=np.float64)
    shift = float(run.boundary.low_center[0] - sums.positive_path[0])
    tau = q - shift
    for row in range(40):
        s, answer, terms = 0.0, int(test.full[row]), rbf.n_terms
        for i, j in enumerate(sums.order[:-1]):
            s += rbf.coef[j] * (test.values[row, j] - mean[j])
            if (i + 1) % 4 == 0 and s < -tau:
                answer, terms = 0, i + 1
                break
        assert (outcome.codes[row], outcome.cost[row]) == (answer, terms)


def test_the_sweep_is_monotone_from_nobody_to_everybody(parts, rbf):
    sums, _, certificate, _ = parts
    run = sums.attentive(certificate)
    outcomes = [run.outcome(q) for q in run.settings]
    costs = [o.cost.mean() for o in outcomes]
    disagreements = [(o.codes != certificate.full).mean() for o in outcomes]
    assert (np.diff(costs) <= 0).all()
    assert (np.diff(disagreements) >= 0).all()
    assert costs[0] == rbf.n_terms
    assert costs[-1] < 3 * sums.stages[0]
    assert all((o.codes <= certificate.full).all() for o in outcomes)  # exits as negative only


def test_settings_are_found(parts, rbf):
    sums, _, certificate, _ = parts
    run = sums.attentive(certificate)
    for share in (0.3, 0.7):
        cost = run.outcome(run.setting_at_cost(share * rbf.n_terms)).cost.mean()
        assert cost == pytest.approx(share * rbf.n_terms, abs=0.05 * rbf.n_terms)
    q = run.setting_at_risk(0.002)
    assert run.disagreement(q) <= 0.002
    bolder = run.settings[run.settings < q]
    assert run.disagreement(bolder.max()) > 0.002


def test_nothing_safe_is_no_exit():
    scores = StageScores(full=np.zeros(4, dtype=np.int32), margins=np.ones((4, 1)))
    run = Run(
        scores, Boundary.upper([0.0], [1.0]), np.array([1.0, 9.0]), -np.ones(4), np.array([0.5, 0.1]), scores.margins
    )
    assert run.setting_at_risk(0.1) == np.inf
    assert run.outcome(np.inf).cost.tolist() == [9, 9, 9, 9]
    assert run.outcome(0.5).early.all()


def test_budgeted_has_the_attentive_predictors_mean_cost(parts):
    sums, _, certificate, test = parts
    attentive = sums.attentive(certificate)
    on_test = sums.attentive(test, attentive)
    for q in attentive.settings[::7]:
        cost = on_test.outcome(q).cost.mean()
        budgeted = sums.budgeted(test, max(1, round(cost)))
        assert abs(budgeted.cost.mean() - cost) <= 0.5


def test_budgeted_imputes_what_it_does_not_see(parts, rbf):
    sums, _, _, test = parts
    outcome = sums.budgeted(test, 10)
    score = sums.after(test, 10) + sums.rest_of_mean(10) + rbf.intercept
    np.testing.assert_array_equal(outcome.codes, score > 0)
    np.testing.assert_array_equal(outcome.ranking, score)
    assert set(outcome.cost) == {10}
    everything = sums.budgeted(test, rbf.n_terms)
    np.testing.assert_array_equal(everything.codes, test.full)
    np.testing.assert_array_equal(everything.ranking, test.scores)


def test_a_tuned_budget_is_no_worse_where_it_was_tuned(parts):
    sums, _, certificate, _ = parts
    for k in (5, 30, 80):
        plain = (sums.budgeted(certificate, k).codes != certificate.full).sum()
        tuned = sums.budgeted(certificate, k, sums.tuned_threshold(certificate, k))
        assert (tuned.codes != certificate.full).sum() <= plain
    plain, tuned = (sums.budget_at_risk(certificate, 0.02, tuned=t) for t in (False, True))
    assert tuned <= plain <= len(sums.coef)
    assert (sums.budgeted(certificate, plain).codes != certificate.full).mean() <= 0.02


def test_best_threshold_is_the_best_of_all():
    rng = np.random.default_rng(0)
    for _ in range(50):
        scores = rng.integers(0, 6, 12) / 2
        positive = rng.random(12) < rng.random()
        threshold, wrong = best_threshold(scores, positive)
        assert ((scores > threshold) != positive).sum() == wrong
        assert wrong == min(((scores > t) != positive).sum() for t in np.arange(-0.25, 3.5, 0.5))


def test_the_ladder_keeps_linear_support_vectors_as_terms(linear):
    plan, certificate, test = linear.deal(0)
    ladder = LadderPredictor(linear, plan, certificate, 0.02, 0)
    assert ladder.fast.plan_.full_cost >= linear.n_terms
    run = ladder.run(test)
    outcome = run.outcome(ladder.certified_setting)
    labels, cost = ladder.fast.predict(test.X, return_cost=True)
    np.testing.assert_array_equal(outcome.codes == 1, labels)
    np.testing.assert_array_equal(outcome.cost, cost)
    assert ladder.fast.certificate_.strata[0].n_rows == 500
    assert cost.mean() < linear.n_terms


def test_without_a_certificate_the_ladder_evaluates_everything(rbf):
    plan, certificate, test = rbf.deal(0)
    ladder = LadderPredictor(rbf, plan, certificate, 0.001, 0)  # 500 rows prove no 0.1 %
    assert ladder.certified_setting == np.inf
    assert set(ladder.run(test).outcome(np.inf).cost) == {ladder.fast.plan_.full_cost}
