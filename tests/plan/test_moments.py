"""Moments are the weighted means and covariances of the plan rows, whatever the chunks."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plan.cases import correlated, moments_of

from wald.plan.moments import boundary_weights, gather_moments, row_chunks

FIELDS = ("term_mean", "output_mean", "terms", "outputs", "output_variance")


def rows(n=60, seed=0):
    X = correlated(n, 4, seed)
    rng = np.random.default_rng(seed)
    return X, X @ rng.normal(size=(4, 2)) + 1.0, rng.uniform(0.1, 2.0, size=(3, n))


def check_same(one, other, rtol=1e-9):
    for name in FIELDS:
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=rtol, atol=1e-9, err_msg=name)


@given(seed=st.integers(0, 100), cuts=st.sets(st.integers(1, 59), max_size=5))
def test_moments_are_those_of_numpy_however_rows_are_cut(seed, cuts):
    X, scores, weightings = rows(seed=seed)
    edges = [0, *sorted(cuts), 60]
    chunks = ((X[a:b], scores[a:b], weightings[:, a:b]) for a, b in itertools.pairwise(edges))
    for found, weights in zip(gather_moments(chunks, 4, 2, 3), weightings, strict=True):
        covariance = np.cov(np.hstack([X, scores]), rowvar=False, aweights=weights, ddof=0)
        np.testing.assert_allclose(found.term_mean, np.average(X, axis=0, weights=weights))
        np.testing.assert_allclose(found.output_mean, np.average(scores, axis=0, weights=weights))
        np.testing.assert_allclose(found.terms, covariance[:4, :4], atol=1e-9)
        np.testing.assert_allclose(found.outputs, covariance[:4, 4:], atol=1e-9)
        np.testing.assert_allclose(found.output_variance, np.diag(covariance)[4:], atol=1e-9)


def test_rows_may_come_in_any_order():
    X, scores, weights = rows()
    mixed = np.random.default_rng(1).permutation(60)
    check_same(moments_of(X, scores, weights[0]), moments_of(X[mixed], scores[mixed], weights[0, mixed]))


def test_a_whole_weight_counts_a_row_so_many_times_and_0_leaves_it_out():
    X, scores, _ = rows()
    times = np.arange(60) % 4
    repeated = np.repeat(np.arange(60), times)
    check_same(moments_of(X, scores, times * 1.0), moments_of(X[repeated], scores[repeated]))


def test_rows_far_from_the_origin_keep_their_covariances():
    X, scores, weights = rows()
    near, far = moments_of(X, scores, weights[0]), moments_of(X + 1e7, scores - 1e7, weights[0])
    np.testing.assert_allclose(far.terms, near.terms, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(far.outputs, near.outputs, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(far.term_mean, near.term_mean + 1e7)


def test_the_rows_themselves_are_left_alone():
    X, scores, weights = rows()
    before = X.copy(), scores.copy(), weights.copy()
    moments_of(X, scores, weights[0])
    for now, then in zip((X, scores, weights), before, strict=True):
        np.testing.assert_array_equal(now, then)


def test_one_row_has_no_variance_and_none_is_an_error():
    X, scores, _ = rows()
    one = moments_of(X[:1], scores[:1])
    np.testing.assert_array_equal(one.term_mean, X[0])
    np.testing.assert_array_equal(one.terms, 0.0)
    np.testing.assert_array_equal(one.output_variance, 0.0)
    with pytest.raises(ValueError, match="no rows"):
        gather_moments(iter([]), 4, 2, 1)


@given(n=st.integers(1, 500), row_bytes=st.integers(0, 300), limit=st.integers(1, 2000))
def test_chunks_hold_every_row_once_within_the_limit(n, row_bytes, limit):
    chunks = list(row_chunks(n, row_bytes, limit))
    assert np.concatenate([np.arange(n)[c] for c in chunks]).tolist() == list(range(n))
    sizes = [c.stop - c.start for c in chunks]
    assert all(size == 1 or size * row_bytes <= limit for size in sizes)
    assert all((size + 1) * max(1, row_bytes) > limit for size in sizes[:-1])  # as few as that takes


def test_no_rows_have_no_chunks():
    assert list(row_chunks(0, 8)) == []


@given(unit=st.floats(1e-100, 1e100))
def test_boundary_weights_have_no_unit(unit):
    confidence = np.random.default_rng(0).exponential(size=50)
    np.testing.assert_allclose(boundary_weights(confidence * unit), boundary_weights(confidence), rtol=1e-9)


def test_boundary_weights_fall_with_confidence_to_a_floor():
    confidence = np.linspace(0.0, 100.0, 201)
    weights = boundary_weights(confidence, width=0.5, floor=0.25)
    assert weights[0] == 1.25
    assert (np.diff(weights) <= 0).all()
    np.testing.assert_allclose(weights[confidence == 25.0], np.exp(-0.5) + 0.25)  # half the median: one width
    assert boundary_weights(confidence * 1e3, floor=0.25).min() >= 0.25


def test_boundary_weights_of_rows_on_the_boundary_are_equal():
    np.testing.assert_array_equal(boundary_weights(np.zeros(5), floor=0.1), 1.1)
