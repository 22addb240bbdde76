"""The self-check of `fit` for votes, whose members are asked once for the same rows, and answer what is made up."""

from __future__ import annotations

import joblib
import lightgbm
import numpy as np
import pandas as pd
import pytest
from early_exit.checked import BOUND, agree, cost_of_agreeing, misread, n_calls, predictor_of
from early_exit.models import X2, X3, wrap, y2, y3
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from wald.early_exit.compiled.self_check import require_own_answers
from wald.sources import source_of

pytestmark = pytest.mark.filterwarnings(
    "ignore:no early exit", "ignore:The certificate's risk of", "ignore:X does not have valid feature names"
)


def vote(*members, **params):
    return VotingClassifier([(f"m{k}", member) for k, member in enumerate(members)], **params)


def soft(*members, **params):
    return vote(*members, voting="soft", **params)


def forest(n=100, seed=0):
    return RandomForestClassifier(n, random_state=seed)


def logistic():
    return LogisticRegression(max_iter=1000)


# ---- misread votes -------------------------------------------------------------------------------------------------


def with_weights_a_little_off(model):
    model.weights = [0.5, 0.301, 0.199]


def with_two_members_swapped(model):
    model.estimators_ = [*model.estimators_[:-2], *model.estimators_[:-3:-1]]


def with_another_vote(model):
    model.voting = "soft"


def with_columns_of_another_member(model):
    model.estimators_features_ = [*model.estimators_features_[1:], model.estimators_features_[0]]


def with_a_weight_of_boosting_off(model):
    model.estimator_weights_ = model.estimator_weights_ * np.array([1 + 1e-6, *[1] * (len(model.estimators_) - 1)])


def without_last_member(model):
    model.estimators_ = model.estimators_[:-1]


MISREAD = {
    "members swapped": (
        vote(logistic(), GaussianNB(), DecisionTreeClassifier(), weights=[1, 1, 3]),
        with_two_members_swapped,
    ),
    "forests swapped": (vote(forest(), forest(seed=1), forest(seed=2), weights=[1, 1, 3]), with_two_members_swapped),
    "weights a little off": (
        soft(logistic(), GaussianNB(), DecisionTreeClassifier(), weights=[0.5, 0.3, 0.2]),
        with_weights_a_little_off,
    ),
    "weights of forests a little off": (
        soft(forest(), forest(seed=1), forest(seed=2), weights=[0.5, 0.3, 0.2]),
        with_weights_a_little_off,
    ),
    "bagging without a member": (BaggingClassifier(GaussianNB(), 20, random_state=0), without_last_member),
    "bagging without a label": (BaggingClassifier(RidgeClassifier(), 20, random_state=0), without_last_member),
    "a weight of boosting off": (AdaBoostClassifier(GaussianNB(), n_estimators=5), with_a_weight_of_boosting_off),
    "another kind of vote": (
        vote(LogisticRegression(C=1e-3), GaussianNB(), LogisticRegression(C=1e-4)),
        with_another_vote,
    ),
    "columns of another member": (
        BaggingClassifier(KNeighborsClassifier(), 5, max_features=0.5, random_state=0),
        with_columns_of_another_member,
    ),
}


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize("risk", [0.05, 0])
@pytest.mark.parametrize("name", MISREAD)
def test_a_misread_vote_is_an_error_that_shows_both_answers(name, risk):
    kind, tampered = MISREAD[name]
    X, y = (X2, y2) if risk else (X3, y3)
    model = clone(kind).fit(X[:800], y[:800])
    wrap(model, X[800:2400], risk=risk)
    with pytest.raises(ValueError, match=r"misreads this Misread\d+: its own \w+ for .*, and wald .*rounding"):
        wrap(misread(model, tampered), X[800:2400], risk=risk)


@pytest.mark.parametrize("name", [name for name in MISREAD if name != "columns of another member"])
def test_what_a_vote_makes_of_answers_is_compared_without_rows_too(name):
    kind, tampered = MISREAD[name]
    scaler, model = StandardScaler().fit(X3[:800]), clone(kind).fit(X3[:800], y3[:800])
    require_own_answers(predictor_of(make_pipeline(scaler, model)))
    with pytest.raises(ValueError, match=r"misreads this Misread.* for members that answer .*, and wald"):
        require_own_answers(predictor_of(make_pipeline(scaler, misread(model, tampered))))


def test_one_vote_of_many_is_not_missed():
    model = BaggingClassifier(RidgeClassifier(), 500, random_state=0).fit(X2[:200], y2[:200])
    require_own_answers(predictor_of(model))
    with pytest.raises(ValueError, match="misreads this"):
        require_own_answers(predictor_of(misread(model, without_last_member)))


