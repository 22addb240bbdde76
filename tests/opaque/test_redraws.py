"""Two hundred draws of the rows of `fit`, of which surrogates are learnt: few promises about rows to come are broken.

The model is a lookup of answers that counts, so that a draw takes what learning takes. Where it is said to take a
millisecond a row, early exits pay.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.neighbors import KNeighborsClassifier

from wald import EarlyExitClassifier, answer
from wald.early_exit.fitting.late_answers import LateAnswers
from wald.surrogates import learnt

REDRAWS, CONFIDENCE, ROWS = 200, 0.95, 2000
#: More broken promises than these come about in less than one of a thousand runs, if each is broken with 5 %.
MOST_BROKEN = int(binom.ppf(0.999, REDRAWS, 1 - CONFIDENCE))


class Lookup:
    """Answers that are known beforehand, by row; it counts those that it gives."""

    classes_ = np.array([0, 1])

    def __init__(self, known):
        self.known, self.n_asked = known, 0

    def predict(self, rows):
        self.n_asked += len(rows)
        return np.array([self.known[row.tobytes()] for row in rows])


@pytest.fixture(scope="module")
def population():
    """Rows, their true labels, and what neighbours say of them: more than what is learnt."""
    rows, truth = make_classification(
        20_800, 6, n_informative=5, n_redundant=0, class_sep=0.9, flip_y=0.02, random_state=1
    )
    own = KNeighborsClassifier(3).fit(rows[:800], truth[:800]).predict(rows[800:])
    return rows[800:], truth[800:], own


def broken(rows, own, monkeypatch, fit, lost, risk):
    """Draws with a promise, and those of which it is not kept by the rows that were not drawn."""
    known = {row.tobytes(): label for row, label in zip(rows, own.tolist(), strict=True)}
    monkeypatch.setattr(LateAnswers, "seconds_of_row", 1e-3)
    monkeypatch.setattr(learnt, "ITERATIONS", 15)  # quick, and not as good as the model
    monkeypatch.setattr(learnt, "landmarks", lambda *given: [])
    n_certified, n_broken = 0, 0
    for seed in range(REDRAWS):
        drawn = np.random.default_rng([seed, 1]).permutation(len(rows))
        model, few, others = Lookup(known), drawn[:ROWS], drawn[ROWS:]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fast = fit(model, few, seed)
        n_certified += fast.certificate_.status == "certified"
        n_broken += lost(fast.predict(rows[others]), others) > risk
    return n_certified, n_broken


@pytest.mark.long
def test_after_a_data_set_was_answered(population, monkeypatch):
    """What was asked there is a log of unusual rows: those of which surrogates were not sure."""
    (rows, _, own), risk = population, 0.03

    def fit(model, few, seed):
        answered = answer(rows[few], model, risk=risk, n_jobs=1, random_state=seed)
        fast = EarlyExitClassifier(model, risk=risk, n_jobs=1, random_state=seed)
        return fast.fit(rows[few], answers=answered.answers)

    n_certified, n_broken = broken(rows, own, monkeypatch, fit, lambda labels, i: np.mean(labels != own[i]), risk)
    assert n_certified > 0.8 * REDRAWS
    assert n_broken <= MOST_BROKEN


@pytest.mark.long
def test_with_few_calls(population, monkeypatch):
    """A promise, or its reason; and never more calls than allowed."""
    rows, _, own = population

    def fit(model, few, seed):
        fast = EarlyExitClassifier(model, risk=0.05, n_jobs=1, random_state=seed).fit(rows[few], max_calls=500)
        assert model.n_asked == fast.n_calls_ <= 500
        assert fast.certificate_.status == "certified" or "max_calls=500" in str(fast.certificate_)
        return fast

    n_certified, n_broken = broken(rows, own, monkeypatch, fit, lambda labels, i: np.mean(labels != own[i]), 0.05)
    assert n_certified > 0.5 * REDRAWS
    assert n_broken <= MOST_BROKEN


@pytest.mark.long
def test_about_true_labels(population, monkeypatch):
    """The model is right where neighbours are not, but for one row in twenty-five."""
    rows, truth, _ = population
    risk, own = 0.02, np.where(np.random.default_rng(0).random(len(truth)) < 0.04, 1 - truth, truth)

    def fit(model, few, seed):
        fast = EarlyExitClassifier(FrozenEstimator(model), risk=risk, reference="labels", n_jobs=1, random_state=seed)
        return fast.fit(rows[few], truth[few])

    def lost(labels, i):
        return np.mean(labels != truth[i]) - np.mean(own[i] != truth[i])

    n_certified, n_broken = broken(rows, own, monkeypatch, fit, lost, risk)
    assert n_certified > 0.5 * REDRAWS
    assert n_broken <= MOST_BROKEN
