"""Loading takes memory for the arrays of the file, and for the engine's copy of them."""

import tracemalloc

import numpy as np
from persistence.cases import made
from persistence.forge import put_together, taken_apart, without_estimator

import wald


def test_a_large_model_is_read_in_place(tmp_path):
    path = tmp_path / "model.wald"
    wald.save(made("rbf")[0], path)
    without_estimator(path)
    fields, arrays = taken_apart(path.read_bytes())
    n, d = 4000, 600
    rng = np.random.default_rng(0)
    arrays["model.terms.support_vectors"], arrays["model.terms.coef"] = rng.random((n, d)), rng.normal(size=(1, n))
    fields["model"]["terms"]["n_features"] = fields["model"]["n_columns"] = d
    path.write_bytes(put_together(fields, arrays))
    size = path.stat().st_size
    tracemalloc.start()
    try:
        loaded = wald.load(path)
        kept, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # besides the engine's own, which tracemalloc does not see: 1.5 times the support vectors
    assert kept < 1.1 * size
    assert peak < 2.1 * size  # and one copy in the plan's order while the engine is built
    assert loaded.predict(rng.random((5, d))).shape == (5,)
