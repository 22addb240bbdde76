"""Online boosting: the plain algorithm without attention; with attention, skipped hypotheses are not called."""

from __future__ import annotations

import numpy as np
import pytest
from kinds.containers import DENSE_AND_CSR
from online.reference import boost, walk_problem
from online.voting import ATTENTION, CONTAINERS, EAGER, FULL, WEIGHTS, Column, X, Y, columns_of, same, votes_of
from scipy import sparse
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier

from wald import _core
from wald.online import AttentiveBoosting
from wald.online.attention import ERROR_OF, rule_of
from wald.stopping.core.binomial import interval

# -- the algorithm ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("potential", ["logistic", "exponential"])
@pytest.mark.parametrize("weight", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("kind", CONTAINERS)
def test_without_attention_it_is_plain_boosting(kind, weight, potential, average):
    rows = CONTAINERS[kind]
    settings = {"potential": potential, "negligible": 0.05, "learning_rate": 2.0}
    ours = AttentiveBoosting(average=average, **settings, **FULL).fit(rows, Y, sample_weight=weight)
    theirs = boost(votes_of(ours, rows), Y, epochs=2, weight=weight, **settings)
    w, b = (theirs.mean_w, theirs.mean_b) if average else (theirs.w, theirs.b)
    tolerance = {"rtol": 1e-3, "atol": 1e-5} if kind == "float32" else {"rtol": 1e-9, "atol": 1e-12}
    np.testing.assert_allclose(ours.coef_[0], w, **tolerance)
    np.testing.assert_allclose(ours.intercept_[0], b, **tolerance)
    if kind != "float32":
        assert ours.n_updates_ == theirs.n_updates
    evaluated = 2 * (len(Y) if weight is None else np.count_nonzero(weight))
    assert ours.features_seen_ == ours.cost_seen_ == evaluated * ours.coef_.size
    scores = votes_of(ours, rows) @ ours.coef_[0] + ours.intercept_[0]
    np.testing.assert_allclose(ours.decision_function(rows), scores, **tolerance)
    np.testing.assert_array_equal(ours.predict(rows), np.where(ours.decision_function(rows) > 0, 1, -1))


def test_the_intercept_can_be_left_out():
    ours = AttentiveBoosting(fit_intercept=False, average=False, **FULL).fit(X, Y)
    theirs = boost(votes_of(ours, X), Y, epochs=2, intercept=False)
    np.testing.assert_allclose(ours.coef_[0], theirs.w, rtol=1e-9, atol=1e-12)
    assert ours.intercept_[0] == 0


def test_one_against_the_rest_with_class_weights():
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    ours = AttentiveBoosting(average=False, class_weight={0: 2.0, 1: 1.0, 2: 0.5}, **FULL).fit(X, y)
    for k, weight in enumerate([2.0, 1.0, 0.5]):
        positive = y == k
        theirs = boost(votes_of(ours, X), np.where(positive, 1, -1), epochs=2, weight=np.where(positive, weight, 1.0))
        np.testing.assert_allclose(ours.coef_[k], theirs.w, rtol=1e-9, atol=1e-12)
    assert ours.decision_function(X).shape == (len(X), 3)


def test_stumps_split_at_quantiles():
    rows = np.column_stack([np.arange(100.0), np.zeros(100), np.arange(100) % 2, np.arange(100) == 5])
    stumps = AttentiveBoosting(n_thresholds=3, **FULL).fit(rows, np.arange(100) > 40).hypotheses_
    np.testing.assert_array_equal(stumps.features, [0, 0, 0, 2, 3])
    np.testing.assert_array_equal(stumps.thresholds, [24, 49, 74, 0, 0])
    for container in (np.asfortranarray, sparse.csr_matrix, sparse.csc_matrix):
        again = AttentiveBoosting(n_thresholds=3, **FULL).fit(container(rows), np.arange(100) > 40).hypotheses_
        np.testing.assert_array_equal(again.features, stumps.features)
        np.testing.assert_array_equal(again.thresholds, stumps.thresholds)
    few = AttentiveBoosting(n_thresholds=1, threshold_rows=5, **FULL).fit(rows, np.arange(100) > 40).hypotheses_
    np.testing.assert_array_equal(few.thresholds[few.features == 0], [40])  # of 0, 20, 40, 60, 80


# -- attention -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", [kind for kind in ATTENTION if kind != "budgeted"])
@pytest.mark.filterwarnings("ignore::wald.stopping.papers.levels.DegenerateBoundaryWarning")
def test_audits_of_everything_are_the_plain_algorithm(kind, dtype):
    common = {"max_iter": 2, "tol": None, "random_state": 0, "run_length": 4}
    audited = AttentiveBoosting(**ATTENTION[kind], audit_rate=1.0, **common).fit(X.astype(dtype), Y)
    full = AttentiveBoosting(attention="full", **common).fit(X.astype(dtype), Y)
    np.testing.assert_array_equal(audited.coef_, full.coef_)
    assert audited.n_updates_ == full.n_updates_
    assert audited.features_seen_ == full.features_seen_ == 2 * len(X) * full.coef_.size
    assert audited.stop_error_.n_trials > 50


@pytest.mark.parametrize("kind", [kind for kind in ATTENTION if kind != "printed"])
@pytest.mark.parametrize("container", DENSE_AND_CSR)
def test_attention_evaluates_less_and_learns_nearly_as_well(kind, container):
    rows, y = walk_problem(np.random.default_rng(2), 5000, 150)
    rows, common = container(rows), {"n_thresholds": 1, "max_iter": 2, "tol": None, "random_state": 0}
    full = AttentiveBoosting(attention="full", **common).fit(rows, y)
    model = AttentiveBoosting(run_length=4, **common, **ATTENTION[kind]).fit(rows, y)
    assert model.features_seen_ < 0.85 * full.features_seen_
    assert model.score(rows, y) > full.score(rows, y) - (0.1 if kind == "budgeted" else 0.03)


def test_a_skipped_hypothesis_does_not_see_the_row():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(3000) < 0.5, 1, -1)
    # No doubt is left after a few votes: margins are far beyond the threshold.
    rows = y[:, None] * np.where(rng.random((3000, 64)) < 0.02, -1.0, 1.0)
    common = {"n_thresholds": 1, "threshold_rows": 100, "learning_rate": 20.0, "negligible": 0.4, "random_state": 0}
    common |= {"order": "cost", "feature_costs": np.where(np.arange(64) < 16, 1.0, 9.0)}
    for container in (np.asarray, sparse.csr_matrix):
        lazy = AttentiveBoosting(audit_rate=0.0, **common).partial_fit(container(rows[:2000]), y[:2000], [-1, 1])
        full = AttentiveBoosting(attention="full", **common).partial_fit(container(rows[:2000]), y[:2000], [-1, 1])
        before = lazy.features_seen_
        unknown = rows[2000:].copy()
        unknown[:, 32:] = np.nan
        lazy.partial_fit(container(unknown), y[2000:])
        assert lazy.features_seen_ - before <= 16 * 1000
        with pytest.raises(ValueError, match="row 0 holds NaN or infinity"):
            full.partial_fit(container(unknown), y[2000:])


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize("kind", [*ATTENTION, "full"])
@pytest.mark.parametrize("container", DENSE_AND_CSR)
@pytest.mark.filterwarnings("ignore::wald.stopping.papers.levels.DegenerateBoundaryWarning")
def test_a_list_of_stumps_is_the_stumps(kind, container):
    rows, y = container(X[:300]), Y[:300]
    common = EAGER | {"n_thresholds": 1, "max_iter": 1, "tol": None} | ATTENTION.get(kind, {"attention": "full"})
    stumps = AttentiveBoosting(**common).fit(rows, y)
    for rows_ahead in (1, 64):
        voters = AttentiveBoosting(columns_of(stumps), rows_ahead=rows_ahead, **common).fit(rows, y)
        same(stumps, voters, seen=rows_ahead == 1)
        assert stumps.features_seen_ <= voters.features_seen_ == sum(v.calls for v in voters.hypotheses_.members)
        assert kind == "full" or voters.features_seen_ < 300 * len(voters.hypotheses_)
        for reads in ("full", "conditional"):
            theirs = stumps.predict(rows, attention=reads, return_cost=True)
            for a, b in zip(theirs, voters.predict(rows, attention=reads, return_cost=True), strict=True):
                np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("attention", ["full", "conditional"])
