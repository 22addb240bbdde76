"""Online boosting: the plain algorithm without attention; with it, the hypotheses that are not asked are really not."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from online.reference import boost, walk_problem
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier

from wald import _core
from wald.online import AttentiveBoosting
from wald.online.attention import ERROR_OF, rule_of
from wald.stopping.binomial import interval

X, Y = walk_problem(np.random.default_rng(0), 3000, 48)
SPARSE = np.where(np.abs(X) > 0.5, X, 0)
CONTAINERS = {
    "float64": X,
    "float32": X.astype(np.float32),
    "csr": sparse.csr_matrix(SPARSE),
    "narrow": X[:, :3].copy(),
}
WEIGHTS = np.random.default_rng(1).integers(0, 3, len(X)).astype(float)
FULL = {"attention": "full", "max_iter": 2, "tol": None, "shuffle": False, "random_state": 0}
EAGER = {"run_length": 4, "warm_up": 32, "audit_rate": 0.05, "random_state": 7}
ATTENTION = {
    "conditional": {"delta": "auto"},
    "centred": {"attention": "constant"},
    "printed": {"attention": "constant", "boundary": "printed", "order": "random"},
    "bridge": {"attention": "constant", "boundary": "bridge", "variance": "independent"},
    "budgeted": {"attention": "budgeted", "budget": 24},
}


class Column:
    """A stump as a callable, which keeps count of the rows that it is asked of."""

    def __init__(self, feature, threshold):
        self.feature, self.threshold, self.asked = feature, threshold, 0

    def __call__(self, rows):
        self.asked += rows.shape[0]
        column = (rows.toarray() if sparse.issparse(rows) else rows)[:, self.feature]
        return np.where(column > self.threshold, 1.0, -1.0)

    def __deepcopy__(self, memo):
        return self  # clones share the count


def columns_of(model):
    return [Column(j, t) for j, t in zip(model.hypotheses_.features, model.hypotheses_.thresholds, strict=True)]


def votes_of(model, rows):
    rows = rows.toarray() if sparse.issparse(rows) else rows
    return np.where(rows[:, model.hypotheses_.features] > model.hypotheses_.thresholds, 1.0, -1.0)


def same(a, b, seen=True):
    np.testing.assert_array_equal(a.coef_, b.coef_)
    np.testing.assert_array_equal(a.intercept_, b.intercept_)
    assert a.n_updates_ == b.n_updates_
    assert a.stop_error_ == b.stop_error_
    if seen:
        assert a.features_seen_ == b.features_seen_
        assert a.cost_seen_ == b.cost_seen_


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
    asked = 2 * (len(Y) if weight is None else np.count_nonzero(weight))
    assert ours.features_seen_ == ours.cost_seen_ == asked * ours.coef_.size
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
def test_audits_of_everything_are_the_plain_algorithm(kind, dtype):
    common = {"max_iter": 2, "tol": None, "random_state": 0, "run_length": 4}
    audited = AttentiveBoosting(**ATTENTION[kind], audit_rate=1.0, **common).fit(X.astype(dtype), Y)
    full = AttentiveBoosting(attention="full", **common).fit(X.astype(dtype), Y)
    np.testing.assert_array_equal(audited.coef_, full.coef_)
    assert audited.n_updates_ == full.n_updates_
    assert audited.features_seen_ == full.features_seen_ == 2 * len(X) * full.coef_.size
    assert audited.stop_error_.n_trials > 50


@pytest.mark.parametrize("kind", [kind for kind in ATTENTION if kind != "printed"])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_attention_asks_less_and_learns_nearly_as_well(kind, container):
    rows, y = walk_problem(np.random.default_rng(2), 5000, 150)
    rows, common = container(rows), {"n_thresholds": 1, "max_iter": 2, "tol": None, "random_state": 0}
    full = AttentiveBoosting(attention="full", **common).fit(rows, y)
    model = AttentiveBoosting(run_length=4, **common, **ATTENTION[kind]).fit(rows, y)
    assert model.features_seen_ < 0.85 * full.features_seen_
    assert model.score(rows, y) > full.score(rows, y) - (0.1 if kind == "budgeted" else 0.03)


def test_a_hypothesis_that_is_not_asked_does_not_see_the_row():
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


@pytest.mark.parametrize("kind", [*ATTENTION, "full"])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_a_list_of_stumps_is_the_stumps(kind, container):
    rows, y = container(X[:300]), Y[:300]
    common = EAGER | {"n_thresholds": 1, "max_iter": 1, "tol": None} | ATTENTION.get(kind, {"attention": "full"})
    stumps = AttentiveBoosting(**common).fit(rows, y)
    for rows_ahead in (1, 64):
        voters = AttentiveBoosting(columns_of(stumps), rows_ahead=rows_ahead, **common).fit(rows, y)
        same(stumps, voters, seen=rows_ahead == 1)
        assert stumps.features_seen_ <= voters.features_seen_ == sum(v.asked for v in voters.hypotheses_.members)
        assert kind == "full" or voters.features_seen_ < 300 * len(voters.hypotheses_)
        for attentive in (False, True):
            theirs = stumps.predict(rows, attentive=attentive, return_cost=True)
            for a, b in zip(theirs, voters.predict(rows, attentive=attentive, return_cost=True), strict=True):
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
    assert listed.cost_seen_ == sum(cost * voter.asked for cost, voter in zip(costs, voters, strict=True))
    assert listed.cost_seen_ / listed.features_seen_ < costs.mean()


@pytest.mark.parametrize("kind", CONTAINERS)
def test_attentive_prediction(kind):
    rows = CONTAINERS[kind]
    model = AttentiveBoosting(max_iter=2, tol=None, **EAGER, delta=0.01).fit(rows, Y)
    labels, cost = model.predict(rows, attentive=True, return_cost=True)
    full, full_cost = model.predict(rows, return_cost=True)
    assert (full_cost == len(model.hypotheses_)).all()
    assert cost.mean() < 0.8 * len(model.hypotheses_)
    assert np.mean(labels != full) < 0.03
    alone = [model.predict(rows[i : i + 1], attentive=True)[0] for i in range(50)]
    np.testing.assert_array_equal(alone, labels[:50])


# -- the stop error --------------------------------------------------------------------------------------------------


def watched(model, rows, y, epochs=2):
    """Train the model's compiled learner with every row evaluated in secret: (audits, truth)."""
    model = clone(model).fit(rows[:1000], y[:1000])
    stumps, positive = model.hypotheses_._compiled, (y > 0).astype(np.uint8)
    learners = []
    for watch in (True, False):
        learner = _core.BoostingLearner(**model.problems_[0].settings | {"watch_all": watch})
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


