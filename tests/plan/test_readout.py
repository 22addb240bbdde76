"""Readouts are least-squares estimates of the full scores; partial sums put the unseen terms at their means."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plan.cases import correlated, moments_of

from wald.plan.moments import Moments
from wald.plan.readout import LEAST_VARIANCE, partial_readouts, regressed_readouts

STAGES = [0, 1, 2, 4, 6]


def problem(seed=0, n=120, d=6, n_outputs=2):
    rng = np.random.default_rng(seed)
    X = correlated(n, d, seed)
    scores = X @ rng.normal(size=(d, n_outputs)) + rng.normal(size=(n, n_outputs))
    return X, scores, rng.uniform(0.1, 2.0, size=n), rng.permutation(d)


def estimates(readout, seen):
    return seen @ readout.weights.T + readout.bias


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000))
def test_every_stage_is_weighted_least_squares_on_the_terms_seen(seed):
    X, scores, weights, order = problem(seed)
    root = np.sqrt(weights)[:, None]
    for m, found in zip(STAGES, regressed_readouts(moments_of(X, scores, weights), order, STAGES, 0.0), strict=True):
        seen = np.column_stack([np.ones(len(X)), X[:, order[:m]]])
        expected = np.linalg.lstsq(root * seen, root * scores, rcond=None)[0]
        np.testing.assert_allclose(found.bias, expected[0], rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(found.weights, expected[1:].T, rtol=1e-6, atol=1e-8)


def test_the_ridge_is_one_row_for_each_term_that_says_0():
    X, scores, weights, order = problem()
    ridge, root = 0.3, np.sqrt(weights / weights.sum())[:, None]
    (found,) = regressed_readouts(moments_of(X, scores, weights), order, [4], ridge)
    seen = X[:, order[:4]] - np.average(X[:, order[:4]], axis=0, weights=weights)
    target = scores - np.average(scores, axis=0, weights=weights)
    rows = np.vstack([root * seen, np.diag(np.sqrt(ridge * np.average(seen**2, axis=0, weights=weights)))])
    expected = np.linalg.lstsq(rows, np.vstack([root * target, np.zeros((4, 2))]), rcond=None)[0]
    np.testing.assert_allclose(found.weights, expected.T, rtol=1e-9)


def test_errors_have_mean_0_and_nothing_in_common_with_the_terms_seen():
    X, scores, weights, order = problem()
    for m, found in zip(STAGES, regressed_readouts(moments_of(X, scores, weights), order, STAGES, 0.0), strict=True):
        error = scores - estimates(found, X[:, order[:m]])
        np.testing.assert_allclose(weights @ error, 0.0, atol=1e-9)
        np.testing.assert_allclose((weights[:, None] * X[:, order[:m]]).T @ error, 0.0, atol=1e-7)


def test_errors_fall_from_stage_to_stage_and_vanish_when_everything_is_seen():
    X, _, weights, order = problem()
    coef = np.random.default_rng(1).normal(size=(2, 6))
    scores = X @ coef.T + [3.0, -1.0]
    found = regressed_readouts(moments_of(X, scores, weights), order, STAGES, 1e-12)
    errors = [weights @ (scores - estimates(r, X[:, order[:m]])) ** 2 for m, r in zip(STAGES, found, strict=True)]
    assert (np.diff(errors, axis=0) <= 1e-9).all()
    np.testing.assert_allclose(found[-1].weights, coef[:, order], rtol=1e-6)
    np.testing.assert_allclose(found[-1].bias, [3.0, -1.0], rtol=1e-6)


def test_the_readout_of_gaussian_terms_is_the_conditional_mean():
    """The weights of unseen terms are added to those of the seen terms that predict them."""
    rng = np.random.default_rng(0)
    root, mean, coef = rng.normal(size=(6, 6)), rng.normal(size=6), rng.normal(size=(2, 6))
    sigma = root @ root.T
    exact = Moments(mean, coef @ mean, sigma, sigma @ coef.T, np.diag(coef @ sigma @ coef.T))
    order = np.array([5, 2, 0, 1, 4, 3])
    (found,) = regressed_readouts(exact, order, [3], 0.0)
    seen, unseen = order[:3], order[3:]
    expected = coef[:, seen] + coef[:, unseen] @ sigma[np.ix_(unseen, seen)] @ np.linalg.inv(sigma[np.ix_(seen, seen)])
    np.testing.assert_allclose(found.weights, expected)
    np.testing.assert_allclose(found.bias, coef @ mean - expected @ mean[seen])

    # From samples it is that on average.
    drawn = []
    for _ in range(300):
        X = mean + rng.normal(size=(40, 6)) @ root.T
        drawn.append(regressed_readouts(moments_of(X, X @ coef.T), order, [3], 0.0)[0].weights)
    error = np.std(drawn, axis=0) / np.sqrt(300)
    assert (np.abs(np.mean(drawn, axis=0) - expected) < 4 * error).all()
    assert (error < 0.2 * np.abs(expected).max()).all()


def test_rows_may_come_in_any_order_and_stages_in_any_company():
    X, scores, weights, order = problem()
    mixed = np.random.default_rng(1).permutation(len(X))
    together = regressed_readouts(moments_of(X, scores, weights), order, STAGES)
    for m, one in zip(STAGES, together, strict=True):
        (alone,) = regressed_readouts(moments_of(X[mixed], scores[mixed], weights[mixed]), order, [m])
        np.testing.assert_allclose(alone.weights, one.weights, rtol=1e-7, atol=1e-10)
        np.testing.assert_allclose(alone.bias, one.bias, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("own", [False, True])
def test_a_constant_term_has_the_weight_given_or_none(own):
    X, scores, weights, _ = problem()
    X[:, 2] = 7.0
    order, coef = np.arange(6), np.arange(12.0).reshape(2, 6)
    moments = moments_of(X, scores, weights)
    terms = moments.terms.copy()
    terms[2], terms[:, 2] = 0.0, 0.0  # not a trace of rounding
    moments = replace(moments, terms=terms)
    (found,) = regressed_readouts(moments, order, [6], still_weights=coef if own else None)
    np.testing.assert_array_equal(found.weights[:, 2], coef[:, 2] if own else 0.0)
    others = np.array([0, 1, 3, 4, 5])
    (without,) = regressed_readouts(moments, others, [5])
    np.testing.assert_allclose(found.weights[:, others], without.weights)
    np.testing.assert_allclose(weights @ (scores - estimates(found, X)), 0.0, atol=1e-7)


def test_kernel_values_that_hardly_vary_weigh_nothing_and_features_in_small_units_do():
    X, scores, weights, _ = problem()
    X[:, 3] = 1e-3 * np.sqrt(LEAST_VARIANCE) * np.random.default_rng(0).normal(size=len(X))
    moments = moments_of(X, scores, weights)
    (kernel,) = regressed_readouts(moments, np.arange(6), [6])
    (feature,) = regressed_readouts(moments, np.arange(6), [6], still_weights=np.zeros((2, 6)))
    assert (kernel.weights[:, 3] == 0).all()
    assert (feature.weights[:, 3] != 0).all()


def test_copies_of_a_term_share_its_weight():
    X, scores, weights, _ = problem()
    X[:, 5] = X[:, 0]
    moments = moments_of(X, scores, weights)
    one, two = regressed_readouts(moments, np.array([0, 1, 2, 3, 4, 5]), [5, 6], 1e-9)
    np.testing.assert_allclose(two.weights[:, 0] + two.weights[:, 5], one.weights[:, 0], rtol=1e-4)
    np.testing.assert_allclose(estimates(two, X), estimates(one, X[:, :5]), rtol=1e-4, atol=1e-4)


def test_fewer_rows_than_terms_leave_estimates_that_fit_them():
    X, scores, _, order = problem()
    (found,) = regressed_readouts(moments_of(X[:4], scores[:4]), order, [6], 1e-9)
    np.testing.assert_allclose(estimates(found, X[:4, order]), scores[:4], atol=1e-4)
    (single,) = regressed_readouts(moments_of(X[:1], scores[:1]), order, [6])
    np.testing.assert_array_equal(single.weights, 0.0)
    np.testing.assert_array_equal(single.bias, scores[0])


def test_no_term_is_the_mean_and_no_stage_is_no_readout():
    X, scores, weights, order = problem()
    (found,) = regressed_readouts(moments_of(X, scores, weights), order, [0])
    assert found.weights.shape == (2, 0)
    np.testing.assert_allclose(found.bias, np.average(scores, axis=0, weights=weights))
    assert regressed_readouts(moments_of(X, scores, weights), order, []) == []


def test_a_covariance_that_is_no_number_is_an_error():
    X, scores, weights, order = problem()
    moments = moments_of(X, scores, weights)
    with pytest.raises((np.linalg.LinAlgError, ValueError)):
        regressed_readouts(replace(moments, terms=-moments.terms + np.diag([np.inf] * 6)), order, [6])


# ---- partial sums --------------------------------------------------------------------------------------------------


def test_partial_sums_have_the_unseen_terms_at_their_means():
    X, _, _, order = problem()
    coef, intercept = np.random.default_rng(1).normal(size=(2, 6)), np.array([0.5, -2.0])
    scores = X @ coef.T + intercept
    for m, found in zip(STAGES, partial_readouts(coef, intercept, X.mean(axis=0), order, STAGES), strict=True):
        imputed = np.broadcast_to(X.mean(axis=0), X.shape).copy()
        imputed[:, order[:m]] = X[:, order[:m]]
        np.testing.assert_allclose(estimates(found, X[:, order[:m]]), imputed @ coef.T + intercept)
        np.testing.assert_allclose((scores - estimates(found, X[:, order[:m]])).mean(axis=0), 0.0, atol=1e-9)


def test_partial_sums_may_leave_the_unseen_terms_out():
    X, _, _, order = problem()
    coef, intercept = np.random.default_rng(1).normal(size=(2, 6)), np.array([0.5, -2.0])
    for m, found in zip(
        STAGES, partial_readouts(coef, intercept, X.mean(axis=0), order, STAGES, impute=False), strict=True
    ):
        np.testing.assert_array_equal(found.bias, intercept)
        np.testing.assert_array_equal(found.weights, coef[:, order[:m]])


def test_terms_that_the_order_leaves_out_are_unseen():
    mean, coef = np.arange(1.0, 7.0), np.ones((1, 6))
    (found,) = partial_readouts(coef, np.zeros(1), mean, np.array([4, 1]), [2])
    np.testing.assert_allclose(found.bias, mean.sum() - mean[4] - mean[1])