def test_fitted_classifiers_vote_for_the_class_that_they_predict(attention):
    y = np.array(["a", "b", "c"])[np.digitize(X[:, :8].mean(axis=1), [-0.1, 0.3])]
    rng = np.random.default_rng(3)
    trees = [
        FrozenEstimator(DecisionTreeClassifier(max_depth=2, random_state=0).fit(X[some], y[some]))
        for some in (rng.choice(len(X), 60) for _ in range(12))
    ]
    common = FULL | {"attention": attention, "audit_rate": 1.0, "average": False}
    model = clone(AttentiveBoosting(trees, **common)).fit(X, y)
    predicted = np.column_stack([tree.predict(X) for tree in trees])
    for k, label in enumerate("abc"):
        theirs = boost(np.where(predicted == label, 1.0, -1.0), np.where(y == label, 1, -1), epochs=2)
        np.testing.assert_allclose(model.coef_[k], theirs.w, rtol=1e-9, atol=1e-12)
    assert model.score(X, y) > max(tree.score(X, y) for tree in trees)
    assert model.predict(X[:5], return_cost=True)[1].tolist() == [36] * 5


def test_costs():
    costs = np.arange(1.0, X.shape[1] + 1)
    model = AttentiveBoosting(feature_costs=costs, **FULL).fit(X, Y)
    assert model.cost_seen_ == 2 * len(X) * costs[model.hypotheses_.features].sum()
    eager = {"order": "cost", "feature_costs": costs, "max_iter": 1, "tol": None}
    model.set_params(**EAGER | eager, attention="conditional").fit(X, Y)
    assert model.cost_seen_ / model.features_seen_ < costs.mean()
    voters = [Column(j, 0.0) for j in range(X.shape[1])]
    listed = AttentiveBoosting(voters, **EAGER | eager).fit(X, Y)
    assert listed.cost_seen_ == sum(cost * voter.calls for cost, voter in zip(costs, voters, strict=True))
    assert listed.cost_seen_ / listed.features_seen_ < costs.mean()


