"""The words of the OCR data under a budget."""

from __future__ import annotations

import numpy as np
import pytest

from wald.datasets import fetch_ocr
from wald.structured import HOG, BudgetedPredictor, ChainClassifier, FeatureGroup
from wald.structured.policies import IteratedPolicy, UniformPolicy


@pytest.mark.long
def test_letters_that_deserve_hog(wald_data):
    if not (wald_data / "ocr").is_dir():
        pytest.skip(f"no OCR words in {wald_data}")
    words = fetch_ocr(download_if_missing=False)

    def fold(*which):
        chosen = np.flatnonzero(np.isin(words.fold, which))
        return [words.data[i] for i in chosen], [words.target[i] for i in chosen]

    groups = [FeatureGroup("pixels", cost=1.0), FeatureGroup("hog", HOG(words.image_shape), cost=10.0)]
    X, y = fold(1, 2, 3, 4, 5)
    model = ChainClassifier(groups, random_state=0).fit(X, y)
    (calibration, _), (test, labels) = fold(6), fold(7)
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
