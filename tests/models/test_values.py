"""The values of terms that the engine computes equal their definition in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from kinds.containers import LAYOUTS
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels

from wald.models import KernelTerms, LinearTerms
from wald.steps import ColumnMap


def machine(kernel: str, rng: np.random.Generator, thin: bool = False, columns: ColumnMap | None = None) -> KernelTerms:
    vectors = rng.normal(size=(37, 11)) * (rng.random((37, 11)) < 0.6)
    return KernelTerms(
        kernel=kernel,  # type: ignore[arg-type]
        gamma=0.3,
        coef0=0.7,
        degree=3,
        support_vectors=sparse.csr_array(vectors) if thin else vectors,
        coef=rng.normal(size=(2, 37)),
        intercept=np.zeros(2),
        columns=columns,
    )


def reference(terms: KernelTerms, X: np.ndarray) -> np.ndarray:
    given = {"rbf": {"gamma"}, "sigmoid": {"gamma", "coef0"}, "poly": {"gamma", "coef0", "degree"}}[terms.kernel]
    vectors = terms.support_vectors
    parameters = {name: getattr(terms, name) for name in given}
    return pairwise_kernels(X, vectors.toarray() if sparse.issparse(vectors) else vectors, terms.kernel, **parameters)


@pytest.mark.parametrize("n_rows", [1, 5, 700])
@pytest.mark.parametrize("thin", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("kernel", ["rbf", "poly", "sigmoid"])
def test_kernel_values(kernel: str, thin: bool, n_rows: int) -> None:
    rng = np.random.default_rng(0)
    terms = machine(kernel, rng, thin)
    X = rng.normal(size=(n_rows, 11)) * (rng.random((n_rows, 11)) < 0.5)
    want = reference(terms, X)
    np.testing.assert_allclose(terms.values(X), want, rtol=1e-12, atol=1e-14)
    which = [36, 0, 7]
    assert terms.values(X, []).shape == (n_rows, 0)
    np.testing.assert_allclose(terms.values(sparse.csr_array(X), which), want[:, which], rtol=1e-12, atol=1e-14)


def test_kernel_values_of_mapped_columns() -> None:
    rng = np.random.default_rng(1)
    columns = ColumnMap(scale=rng.random(11) + 0.5, shift=rng.normal(size=11))
    terms, X = machine("rbf", rng, columns=columns), rng.normal(size=(9, 11))
    want = reference(terms, X * columns.scale + columns.shift)
    np.testing.assert_allclose(terms.values(X), want, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8, np.int16])
@pytest.mark.parametrize("form", LAYOUTS.values(), ids=LAYOUTS)
def test_linear_values_are_the_features(form: type, dtype: type) -> None:
    X = np.random.default_rng(0).integers(0, 100, size=(50, 13)).astype(dtype)
    terms = LinearTerms(coef=np.ones((1, 13)), intercept=np.zeros(1))
    np.testing.assert_array_equal(terms.values(form(X)), X)
    np.testing.assert_array_equal(terms.values(form(X), [12, 3, 0]), X[:, [12, 3, 0]])
    assert terms.values(form(X)).dtype == np.float64


def test_values_of_rows_that_are_not_finite_are_nan() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3, 11))
    X[1, 4] = np.nan
    assert np.isnan(machine("rbf", rng).values(X)).any(axis=1).tolist() == [False, True, False]
    filled = LinearTerms(coef=np.ones((1, 11)), intercept=np.zeros(1), fill=np.full(11, 2.5))
    assert filled.values(X)[1, 4] == 2.5
