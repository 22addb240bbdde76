"""Surrogates of a model that know some of its columns only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import Ridge
from sklearn.utils import assert_all_finite

from ..models import decompose
from ..models.looks import where_finite
from ..models.made import linear_map
from ..sources import Source, source_of
from .landmarks import landmarks
from .scores import Scores
from .surrogate import LEAST_PROBABILITY, Surrogate

Floats = NDArray[np.float64]
Numbers = Callable[[Source, int], Floats]
NotFinite = Literal["refuse", "ask", "missing"]

#: Most leaves of a tree, most trees of a score, and their rate. What is fetched costs more than trees: they are many.
MOST_LEAVES, MOST_ITERATIONS, RATE = 127, 400, 0.1
#: There is a leaf, and a tree of a score, for so many rows, but at least so many; of several scores the most are fewer.
ROWS_OF_LEAF, LEAST_LEAVES, ROWS_OF_TREE, LEAST_ITERATIONS = 200, 15, 40, 50
#: Most rows from which landmarks are learnt.
LANDMARK_ROWS = 20_000


def learn_on_columns(
    source: Source,
    columns: Sequence[int],
    codes: NDArray[np.int32],
    scores: Floats | None,
    name: str,
    rng: np.random.Generator,
    *,
    smooth: bool,
    finite: bool,
    n_threads: int,
) -> Surrogate:
    """Learn from some columns what a model answers that reads all.

    Parameters
    ----------
    source : Source
        Rows with all columns, which are numbers.
    columns : sequence of int
        What is read.
    codes : int32 ndarray of shape (n_rows,)
        Answers of the model, at least two different ones.
    scores : float64 ndarray of shape (n_rows, n_outputs) or None
        Its scores, which tell more of a row than its answer does; None if it has none.
    name : str
    rng : numpy.random.Generator
    smooth : bool
        Whether the scores change little between rows that differ little, unlike those of trees: a linear model and
        landmarks then say what they expect, too.
    finite : bool
        Whether a number that is not finite is an error, as it is for the model; else such numbers count as missing
        where these rows have some, and where they have none, nothing is said of rows that do.
    n_threads : int

    Returns
    -------
    Surrogate
        It says what the scores are expected to be or, without scores, what the log-odds of the answers are.
    """
    rows, seed = _columns_of(source, list(columns)).array(), int(rng.integers(2**31 - 1))
    n_scores = len(np.unique(codes)) - 1 if scores is None else scores.shape[1]
    given: dict[str, Any] = {
        "max_iter": int(max(LEAST_ITERATIONS, min(len(rows) / ROWS_OF_TREE, MOST_ITERATIONS / n_scores**0.5))),
        "max_leaf_nodes": int(np.clip(len(rows) // ROWS_OF_LEAF, LEAST_LEAVES, MOST_LEAVES)),
        "learning_rate": RATE,
        "early_stopping": False,
        "random_state": seed,
    }
    if scores is None:
        models = [HistGradientBoostingClassifier(**given).fit(rows, codes)]
    else:
        models = [HistGradientBoostingRegressor(**given).fit(rows, column) for column in scores.T]
    bound = -float(np.log(LEAST_PROBABILITY)) if scores is None else np.inf
    said = [Scores(decompose(model).terms, bound=bound) for model in models]
    others = _smooth(rows, codes, scores, rng, n_threads) if smooth else []
    wrong: NotFinite = "refuse" if finite else "ask" if np.isfinite(rows).all() else "missing"
    return Surrogate(models[0], name=name, ask=OnColumns(columns, said, others, wrong))


def _smooth(
    rows: NDArray[Any], codes: NDArray[np.int32], scores: Floats | None, rng: np.random.Generator, n_threads: int
) -> list[Numbers]:
    """A linear model, and landmarks."""
    filled = _filled(rows)
    wanted = (codes[:, None] == np.unique(codes)).astype(np.float64) if scores is None else scores
    spread = filled.std(axis=0)
    scale = np.where(spread > 0, 1.0 / np.where(spread > 0, spread, 1.0), 0.0)
    linear = Ridge().fit(filled * scale, wanted)
    found: list[Numbers] = [Scores(linear_map(np.atleast_2d(linear.coef_) * scale, np.atleast_1d(linear.intercept_)))]
    made = landmarks(filled[:LANDMARK_ROWS], codes[:LANDMARK_ROWS], rng, n_threads)
    return found + [each.numbers for each in made[:1]]


class OnColumns:
    """Scores of some columns of rows.

    Parameters
    ----------
    columns : sequence of int
    scores : sequence of callable
        Take rows of these columns and a number of threads and give numbers, (n_rows, m).
    smooth : sequence of callable
        The same for rows in which 0 stands for what is not finite.
    wrong : {"refuse", "ask", "missing"}
        What a number is that is not finite: an error; a reason to ask the model; or missing, as in rows of `fit`.
    """

    def __init__(
        self, columns: Sequence[int], scores: Sequence[Numbers], smooth: Sequence[Numbers], wrong: NotFinite
    ) -> None:
        self.columns, self._scores, self._smooth, self._wrong = list(columns), list(scores), list(smooth), wrong

    def __call__(self, source: Source, n_threads: int) -> Floats:
        """Scores of rows, (n_rows, n_scores); of `LazyRows` no other column is fetched."""
        rows = _columns_of(source, self.columns)
        if self._wrong == "refuse":
            assert_all_finite(rows.array(), input_name="X")
        found = [scores(rows, n_threads) for scores in self._scores]
        if self._smooth:
            filled = source_of(_filled(rows.array()))
            found += [scores(filled, n_threads) for scores in self._smooth]
        said = np.hstack(found)
        return where_finite(said, rows) if self._wrong == "ask" else said


def _columns_of(source: Source, columns: list[int]) -> Source:
    """Some columns of rows."""
    if type(source).select is Source.select:  # rows of an array, whose columns have no names
        return source_of(source.array()[:, columns])
    return source.select(columns)


def _filled(rows: NDArray[Any]) -> Floats:
    """Rows with 0 in place of what is not finite."""
    found: Floats = np.where(np.isfinite(rows), rows, 0.0).astype(np.float64)
    return found
