"""Readouts against the equations that they solve."""

import numpy as np
import pytest

from wald.plan.moments import gather_moments
from wald.plan.readout import PRIOR_ROWS, Prior, regressed_readouts

ORDER = np.array([3, 1, 4, 0, 5, 2])


def rows(n=400, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    X[:, 1] = rng.random(n) < 0.01  # hardly ever there
    X[:, 4] = 2.0  # never anything else
    coef = rng.normal(size=(2, d))
    return X, coef, X @ coef.T + 0.5, rng.uniform(0.1, 1.0, n)


def readout(X, coef, scores, weights, m, prior=True, order=ORDER):
    chunks = iter([(X[h], scores[h], weights[None, h]) for h in (slice(0, 150), slice(150, None))])
    moments = gather_moments(chunks, X.shape[1], 2, 1)[0]
    drawn = Prior.of_rows(coef, X, weights) if prior else None
    return regressed_readouts(moments, order, [m], 1e-9, drawn)[0]


@pytest.mark.parametrize("m", [1, 3, 6])
def test_readouts_minimize_error_plus_rows_of_the_models_own(m):
    X, coef, scores, weights = rows()
    found = readout(X, coef, scores, weights, m)
    share, seen = weights / weights.sum(), X[:, ORDER[:m]]
    centred, target = seen - share @ seen, scores - share @ scores
    varies = np.ptp(seen, axis=0) > 0
    reach = np.divide(share @ centred**4, share @ centred**2, out=np.zeros(m), where=varies)
    penalty = np.where(varies, PRIOR_ROWS / len(X) * reach, 1.0)
    gram = (centred * share[:, None]).T @ centred + np.diag(penalty)
    expected = np.linalg.solve(gram, (centred * share[:, None]).T @ target + penalty[:, None] * coef[:, ORDER[:m]].T)
    np.testing.assert_allclose(found.weights, expected.T, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(found.bias, share @ scores - found.weights @ (share @ seen), rtol=1e-5)


def test_what_was_hardly_seen_keeps_much_of_the_models_own_weight():
    X, coef, scores, weights = rows()
    drawn, free = (readout(X, coef, scores, weights, 5, prior, np.arange(6)).weights for prior in (True, False))
    np.testing.assert_allclose(drawn[:, 4], coef[:, 4])
    np.testing.assert_allclose(free[:, 4], 0.0)
    assert (np.abs(drawn - coef[:, :5])[:, 1] < 0.7 * np.abs(free - coef[:, :5])[:, 1]).all()


@pytest.mark.parametrize("power", [3, 70])
def test_units_of_features_do_not_matter(power):
    X, coef, scores, weights = rows()
    size = 10.0 ** np.array([0, power, 0, -power, 1, -1])
    one = readout(X, coef, scores, weights, 4)
    other = readout(X * size, coef / size, scores, weights, 4)
    np.testing.assert_allclose(other.weights * size[ORDER[:4]], one.weights, rtol=1e-6, atol=1e-12)
