"""What surrogates say of rows that they did not learn from, for all rows of which they are learnt."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import GroupKFold, StratifiedKFold

from ..sources import Source
from .learnt import learn
from .surrogate import Surrogate

Floats = NDArray[np.float64]

#: Parts of the rows: what is said of each part is learnt from the others.
FOLDS = 3


def learn_held_out(
    source: Source,
    codes: NDArray[np.int32],
    rng: np.random.Generator,
    n_threads: int,
    probabilities: Floats | None = None,
    groups: ArrayLike | None = None,
) -> tuple[list[Surrogate], list[Floats]]:
    """Learn surrogates as `learn` does, and hold rows out: what is said of a row is said by one that did not see it.

    Parameters
    ----------
    source, codes, rng, n_threads, probabilities
        As for `learn`. Answers rarer than `FOLDS` cannot be held out.
    groups : array-like of shape (n_rows,) or None, default=None
        Rows of a group are held out together.

    Returns
    -------
    surrogates : list of Surrogate
    said : list of float64 ndarray of shape (n_rows, m)
        One for each surrogate: what another one, learnt alike from other rows, says of each row. Empty if surrogates
        that are learnt from a part of the rows give fewer numbers, because an answer is missing there.
    """
    seed = int(rng.integers(2**31 - 1))

    def learnt(some: Source, answers: NDArray[np.int32], likely: Floats | None) -> list[Surrogate]:
        return learn(some, answers, np.random.default_rng(seed), n_threads, likely)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of learners that stop early, and of rare answers
        surrogates = learnt(source, codes, probabilities)
        said: list[Floats] = []
        if not surrogates or source.n_rows < FOLDS or np.bincount(codes).max() < FOLDS:
            return surrogates, said
        if groups is None:
            folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(codes, codes)
        else:
            folds = GroupKFold(FOLDS).split(codes, codes, groups)
        both = surrogates
        for before, held in folds:
            likely = None if probabilities is None else probabilities[before]
            some = learnt(source.take(before), codes[before], likely)
            both = both[: len(some)]  # of few rows fewer are learnt, without the largest
            numbers = [each.numbers(source.take(held), n_threads) for each in some[: len(both)]]
            said = said or [np.empty((source.n_rows, each.shape[1])) for each in numbers]
            if any(part.shape[1] != every.shape[1] for every, part in zip(said, numbers, strict=False)):
                return surrogates, []
            for every, part in zip(said, numbers, strict=False):
                every[held] = part
    return both, said[: len(both)]
