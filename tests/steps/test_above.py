"""Sparse rows of a model that binarizes them itself: the model is faster in full."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.naive_bayes import BernoulliNB

from wald import EarlyExitClassifier, Planner
from wald.engine.compiled import CompiledCascade


@pytest.mark.parametrize("n_classes", [2, 5])
def test_sparse_rows_go_to_the_model(n_classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    X = sparse.random(900, 60, 0.2, format="csr", random_state=0)
    y = (np.asarray(X.sum(axis=1)).ravel() * 97).astype(int) % n_classes
    model = BernoulliNB(binarize=0.3).fit(X[:400], y[:400])
    fast = EarlyExitClassifier(model, risk=0, planner=Planner(cost="units")).fit(X[400:600])
    rows, calls, own = X[600:], [], CompiledCascade.predict

    def predict(self: CompiledCascade, *args: object) -> object:
        calls.append(args)
        return own(self, *args)

    monkeypatch.setattr(CompiledCascade, "predict", predict)
    np.testing.assert_array_equal(fast.predict(rows), model.predict(rows))
    assert not calls
    np.testing.assert_array_equal(fast.predict(rows.toarray()), model.predict(rows))
    assert calls
    bad = rows.copy()
    bad.data[0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        fast.predict(bad)