# -- streams ---------------------------------------------------------------------------------------------------------


def chunked(model, rows, y, cuts):
    model = clone(model)
    for start, stop in zip([0, *cuts], [*cuts, len(y)], strict=True):
        model.partial_fit(rows[start:stop].copy(), y[start:stop], classes=[-1, 1])
    return model


@pytest.mark.parametrize("rows", CONTAINERS.values(), ids=CONTAINERS)
@pytest.mark.parametrize("kind", ATTENTION)
def test_chunks_make_no_difference(rows, kind):
    model = AttentiveBoosting(**EAGER | ATTENTION[kind], threshold_rows=300)
    whole = chunked(model, rows, Y, [])
    assert whole.features_seen_ < len(Y) * whole.coef_.size or kind == "budgeted"
    cuts = np.sort(np.random.default_rng(1).integers(0, len(Y), 30))  # some chunks may be empty
    for pieces in (cuts, [1, 2, 3, 300, 301], [299], [300]):
        same(whole, chunked(model, rows, Y, pieces))
    np.testing.assert_array_equal(
        whole.hypotheses_.features, chunked(model, rows[:300], Y[:300], []).hypotheses_.features
    )


def test_a_fit_is_a_pass_over_the_stream():
    model = AttentiveBoosting(**EAGER, threshold_rows=len(Y), shuffle=False, max_iter=1, tol=None)
    same(clone(model).fit(X, Y), chunked(model, X, Y, [1000, 1010]))


@pytest.mark.parametrize("rows_ahead", [1, 64])
def test_chunks_make_no_difference_to_lists(rows_ahead):
    model = AttentiveBoosting([Column(j, 0.0) for j in range(X.shape[1])], **EAGER, rows_ahead=rows_ahead)
    rows, y = X[:600], Y[:600]
    same(chunked(model, rows, y, []), chunked(model, rows, y, [1, 2, 100, 303]), seen=rows_ahead == 1)


