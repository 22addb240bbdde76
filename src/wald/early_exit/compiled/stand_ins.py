"""Stand-ins for the members of a vote, so that it takes few calls of them to compare the vote with what was read of it.

The wrapped vote and the engine ask the same members, and a call of one may take milliseconds, for however few rows. So
members answer the same rows once, whoever asks. What both make of answers is compared on answers that are made up.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from ...models.members import Member
from ...models.protocols import Delegating
from ...sources import source_of
from ...sources.frames import is_frame
from .predictor import Predictor

METHODS = ("predict", "predict_proba")


class StandIn(ABC):
    """An object in place of a member of a vote, with the methods and attributes of its estimator."""

    def __init__(self, member: Member) -> None:
        self.member = member

    def __getattr__(self, name: str) -> Any:
        own = getattr(self.member.estimator, name)
        return partial(self.answer, name) if name in METHODS else own

    @abstractmethod
    def answer(self, method: str, X: Any) -> NDArray[Any]:
        """What it answers for rows."""


class Remembering(StandIn):
    """It asks the estimator once for the same rows."""

    def __init__(self, member: Member) -> None:
        super().__init__(member)
        self._known: dict[Hashable, Any] = {}

    def answer(self, method: str, X: Any) -> Any:
        """What the estimator answers for rows."""
        key = _content(X)
        if key is None:
            return getattr(self.member.estimator, method)(X)
        if (method, key) not in self._known:
            self._known[method, key] = getattr(self.member.estimator, method)(X)
        return self._known[method, key]


class Inventing(StandIn):
    """It answers what is made up, the same to everybody who asks about `n_rows` rows, whatever these are.

    Its probabilities are drawn at random, as are its labels of every other row. On the rest, all members together give
    each label equally often, so that one vote changes the label of the ensemble.
    """

    def __init__(self, n_rows: int, number: int, member: Member) -> None:
        super().__init__(member)
        self._n_rows, self._number = n_rows, number
        self._rng = np.random.default_rng(number)
        self.answers: dict[str, NDArray[Any]] = {}

    def answer(self, method: str, X: Any) -> NDArray[Any]:
        """Its answers; those of the last row for rows beyond."""
        if method not in self.answers:
            self.answers[method] = self._labels() if method == "predict" else self._probabilities()
        return self.answers[method][np.minimum(np.arange(source_of(X).n_rows), self._n_rows - 1)]

    def _labels(self) -> NDArray[Any]:
        labels, rows = self.member.labels, np.arange(self._n_rows)
        drawn = self._rng.integers(len(labels), size=self._n_rows)
        return labels[np.where(rows % 2 == 0, drawn, (rows // 2 + self._number) % len(labels))]

    def _probabilities(self) -> NDArray[Any]:
        known = getattr(self.member.estimator, "classes_", self.member.labels)
        drawn = self._rng.random((self._n_rows, len(known)))
        return np.asarray(drawn / drawn.sum(axis=1, keepdims=True))


def remembering(predictor: Predictor) -> Predictor:
    """The same predictor; members of a vote are asked once for the same rows, by the vote and by the engine.

    Members whose answers depend on the number of rows are not, since the engine asks them in blocks.
    """

    def stand_in(member: Member) -> Any:
        return Remembering(member) if member.row_by_row else None

    return _with_stand_ins(predictor, stand_in, alone=False) or predictor


def inventing(predictor: Predictor, n_rows: int) -> tuple[Predictor, list[Inventing]] | None:
    """The same predictor, of the vote without what is around it, and the inventing members that it asks."""
    members: list[Inventing] = []

    def stand_in(member: Member) -> Any:
        members.append(Inventing(n_rows, len(members), member))
        return members[-1]

    other = None if predictor.model.ruled else _with_stand_ins(predictor, stand_in, alone=True)
    return None if other is None else (other, members)


def _with_stand_ins(predictor: Predictor, stand_in: Callable[[Member], Any], alone: bool) -> Predictor | None:
    """The predictor of a model whose members are replaced; None if it has none. `alone`: of the innermost model."""
    model = predictor.model
    delegating = Delegating.of(model.terms)
    found = None if delegating is None else delegating.with_stand_ins(model.leaf, stand_in)
    if found is None:
        return None
    leaf, terms = found
    if alone:
        double = np.dtype(np.float64)  # as what is made up
        other = replace(model, estimator=leaf, leaf=leaf, terms=terms, preprocessing=None, folded=None, dtype=double)
    else:
        other = replace(model, estimator=_around(model.estimator, model.leaf, leaf), leaf=leaf, terms=terms)
    return Predictor(other, predictor.plan, predictor.by_proof)


def _around(estimator: Any, leaf: Any, other: Any) -> Any:
    """A copy of an estimator with another innermost model; itself if it is wrapped in what has no simple copy."""
    if estimator is leaf:
        return other
    if type(estimator) not in (Pipeline, FrozenEstimator):
        return estimator
    outer = copy.copy(estimator)
    if isinstance(outer, Pipeline):
        name, last = outer.steps[-1]
        outer.steps = [*outer.steps[:-1], (name, _around(last, leaf, other))]
    else:
        outer.estimator = _around(outer.estimator, leaf, other)
    return outer


def _content(X: Any) -> Hashable:
    """What tells rows apart, to the last bit; None for rows of objects."""
    if sparse.issparse(X):
        if X.format != "csr":
            return None
        return "csr", X.shape, X.dtype.str, X.data.tobytes(), X.indices.tobytes(), X.indptr.tobytes()
    about: Hashable = None
    if is_frame(X):
        if not hasattr(X, "to_numpy"):
            return None
        about, X = (type(X), tuple(X.columns), tuple(X.dtypes)), X.to_numpy()
    if not isinstance(X, np.ndarray) or X.dtype.hasobject:
        return None
    return about, X.shape, X.dtype.str, X.tobytes()
