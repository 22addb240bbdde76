"""Without attention each learner is the classical one; with attention, every update is one of the classical rule."""

from __future__ import annotations

import numpy as np
import pytest
from kinds.containers import DENSE_AND_CSR
from online.reference import learn, walk_problem
from scipy import sparse
from sklearn.linear_model import Perceptron

from wald.online import AttentivePassiveAggressive, AttentivePegasos, AttentivePerceptron

X, Y = walk_problem(np.random.default_rng(0), 600)
WEIGHTS = np.random.default_rng(1).integers(0, 3, len(X)).astype(float)
FULL = {"attention": "full", "tol": None, "shuffle": False, "random_state": 0}


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("container", DENSE_AND_CSR)
def test_the_perceptron_is_rosenblatts_bit_for_bit(average, intercept, container):
    ours = AttentivePerceptron(average=average, fit_intercept=intercept, max_iter=3, **FULL).fit(container(X), Y)
    theirs = learn("perceptron", X, Y, epochs=3, intercept=intercept)
    if average:
        # Sums of the weights over time are exact in both; the quotients may round apart.
        np.testing.assert_allclose(ours.coef_[0], theirs.mean_w, rtol=1e-14, atol=1e-16)
        np.testing.assert_allclose(ours.intercept_[0], theirs.mean_b, rtol=1e-14, atol=1e-16)
    else:
        np.testing.assert_array_equal(ours.coef_[0], theirs.w)
        assert ours.intercept_[0] == theirs.b
    assert ours.n_updates_ == theirs.n_updates
    assert ours.features_seen_ == 3 * (np.count_nonzero(X) if sparse.issparse(container(X)) else X.size)


def test_the_perceptron_is_scikit_learns_bit_for_bit():
    ours = AttentivePerceptron(average=False, max_iter=4, **FULL).fit(X, Y)
    theirs = Perceptron(max_iter=4, tol=None, shuffle=False).fit(X, Y)
    np.testing.assert_array_equal(ours.coef_, theirs.coef_)
    np.testing.assert_array_equal(ours.intercept_, theirs.intercept_)


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("weight", [None, WEIGHTS])
@pytest.mark.parametrize(
    ("rule", "model"),
    [
        ("perceptron", AttentivePerceptron(eta0=0.5)),
        ("PA", AttentivePassiveAggressive(variant="PA", C=0.5)),
        ("PA-I", AttentivePassiveAggressive(variant="PA-I", C=0.01)),
        ("PA-II", AttentivePassiveAggressive(variant="PA-II", C=0.5)),
        ("pegasos", AttentivePegasos(alpha=0.01)),
    ],
)
@pytest.mark.parametrize("container", DENSE_AND_CSR)
def test_learners_are_the_classical_ones(rule, model, average, weight, container):
    if rule == "pegasos" and weight is not None:
        weight = np.maximum(
            weight, 0.5
        )  # a row of weight 0 is passed over, and does not shrink the reference's weights
    rate = getattr(model, {"perceptron": "eta0", "pegasos": "alpha"}.get(rule, "C"))
    ours = model.set_params(average=average, max_iter=2, **FULL).fit(container(X), Y, sample_weight=weight)
    theirs = learn(rule, X, Y, epochs=2, rate=rate, weight=weight)
    w, b = (theirs.mean_w, theirs.mean_b) if average else (theirs.w, theirs.b)
    np.testing.assert_allclose(ours.coef_[0], w, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(ours.intercept_[0], b, rtol=1e-9, atol=1e-11)
    assert ours.n_updates_ == theirs.n_updates


def test_class_weights_multiply_updates():
    y = np.where(Y > 0, "b", "a")
    ours = AttentivePerceptron(average=False, class_weight={"a": 2.0, "b": 0.5}, max_iter=1, **FULL).fit(X, y)
    theirs = learn("perceptron", X, Y, weight=np.where(Y > 0, 0.5, 2.0))
    np.testing.assert_array_equal(ours.coef_[0], theirs.w)


def test_one_against_the_rest():
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    ours = AttentivePerceptron(average=False, max_iter=1, **FULL).fit(X, y)
    for k in range(3):
        np.testing.assert_array_equal(ours.coef_[k], learn("perceptron", X, np.where(y == k, 1, -1)).w)
    assert ours.n_updates_ == sum(learn("perceptron", X, np.where(y == k, 1, -1)).n_updates for k in range(3))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["conditional", "centred", "printed", "bridge"])
def test_audits_of_everything_are_the_classical_learner(dtype, kind):
    attention = {"attention": "conditional"} if kind == "conditional" else {"attention": "constant", "boundary": kind}
    common = {"average": False, "max_iter": 2, "tol": None, "random_state": 0}
    rows = X.astype(dtype)
    audited = AttentivePerceptron(audit_rate=1.0, **attention, **common).fit(rows, Y)
    full = AttentivePerceptron(attention="full", **common).fit(rows, Y)
    np.testing.assert_array_equal(audited.coef_, full.coef_)
    assert audited.n_updates_ == full.n_updates_
    assert audited.features_seen_ == full.features_seen_ == 2 * X.size
    assert audited.stop_error_.n_trials > 50


@pytest.mark.parametrize("container", DENSE_AND_CSR)
@pytest.mark.parametrize(
    "attention",
    [
        {"attention": "conditional"},
        {"attention": "constant", "boundary": "centred"},
        {"attention": "constant", "boundary": "bridge"},
        {"attention": "budgeted", "budget": 20},
    ],
)
@pytest.mark.filterwarnings("ignore::wald.stopping.papers.levels.DegenerateBoundaryWarning")
def test_attention_reads_less_and_learns_nearly_as_well(container, attention):
    rows, y = walk_problem(np.random.default_rng(2), 6000, 200)
    full = AttentivePerceptron(attention="full", max_iter=2, tol=None, random_state=0).fit(container(rows), y)
    runs = {"run_length": 4} if container is np.asarray else {}
    model = AttentivePerceptron(max_iter=2, tol=None, random_state=0, **runs)
    model.set_params(**attention).fit(container(rows), y)
    assert model.features_seen_ < 0.8 * full.features_seen_
    # A budget spends as much on easy examples as on hard ones.
    assert model.score(rows, y) > full.score(rows, y) - (0.1 if attention["attention"] == "budgeted" else 0.03)
