"""What members of a vote change, get wrong or cannot be read from is named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from models.voters import SLOW, data, early
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from wald import EarlyExitClassifier
from wald.models import VoteTerms, decompose


def test_a_tree_that_is_fitted_again_is_noticed() -> None:
    X, y, _ = data()
    model = VotingClassifier([("a", DecisionTreeClassifier()), ("b", DecisionTreeClassifier())]).fit(X, y)
    read = decompose(model)
    assert read.changed() is None
    model.estimators_[1].fit(X[:50], y[:50])
    assert read.changed() == "tree_ of DecisionTreeClassifier was replaced after wald read the model."


def test_what_a_member_changes_is_noticed() -> None:
    X, y, others = data()
    for change in (
        lambda model: model.estimators_[1].fit(X[:100], y[:100]),
        lambda model: model.estimators_[1].var_.__imul__(2),
        lambda model: model.estimators_[2].set_params(n_neighbors=3),
        lambda model: model.set_params(weights=[1, 2, 3, 4]),
        lambda model: model.weights.reverse(),
        lambda model: model.set_params(voting="soft"),
        lambda model: model.estimators_[4].steps[1][1].coef_.__imul__(-1),
        lambda model: model.estimators_.pop(),
    ):
        members = [*SLOW, ("pipe", make_pipeline(StandardScaler(), LogisticRegression()))]
        model = VotingClassifier(members, weights=[1, 1, 1, 1, 2]).fit(X, y)
        fast = early(model, others[:300])
        fast.predict(others[:10])
        change(model)
        with pytest.raises(ValueError, match="after wald read the model"):
            fast.predict(others[:10])


class Odd(ClassifierMixin, BaseEstimator):
    """A classifier with wrong answers."""

    def __init__(self, says: str = "fine") -> None:
        self.says = says

    def fit(self, X, y):
        self.classes_, self.n_features_in_ = np.unique(y), X.shape[1]
        return self

    def predict(self, X):
        return {"unknown": np.full(len(X), 9), "text": np.full(len(X), "no"), "short": np.zeros(len(X) - 1, int)}[
            self.says
        ]

    def predict_proba(self, X):
        if self.says == "error":
            raise RuntimeError("no answer")
        shape = (len(X), 3) if self.says == "short" else (len(X), 2)
        return np.full(shape, 1.5)


@pytest.mark.parametrize(
    ("voting", "says", "words"),
    [
        ("hard", "unknown", r"odd \(Odd\) predicts .*9.*, which is none of the classes \[0, 1\]"),
        ("hard", "text", r"odd \(Odd\) predicts .*no.*, which is none of the classes"),
        ("hard", "short", r"predict of odd \(Odd\) returned an array of shape \(127,\) for 128 rows"),
        ("soft", "short", r"odd \(Odd\) gives 3 probabilities for 2 classes"),
        ("soft", "fine", r"odd \(Odd\) gives probabilities from 1\.5 to 1\.5"),
        ("soft", "error", "no answer"),
    ],
)
def test_wrong_answers_of_members_are_named(voting, says, words) -> None:
    X, y, others = data()
    model = VotingClassifier([("odd", Odd(says)), ("bayes", GaussianNB())], voting=voting).fit(X, y)
    with pytest.raises((ValueError, RuntimeError), match=words) as caught:
        decompose(model).terms.scores(others[:10])
    if says == "error":
        assert "odd (Odd), a member of the wrapped ensemble" in caught.value.__notes__[0]


class Texts(ClassifierMixin, BaseEstimator):
    """A classifier that does not say how many columns it takes."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.zeros(len(X), int)


def test_what_cannot_be_read_is_refused_by_name() -> None:
    X, y, _ = data()

    def voting(**changes: Any) -> Any:
        model = VotingClassifier([("svc", SVC()), ("bayes", GaussianNB())]).fit(X, y)
        for name, value in changes.items():
            setattr(model, name, value)
        return model

    several = BaggingClassifier(GaussianNB(), 2).fit(X, y)
    several.classes_ = [np.array([0, 1])] * 2
    boosted = AdaBoostClassifier(GaussianNB(), n_estimators=2).fit(X, y)
    boosted.estimators_, boosted.estimator_weights_ = boosted.estimators_[:1] * 2, np.array([1.0, -1.0])
    for model, error, words in (
        (voting(voting="soft"), TypeError, r"svc \(SVC\), a member of this VotingClassifier, has no predict_proba"),
        (voting(voting="loud"), ValueError, "must be 'hard' or 'soft'. Got 'loud'"),
        (voting(weights=[1.0]), ValueError, "2 members and weights of shape"),
        (voting(weights=[1.0, np.nan]), ValueError, "must be finite"),
        (voting(weights=[0, 0]), ValueError, "sum to 0"),
        (voting(weights=[3, -1]), ValueError, "negative weight, -1"),
        (several, TypeError, "answers several outputs"),
        (boosted, ValueError, "sum to 0"),
        (VotingClassifier([("t", Texts())]).fit(X, y), TypeError, "Put what reads texts or records in front"),
    ):
        with pytest.raises(error, match=words):
            decompose(model)


def test_texts_in_columns_are_refused_where_members_encode_them() -> None:
    X, y, _ = data()
    frame = pd.DataFrame({"kind": np.where(X[:, 0] > 0, "a", "b"), "size": X[:, 1]})
    coded = make_pipeline(ColumnTransformer([("code", OneHotEncoder(), ["kind"])]), LogisticRegression())
    model = VotingClassifier([("coded", coded), ("same", coded)]).fit(frame, y)
    with pytest.raises(ValueError, match="could not convert string to float"):
        EarlyExitClassifier(FrozenEstimator(model), risk=0).fit(frame)


def test_facts_name_the_members() -> None:
    X, y, _ = data()
    read = decompose(VotingClassifier([("a", Perceptron()), ("b", "drop"), ("c", GaussianNB())]).fit(X, y))
    assert isinstance(read.terms, VoteTerms)
    assert read.terms.facts() == {"terms": 2, "members": ["a (Perceptron)", "c (GaussianNB)"]}
    assert read.terms.description == "vote of 2 members (Perceptron, GaussianNB)"
