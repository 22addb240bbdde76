"""Landmarks are found for features of any scale."""

from __future__ import annotations

import numpy as np
import pytest

from wald.models.landmarks import rbf_landmarks


def found(unit: float) -> np.ndarray:
    """Landmarks of a smooth function of two features of this scale."""
    X = np.random.default_rng(0).normal(size=(400, 2))
    scores = np.exp(-((X - 1) ** 2).sum(axis=1, keepdims=True))
    return rbf_landmarks(X * unit, scores, np.ones(400), X[:3] * unit, 0.5 / unit**2)


@pytest.mark.parametrize("unit", [16.0**-60, 16.0**-5, 16.0, 16.0**5, 16.0**60])
def test_landmarks_move_with_a_power_of_16(unit: float) -> None:
    np.testing.assert_array_equal(found(unit), found(1.0) * unit)


@pytest.mark.parametrize("unit", [1e-6, 1e-3, 3.0, 1e3, 1e6])
def test_landmarks_stay_near_the_rows(unit: float) -> None:
    landmarks = found(unit)
    assert np.isfinite(landmarks).all()
    assert np.abs(landmarks).max() < 10 * unit


def test_rows_of_zeros_have_no_unit() -> None:
    zeros = np.zeros((50, 3))
    landmarks = rbf_landmarks(zeros, np.arange(50.0)[:, None], np.ones(50), zeros[:2], 0.1)
    assert np.isfinite(landmarks).all()