@pytest.mark.parametrize("half", [100, 1500])  # while thresholds may still change, and later
@pytest.mark.parametrize("hypotheses", ["stumps", [Column(j, 0.0) for j in range(X.shape[1])]], ids=["stumps", "list"])
def test_a_pickle_goes_on_as_the_original(hypotheses, half):
    model = AttentiveBoosting(hypotheses, **EAGER, threshold_rows=300).partial_fit(X[:half], Y[:half], [-1, 1])
    twins = [pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    model.partial_fit(X[half:], Y[half:])
    for twin in twins:
        twin.partial_fit(X[half:], Y[half:])
        same(model, twin)
        np.testing.assert_array_equal(model.predict(X, attentive=True), twin.predict(X, attentive=True))


def test_no_row_is_kept_once_there_are_thresholds():
    model = AttentiveBoosting(**EAGER, ring_size=32, threshold_rows=300).partial_fit(X[:200], Y[:200], [-1, 1])
    assert sum(block[0].shape[0] for block in model._first) == 200
    sizes = []
    for start in range(200, 3000, 400):
        model.partial_fit(X[start : start + 400], Y[start : start + 400])
        assert model._first is None
        sizes.append(len(pickle.dumps(model)))
    assert max(sizes) < 1.1 * sizes[1]  # the rings are full by then


def test_seeds_and_warm_starts():
    model = AttentiveBoosting(**EAGER, max_iter=2, tol=None)
    same(clone(model).fit(X, Y), clone(model).fit(X, Y))
    assert (clone(model).set_params(random_state=8).fit(X, Y).coef_ != clone(model).fit(X, Y).coef_).any()
    warm = clone(model).set_params(warm_start=True, max_iter=1).fit(X, Y)
    thresholds = warm.hypotheses_.thresholds
    warm.fit(X, Y)
    same(warm, clone(model).fit(X, Y))
    assert warm.hypotheses_.thresholds is thresholds
    # A stream that was not long enough for its own thresholds keeps the ones that it has.
    short = clone(model).set_params(warm_start=True).partial_fit(X[:50], Y[:50], [-1, 1])
    thresholds = short.hypotheses_.thresholds
    assert short.fit(X, Y).partial_fit(X, Y).hypotheses_.thresholds is thresholds


# -- bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hypotheses": "trees"}, "hypotheses"),
        ({"hypotheses": []}, "hypotheses"),
        ({"hypotheses": 7}, "hypotheses"),
        ({"hypotheses": [DecisionTreeClassifier()]}, r"hypotheses\[0\].*FrozenEstimator"),
        ({"hypotheses": [DecisionTreeClassifier().fit(X[:9], [5, 6, 7] * 3)]}, "knows none of the classes"),
        ({"hypotheses": [lambda rows: rows]}, r"hypotheses\[0\].*one value for each of \d+ rows"),
        ({"hypotheses": [lambda rows: np.full(len(rows), np.nan)]}, r"hypotheses\[0\] gave NaN"),
        ({"hypotheses": [np.tanh], "feature_costs": [1.0, 2.0]}, "feature_costs"),
        ({"feature_costs": [1.0]}, "feature_costs"),
        ({"n_thresholds": 0}, "n_thresholds"),
        ({"threshold_rows": 0}, "threshold_rows"),
        ({"rows_ahead": 0.5}, "rows_ahead"),
        ({"potential": "kinetic"}, "potential"),
        ({"negligible": 0.0}, "negligible"),
        ({"negligible": 0.5}, "negligible"),
        ({"learning_rate": 0.0}, "learning_rate"),
        ({"delta": 0.0}, "delta"),
        ({"attention": "budgeted"}, "budget"),
        ({"order": "cost"}, "feature_costs"),
    ],
)
def test_parameters(change, message):
    with pytest.raises(ValueError, match=message):
        AttentiveBoosting(random_state=0).set_params(**change).fit(X, Y)


def test_what_cannot_vote():
    with pytest.raises(TypeError, match=r"hypotheses\[1\] must be a fitted classifier or a callable"):
        AttentiveBoosting([np.tanh, 7]).fit(X, Y)
    with pytest.raises(NotFittedError):
        AttentiveBoosting().predict(X)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_rows_that_are_not_finite(container, dtype, value):
    rows = X.astype(dtype)
    rows[1500, 3] = value
    few = {"threshold_rows": 10, "shuffle": False, "max_iter": 1, "tol": None, "attention": "full"}
    for settings in ({"threshold_rows": len(X)}, few):  # met while quantiles are taken, and in training
        with pytest.raises(ValueError, match="row 1500 holds NaN or infinity"):
            AttentiveBoosting(**settings).fit(container(rows), Y)
    with pytest.raises(ValueError, match="row 1500 holds NaN or infinity"):
        AttentiveBoosting(**FULL).fit(X, Y).predict(container(rows))


