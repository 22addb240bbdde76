"""Two hundred draws of the rows that are asked: the promise is broken in as few as it says.

The model is a lookup of answers, so that a draw takes what learning takes.
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_classification
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from wald import answer

REDRAWS, CONFIDENCE = 200, 0.95
#: Broken promises that are as good as impossible if each is broken with 5 %: three standard deviations above it.
MOST_BROKEN = int((1 - CONFIDENCE) * REDRAWS + 3 * np.sqrt(REDRAWS * CONFIDENCE * (1 - CONFIDENCE)))


class Lookup:
    """Answers that are known beforehand, by row."""

    def __init__(self, rows, labels):
        self.known = {row.tobytes(): label for row, label in zip(rows, labels.tolist(), strict=True)}

    def __call__(self, rows):
        return np.array([self.known[row.tobytes()] for row in rows])


def simulated():
    """Two classes of which neighbours know more than what is learnt."""
    X, y = make_classification(4400, 6, n_informative=5, n_redundant=0, class_sep=1.5, random_state=1)
    return X[400:], KNeighborsClassifier(3).fit(X[:400], y[:400])


def digits():
    """Small images of ten digits, with noise, as another machine answers them."""
    X, y = load_digits(return_X_y=True)
    return X + np.random.default_rng(0).normal(0.0, 2.0, X.shape), SVC().fit(X, y)


@pytest.mark.long
@pytest.mark.parametrize(("made", "risk"), [(simulated, 0.05), (digits, 0.05)])
def test_the_promise_about_the_data_set_is_kept(made, risk):
    rows, model = made()
    own = model.predict(rows)
    ask = Lookup(rows, own)
    found = [answer(rows, ask, risk=risk, n_jobs=1, random_state=seed) for seed in range(REDRAWS)]
    broken = sum(np.mean(each.labels != own) > risk for each in found)
    assert broken <= MOST_BROKEN
    assert np.mean([each.n_calls for each in found]) < 0.8 * len(rows)  # or else there is nothing to break


@pytest.mark.long
def test_the_promise_is_kept_with_a_log_of_unusual_rows():
    rows, model = simulated()
    own = model.predict(rows)
    ask, odd = Lookup(rows, own), np.flatnonzero(rows[:, 0] > np.quantile(rows[:, 0], 0.85))
    log = dict(zip(odd.tolist(), own[odd].tolist(), strict=True))
    found = [answer(rows, ask, risk=0.05, answers=log, n_jobs=1, random_state=seed) for seed in range(REDRAWS)]
    assert sum(np.mean(each.labels != own) > 0.05 for each in found) <= MOST_BROKEN
