"""The three data sets of the paper, or their substitutes, and the kernel machines trained on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC

from wald.datasets import fetch_mnist
from wald.models import decompose

from .._gisette import make_gisette_like
from .._newsgroups import fetch_20newsgroups_binary

#: MNIST has one model for each of these digits against the rest.
DIGITS = (0, 5, 8)
#: The seed of the training rows, which do not depend on the seeds of a run.
TRAINING_SEED = 20121
#: Kernel values in memory at once, in float64.
_CHUNK = 1 << 23

#: A linear kernel that keeps its support vectors as terms, as the paper has them; ``kernel="linear"`` would be
#: collapsed to one weight vector.
_LINEAR: dict[str, Any] = {"kernel": "poly", "degree": 1, "gamma": 1.0, "coef0": 0.0}


class Sizes(NamedTuple):
    """Rows that train, plan, certify and test."""

    train: int
    plan: int
    certificate: int
    test: int


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows in one role.

    Attributes
    ----------
    X : ndarray or CSR of shape (N, n_features)
    values : float32 ndarray of shape (N, n)
        Kernel values with the support vectors: the terms T_j, without their coefficients.
    scores : float64 ndarray of shape (N,)
        Full scores, b included.
    labels : bool ndarray of shape (N,)
        The data set's own labels.
    """

    X: Any
    values: NDArray[np.float32]
    scores: NDArray[np.float64]
    labels: NDArray[np.bool_]

    @property
    def full(self) -> NDArray[np.int32]:
        """The full model's codes; scikit-learn's SVC answers its positive class at a score of 0."""
        return (self.scores >= 0).astype(np.int32)

    def take(self, rows: NDArray[np.intp]) -> Rows:
        """Some of the rows."""
        return Rows(self.X[rows], self.values[rows], self.scores[rows], self.labels[rows])


@dataclass(frozen=True, eq=False)
class Material:
    """A data set with a trained kernel machine, and rows that it has not seen.

    Attributes
    ----------
    data, model_name : str
        The data set, and the two classes of this model.
    model : SVC
    coef : float64 ndarray of shape (n,)
        a_j of every support vector.
    intercept : float
    rows : Rows
        Rows that the model has not seen; a seed assigns the roles.
    sizes : Sizes
    """

    data: str
    model_name: str
    model: SVC
    coef: NDArray[np.float64]
    intercept: float
    rows: Rows
    sizes: Sizes

    @property
    def n_terms(self) -> int:
        """Number of support vectors."""
        return len(self.coef)

    def deal(self, seed: int) -> tuple[Rows, Rows, Rows]:
        """Rows to plan with, to certify (and choose settings) with, and to report on; disjoint."""
        order = np.random.default_rng([seed, 3]).permutation(len(self.rows.labels))
        ends = np.cumsum(self.sizes[1:])[:-1]
        plan, certificate, test = np.split(order[: sum(self.sizes[1:])], ends)
        return self.rows.take(plan), self.rows.take(certificate), self.rows.take(test)


def material_of(data: str, model_name: str, model: SVC, X: Any, labels: NDArray[np.bool_], sizes: Sizes) -> Material:
    """Train `model` on the first rows and evaluate every term of it on the others, block by block."""
    n_unseen = sum(sizes[1:])
    model.fit(X[: sizes.train], labels[: sizes.train])
    terms = decompose(model).terms
    unseen = X[sizes.train : sizes.train + n_unseen]
    values = np.empty((n_unseen, terms.n_terms), dtype=np.float32)
    scores = np.empty(n_unseen)
    step = max(1, _CHUNK // terms.n_terms)
    for start in range(0, n_unseen, step):
        some = terms.values(unseen[start : start + step])
        scores[start : start + step] = some @ terms.coef[0] + terms.intercept[0]
        values[start : start + step] = some
    rows = Rows(unseen, values, scores, labels[sizes.train : sizes.train + n_unseen])
    return Material(data, model_name, model, terms.coef[0], float(terms.intercept[0]), rows, sizes)


def _shuffled(X: Any, y: NDArray[Any], sizes: Sizes) -> tuple[Any, NDArray[Any]]:
    order = np.random.default_rng(TRAINING_SEED).permutation(len(y))[: sum(sizes)]
    return X[order], y[order]


def _mnist(quick: bool) -> Iterator[Material]:
    sizes = Sizes(2000, 3000, 3500, 2500) if quick else Sizes(10_000, 8000, 12_000, 10_000)
    X, y = fetch_mnist(subset="all", return_X_y=True)
    X, y = _shuffled(X, y, sizes)
    for digit in DIGITS:
        yield material_of("MNIST", f"{digit} or not", SVC(C=5, gamma=0.02), X, y == digit, sizes)


def _gisette(quick: bool) -> Iterator[Material]:
    sizes = Sizes(1000, 3000, 3200, 2500) if quick else Sizes(3000, 4500, 3200, 2800)
    X, y = make_gisette_like(subset="all", return_X_y=True)
    X, y = _shuffled(X, y, sizes)
    X /= 999
    yield material_of("Gisette-like", "9 or 4", SVC(C=0.003, **_LINEAR), X, y > 0, sizes)


def _newsgroups(quick: bool) -> Iterator[Material]:
    sizes = Sizes(1000, 3000, 3200, 2500) if quick else Sizes(3000, 6000, 5000, 4800)
    X, y = fetch_20newsgroups_binary(subset="all", return_X_y=True)
    X, y = _shuffled(X, y, sizes)
    yield material_of("20 newsgroups", "rec.* and sci.* or not", SVC(C=1, **_LINEAR), X, y > 0, sizes)


#: Every data set, and the number of its models.
DATA: tuple[tuple[str, int, Callable[[bool], Iterator[Material]]], ...] = (
    ("MNIST", len(DIGITS), _mnist),
    ("Gisette-like", 1, _gisette),
    ("20 newsgroups", 1, _newsgroups),
)


def materials(quick: bool) -> Iterator[tuple[str, Callable[[], Material]]]:
    """Names of data sets with functions that train their models; called one by one, one model's terms are in memory."""
    for name, n_models, load in DATA:
        made = load(quick)
        for _ in range(n_models):
            yield name, partial(next, made)


#: Descriptions of the data sets.
DESCRIPTIONS = {
    "MNIST": "digits {digits} against the rest, RBF kernel (gamma 0.02, C 5)".format(
        digits=", ".join(str(d) for d in DIGITS[:-1]) + f" and {DIGITS[-1]}"
    ),
    "Gisette-like": "our reconstruction of Gisette from MNIST 4 and 9, not its published rows; linear kernel (C 0.003)",
    "20 newsgroups": "TF-IDF, rec.* and sci.* against the rest, in place of real-sim; linear kernel (C 1)",
}
