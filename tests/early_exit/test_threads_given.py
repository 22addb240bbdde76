"""Rows that are evaluated in full after their exits were undone get the threads of the call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from wald import EarlyExitClassifier, Planner
from wald.early_exit.compiled.lossless import FeatureRanges
from wald.early_exit.compiled.predictor import Predictor
from wald.sources import source_of
from wald.stopping import Lossless


class Noting:
    """Passes everything on, and notes the threads of each call of `predict` of a cascade."""

    def __init__(self, inner: Any, noted: list[int]) -> None:
        self._inner, self._noted = inner, noted

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def cascade(self, *given: Any) -> Any:
        return Noting(self._inner.cascade(*given), self._noted)

    def predict(self, rows: Any, n_stages: int, at_end: str, n_threads: int) -> Any:
        self._noted.append(n_threads)
        return self._inner.predict(rows, n_stages, at_end, n_threads)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_rows_outside_of_the_ranges_take_the_threads_of_the_call(n_threads: int) -> None:
    X, y = make_classification(4000, 12, n_informative=3, random_state=0)
    X = np.clip(X, -3, 3)
    model, rule = LogisticRegression().fit(X, y), Lossless(low=-3, high=3)
    fast = EarlyExitClassifier(
        FrozenEstimator(model), risk=0.001, planner=Planner(rule=rule, cost="units"), random_state=0
    ).fit(X)
    own, noted = fast.compiled_plan_, []
    assert not own.plan.evaluate_all
    packed = own.model.terms.pack(own.plan.terms, own.plan.surrogates, own.plan.precision)
    predictor = Predictor(own.model, own.plan, own.by_proof, Noting(packed, noted), FeatureRanges.of(own.model, rule))
    drifted = X * np.where(np.arange(12) % 2, 1.0, 5.0)
    decided = predictor.predict(source_of(drifted), n_threads, None)
    np.testing.assert_array_equal(predictor.labels(decided.codes), fast.predict(drifted))
    assert len(noted) == 2  # all rows, and those whose exits were undone
    assert set(noted) == {n_threads}
