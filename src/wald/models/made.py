"""Terms that are made from numbers, and not read from a fitted model."""

from __future__ import annotations

import numpy as np

from .kernel import KernelTerms
from .linear import LinearTerms
from .terms import Terms
from .units import Floats

__all__ = ["gaussian_sum", "linear_map", "single_map"]


def linear_map(weights: Floats, bias: Floats) -> Terms:
    """Rows times weights.

    Parameters
    ----------
    weights : float64 ndarray of shape (n_outputs, n_features)
    bias : float64 ndarray of shape (n_outputs,)
    """
    return LinearTerms(np.ascontiguousarray(weights), bias)


def single_map(weights: Floats, bias: Floats) -> Terms:
    """Rows times weights, in float32: the kernel engine reads many rows at a time, and takes a third of the time.

    Parameters
    ----------
    weights : float64 ndarray of shape (n_outputs, n_features)
    bias : float64 ndarray of shape (n_outputs,)
    """
    return KernelTerms("poly", 1.0, 0.0, 1, np.ascontiguousarray(weights), np.eye(len(weights)), bias)


def gaussian_sum(vectors: Floats, gamma: float, weights: Floats) -> Terms:
    """Sums over vectors v of ``exp(-gamma |x - v|^2)``, times weights.

    Parameters
    ----------
    vectors : float64 ndarray of shape (n_vectors, n_features)
    gamma : float
    weights : float64 ndarray of shape (n_outputs, n_vectors)
    """
    return KernelTerms("rbf", gamma, 0.0, 1, vectors, np.ascontiguousarray(weights), np.zeros(len(weights)))
