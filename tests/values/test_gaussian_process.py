"""The mean of a Gaussian process within rounding, and kernels that are refused by name."""

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, ExpSineSquared, Matern, WhiteKernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from wald import EarlyExitRegressor

KERNELS = {
    "default": None,
    "constant": ConstantKernel(2.0, "fixed") * RBF(1.5, "fixed"),
    "columns": RBF([1.0, 2.0, 0.5], "fixed"),
    "noise": 2.0 * RBF(1.0, "fixed") + WhiteKernel(0.1, "fixed"),
    "offset": RBF(1.0, "fixed") * 0.5 + 3.0 + WhiteKernel(0.1, "fixed") * RBF(9.0, "fixed"),
    "product": RBF(1.0, "fixed") * RBF([2.0, 1.0, 4.0], "fixed"),
    "twice": RBF(1.0, "fixed") + 2 * RBF([1.0, 1.0, 1.0], "fixed"),
    "fitted": 1.0 * RBF(1.0) + WhiteKernel(0.1),
}


def rows(n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, 5 + np.sin(X[:, 0]) + 0.1 * rng.normal(size=n)


@pytest.mark.parametrize("normalize_y", [False, True])
@pytest.mark.parametrize("n_values", [1, 2])
@pytest.mark.parametrize("name", KERNELS)
def test_means(name, n_values, normalize_y):
    X, y = rows()
    target = y if n_values == 1 else np.column_stack([y, -3 * y])
    options = {"alpha": 0.01, "normalize_y": normalize_y, "optimizer": "fmin_l_bfgs_b" if name == "fitted" else None}
    model = GaussianProcessRegressor(KERNELS[name], **options).fit(X, target)
    new, _ = rows(80, 1)
    fast = EarlyExitRegressor(model).fit(X)
    for some in (X, new, new[:1], new.astype(np.float32)):
        own = model.predict(some)
        assert fast.predict(some).shape == own.shape
        np.testing.assert_allclose(fast.predict(some), own, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(fast.predict_one(new[3]), model.predict(new[3:4])[0], rtol=1e-9)


def test_behind_a_scaler():
    X, y = rows()
    model = make_pipeline(StandardScaler(), GaussianProcessRegressor(RBF([1.0, 2.0, 3.0]), alpha=0.1)).fit(X, y)
    np.testing.assert_allclose(EarlyExitRegressor(model).fit(X).predict(X), model.predict(X), rtol=1e-9)


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (Matern(), "with Matern in its kernel"),
        (RBF() + DotProduct(), "with DotProduct in its kernel"),
        (RBF() * ExpSineSquared(), "with ExpSineSquared in its kernel"),
        (RBF() ** 2, "with Exponentiation in its kernel"),
        (RBF(1.0, "fixed") + RBF(2.0, "fixed"), "RBF kernels of several length scales"),
        (ConstantKernel(), "gives every row the same value"),
    ],
)
def test_kernels_that_are_refused(kernel, words):
    X, y = rows(30)
    model = GaussianProcessRegressor(kernel, alpha=1.0, optimizer=None).fit(X, y)
    with pytest.raises(TypeError, match=words):
        EarlyExitRegressor(model).fit(X)


def test_a_model_that_changed():
    X, y = rows(30)
    model = GaussianProcessRegressor(RBF(), alpha=1.0, optimizer=None).fit(X, y)
    fast = EarlyExitRegressor(model).fit(X)
    model.alpha_[0] += 1
    with pytest.raises(ValueError, match="not the one that was planned"):
        fast.predict(X)
