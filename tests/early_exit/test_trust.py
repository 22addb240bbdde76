"""Integrity of a fitted classifier: copies, new certificates, changed models, rows that back no promise."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from early_exit.models import MODELS, make, wrap
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from wald import EarlyExitClassifier


def test_pickle_copy_and_clone():
    model, X = MODELS["rbf"]
    fast = wrap(model, X[1000:5000])
    expected = fast.predict(X, return_cost=True)
    for other in (pickle.loads(pickle.dumps(fast)), copy.deepcopy(fast)):
        got = other.predict(X, return_cost=True)
        np.testing.assert_array_equal(got[0], expected[0])
        np.testing.assert_array_equal(got[1], expected[1])
    with pytest.raises(NotFittedError):
        clone(fast).predict(X)


def test_recertify_keeps_the_plan_and_this_object():
    model, X = MODELS["rbf"]
    fast = wrap(model, X[1000:4000])
    before = str(fast.certificate_)
    other = fast.recertify(X[4000:], risk=0.1, confidence=0.9)
    assert other.certificate_.risk == 0.1
    assert other.certificate_.n_rows == 2000
    assert str(fast.certificate_) == before
    np.testing.assert_array_equal(other.plan_.order, fast.plan_.order)
    assert other.plan_.q < fast.plan_.q
    assert other.predict(X, return_cost=True)[1].mean() < fast.predict(X, return_cost=True)[1].mean()


def test_a_model_that_changed_after_fit_is_refused():
    X, y = make()
    model = LogisticRegression().fit(X[:800], y[:800])
    fast = wrap(model, X[1000:3000])
    model.coef_ *= 2
    with pytest.raises(ValueError, match="not the one that was planned"):
        fast.predict(X)


def test_training_rows_are_noticed_and_a_few_duplicates_are_not():
    model, X = MODELS["rbf"]
    with pytest.warns(UserWarning, match="support vectors"):
        wrap(model, X[:3000])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wrap(model, np.vstack([X[1000:5000], model.support_vectors_[:3]]))


def test_too_few_rows_and_too_many_disagreements_are_distinguished():
    model, X = MODELS["rbf"]
    with pytest.warns(UserWarning, match="2 995 certificate rows needed, 500 given"):
        fast = wrap(model, X[1000:2000], risk=0.001)
    assert fast.certificate_.status == "too few rows"
    np.testing.assert_array_equal(fast.predict(X), model.predict(X))


def test_html_repr_shows_the_wrapped_model():
    assert "SVC" in EarlyExitClassifier(SVC())._repr_html_()
