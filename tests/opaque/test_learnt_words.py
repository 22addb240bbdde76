"""Linear surrogates of sparse rows and of texts: those of scikit-learn, at the cost of the columns that occur."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import LogisticRegression

from wald.sources import source_of

learnt = importlib.import_module("wald.surrogates.learnt")


def only(rows, codes):
    (found,) = learnt.learn(source_of(rows), codes.astype(np.int32), np.random.default_rng(0), 1)
    return found.model


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_sparse_rows_give_the_classifier_of_all_columns(kind, n_classes):
    rng = np.random.default_rng(0)
    X, codes = kind(sparse.random(200, 400, 0.005, random_state=0)), rng.integers(n_classes, size=200)
    assert len(np.unique(X.nonzero()[1])) < 400
    found, plain = only(X, codes), LogisticRegression(max_iter=200).fit(X, codes)
    new = kind(sparse.random(50, 400, 0.05, random_state=1))
    np.testing.assert_allclose(found.predict_proba(new), plain.predict_proba(new), atol=1e-4)


def test_words_are_learnt_on_the_columns_that_occur(monkeypatch):
    monkeypatch.setattr(learnt, "HASHED", 1 << 12)
    rng = np.random.default_rng(0)
    texts = [" ".join(f"word{i}" for i in rng.integers(50, size=5)) for _ in range(100)]
    codes = np.array(["word1" in text for text in texts])
    found, hashed = only(texts, codes), HashingVectorizer(n_features=1 << 12).transform(texts)
    plain = LogisticRegression(C=10.0, max_iter=200).fit(hashed, codes)
    np.testing.assert_allclose(found.predict_proba(texts), plain.predict_proba(hashed), atol=1e-4)
    assert np.isfinite(found.predict_proba(["never seen"])).all()
    assert np.count_nonzero(found[-1].coef_) <= len(np.unique(hashed.indices)) < 1 << 12


def test_rows_of_nothing_but_zeros_can_be_learnt():
    found = only(sparse.csr_matrix((6, 5)), np.arange(6) % 2)
    assert np.isfinite(found.predict_proba(sparse.csr_matrix((2, 5)))).all()
