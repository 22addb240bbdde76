"""Handwritten words: letters as pixels, and as gradients, which cost more."""

from __future__ import annotations

import numpy as np
import pytest

from wald.datasets import fetch_ocr
from wald.structured import HOG, BudgetedPredictor, ChainClassifier, FeatureGroup
from wald.structured.policies import IteratedPolicy, UniformPolicy
from wald.structured.protocol import check_model


@pytest.fixture(scope="module")
def words(wald_data):
    if not (wald_data / "ocr").is_dir():
        pytest.skip(f"no OCR words in {wald_data}")
    return fetch_ocr(download_if_missing=False)


def folds(words, *which):
    """Words and letters of some folds."""
    chosen = np.flatnonzero(np.isin(words.fold, which))
    return [words.data[i] for i in chosen], [words.target[i] for i in chosen]


def tagger(words, **parameters):
    """A chain over pixels and gradients, not yet fitted."""
    groups = [FeatureGroup("pixels", cost=1.0), FeatureGroup("hog", HOG(words.image_shape), cost=10.0)]
    return ChainClassifier(groups, random_state=0, **parameters)


def test_one_model_reads_with_and_without_its_costly_group(words):
    model = tagger(words, max_iter=20).fit(*folds(words, 1, 2, 3, 4))
    X, y = folds(words, 5)
    nothing = np.zeros((sum(map(len, y)), 1), dtype=bool)
    assert model.score(X, y) > 0.90
    assert model.score(X, y, state=nothing) > 0.84
    check_model(model, X, y)


@pytest.mark.long
def test_a_policy_finds_the_letters_that_deserve_more(words):
    X, y = folds(words, 1, 2, 3, 4, 5)
    model = tagger(words).fit(X, y)
    (calibration, _), (test, labels) = folds(words, 6), folds(words, 7)
    truth = np.concatenate(labels)

    def accuracy(policy):
        fast = BudgetedPredictor(model, policy, budget=4.0).fit(calibration)  # HOG for three letters in ten
        found, cost = fast.predict(test, return_cost=True)
        assert abs(cost.sum() / len(truth) - 4.0) < 0.5
        return np.mean(np.concatenate(found) == truth)

    full = model.score(test, labels)
    found = accuracy(IteratedPolicy(random_state=0).fit(model, X, y))
    assert found > full - 0.004
    assert found > accuracy(UniformPolicy().fit(model)) + 0.02
