"""The pseudo-rows of every term, which shrink readouts and orders towards the model."""

import numpy as np
import pytest

from wald.plan.moments import gather_moments
from wald.plan.order import greedy_order
from wald.plan.prior import PRIOR_ROWS, with_pseudo_rows
from wald.plan.readout import regressed_readouts

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
    if prior:
        moments = with_pseudo_rows(moments, coef, X, weights)
    return regressed_readouts(moments, order, [m], 1e-9, coef if prior else None)[0]


@pytest.mark.parametrize("m", [1, 3, 6])
def test_readouts_minimize_error_plus_rows_of_the_models_own(m):
    X, coef, scores, weights = rows()
    found = readout(X, coef, scores, weights, m)
    share, seen = weights / weights.sum(), X[:, ORDER[:m]]
    centred, target = seen - share @ seen, scores - share @ scores
    varies = np.ptp(seen, axis=0) > 0
    second = share @ centred**2
    reach = np.divide(share @ centred**4, second, out=np.zeros(m), where=varies) - 3 * second
    penalty = np.where(varies, PRIOR_ROWS / len(X) * np.maximum(reach, 0), 1.0)
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


def test_moments_with_pseudo_rows_are_those_of_more_rows():
    X, coef, scores, weights = rows()
    moments = gather_moments(iter([(X, scores, weights[None])]), 6, 2, 1)[0]
    more = with_pseudo_rows(moments, coef, X, weights)
    added = more.terms - moments.terms
    strength = np.diag(added)
    np.testing.assert_allclose(added, np.diag(strength), atol=1e-12)
    assert strength[1] > 0.5 * moments.terms[1, 1]  # hardly ever there
    assert (strength[[0, 2, 3, 5]] < 0.1 * np.diag(moments.terms)[[0, 2, 3, 5]]).all()  # Gaussian
    assert strength[4] == 0
    np.testing.assert_allclose(more.outputs - moments.outputs, strength[:, None] * coef.T)
    np.testing.assert_allclose(more.output_variance - moments.output_variance, coef**2 @ strength)


def test_what_four_rows_suggest_is_not_bought_first():
    rng = np.random.default_rng(0)
    n, d = 300, 100
    X = np.hstack([rng.normal(size=(n, d)), np.zeros((n, 1))])
    coef = np.ones((1, d + 1))
    X[np.argsort(X.sum(axis=1))[-4:], d] = 1.0  # by chance, in the four rows of the largest scores
    scores, weights = X @ coef.T, np.ones(n)
    moments = gather_moments(iter([(X, scores, weights[None])]), d + 1, 1, 1)[0]
    own = with_pseudo_rows(moments, coef, X, weights)
    plain, drawn = (
        greedy_order(m, list(np.arange(d + 1)[:, None]), np.ones(d + 1), d + 1).tolist() for m in (moments, own)
    )
    assert plain[0] == d
    assert drawn.index(d) > d // 2


@pytest.mark.parametrize("power", [3, 70])
def test_units_of_features_do_not_matter(power):
    X, coef, scores, weights = rows()
    size = 10.0 ** np.array([0, power, 0, -power, 1, -1])
    one = readout(X, coef, scores, weights, 4)
    other = readout(X * size, coef / size, scores, weights, 4)
    np.testing.assert_allclose(other.weights * size[ORDER[:4]], one.weights, rtol=1e-6, atol=1e-12)


def test_explicit_pseudo_rows_give_the_same_regression():
    """One row per term, at its full reach, with the model's own weight, and least squares on all rows together."""
    rng = np.random.default_rng(0)
    n, d = 300, 5
    X = np.where(rng.random((n, d)) < 0.1, rng.normal(size=(n, d)), 0.0)
    coef = rng.normal(size=(2, d))
    scores = X @ coef.T + rng.normal(size=(n, 2))
    moments = gather_moments(iter([(X, scores, np.ones((1, n)))]), d, 2, 1)[0]
    drawn = with_pseudo_rows(moments, coef, X, np.ones(n))
    found = regressed_readouts(drawn, np.arange(d), [d], 0.0, coef)[0]
    centred = X - X.mean(axis=0)
    variance = (centred**2).mean(axis=0)
    squared_reach = (centred**4).mean(axis=0) / variance - 3 * variance
    assert (squared_reach > 0).all()
    made_up = np.diag(np.sqrt(PRIOR_ROWS * squared_reach))
    rows_, target = np.vstack([centred, made_up]), np.vstack([scores - scores.mean(axis=0), made_up @ coef.T])
    np.testing.assert_allclose(found.weights, np.linalg.lstsq(rows_, target, rcond=None)[0].T, rtol=1e-9)
    np.testing.assert_allclose(found.bias, scores.mean(axis=0) - found.weights @ X.mean(axis=0))


def test_moments_with_pseudo_rows_do_not_depend_on_the_order_of_rows_or_the_unit_of_weights():
    X, coef, scores, weights = rows()
    moments = gather_moments(iter([(X, scores, weights[None])]), 6, 2, 1)[0]
    mixed = np.random.default_rng(1).permutation(len(X))
    one = with_pseudo_rows(moments, coef, X, weights)
    other = with_pseudo_rows(moments, coef, X[mixed], 1e6 * weights[mixed])
    np.testing.assert_allclose(one.terms, other.terms, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(one.outputs, other.outputs, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("n", [1, 2])
def test_few_rows_that_are_alike_say_nothing(n):
    X, coef, scores, _ = rows()
    X, scores = np.repeat(X[:1], n, axis=0), np.repeat(scores[:1], n, axis=0)
    moments = gather_moments(iter([(X, scores, np.ones((1, n)))]), 6, 2, 1)[0]
    drawn = with_pseudo_rows(moments, coef, X, np.ones(n))
    np.testing.assert_array_equal(drawn.terms, 0.0)
    np.testing.assert_array_equal(drawn.outputs, 0.0)
    found = regressed_readouts(drawn, ORDER, [6], 1e-9, coef)[0]
    np.testing.assert_allclose(found.weights, coef[:, ORDER])


def test_more_rows_weaken_the_rows_made_up():
    X, coef, scores, weights = rows()
    few = gather_moments(iter([(X, scores, weights[None])]), 6, 2, 1)[0]
    added = [
        (with_pseudo_rows(few, coef, np.tile(X, (k, 1)), np.tile(weights, k)).terms - few.terms)[1, 1] for k in (1, 10)
    ]
    np.testing.assert_allclose(added[0], 10 * added[1], rtol=1e-9)
