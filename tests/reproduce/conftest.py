from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from reproduce.focus_of_attention.material import _LINEAR, Material, Sizes, material_of

SIZES = Sizes(train=250, plan=500, certificate=500, test=500)


def make(data: str, name: str, model: SVC) -> Material:
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return material_of(data, name, model, X[order] / 16, y[order] >= 5, SIZES)


@pytest.fixture(scope="session")
def rbf() -> Material:
    """A kernel machine with about 120 support vectors, and 1 500 unseen digits."""
    return make("Digits", "5 or more", SVC(C=5, gamma=0.5))


@pytest.fixture(scope="session")
def linear() -> Material:
    """A machine with a linear kernel whose terms are its support vectors."""
    return make("Digits again", "5 or more", SVC(C=0.1, **_LINEAR))
