"""The words of the OCR data: one model, with and without its costly group."""

from __future__ import annotations

import numpy as np
import pytest

from wald.datasets import fetch_ocr
from wald.structured import HOG, ChainClassifier, FeatureGroup, check_model


def test_letters(wald_data):
    if not (wald_data / "ocr").is_dir():
        pytest.skip(f"no OCR words in {wald_data}")
    words = fetch_ocr(download_if_missing=False)

    def fold(*which):
        chosen = np.flatnonzero(np.isin(words.fold, which))
        return [words.data[i] for i in chosen], [words.target[i] for i in chosen]

    groups = [FeatureGroup("pixels"), FeatureGroup("hog", HOG(words.image_shape))]
    model = ChainClassifier(groups, max_iter=20, random_state=0).fit(*fold(1, 2, 3, 4))
    X, y = fold(5)
    nothing = np.zeros((sum(map(len, y)), 1), dtype=bool)
    assert model.score(X, y) > 0.90
    assert model.score(X, y, state=nothing) > 0.84
    check_model(model, X, y)
