"""Pipelines with a cheap and a costly branch, whose costly transformer remembers the rows that it has seen."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from kinds.parameters import nested
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from wald import EarlyExitClassifier

N_COLUMNS, N_CHEAP = 12, 6
NAMES = [f"x{c}" for c in range(N_COLUMNS)]


class Costly(TransformerMixin, BaseEstimator):
    """A transformer of one's own, which wald knows nothing of."""

    seen: ClassVar[list[Any]] = []

    def fit(self, X: Any, y: Any = None) -> Self:
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X: Any) -> Any:
        values = np.asarray(X, dtype=np.float64)
        self.seen.append(values)
        return np.tanh(values)


class InOnePiece(ColumnTransformer):
    """A ColumnTransformer of one's own, which wald does not take apart."""


def rows(n: int = 6000, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, N_COLUMNS))
    weights = np.r_[np.full(N_CHEAP, 1.0), np.full(N_COLUMNS - N_CHEAP, 0.3)]
    return X, X @ weights + 0.5 * rng.normal(size=n) > 0


def front(kind: type = ColumnTransformer, columns: Any = NAMES, **options: Any) -> Any:
    cheap, costly = columns[:N_CHEAP], columns[N_CHEAP:]
    return kind([("cheap", StandardScaler(), cheap), ("costly", Costly(), costly)], **options)


@dataclass
class Pair:
    """The same pipeline twice: taken apart, and in one piece."""

    late: EarlyExitClassifier
    whole: EarlyExitClassifier
    extra: dict[str, Any] = field(default_factory=dict)


def in_one_piece(model: Pipeline) -> Pipeline:
    """The same fitted pipeline, whose ColumnTransformer is not taken apart."""
    first = model.steps[0][1]
    other = InOnePiece(first.transformers)
    vars(other).update(vars(first))
    return Pipeline([(model.steps[0][0], other), *model.steps[1:]])


def pair(model: Pipeline, X: Any, n_train: int = 2000, **parameters: Any) -> Pair:
    """Fit both, on rows after those that trained the pipeline."""
    given = {"risk": 0.02, "cost": "units", "random_state": 0} | parameters
    return Pair(
        *(EarlyExitClassifier(each, **nested(**given)).fit(X[n_train:]) for each in (model, in_one_piece(model)))
    )


def fitted(last: Any, X: Any, y: Any, *between: Any, columns: Any = NAMES, n_train: int = 2000, **options: Any) -> Any:
    return make_pipeline(front(columns=columns, **options), *between, last).fit(X[:n_train], y[:n_train])


def require_same(one: Any, other: Any) -> None:
    """Labels, costs, stages and status, to the last bit."""
    for name in ("labels", "costs", "stages", "status"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
