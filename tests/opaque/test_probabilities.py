"""Rows from which surrogates are learnt are asked for their probabilities, once, where an estimator gives them."""

from __future__ import annotations

import time
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.neighbors import KNeighborsClassifier

from wald import EarlyExitClassifier
from wald.early_exit import Status
from wald.early_exit.fitting import asked_rows, late_answers, opaque, selection, surrogate_costs, taught
from wald.models.asked import AskedFunction
from wald.sources import source_of
from wald.surrogates import learns_probabilities

X, Y = make_classification(
    2300, 6, n_informative=5, n_redundant=0, n_classes=3, n_clusters_per_class=1, class_sep=1.0, random_state=0
)
Y, FIT, NEW = np.array(["ant", "bee", "cow"])[Y], X[500:1800], X[1800:]
N_LEARNT = round(asked_rows.LEARN_SHARE * len(FIT))


class Noted(KNeighborsClassifier):
    """Nearest neighbours that note the rows they were asked about."""

    def fit(self, X, y):
        """Learn."""
        self.labelled, self.weighed = [], []
        return super().fit(X, y)

    def predict(self, X):
        """Labels."""
        self.labelled += [row.tobytes() for row in np.asarray(X)]
        neighbours = self.kneighbors(X, return_distance=False)
        codes = np.unique(Y[:500], return_inverse=True)[1][neighbours]
        votes = np.stack([(codes == code).sum(axis=1) for code in range(3)], axis=1)
        return self.classes_[votes.argmax(axis=1)]

    def predict_proba(self, X):
        """Probabilities."""
        self.weighed += [row.tobytes() for row in np.asarray(X)]
        return super().predict_proba(X)


class Raising(Noted):
    """Probabilities that are not there."""

    def predict_proba(self, X):
        """Raise."""
        super().predict_proba(X)
        raise RuntimeError("no probabilities")


class Doubting(Noted):
    """Probabilities of which it warns."""

    def predict_proba(self, X):
        """Warn."""
        warnings.warn("no good probabilities", stacklevel=2)
        return super().predict_proba(X)


class Missing(Noted):
    """Probabilities that are missing."""

    def predict_proba(self, X):
        """NaN."""
        return super().predict_proba(X) * np.nan


class Narrow(Noted):
    """Probabilities of one class too few."""

    def predict_proba(self, X):
        """Two columns."""
        return super().predict_proba(X)[:, :2]


class Contrary(Noted):
    """Probabilities of other classes than the label."""

    def predict_proba(self, X):
        """Columns in another order."""
        return super().predict_proba(X)[:, ::-1]


class Slow(Noted):
    """Probabilities that take long."""

    def predict_proba(self, X):
        """Wait."""
        time.sleep(2e-4 * len(X))
        return super().predict_proba(X)


class Late(Noted):
    """Probabilities that are missing from some rows on."""

    def predict_proba(self, X):
        """NaN in large calls."""
        found = super().predict_proba(X)
        return found if len(X) < 100 else found * np.nan


@pytest.fixture
def lessons(monkeypatch):
    """What surrogates were learnt from."""
    found, learn = [], opaque.learn_held_out

    def noted(source, codes, rng, n_threads, probabilities, groups):
        found.append((source, codes, probabilities))
        return learn(source, codes, rng, n_threads, probabilities, groups)

    monkeypatch.setattr(opaque, "learn_held_out", noted)
    monkeypatch.setattr(surrogate_costs, "QUICK", 0.0)  # else it is timed again, on rows that are not counted
    monkeypatch.setattr(selection, "kept_if_faster", lambda _, certificate, plan, *more: (certificate, plan))
    return found


def fitted(kind, **more):
    model = kind(5).fit(X[:500], Y[:500])
    return model, EarlyExitClassifier(model, risk=0.01, random_state=0).fit(FIT, **more)


def test_a_row_is_asked_once_but_for_those_that_are_compared(lessons):
    model, fast = fitted(Noted)
    asked = model.labelled + model.weighed
    assert fast.n_calls_ == len(asked)
    assert len(asked) - len(set(asked)) == 64
    assert len(model.weighed) == len(set(model.weighed)) == N_LEARNT
    assert len(set(model.labelled) & set(model.weighed)) == 32
    assert fast.n_calls_ <= fast.calls_needed(len(FIT)).most
    ((source, codes, probabilities),) = lessons
    rows = source.array()
    assert {row.tobytes() for row in rows} == set(model.weighed)
    assert (probabilities == KNeighborsClassifier.predict_proba(model, rows)).all()
    assert (codes == probabilities.argmax(axis=1)).all()


