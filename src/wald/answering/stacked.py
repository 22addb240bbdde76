"""What surrogates say together: answers of rows, how sure they are, and how often they are wrong."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

from ..sources import Source
from ..surrogates import FOLDS, Surrogate, learn_held_out, log_odds

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]
Indices = NDArray[np.intp]

#: Strength of the regularization of the readout, and of the rate of wrong answers by margin.
STRENGTH, RATE_STRENGTH = 0.3, 1e4


class Stacked:
    """Surrogates, and the log-odds of the model's answers by what they say.

    Parameters
    ----------
    surrogates : list of Surrogate
        Those that are learnt.
    titles : tuple of str
        Of all, also those that are given.
    said : float64 ndarray of shape (n_rows, m)
        What was said of rows by those who had not learnt from them.
    codes : int32 ndarray of shape (n_rows,)
        The model's answers to these rows.
    uniform : bool ndarray of shape (n_rows,)
        Which of these rows were drawn from all.
    unlearnt : float
        Share of rows whose answer is too rare to be learnt.
    """

    def __init__(
        self,
        surrogates: list[Surrogate],
        titles: tuple[str, ...],
        said: Floats,
        codes: Codes,
        uniform: NDArray[np.bool_],
        unlearnt: float,
    ) -> None:
        self._surrogates, self.titles, self._unlearnt = surrogates, titles, unlearnt
        self._only = int(codes[0]) if len(np.unique(codes)) == 1 else None
        if self._only is None:
            self._weights, self._bias, self._codes = log_odds(said, codes, STRENGTH)
        found, margins, _ = self._of(said)
        self._margins, self._wrong = margins[uniform], (found != codes)[uniform]

    @classmethod
    def learnt(
        cls,
        source: Source,
        codes: Codes,
        uniform: NDArray[np.bool_],
        given: tuple[list[Surrogate], Floats],
        rng: np.random.Generator,
        n_threads: int,
    ) -> Stacked | None:
        """Learn from answers; None if nothing can be learnt of such rows, and nothing is given.

        Answers that are rarer than `FOLDS` cannot be learnt; of one answer alone there is nothing to learn.

        Parameters
        ----------
        source : Source
        codes : int32 ndarray of shape (n_rows,)
        uniform : bool ndarray of shape (n_rows,)
        given : list of Surrogate, and float64 ndarray of shape (n_rows, m)
            Surrogates from elsewhere, and what they say of the rows.
        rng : numpy.random.Generator
        n_threads : int
        """
        kept = np.flatnonzero(np.bincount(codes)[codes] >= FOLDS)
        if len(kept) == 0:
            return None
        few, own, titles = source.take(kept), codes[kept], tuple(each.title for each in given[0])
        unlearnt, uniform = 1.0 - float(uniform[kept].sum() / max(1, uniform.sum())), uniform[kept]
        if len(np.unique(own)) == 1:
            return cls([], (), np.empty((len(own), 0)), own, uniform, unlearnt)
        surrogates, held = learn_held_out(few, own, rng, n_threads)
        surrogates = surrogates[: len(held)]
        said = np.hstack([*held, given[1][kept]])
        titles = (*(each.title for each in surrogates), *titles)
        return cls(surrogates, titles, said, own, uniform, unlearnt) if titles else None

    def at(self, source: Source, given: Floats, n_threads: int) -> tuple[Codes, Floats, Floats]:
        """Codes of rows, margins, and probabilities.

        Parameters
        ----------
        source : Source
        given : float64 ndarray of shape (n_rows, m)
            What surrogates from elsewhere say of these rows.
        n_threads : int
        """
        return self._of(np.column_stack([*(each.numbers(source, n_threads) for each in self._surrogates), given]))

    def rates(self, margins: Floats) -> Floats:
        """About how likely answers with such margins are wrong, by a logistic regression on the uniform rows."""
        wrong, n = int(self._wrong.sum()), len(self._wrong)
        if wrong in (0, n) or np.ptp(self._margins) == 0:
            found = np.full(len(margins), (wrong + 0.5) / (n + 1.0))
        else:
            fitted = LogisticRegression(C=RATE_STRENGTH).fit(self._margins[:, None], self._wrong)
            found = fitted.predict_proba(margins[:, None])[:, 1]
        return np.minimum(1.0, found + self._unlearnt)

    def _of(self, said: Floats) -> tuple[Codes, Floats, Floats]:
        if self._only is not None:
            return np.full(len(said), self._only, dtype=np.int32), np.zeros(len(said)), np.zeros(len(said))
        odds = said @ self._weights.T + self._bias
        two = np.sort(odds, axis=1)[:, -2:]
        codes = self._codes[odds.argmax(axis=1)].astype(np.int32)
        return codes, two[:, 1] - two[:, 0], softmax(odds, axis=1).max(axis=1)
