"""Surrogates that are learnt from the answers of a costly model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from ..models import decompose
from ..sources import Source
from ..sources.texts import texts_of
from .landmarks import landmarks
from .scores import Scores
from .surrogate import LEAST_PROBABILITY, Surrogate

Floats = NDArray[np.float64]

#: Trees are learnt on dense rows of at most so many columns, and with so many leaves and iterations.
MOST_TREE_COLUMNS, LEAVES, ITERATIONS, RATE = 64, 15, 60, 0.2
#: Columns into which words are hashed.
HASHED = 1 << 18


def learn(
    source: Source,
    codes: NDArray[np.int32],
    rng: np.random.Generator,
    n_threads: int,
    probabilities: Floats | None = None,
) -> list[Surrogate]:
    """Learn surrogates of a costly model, the cheapest first.

    Dense numbers give landmarks, in two sizes, and boosted trees where there are few columns; sparse rows and texts a
    linear classifier, of hashed words for texts.

    Parameters
    ----------
    source : Source
        Rows that the model has answered.
    codes : int32 ndarray of shape (n_rows,)
        Its answers.
    rng : numpy.random.Generator
    n_threads : int
    probabilities : float64 ndarray of shape (n_rows, n_codes) or None, default=None
        What it says of each code, which tells more of a row than its answer does. None: an answer is all.

    Returns
    -------
    list of Surrogate
        Empty if there is nothing to learn: fewer than two answers, or rows of no known kind.
    """
    if len(np.unique(codes)) < 2:
        return []
    texts = texts_of(source)
    if texts is not None:
        if not all(isinstance(text, str) for text in texts):  # dicts, or whatever else the model takes
            return []
        hashing = HashingVectorizer(n_features=HASHED)
        words = _linear(hashing.transform(source.rows), codes, 10.0)
        return [Surrogate(make_pipeline(hashing, words), name="hashed words")]
    if source.is_sparse:
        return [Surrogate(_linear(csr_array(source.rows), codes, 1.0), name="linear classifier")]
    rows = _numbers(source)
    if rows is None:
        return []
    found = landmarks(rows, codes, rng, n_threads, probabilities) if np.isfinite(rows).all() else []
    if rows.shape[1] <= MOST_TREE_COLUMNS:
        found.insert(0, _trees(rows, codes, rng))
    return found


def learns_probabilities(source: Source) -> bool:
    """Whether something is learnt of the probabilities of such rows: by landmarks, of dense numbers."""
    return not source.is_sparse and texts_of(source) is None


def _numbers(source: Source) -> NDArray[Any] | None:
    """The rows as an array of numbers; None if they are something else."""
    try:
        rows = source.array()
    except (TypeError, ValueError):
        return None
    return rows if rows.ndim == 2 and rows.shape[1] > 0 else None


def _linear(rows: csr_array, codes: NDArray[np.int32], strength: float) -> LogisticRegression:
    """A linear classifier of sparse rows, learnt on the columns that are anywhere other than 0: the others weigh 0."""
    used = np.unique(rows.indices) if rows.nnz else np.arange(1)
    model = LogisticRegression(C=strength, max_iter=200).fit(rows[:, used], codes)
    weights = np.zeros((len(model.coef_), rows.shape[1]))
    weights[:, used] = model.coef_
    model.coef_, model.n_features_in_ = weights, rows.shape[1]
    return model


def _trees(rows: NDArray[Any], codes: NDArray[np.int32], rng: np.random.Generator) -> Surrogate:
    """Small boosted trees, evaluated by wald's engine."""
    model = HistGradientBoostingClassifier(
        max_iter=ITERATIONS,
        max_leaf_nodes=LEAVES,
        learning_rate=RATE,
        early_stopping=False,
        random_state=int(rng.integers(2**31 - 1)),
    ).fit(rows, codes)
    read = decompose(model)
    if read.preprocessing is not None:
        return Surrogate(model, name="boosted trees")
    return Surrogate(model, name="boosted trees", ask=Scores(read.terms, bound=-float(np.log(LEAST_PROBABILITY))))