def test_labels_behind_it_are_those_of_predict():
    model, fast = fitted(Noted)
    details = fast.predict(NEW, details=True)
    late = details.status == Status.FULL
    own = model.predict(NEW)
    assert 0 < late.sum() < len(NEW)
    assert (details.labels[late] == own[late]).all()
    assert np.mean(details.labels != own) < 0.02


@pytest.mark.parametrize("kind", [Raising, Doubting, Missing, Narrow, Contrary])
def test_labels_teach_where_probabilities_are_of_no_use(lessons, kind):
    model, fast = fitted(kind)
    assert lessons[0][2] is None
    assert len(set(model.weighed)) <= 32
    assert fast.n_calls_ == len(set(model.labelled)) + 64
    assert (model.classes_[lessons[0][1]] == model.predict(lessons[0][0].array())).all()


def test_dear_probabilities_are_not_gone_on_with(lessons, monkeypatch):
    monkeypatch.setattr(taught, "SECONDS_MORE", 0.02)
    model, fast = fitted(Slow)
    assert 0 < len(model.weighed) < N_LEARNT
    assert fast.n_calls_ == len(set(model.labelled + model.weighed)) + 64
    _, codes, probabilities = lessons[0]
    assert (probabilities.max(axis=1) == 1).sum() >= N_LEARNT - len(model.weighed)
    assert (codes == probabilities.argmax(axis=1)).all()


def test_rows_whose_probabilities_fail_late_give_labels(lessons):
    model, _ = fitted(Late)
    _, codes, probabilities = lessons[0]
    assert probabilities.sum(axis=1) == pytest.approx(1)
    assert (model.classes_[codes] == model.predict(lessons[0][0].array())).mean() > 0.95


def test_rows_of_a_log_are_not_asked(lessons):
    model = Noted(5).fit(X[:500], Y[:500])
    log = dict(enumerate(model.predict(FIT[:780]).tolist()))
    model.labelled.clear()
    fast = EarlyExitClassifier(model, risk=0.01, random_state=0).fit(FIT, answers=log)
    logged = {row.tobytes() for row in FIT[:780]}
    assert not logged & set(model.weighed)
    assert len(logged & set(model.labelled)) <= 32
    assert fast.n_calls_ == len(model.labelled) + len(model.weighed)
    source, codes, probabilities = lessons[0]
    of_log = np.array([row.tobytes() in logged for row in source.array()])
    assert (probabilities[of_log] == np.eye(3)[codes[of_log]]).all()
    assert (probabilities[~of_log].max(axis=1) < 1).any()


def test_true_labels_teach_alone(lessons):
    model = Noted(5).fit(X[:500], Y[:500])
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0.01, reference="labels", random_state=0)
    fast.fit(FIT, Y[500:1800])
    assert model.weighed == []
    assert lessons[0][2] is None


@pytest.mark.parametrize("kind", [Noted, Raising, Late])
def test_calls_are_never_more_than_allowed(lessons, kind, monkeypatch):
    monkeypatch.setattr(taught, "GROWS", 100)
    model, fast = fitted(kind, max_calls=1000)
    assert fast.n_calls_ == len(model.labelled) + len(model.weighed) <= 1000
    assert (lessons[0][2] is None) == (kind is Raising)


def test_an_answer_that_changes_is_still_an_error(monkeypatch):
    class Changing(Noted):
        """Labels that change from call to call."""

        def predict(self, X):
            """Labels that move on by one at each call."""
            self.turn = getattr(self, "turn", 0) + 1
            return np.roll(self.classes_, self.turn)[np.searchsorted(self.classes_, super().predict(X))]

    with pytest.raises(ValueError, match="otherwise when it was asked again"):
        fitted(Changing)


def test_what_is_said_is_not_kept_as_an_answer():
    model = Noted(5).fit(X[:500], Y[:500])
    answers = late_answers.LateAnswers(model, source_of(FIT), None, None)
    answers.ask(np.arange(100))
    lesson = taught.taught(answers, np.arange(100, 400), 40)
    assert lesson.n_compared == 20
    assert lesson.probabilities.shape == (300, 3)
    assert answers.known.sum() == 120
    assert answers.n_calls == 420


def test_sparse_rows_and_functions_are_asked_for_labels(lessons):
    model = Noted(5).fit(X[:500], Y[:500])
    EarlyExitClassifier(model.predict, risk=0.05, random_state=0).fit(FIT)
    assert not taught.gives_probabilities(AskedFunction(model))
    assert model.weighed == []
    assert lessons[0][2] is None
    assert not learns_probabilities(source_of(csr_array(FIT)))
    assert learns_probabilities(source_of(FIT))
