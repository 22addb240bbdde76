"""Fitted estimators as members of a vote: what each of them says of a row, whatever the other rows of the call."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model._base import LinearClassifierMixin
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, NuSVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from ..sources import ArraySource
from ..sources.building import library_at_hand
from ..steps.affine import READ_BY_TRANSFORM
from .class_names import CATBOOST_MODELS, LIGHTGBM_MODELS
from .units import Floats
from .watch import Watch

Method = Literal["predict", "predict_proba"]

#: Number of rows in every call of a member whose answers depend on the number of rows, by rounding: the least and the
#: largest one, and the number of coefficients that a linear model multiplies in a call. The last call is filled up with
#: copies of a row.
BLOCK, LARGEST_BLOCK, BLOCK_PRODUCTS = 128, 1024, 1 << 17
#: Distance from [0, 1] up to which a number is a probability, rounded.
PROBABILITY_ERROR = 1e-6
#: Models that evaluate rows one by one, and whose probabilities are float64. Forests are called with one thread.
ROW_BY_ROW = (DecisionTreeClassifier, ExtraTreeClassifier, GradientBoostingClassifier, HistGradientBoostingClassifier)
FORESTS = (RandomForestClassifier, ExtraTreesClassifier)
MACHINES = (SVC, NuSVC)
NAMED = (*LIGHTGBM_MODELS, *CATBOOST_MODELS)


@dataclass(frozen=True, eq=False)
class Member:
    """A fitted estimator, and how an ensemble calls it.

    Parameters
    ----------
    name : str
        Its name in messages.
    estimator : estimator
    method : {"predict", "predict_proba"}
    labels : ndarray of shape (n_classes,)
        The ensemble's classes as the member knows them, sorted.
    columns : int64 ndarray or None, default=None
        Columns that it gets; None: all.
    names : tuple of str or None, default=None
        Column names of the frame that it gets; None: it gets an array.

    Attributes
    ----------
    row_by_row : bool
        Whether its answers for a row depend on that row alone, to the last bit, whatever the other rows of a call.
    """

    name: str
    estimator: Any
    method: Method
    labels: NDArray[Any]
    columns: NDArray[np.int64] | None = None
    names: tuple[str, ...] | None = None
    row_by_row: bool = field(init=False)
    _called: Any = field(init=False, repr=False)
    _block: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        called, alone = _caller(self.estimator)
        object.__setattr__(self, "row_by_row", alone)
        object.__setattr__(self, "_called", called)
        object.__setattr__(self, "_block", _block_of(called))

    def codes(self, X: Any) -> NDArray[np.intp]:
        """Class of each row, as an index."""
        labels = self._answers(X, "predict")
        codes = np.searchsorted(self.labels, labels)
        unknown = np.flatnonzero(self.labels[np.minimum(codes, len(self.labels) - 1)] != labels)
        if len(unknown):
            raise ValueError(
                f"{self.title} predicts {labels[unknown[0]]!r}, which is none of the classes "
                f"{self.labels.tolist()} of the ensemble."
            )
        return codes

    def probabilities(self, X: Any) -> Floats:
        """Probability of each class of the ensemble; 0 for classes that the member does not know."""
        found = self._answers(X, "predict_proba")
        known = getattr(self.estimator, "classes_", self.labels)
        if found.shape[1] != len(known):
            raise ValueError(f"{self.title} gives {found.shape[1]} probabilities for {len(known)} classes.")
        if found.size and (found.min() < -PROBABILITY_ERROR or found.max() > 1 + PROBABILITY_ERROR):
            raise ValueError(
                f"{self.title} gives probabilities from {found.min():g} to {found.max():g}. They must lie between 0 "
                "and 1."
            )
        if len(known) == len(self.labels):
            return found.astype(np.float64)
        probabilities = np.zeros((len(found), len(self.labels)))
        probabilities[:, np.searchsorted(self.labels, known)] = found
        return probabilities

    @property
    def called(self) -> Any:
        """The object whose methods are called: the estimator, or what answers in its place."""
        return self._called

    def asking(self, other: Any) -> Member:
        """The same member, whose calls another object answers, row by row."""
        member = copy.copy(self)
        object.__setattr__(member, "_called", other)
        object.__setattr__(member, "row_by_row", True)
        return member

    @property
    def title(self) -> str:
        """Name and type, for messages."""
        return f"{self.name} ({type(self.estimator).__name__})"

    def _answers(self, X: Any, method: Method) -> NDArray[Any]:
        if self.columns is not None:
            X = X[:, self.columns]
        if not sparse.issparse(X):
            X = np.ascontiguousarray(X)
        if self.row_by_row:
            return self._called_for(X, method)
        n, parts = X.shape[0], [self._called_for(block, method) for block in blocks_of(X, self._block)]
        return parts[0][:n] if len(parts) == 1 else np.concatenate(parts)[:n]

    def _called_for(self, X: Any, method: Method) -> NDArray[Any]:
        try:
            answers = np.asarray(getattr(self._called, method)(self._framed(X)))
        except Exception as error:
            error.add_note(f"It was raised by {self.title}, a member of the wrapped ensemble.")
            raise
        n, axes = X.shape[0], 1 if method == "predict" else 2
        if answers.ndim != axes or len(answers) != n:
            raise ValueError(
                f"{method} of {self.title} returned an array of shape {answers.shape} for {n} rows. It must have "
                f"{'one axis' if axes == 1 else 'two axes'}, and one entry for each row."
            )
        return answers

    def _framed(self, X: Any) -> Any:
        """The rows as the frame that the member was fitted on, if it was."""
        return X if sparse.issparse(X) else ArraySource(X, self.names, library_at_hand()).rows


def kinds_of(estimators: Iterable[Any]) -> str:
    """The classes of some estimators, for messages."""
    kinds = list(dict.fromkeys(type(each).__name__ for each in estimators))
    return f"{', '.join(kinds[:3])}{', ...' if len(kinds) > 3 else ''}"


def blocks_of(X: Any, size: int) -> Sequence[Any]:
    """Rows in blocks of one size; the last one is filled up with its last row."""
    n = X.shape[0]
    index = np.minimum(np.arange(-(-n // size) * size), n - 1)
    return [X[index[start : start + size]] for start in range(0, len(index), size)]


def _block_of(estimator: Any) -> int:
    """Number of rows in a call: calls take some time themselves, next to which few products take none."""
    if isinstance(estimator, LinearClassifierMixin) and isinstance(getattr(estimator, "coef_", None), np.ndarray):
        rows = BLOCK_PRODUCTS // max(1, int(estimator.coef_.size))
        return min(LARGEST_BLOCK, max(BLOCK, 1 << max(0, rows.bit_length() - 1)))
    return BLOCK


def _caller(estimator: Any) -> tuple[Any, bool]:
    """The object to call, and whether its answers for a row depend on that row alone, to the last bit."""
    if isinstance(estimator, FrozenEstimator):
        return _caller(estimator.estimator)
    kind = type(estimator)
    if kind in FORESTS:
        if estimator.n_jobs in (None, 1):
            return estimator, True
        sequential = copy.copy(estimator)  # threads add the trees in any order
        sequential.n_jobs = 1
        return sequential, True
    if kind is Pipeline:
        by_column = all(type(step) in READ_BY_TRANSFORM for _, step in estimator.steps[:-1])
        return estimator, by_column and _caller(estimator.steps[-1][1])[1]
    if kind is KNeighborsClassifier:  # brute force multiplies matrices
        return estimator, getattr(estimator, "_fit_method", None) in ("kd_tree", "ball_tree")
    return estimator, kind in ROW_BY_ROW or kind in MACHINES or f"{kind.__module__}.{kind.__qualname__}" in NAMED


def watch_of(estimator: Any) -> Watch:
    """Watch the parameters and fitted attributes of an estimator, and of those inside it."""
    attributes: list[tuple[Any, str]] = []
    _collect(estimator, attributes, set())
    return Watch(attributes)


def _collect(estimator: Any, attributes: list[tuple[Any, str]], seen: set[int]) -> None:
    if id(estimator) in seen:
        return
    seen.add(id(estimator))
    parameters = set(estimator.get_params(deep=False)) if isinstance(estimator, BaseEstimator) else set()
    for name, value in list(getattr(estimator, "__dict__", {}).items()):
        if name not in parameters and (name.startswith("_") or not name.endswith("_")):
            continue
        attributes.append((estimator, name))
        if isinstance(value, BaseEstimator):
            _collect(value, attributes, seen)
        elif name == "steps" and isinstance(value, list):
            for _, step in value:
                _collect(step, attributes, seen)
