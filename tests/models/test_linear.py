"""Linear classifiers give their own labels through their terms."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.linear_model
from kinds.estimators import LINEAR
from scipy import sparse
from sklearn.linear_model import (
    LogisticRegression,
    RidgeClassifier,
    SGDClassifier,
)

from wald.models import LinearTerms, decompose

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("model", LINEAR, ids=str)
def test_labels(model, n_classes, dtype, rows, check_same_labels):
    X, y = rows(n_classes, dtype)
    names = np.array(["d", "c", "b", "a"])
    fitted = model.fit(X[:200], names[y[:200]])
    read = check_same_labels(fitted, X)
    assert isinstance(read.terms, LinearTerms)
    assert read.decision.kind == ("sign" if n_classes == 2 else "argmax")
    assert (read.terms.n_outputs, read.terms.n_terms) == (1 if n_classes == 2 else 4, 8)
    assert (read.preprocessing, read.allow_nan, read.tie_margin, read.n_features_in) == (None, False, 0.0, 8)
    assert read.terms.coef.dtype == read.terms.intercept.dtype == np.float64
    assert not np.shares_memory(read.terms.coef, fitted.coef_)


@pytest.mark.skipif(not hasattr(sklearn.linear_model, "PassiveAggressiveClassifier"), reason="removed")
def test_passive_aggressive(rows, check_same_labels):
    X, y = rows(3)
    check_same_labels(sklearn.linear_model.PassiveAggressiveClassifier(random_state=0).fit(X, y), X)


def test_float32_coefficients_are_known(rows):
    X, y = rows()
    model = LogisticRegression().fit(X, y)
    model.coef_, model.intercept_ = np.float32(model.coef_), np.float32(model.intercept_)
    read = decompose(model)
    assert read.working_precision(np.float32) == 2.0**-24
    assert read.working_precision(np.float64) == read.working_precision(int) == 2.0**-53
    assert read.working_precision(np.int8) == 2.0**-24  # NumPy multiplies int8 with float32 in float32
    assert decompose(LogisticRegression().fit(X, y)).working_precision(np.float32) == 2.0**-53


@pytest.mark.parametrize("n_classes", [2, 3])
def test_sparse_coefficients_and_rows(n_classes, rows, check_same_labels):
    X, y = rows(n_classes)
    X[np.abs(X) < 2] = 0
    model = SGDClassifier(penalty="l1", random_state=0).fit(sparse.csr_array(X), y).sparsify()
    read = check_same_labels(model, X)
    picked = [5, 0, 2]
    for form in (sparse.csr_array, sparse.csr_matrix, sparse.csc_array):
        np.testing.assert_allclose(read.terms.scores(form(X)), read.terms.scores(X), rtol=1e-12)
        np.testing.assert_array_equal(read.terms.values(form(X), picked), X[:, picked])
    np.testing.assert_array_equal(read.terms.values(X, picked), X[:, picked])


def test_one_dimensional_coefficients(rows, check_same_labels):
    X, y = rows()
    model = LogisticRegression().fit(X, y)
    model.coef_, model.intercept_ = model.coef_.ravel(), 0.25
    read = check_same_labels(model, X)
    assert read.terms.coef.shape == (1, 8)
    assert read.terms.intercept.tolist() == [0.25]


def test_a_score_of_zero_is_the_negative_class_and_ties_go_to_the_first():
    X = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]])
    binary = RidgeClassifier().fit(X, [0, 1, 1])
    binary.coef_, binary.intercept_ = np.array([[1.0, -1.0]]), np.zeros(1)
    rows = np.array([[0.5, 0.5], [0.75, 0.5], [0.5, 0.75]])
    read = decompose(binary)
    assert binary.predict(rows).tolist() == read.decision.answers(read.terms.scores(rows)).tolist() == [0, 1, 0]
    several = RidgeClassifier().fit(X, [0, 1, 2])
    several.coef_, several.intercept_ = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]), np.zeros(3)
    read = decompose(several)
    assert several.predict(rows).tolist() == read.decision.answers(read.terms.scores(rows)).tolist() == [0, 0, 1]


def test_data_frames_and_other_layouts(rows):
    pd = pytest.importorskip("pandas")
    X, y = rows()
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    read = decompose(LogisticRegression().fit(frame, y))
    assert list(read.feature_names_in) == list("abcdefgh")
    for form in (frame, np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2]):
        np.testing.assert_array_equal(read.terms.scores(form), read.terms.scores(X))
