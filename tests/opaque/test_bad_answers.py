"""What a model that is asked may give in place of labels: each door says whose rows they are, and keeps the others."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from wald import CallError, Calls, EarlyExitClassifier, Surrogate, answer
from wald.early_exit import Status

X, y = make_classification(2000, 6, n_informative=5, n_redundant=0, class_sep=2.0, random_state=0)
LABELS = np.array(["ham", "spam"])[y]
MODEL = GaussianNB().fit(X[:300], LABELS[:300])
LOOK = Surrogate(
    lambda rows: MODEL.predict_joint_log_proba(rows) @ [-1.0, 1.0] + 3 * rows[:, 0], cost=0.01, name="odds"
)
NEW = X[1600:]
CHANGE = [lambda labels: labels]


def served(rows):
    """Labels, as they are changed on their way."""
    return CHANGE[0](MODEL.predict(rows))


class Changed(GaussianNB):
    """The same as a classifier."""

    def predict(self, rows):
        """Labels."""
        return CHANGE[0](super().predict(rows))


@cache
def fitted(kind):
    CHANGE[0] = lambda labels: labels
    model = Calls(served, batch_size=20) if kind == "function" else Changed().fit(X[:300], LABELS[:300])
    fast = EarlyExitClassifier(model, surrogates=[LOOK], risk=0.02, random_state=0).fit(X[300:1600])
    return fast, fast.predict(NEW, details=True)


@pytest.fixture
def change():
    def put(made):
        CHANGE[0] = made

    fitted("function"), fitted("classifier")
    yield put
    CHANGE[0] = lambda labels: labels


def missing(labels, none):
    changed = labels.astype(object)
    changed[-1] = none
    return changed


def refuses(labels):
    raise KeyError("an odd row")


#: Changes, and what errors say of a function and of a classifier.
BAD = {
    "too few": (lambda labels: labels[:-1], r"it gave \d+ answers for \d+ row", "must give one label for each"),
    "too many": (lambda labels: [*labels, "ham"], r"it gave \d+ answers for \d+ row", "must give one label for each"),
    "two a row": (
        lambda labels: np.column_stack([labels] * 2),
        "one label a row. Got answers of shape",
        "must give one",
    ),
    "one for all": (lambda labels: "spam", "it answered 'spam', a str", "must give one label for each"),
    "another class": (
        lambda labels: np.where(np.arange(len(labels)) == len(labels) - 1, "dog", labels),
        "it answered .*'dog'.*, which is none of the classes",
        "gave the label 'dog' for row .*none of its classes_: 'ham', 'spam'",
    ),
    "NaN": (
        lambda labels: missing(labels, np.nan),
        "it answered nan, which is no label",
        "gave labels that cannot be compared with its",
    ),
    "None": (
        lambda labels: missing(labels, None),
        "it answered None, which is no label",
        "gave labels that cannot be compared with its",
    ),
    "numbers": (
        lambda labels: np.zeros(len(labels)),
        "labels are of dtype float64, and the classes",
        "gave the label 0.0",
    ),
}
DOORS = {
    "predict": lambda fast: fast.predict(NEW),
    "predict_one": lambda fast: fast.predict_one(NEW[np.flatnonzero(fitted("function")[1].status == Status.FULL)[0]]),
    "a deadline": lambda fast: fast.predict(NEW, deadline=60.0),
    "watched": lambda fast: fast.watched(1.0).predict(NEW),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("door", DOORS)
def test_a_function_is_named_with_its_rows(door, name, change):
    fast, answers = fitted("function")
    change(BAD[name][0])
    with pytest.raises(CallError, match=rf"'served' failed for row \d.*{BAD[name][1]}") as found:
        DOORS[door](fast)
    if door != "predict_one":  # rows of NEW that the surrogate has left to the model
        partial = found.value.partial
        assert (answers.status[found.value.rows] == Status.FULL).all()
        early = answers.status == Status.EARLY
        assert partial.decided[early].all()
        assert np.array_equal(partial.labels[early], answers.labels[early])


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("door", DOORS)
def test_a_classifier_is_named(door, name, change):
    fast, _ = fitted("classifier")
    change(BAD[name][0])
    with pytest.raises((ValueError, TypeError), match=rf"Changed {BAD[name][2]}"):
        DOORS[door](fast)


@pytest.mark.parametrize("name", BAD)
def test_fit_and_answer(name, change):
    change(BAD[name][0])
    given = {"surrogates": [LOOK], "risk": 0.05, "random_state": 0}
    if name not in ("another class", "numbers"):  # a function's classes are what it answers
        with pytest.raises(CallError, match=rf"'served' failed for row \d.*{BAD[name][1]}"):
            EarlyExitClassifier(served, **given).fit(X[300:])
        with pytest.raises(CallError, match=rf"'served' failed for row \d.*{BAD[name][1]}"):
            answer(X[300:], served, **given)
    model = fitted("classifier")[0].estimator
    with pytest.raises((ValueError, TypeError), match=rf"Changed {BAD[name][2]}"):
        EarlyExitClassifier(model, **given).fit(X[300:])
    with pytest.raises(CallError, match=rf"'Changed' failed for row \d.*{BAD[name][1]}"):
        answer(X[300:], model, **given)


def test_a_column_and_a_list_are_labels(change):
    for kind in ("function", "classifier"):
        fast, answers = fitted(kind)
        for made in (
            lambda labels: labels[:, None],
            lambda labels: labels.tolist(),
            lambda labels: labels.astype(object),
        ):
            change(made)
            assert np.array_equal(fast.predict(NEW), answers.labels)
            assert np.array_equal(fast.predict(NEW, deadline=60.0), answers.labels)
    change(lambda labels: labels[:, None])
    found = answer(X[300:], served, surrogates=[LOOK], risk=0.05, random_state=0)
    assert np.mean(found.labels != MODEL.predict(X[300:])) <= 0.05


def test_a_model_that_raises(change):
    change(refuses)
    with pytest.raises(CallError, match=r"'served' failed for row .*KeyError: 'an odd row'"):
        fitted("function")[0].predict(NEW)
    with pytest.raises(KeyError, match="an odd row"):  # a classifier's own error, as it is
        fitted("classifier")[0].predict(NEW)


def test_surrogates_of_other_columns():
    other = LogisticRegression().fit(X[:300, :4], LABELS[:300])
    with pytest.raises(ValueError, match="X has 6 features, but LogisticRegression is expecting 4"):
        EarlyExitClassifier(MODEL, surrogates=[other], risk=0.05, random_state=0).fit(X[300:])
    with pytest.raises(ValueError, match="X has 6 features, but LogisticRegression is expecting 4"):
        answer(X[300:], MODEL, surrogates=[other], risk=0.05, random_state=0)


def test_a_tolerance_needs_probabilities_that_wald_reads():
    with pytest.raises(ValueError, match="tolerance needs a model that wald reads"):
        EarlyExitClassifier(served, tolerance=0.1, risk=0.05, random_state=0).fit(X[300:])
    with pytest.raises(ValueError, match="tolerance needs a model that wald reads"):
        EarlyExitClassifier(MODEL, surrogates=[LOOK], tolerance=0.1, risk=0.05, random_state=0).fit(X[300:])


ODD = {
    "values": (
        lambda rows: rows[:, 0],
        r"gave \d+ different labels for \d+ rows, such as -.*values rather than classes",
    ),
    "objects of two types": (
        lambda rows: np.array([1, "a"], dtype=object)[(rows[:, 0] > 0) * 1],
        "must hold labels of one",
    ),
    "a list of two types": (lambda rows: [1 if first > 0 else "a" for first in rows[:, 0]], "must hold labels of one"),
}


@pytest.mark.parametrize("kind", ODD)
def test_a_function_without_labels_is_no_classifier(kind):
    function, message = ODD[kind]
    with pytest.raises((ValueError, CallError), match=message):
        EarlyExitClassifier(function, surrogates=[LOOK], risk=0.02, random_state=0).fit(X)