def test_harmless_rows_and_chunks():
    nothing = AttentiveBoosting(**EAGER, max_iter=1, tol=None).fit(np.zeros_like(X), Y)
    assert len(nothing.hypotheses_) == 1
    assert np.isfinite(nothing.coef_).all()
    empty = AttentiveBoosting(**EAGER).partial_fit(X[:0], Y[:0], classes=[-1, 1])
    assert (empty.predict(X) == -1).all()
    same(empty.partial_fit(X, Y), AttentiveBoosting(**EAGER).partial_fit(X, Y, [-1, 1]))
    before = empty.t_
    assert empty.partial_fit(X[:0], Y[:0]).t_ == before == len(X)
    with pytest.raises(ValueError, match="features"):
        empty.partial_fit(X[:, 1:], Y)
    with pytest.raises(ValueError, match="number of classes"):
        AttentiveBoosting().fit(X, np.ones(len(X)))
    with pytest.raises(ValueError, match=r"not among the classes.*7"):
        empty.partial_fit(X, np.where(Y > 0, 7, -1))


def test_unsorted_and_repeated_indices_and_wide_ones():
    good = sparse.csr_matrix(SPARSE)
    order = np.concatenate([np.arange(b, a, -1) - 1 for a, b in zip(good.indptr, good.indptr[1:], strict=False)])
    halves = np.repeat(good.data[order] / 2, 2), np.repeat(good.indices[order], 2).astype(np.int64)
    messy = sparse.csr_matrix((*halves, 2 * good.indptr.astype(np.int64)), shape=good.shape)
    messy.has_sorted_indices = messy.has_canonical_format = False
    model = AttentiveBoosting(**EAGER, max_iter=1, tol=None)
    same(clone(model).fit(good, Y), clone(model).fit(messy, Y))
    same(clone(model).fit(good, Y), clone(model).fit(SPARSE, Y))
    np.testing.assert_array_equal(model.fit(good, Y).predict(messy), model.predict(good))


def test_a_damaged_state_is_refused():
    learner = AttentiveBoosting(**EAGER).partial_fit(X, Y, [-1, 1]).problems_[0].learner
    good = learner.state()
    learner.restore(good)
    for name, change in {
        "weights": good["weights"][:-1],
        "negative.order": good["negative.order"] + 1000,
        "negative.ring": good["negative.ring"][:-1],
        "negative.spread": np.full_like(good["negative.spread"], np.nan),
        "step": -1,
    }.items():
        with pytest.raises(ValueError, match=r"state"):
            learner.restore(good | {name: change})


def test_the_compiled_learner_checks_what_comes():
    model = AttentiveBoosting(n_thresholds=1, run_length=4, **FULL).fit(X, Y)
    learner, stumps = model.problems_[0].learner, model.hypotheses_._compiled
    rows, positive, n = _core.Rows.dense(X), (Y > 0).astype(np.uint8), len(X)
    other = _core.Stumps(np.zeros(3, np.int32), np.zeros(3), X.shape[1])
    for bad in (
        (_core.Rows.dense(X[:, :-1].copy()), stumps, positive, None, 1.0, 1.0, None),
        (_core.Rows.dense(X.astype(np.float32)), stumps, positive, None, 1.0, 1.0, None),
        (_core.Rows.dense(np.asfortranarray(X)), stumps, positive, None, 1.0, 1.0, None),
        (rows, other, positive, None, 1.0, 1.0, None),
        (rows, stumps, positive[:-1], None, 1.0, 1.0, None),
        (rows, stumps, positive, np.full(n, np.nan), 1.0, 1.0, None),
        (rows, stumps, positive, None, -1.0, 1.0, None),
    ):
        with pytest.raises(ValueError, match=r"must|rows|weights"):
            learner.train(*bad)
    for features, thresholds in (([X.shape[1]], [0.0]), ([-1], [0.0]), ([0], [np.nan]), ([0, 1], [0.0]), ([], [])):
        with pytest.raises(ValueError, match="stumps"):
            _core.Stumps(np.array(features, np.int32), np.array(thresholds), X.shape[1])
    votes, there = np.zeros((5, learner.n_columns)), np.zeros((5, len(learner.units) - 1), np.uint8)
    good = (_core.Rows.dense(votes), there, positive[:5], None, 1.0, 1.0, 0)
    assert learner.advance(*good)[0] == 0
    for place, bad in {
        0: _core.Rows.dense(votes[:, :-1].copy()),
        1: there[:, :-1].copy(),
        2: positive[:4],
        3: np.ones(4),
        6: 6,
    }.items():
        with pytest.raises(ValueError, match=r"must|rows"):
            learner.advance(*good[:place], bad, *good[place + 1 :])
    with pytest.raises(ValueError, match="width"):
        learner.judge(rows, stumps, False, np.inf)