# ---- no false alarms -----------------------------------------------------------------------------------------------

VOTES = {
    "hard": vote(forest(20), GaussianNB(), logistic()),
    "soft, of forests": soft(forest(20), ExtraTreesClassifier(20, random_state=0)),
    "weighted": vote(GaussianNB(), forest(20), RidgeClassifier(), weights=[0.3, 0.1, 0.2]),
    "of pipelines": soft(make_pipeline(StandardScaler(), forest(20)), GaussianNB()),
    "of one twice": soft(GaussianNB(), GaussianNB(), forest(20), weights=[1, 2, 1]),
    "bagging": BaggingClassifier(GaussianNB(), 7, max_features=0.4, n_jobs=2, random_state=0),
    "bagging of few rows": BaggingClassifier(KNeighborsClassifier(2), 9, max_samples=6, random_state=0),
    "AdaBoost": AdaBoostClassifier(GaussianNB(), n_estimators=5),
}


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize("name", VOTES)
@pytest.mark.parametrize("form", [np.float32, np.float64, "frame"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_votes_of_every_kind_agree(name, form, n_classes):
    X, y = (X2, y2) if n_classes == 2 else (X3, y3)
    if form == "frame":
        X, y = pd.DataFrame(X).add_prefix("c"), np.array(["no", "yes", "perhaps", "never"])[y]
    else:
        X = X.astype(form)
    scaler = StandardScaler().fit(X[:800])
    with joblib.parallel_config("sequential"):
        model = clone(VOTES[name]).fit(X[:800], y[:800])
    if name == "of one twice":
        model.estimators_[1] = model.estimators_[0]
    inner = FrozenEstimator(make_pipeline(FrozenEstimator(model)))
    for around in (model, FrozenEstimator(model), make_pipeline(scaler, model), make_pipeline(scaler, inner)):
        found = require_own_answers(predictor_of(around), source_of(X[800:900]))
        assert (found.n_rows, found.scores) == (16 + 48, name not in ("hard", "weighted"))


def test_votes_on_wide_sparse_rows_agree():
    X = sparse.random(500, 20_000, density=0.002, format="csr", random_state=0)
    y = np.ravel(X[:, :5000].sum(axis=1)) > 5
    for kind in (vote(MultinomialNB(), forest(5), logistic()), BaggingClassifier(MultinomialNB(), 3, max_features=0.5)):
        agree(kind.fit(X, y), X)


# ---- what it costs -------------------------------------------------------------------------------------------------

KINDS = {
    "hard": vote(forest(), logistic(), GaussianNB()),
    "hard, on a frame": vote(forest(), logistic(), GaussianNB()),
    "soft, of two forests": soft(forest(), forest(seed=1)),
    "soft, of LightGBM": soft(lightgbm.LGBMClassifier(n_estimators=100, verbose=-1, n_jobs=1), logistic()),
    "of pipelines": vote(*(make_pipeline(StandardScaler(), each) for each in (logistic(), SVC(), forest()))),
    "bagging": BaggingClassifier(logistic(), 20, random_state=0),
}


@pytest.mark.parametrize("name", KINDS)
def test_it_takes_a_small_part_of_fit(name):
    X = pd.DataFrame(X3).add_prefix("c") if "frame" in name else X3
    n, spent = cost_of_agreeing(clone(KINDS[name]).fit(X[:800], y3[:800]), X[800:])
    assert n == 16 + 48
    assert spent < BOUND


CALLS = {
    "two forests": (soft(forest(30), forest(30, seed=1)), 60),
    "two forests by labels, on a frame": (vote(forest(30), forest(30, seed=1)), 60),
    "two forests in a pipeline": (make_pipeline(PolynomialFeatures(2), soft(forest(30), forest(30, seed=1))), 60),
    "bagging of forests": (BaggingClassifier(forest(30), 3, max_features=0.5, random_state=0), 90),
}


@pytest.mark.parametrize("name", CALLS)
def test_each_member_is_asked_once(name, monkeypatch):
    kind, most = CALLS[name]
    X = pd.DataFrame(X3).add_prefix("c") if "frame" in name else X3
    predictor = predictor_of(clone(kind).fit(X[:800], y3[:800]))
    compare = lambda: require_own_answers(predictor, source_of(X[800:]))  # noqa: E731
    assert n_calls(monkeypatch, DecisionTreeClassifier, "predict_proba", compare) == most
