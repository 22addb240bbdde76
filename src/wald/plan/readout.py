"""Readouts: estimates of the full score from the first terms of a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular

from ..engine import Readout, RunningSums, Stages
from .moments import Floats, Moments

#: Kernel values with a smaller variance, relative to the largest output's, count as constant.
LEAST_VARIANCE = 1e-40


def regressed_readouts(
    moments: Moments,
    order: NDArray[np.int64],
    n_terms: Sequence[int],
    ridge: float = 1e-5,
    still_weights: Floats | None = None,
    owners: NDArray[np.int64] | None = None,
) -> list[Readout]:
    """Least-squares estimates of the outputs from the first ``m`` terms, for every ``m`` in ``n_terms``.

    ``B = argmin E || F - B [1, T_1..T_m] ||^2 + ridge``: the conditional mean of F under a joint Gaussian, the best
    linear estimate without it. One Cholesky factor of the ordered covariance serves every stage, since a leading block
    of the factor factors the leading block.

    Parameters
    ----------
    moments : Moments
    order : ndarray of int
        Terms in the plan's order, at least ``max(n_terms)`` of them.
    n_terms : sequence of int
    ridge : float, default=1e-5
        Added to each term's variance, as a share of it.
    still_weights : ndarray of shape (K, U) or None, default=None
        Weights of constant terms, which moments do not determine; None: 0.
    owners : ndarray of shape (U,) or None, default=None
        Output of each term, where the estimate of an output uses its own terms only; None: all of them.
    """
    if owners is not None:
        return _own_readouts(moments, order, n_terms, ridge, still_weights, owners)
    last = max(n_terms, default=0)
    order = np.asarray(order[:last])
    covariance = moments.terms[np.ix_(order, order)].copy()
    diagonal = np.diag(covariance).copy()
    # A constant term gets a unit pivot and zero covariances, so that its weight is the entry of `outputs`. A kernel
    # value whose weight would overflow because it varies so little counts as constant. Features have no such limit,
    # since their unit is arbitrary.
    least = LEAST_VARIANCE * moments.output_variance.max(initial=0.0) if still_weights is None else 0.0
    still = ~(diagonal > least)
    covariance[still, :] = 0.0
    covariance[:, still] = 0.0
    covariance[np.diag_indices_from(covariance)] = np.where(still, 1.0, diagonal * (1 + ridge))
    factor = _factor(covariance, ridge)
    outputs = np.where(still[:, None], 0.0, moments.outputs[order])
    if still_weights is not None:
        outputs = np.where(still[:, None], still_weights[:, order].T, outputs)
    target = solve_triangular(factor, outputs, lower=True) if last else outputs
    readouts = []
    for m in n_terms:
        if m == 0:
            readouts.append(Readout(np.zeros((len(moments.output_mean), 0)), moments.output_mean.copy()))
            continue
        weights = solve_triangular(factor[:m, :m].T, target[:m], lower=False).T
        readouts.append(
            Readout(np.ascontiguousarray(weights), moments.output_mean - weights @ moments.term_mean[order[:m]])
        )
    return readouts


def _own_readouts(
    moments: Moments,
    order: NDArray[np.int64],
    n_terms: Sequence[int],
    ridge: float,
    still_weights: Floats | None,
    owners: NDArray[np.int64],
) -> list[Readout]:
    """Estimates of each output from its own terms."""
    order = np.asarray(order)
    weights = [np.zeros((len(moments.output_mean), m)) for m in n_terms]
    bias = [moments.output_mean.copy() for _ in n_terms]
    for k in range(len(moments.output_mean)):
        own = np.flatnonzero(owners[order] == k)
        counts = np.searchsorted(own, np.asarray(n_terms, dtype=np.int64))
        one = replace(
            moments,
            outputs=moments.outputs[:, [k]],
            output_mean=moments.output_mean[[k]],
            output_variance=moments.output_variance[[k]],
        )
        still = None if still_weights is None else still_weights[[k]]
        found = regressed_readouts(one, order[own], counts.tolist(), ridge, still)
        for i, (readout, count) in enumerate(zip(found, counts, strict=True)):
            weights[i][k, own[:count]] = readout.weights[0]
            bias[i][k] = readout.bias[0]
    return [Readout(w, b) for w, b in zip(weights, bias, strict=True)]


def _factor(covariance: Floats, ridge: float) -> Floats:
    """Cholesky factor, with more ridge as long as rounding makes the matrix indefinite."""
    for attempt in range(8):
        try:
            factor: Floats = cholesky(covariance, lower=True)
            return factor
        except np.linalg.LinAlgError:
            covariance[np.diag_indices_from(covariance)] *= 1 + ridge * 10.0 ** (attempt + 1)
    raise np.linalg.LinAlgError("the covariance of the terms could not be factored; are the rows finite?")


def zero_stages(n_terms: Sequence[int], n_outputs: int) -> Stages:
    """Stages that take the usual time and answer 0."""
    readouts = tuple(Readout(np.zeros((n_outputs, m)), np.zeros(n_outputs)) for m in n_terms)
    return Stages(np.array(n_terms, dtype=np.int64), readouts)


def partial_readouts(
    coef: Floats,
    intercept: Floats,
    term_mean: Floats,
    order: NDArray[np.int64],
    n_terms: Sequence[int],
    *,
    impute: bool = True,
) -> list[Readout]:
    """Partial sums ``b + sum_{j<=m} a_j T_j``, with the unseen terms at their mean (``impute``) or left out."""
    rest = np.setdiff1d(np.arange(coef.shape[1]), order)
    full_order = np.concatenate([order, rest]).astype(np.int64)
    readouts = []
    for m in n_terms:
        unseen = full_order[m:]
        bias = intercept + (coef[:, unseen] @ term_mean[unseen] if impute else 0.0)
        readouts.append(Readout(np.ascontiguousarray(coef[:, full_order[:m]]), np.asarray(bias, dtype=np.float64)))
    return readouts


def running_partial_sums(stages: Stages) -> Stages:
    """The same estimates as one running sum, for terms that belong to one output each and have their own weights."""
    if len(stages) == 0:
        return stages
    weights = stages.readouts[-1].weights.sum(axis=0, keepdims=True)
    ones = np.ones((len(stages.readouts[-1].bias), 1))
    readouts = tuple(Readout(ones, r.bias) for r in stages.readouts)
    return Stages(stages.terms, readouts, RunningSums(stages.terms[-1:], weights, (None,)))
