"""An error names the bad argument; harmless input changes nothing."""

from __future__ import annotations

import numpy as np
import pytest
from kinds.containers import DENSE_AND_CSR
from kinds.learners import LINEAR
from online.reference import walk_problem
from scipy import sparse
from sklearn.base import clone

from wald.online import AttentivePassiveAggressive, AttentivePegasos, AttentivePerceptron

X, Y = walk_problem(np.random.default_rng(0), 1500, 64)
FAST = {"max_iter": 2, "tol": None, "random_state": 0}


@pytest.mark.parametrize("model", LINEAR)
def test_labels(model):
    model = clone(model).set_params(**FAST)
    with pytest.raises(ValueError, match="number of classes"):
        clone(model).fit(X, np.ones(len(X)))
    with pytest.raises(ValueError, match="classes must be passed"):
        clone(model).partial_fit(X, Y)
    with pytest.raises(ValueError, match="number of classes"):
        clone(model).partial_fit(X, Y, classes=[1])
    started = clone(model).partial_fit(X[:100], Y[:100], classes=[-1, 1])
    with pytest.raises(ValueError, match=r"not among the classes.*7"):
        started.partial_fit(X, np.where(Y > 0, 7, -1))
    with pytest.raises(ValueError, match="differ from those of the first call"):
        started.partial_fit(X, Y, classes=[-1, 7])
    with pytest.raises(ValueError, match="Unknown label type"):
        clone(model).fit(X, np.linspace(0, 1, len(X)))
    with pytest.raises(ValueError, match="NaN"):
        clone(model).fit(X, np.where(Y > 0, np.nan, 0.0))
    with pytest.raises(ValueError, match="warm start cannot add classes"):
        clone(model).set_params(warm_start=True).fit(X, Y).fit(X, Y + 5)
    # A chunk of one class is fine, once the classes are known.
    started.partial_fit(X[:50], np.ones(50))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("model", LINEAR)
def test_rows_that_are_not_finite(model, dtype, value):
    model = clone(model).set_params(**FAST)
    for container in (np.asarray, sparse.csr_matrix):
        rows = X.astype(dtype)
        rows[20, 3] = value  # in the warm-up: sure to be read
        with pytest.raises(ValueError, match="row 20 holds NaN or infinity"):
            clone(model).set_params(shuffle=False).fit(container(rows), Y)
        rows[:, 3] = value
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            clone(model).fit(X, Y).predict(container(rows))


def test_a_row_that_is_not_finite_is_no_reason_to_stop():
    rows = np.tile(X, (4, 1))
    model = AttentivePerceptron(run_length=8, audit_rate=0.0, shuffle=False, max_iter=1, tol=None, random_state=0)
    rows[3000:, :] = np.inf
    with pytest.raises(ValueError, match="holds NaN or infinity"):
        model.fit(rows, np.tile(Y, 4))


@pytest.mark.parametrize("model", LINEAR)
@pytest.mark.parametrize("container", DENSE_AND_CSR)
def test_harmless_rows_and_features(model, container):
    model = clone(model).set_params(run_length=8 if container is np.asarray else None, **FAST)
    rows = X.copy()
    rows[100:200] = 0
    rows[:, 5:25] = 0
    rows[:, 30] = 2.5
    fitted = clone(model).fit(container(rows), Y)
    assert np.isfinite(fitted.coef_).all()
    assert (fitted.coef_[0, 5:25] == 0).all()
    assert fitted.score(rows, Y) > 0.8
    nothing = clone(model).fit(container(np.zeros_like(rows)), Y)
    assert (nothing.coef_ == 0).all()