@pytest.mark.parametrize("kind", CONTAINERS)
def test_attentive_prediction(kind):
    rows = CONTAINERS[kind]
    model = AttentiveBoosting(max_iter=2, tol=None, **EAGER, delta=0.01).fit(rows, Y)
    labels, cost = model.predict(rows, attention="conditional", return_cost=True)
    full, full_cost = model.predict(rows, return_cost=True)
    assert (full_cost == len(model.hypotheses_)).all()
    assert cost.mean() < 0.8 * len(model.hypotheses_)
    assert np.mean(labels != full) < 0.03
    alone = [model.predict(rows[i : i + 1], attention="conditional")[0] for i in range(50)]
    np.testing.assert_array_equal(alone, labels[:50])


# -- the stop error --------------------------------------------------------------------------------------------------


def watched(model, rows, y, epochs=2):
    """Train the model's compiled learner with every row evaluated in secret: (audits, truth)."""
    model = clone(model).fit(rows[:1000], y[:1000])
    stumps, positive = model.hypotheses_._compiled, (y > 0).astype(np.uint8)
    learners = []
    for watch in (True, False):
        learner = _core.BoostingLearner(model.problems_[0].settings | {"watch_all": watch})
        for _ in range(epochs):
            learner.train(_core.Rows.dense(rows), stumps, positive, None, 1.0, 1.0, None)
        learners.append(learner)
    np.testing.assert_array_equal(learners[0].answer(True)[0], learners[1].answer(True)[0])
    assert learners[0].features_seen == learners[1].features_seen
    return learners[0].audits.sum(axis=0), learners[0].truth.sum(axis=0)


@pytest.mark.parametrize("target", [0.01, 0.05])
def test_feedback_holds_the_stop_error(target):
    errors = np.zeros(4)
    for seed in range(4):
        rows, y = walk_problem(np.random.default_rng(seed), 12000, 96)
        model = AttentiveBoosting(n_thresholds=1, delta="auto", max_stop_error=target, **EAGER, max_iter=1, tol=None)
        errors += watched(model.set_params(random_state=seed, audit_rate=0.1), rows, y)[1]
    assert errors[3] / errors[1] < target + 0.004  # a finite stream starts somewhere
    assert errors[1] > 0.1 * errors[0]


@pytest.mark.long
@pytest.mark.parametrize("kind", ["conditional", "centred", "bridge"])
def test_intervals_cover_the_truth(kind):
    model = AttentiveBoosting(n_thresholds=1, **EAGER, **ATTENTION[kind], max_iter=1, tol=None)
    model.set_params(delta=0.1 if kind == "bridge" else 0.02, audit_rate=0.2 if kind == "bridge" else 0.05)
    among = {"joint": 0, "posterior": 1, "conditional": 2}[ERROR_OF[rule_of(model)]]
    covered, runs = 0, 200
    for seed in range(runs):
        rows, y = walk_problem(np.random.default_rng(seed), 4000, 64, signal=0.25)
        audits, truth = watched(model.set_params(random_state=seed), rows, y)
        assert truth[1] > 0
        low, high = interval(int(audits[3]), int(audits[among]), 0.95)
        covered += low <= truth[3] / truth[among] <= high
    assert covered >= 0.93 * runs
