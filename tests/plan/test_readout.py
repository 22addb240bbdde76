"""Readouts against the equations that they solve."""

import numpy as np
import pytest

from wald.plan.moments import gather_moments
from wald.plan.readout import regressed_readouts


def rows(n=400, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    X[:, 1] = rng.random(n) < 0.01  # hardly ever there
    X[:, 4] = 2.0  # never anything else
    coef = rng.normal(size=(2, d))
    return X, coef, X @ coef.T + 0.5, rng.uniform(0.1, 1.0, n)


def moments_of(X, scores, weights):
    halves = [slice(0, 150), slice(150, None)]
    return gather_moments(iter([(X[h], scores[h], weights[None, h]) for h in halves]), X.shape[1], 2, 1)[0]


@pytest.mark.parametrize("prior_rows", [0.0, 3.0, 50.0])
@pytest.mark.parametrize("m", [1, 3, 6])
def test_readouts_minimize_error_plus_rows_of_the_models_own(m, prior_rows):
    X, coef, scores, weights = rows()
    order = np.array([3, 1, 4, 0, 5, 2])
    readout = regressed_readouts(moments_of(X, scores, weights), order, [m], 1e-9, coef, prior_rows)[0]
    share, seen = weights / weights.sum(), X[:, order[:m]]
    centred, target = seen - share @ seen, scores - share @ scores
    about = seen - X[:150, order[:m]].mean(axis=0)  # the centre that fourth powers are taken about
    second = share @ about**2
    reach = np.divide(share @ about**4, second, out=np.zeros(m), where=second > 1e-20)
    penalty = np.where(centred.std(axis=0) > 0, prior_rows / len(X) * reach, 1.0)
    gram = (centred * share[:, None]).T @ centred + np.diag(penalty)
    expected = np.linalg.solve(gram, (centred * share[:, None]).T @ target + penalty[:, None] * coef[:, order[:m]].T)
    np.testing.assert_allclose(readout.weights, expected.T, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(readout.bias, share @ scores - readout.weights @ (share @ seen), rtol=1e-5)


def test_what_was_never_seen_keeps_the_models_own_weight():
    X, coef, scores, weights = rows()
    known = moments_of(X, scores, weights)
    order = np.arange(6)
    drawn = regressed_readouts(known, order, [5], coef=coef)[0].weights
    free = regressed_readouts(known, order, [5])[0].weights
    np.testing.assert_allclose(drawn[:, 4], coef[:, 4])
    np.testing.assert_allclose(free[:, 4], 0.0)
    assert (np.abs(drawn - coef[:, :5])[:, 1] < np.abs(free - coef[:, :5])[:, 1]).all()


def test_units_of_features_do_not_matter():
    X, coef, scores, weights = rows()
    size = np.array([1.0, 1e3, 1.0, 1e-3, 10.0, 0.1])
    order = np.array([3, 1, 0, 5, 2])
    one = regressed_readouts(moments_of(X, scores, weights), order, [4], coef=coef)[0]
    other = regressed_readouts(moments_of(X * size, scores, weights), order, [4], coef=coef / size)[0]
    np.testing.assert_allclose(other.weights * size[order[:4]], one.weights, rtol=1e-6)