@pytest.mark.parametrize("model", LINEAR)
def test_chunks(model):
    model = clone(model).set_params(**FAST).partial_fit(X, Y, classes=[-1, 1])
    before = model.coef_.copy(), model.t_
    model.partial_fit(X[:0], Y[:0])
    np.testing.assert_array_equal(model.coef_, before[0])
    assert model.t_ == before[1]
    for wrong in (X[:, :-1], np.hstack([X, X])):
        with pytest.raises(ValueError, match="features"):
            model.partial_fit(wrong, Y)
        with pytest.raises(ValueError, match="features"):
            model.partial_fit(wrong[:0], Y[:0])
    with pytest.raises(ValueError, match="inconsistent"):
        model.partial_fit(X, Y[:-1])
    with pytest.raises(ValueError, match="0 sample"):
        clone(model).fit(X[:0], Y[:0])
    empty_first = clone(model).partial_fit(X[:0], Y[:0], classes=[-1, 1])
    assert (empty_first.coef_ == 0).all()
    np.testing.assert_array_equal(empty_first.partial_fit(X, Y).coef_, before[0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"delta": 0.0}, "delta"),
        ({"delta": 1.0}, "delta"),
        ({"delta": -0.1}, "delta"),
        ({"delta": np.nan}, "delta"),
        ({"delta": "sometimes"}, "delta"),
        ({"delta": "auto", "max_stop_error": 0.0}, "max_stop_error"),
        ({"delta": "auto", "audit_rate": 0.0}, "audit_rate"),
        ({"audit_rate": 1.5}, "audit_rate"),
        ({"attention": "half"}, "attention"),
        ({"attention": "constant", "boundary": "curved"}, "boundary"),
        ({"attention": "constant", "order": "selected"}, "order"),
        ({"attention": "budgeted"}, "budget"),
        ({"attention": "budgeted", "budget": 0}, "budget"),
        ({"order": "alphabetical"}, "order"),
        ({"order": "cost"}, "feature_costs"),
        ({"variance": "none"}, "variance"),
        ({"feature_costs": [1.0]}, "feature_costs"),
        ({"feature_costs": "cheap"}, "'feature_costs' .* must have one number for each feature. Got 'cheap'"),
        ({"feature_costs": np.zeros(64)}, "feature_costs"),
        ({"run_length": 0}, "run_length"),
        ({"warm_up": 1}, "warm_up"),
        ({"ring_size": 20}, "ring_size"),
        ({"ring_size": 2**17}, "ring_size.*from 64 to 65536"),
        ({"run_length": 2**70}, "run_length"),
        ({"attention": "budgeted", "budget": 2**70}, "budget"),
        ({"delta": None}, "delta"),
        ({"class_weight": {1: -1.0, -1: 1.0}}, "class weights"),
        ({"class_weight": {1: np.nan, -1: 1.0}}, "class weights"),
        ({"class_weight": {7: 1.0}}, "class_weight"),
        ({"max_iter": 0}, "max_iter"),
        ({"tol": -1.0}, "tol"),
        ({"n_iter_no_change": 0}, "n_iter_no_change"),
        ({"average": -1}, "average"),
        ({"average": 0.5}, "average"),
        ({"average": 2**63}, "average"),
        ({"shrinking": 1}, "shrinking"),
        ({"shrinking": "auto"}, "shrinking"),
    ],
)
@pytest.mark.parametrize("model", LINEAR)
def test_parameters(model, change, message):
    with pytest.raises(ValueError, match=message):
        clone(model).set_params(**change).fit(X, Y)


@pytest.mark.parametrize(
    "model",
    [
        AttentivePerceptron(eta0=0.0),
        AttentivePassiveAggressive(C=-1.0),
        AttentivePassiveAggressive(variant="PA-III"),
        AttentivePegasos(alpha=0.0),
    ],
)
def test_parameters_of_the_update_rule(model):
    with pytest.raises(ValueError, match=r"eta0|'C'|variant|alpha"):
        model.fit(X, Y)


@pytest.mark.parametrize("change", [{"order": "weight"}, {"variance": "independent"}])
def test_orders_and_variances_that_csr_rows_cannot_have(change):
    with pytest.raises(ValueError, match="CSR"):
        AttentivePerceptron(attention="constant", **change).fit(sparse.csr_matrix(X), Y)


def test_weights():
    with pytest.raises(ValueError, match="balanced"):
        AttentivePerceptron(class_weight="balanced").partial_fit(X, Y, classes=[-1, 1])
    for bad in (np.full(len(X), -1.0), np.full(len(X), np.nan), np.ones(3)):
        with pytest.raises(ValueError, match=r"sample_weight|Negative|NaN"):
            AttentivePerceptron().fit(X, Y, sample_weight=bad)
    half = np.arange(len(X)) % 2.0
    passed_over = AttentivePerceptron(attention="full", **FAST).fit(X, Y, sample_weight=half)
    assert passed_over.features_seen_ == X.size  # two passes over half of the rows


def csr(indices=None, indptr=None, index=np.int32):
    """The rows as CSR with indices of a dtype, and one index or one end of a row replaced."""
    rows, found = sparse.csr_matrix(X), sparse.csr_matrix(X.shape)
    found.data, found.indices, found.indptr = rows.data, rows.indices.astype(index), rows.indptr.astype(index)
    if indices is not None:
        found.indices[7] = indices
    if indptr is not None:
        found.indptr[5] = indptr
    return found


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("model", LINEAR)
def test_csr_indices_out_of_range(model, index):
    wrong = [{"indices": 64}, {"indices": -1}, {"indptr": 10**8}, {"indptr": -1}, {"indptr": 2}]
    for how in wrong if index == np.int32 else [*wrong, {"indices": 2**33 + 1}, {"indices": -(2**33)}]:
        with pytest.raises(ValueError, match="ind"):
            clone(model).set_params(**FAST).fit(csr(index=index, **how), Y)
    good = clone(model).set_params(**FAST).fit(csr(index=index), Y)
    np.testing.assert_array_equal(good.coef_, clone(model).set_params(**FAST).fit(sparse.csr_matrix(X), Y).coef_)
    many = sparse.csr_matrix((np.ones(3), np.array([0, 1, 2**31 + 5]), np.arange(4)), shape=(3, 2**31 + 10))
    with pytest.raises(ValueError, match="features"):
        clone(model).fit(many, [0, 1, 0])


@pytest.mark.parametrize("sparse_rows", [False, True])
def test_rows_too_long_for_a_passive_aggressive_step_are_named(sparse_rows):
    X = np.full((8, 4), 1e200)  # finite, and their squared length is not
    y = np.arange(8) % 2
    with pytest.raises(ValueError, match=r"row \d+ .*too large for this floating-point type"):
        AttentivePassiveAggressive(random_state=0).fit(sparse.csr_array(X) if sparse_rows else X, y)
