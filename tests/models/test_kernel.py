"""Support vector classifiers give their own labels through their terms."""

from __future__ import annotations

import numpy as np
import pytest
from kinds.estimators import KERNELS
from scipy import sparse
from sklearn.svm import SVC, NuSVC

from wald.models import KernelTerms, LinearTerms, decompose

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.parametrize("trained_on", ["dense", "sparse", "float32"])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("options", KERNELS, ids=lambda options: "-".join(map(str, options.values())))
@pytest.mark.parametrize("model", [SVC, NuSVC])
def test_labels_and_scores(model, options, n_classes, trained_on, rows, error, check_same_labels):
    X, y = rows(n_classes, np.float32 if trained_on == "float32" else np.float64)
    X[np.abs(X) < 1] = 0
    X = sparse.csr_array(X) if trained_on == "sparse" else X
    nu = {"nu": 0.2} if model is NuSVC else {}
    fitted = model(decision_function_shape="ovo", max_iter=2000, **options, **nu)
    fitted.fit(X[:200], np.array(["b", "a", "d", "c"])[y[:200]])
    read = check_same_labels(fitted, X)
    assert isinstance(read.terms, LinearTerms if options["kernel"] == "linear" else KernelTerms)
    assert read.decision.kind == ("sign" if n_classes == 2 else "votes")
    assert read.working_precision(np.float32) == 2.0**-53
    own = fitted.decision_function(X).reshape(300, -1)
    assert (np.abs(read.terms.scores(X) - own) <= error(read, X)[:, np.newaxis]).all()


@pytest.mark.parametrize("break_ties", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_ties_in_votes(break_ties, seed, rows, check_same_labels):
    X, y = rows(6, seed=seed)
    model = SVC(gamma=0.005, C=0.02, max_iter=3, break_ties=break_ties).fit(X, y)
    read = check_same_labels(model, X)
    assert read.decision.break_ties is break_ties
    votes = np.sort(read.decision._votes(read.terms.scores(X) > 0), axis=1)
    assert (votes[:, -1] == votes[:, -2]).sum() >= 5  # there are ties to get right


def test_a_score_of_zero_is_the_positive_class():
    # Symmetric rows, so that the score at the origin is 0 without rounding.
    X = np.array([[-1.0, 0.0], [1.0, 0.0]])
    for kernel in ("linear", "rbf", "sigmoid"):
        model = SVC(kernel=kernel, gamma=1.0).fit(X, [0, 1])
        assert model.decision_function([[0.0, 3.0]]).tolist() == [0.0]
        read = decompose(model)
        scores = read.terms.scores(np.array([[0.0, 3.0]]))
        assert scores.tolist() == [[0.0]]
        assert read.decision.answers(scores).tolist() == model.predict([[0.0, 3.0]]).tolist() == [1]


def test_a_pair_at_zero_votes_for_its_second_class():
    X = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 9.0]])
    model = SVC(kernel="linear", decision_function_shape="ovo").fit(X, [0, 1, 2])
    row = np.array([[0.0, 0.0]])
    read = decompose(model)
    assert model.decision_function(row)[0, 0] == read.terms.scores(row)[0, 0] == 0.0
    assert model.predict(row).tolist() == read.decision.answers(read.terms.scores(row)).tolist() == [1]


@pytest.mark.parametrize("kernel", ["rbf", "poly", "sigmoid"])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_values_are_kernel_values(kernel, make, rows):
    X, y = rows()
    X[np.abs(X) < 1] = 0
    terms = decompose(SVC(kernel=kernel, gamma=0.01, coef0=0.3).fit(make(X[:100]), y[:100])).terms
    vectors = terms.support_vectors
    assert sparse.issparse(vectors) == (make is sparse.csr_array)
    vectors = vectors.toarray() if sparse.issparse(vectors) else vectors
    inner = 0.01 * X @ vectors.T + 0.3
    squares = ((X[:, None, :] - vectors) ** 2).sum(axis=2)
    expected = {"rbf": np.exp(-0.01 * squares), "poly": inner**3, "sigmoid": np.tanh(inner)}[kernel]
    for given in (X, sparse.csr_array(X)):
        np.testing.assert_allclose(terms.values(given), expected, rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(terms.values(given, [4, 1]), expected[:, [4, 1]], rtol=1e-11, atol=1e-13)


def test_the_collapsed_model_knows_what_libsvm_adds_up(rows):
    X, y = rows()
    model = SVC(kernel="linear").fit(X, y)
    terms = decompose(model).terms
    sizes = np.abs(model.dual_coef_) @ np.abs(model.support_vectors_)
    np.testing.assert_allclose(terms.coef_bound, sizes)
    assert terms.depth > len(model.support_vectors_)
