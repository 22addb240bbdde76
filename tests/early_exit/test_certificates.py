"""Certificates that rows can back, and the warnings where they cannot."""

import copy
import warnings

import numpy as np
import pytest
from early_exit.models import MODELS, make, wrap
from sklearn.frozen import FrozenEstimator
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import SVC

from wald import EarlyExitClassifier, Planner
from wald.stopping import Certificate, Lossless

# ---- proofs ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("risk", [0.02, None])
@pytest.mark.parametrize("name", ["rbf", "one-vs-one", "logistic"])
def test_recertify_calls_nothing_lossless_that_no_lossless_rule_has_planned(name, risk):
    model, X = MODELS[name]
    fast = wrap(model, X[1000:4000], risk=risk)
    with pytest.raises(ValueError, match=r"recertify cannot promise risk=0 by proof.*Call fit"):
        fast.recertify(X[4000:], risk=0)
    forged = copy.copy(fast)
    forged.set_params(risk=0)
    with pytest.raises(ValueError, match="recertify cannot promise risk=0 by proof"):
        forged.recertify(X[4000:])
    assert not Certificate.lossless().verify(fast.plan_.boundary)


def test_proofs_are_renewed_and_may_be_relaxed():
    model, X = MODELS["rbf"]
    for params in ({"risk": 0}, {"risk": 0.02, "rule": Lossless()}):
        fast = wrap(model, X[1000:3000], **params)
        again = fast.recertify(X[3000:])
        assert again.certificate_.status in ("lossless", "full")
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
    counted = wrap(model, X[1000:3000], risk=0).recertify(X[3000:], risk=0.02)
    assert np.mean(counted.predict(X) != model.predict(X)) <= 0.02


# ---- groups ----------------------------------------------------------------------------------------------------------


def test_groups_are_part_of_the_sentence():
    model, X = MODELS["rbf"]
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0.05, planner=Planner(cost="units"), random_state=0)
    fast.fit(X[1000:5000], groups=np.arange(4000) // 4)
    assert str(fast.certificate_).startswith(
        "disagreement on a random row of a random group <= 5 % with 95 % confidence"
    )


# ---- measured --------------------------------------------------------------------------------------------------------


def test_measured_classes_have_intervals_that_hold_together():
    model, X = MODELS["one-vs-one"]
    certificate = wrap(model, X[1000:4000], risk={"each": None}).certificate_
    assert len(certificate.intervals) == 4
    assert "one of 4 intervals that hold together with 95 % confidence" in str(certificate)
    assert certificate.verify()


# ---- training rows ---------------------------------------------------------------------------------------------------


def survey(n, d, seed):
    """Correlated answers from 1 to 5."""
    rng = np.random.default_rng(seed)
    return np.clip(np.round(rng.normal(size=(n, 1)) + rng.normal(size=(n, d)) + 3), 1, 5)


DISCRETE = {
    "survey": lambda n, seed: survey(n, 5, seed),
    "long survey": lambda n, seed: survey(n, 6, seed),
    "one-hot": lambda n, seed: OneHotEncoder(sparse_output=False).fit_transform(
        np.vstack([np.tile(np.arange(4)[:, None], 5), np.random.default_rng(seed).integers(0, 4, (n - 4, 5))])
    ),
    "counts": lambda n, seed: np.random.default_rng(seed).poisson(0.7, (n, 7)).astype(float),
}


def noisy(X, seed=0):
    rng = np.random.default_rng(seed)
    score = (X - X.mean(axis=0)) @ np.arange(1, X.shape[1] + 1)
    return score + rng.normal(size=len(X)) * score.std() / 2 > 0


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", DISCRETE)
@pytest.mark.parametrize("n_train", [300, 1500])
def test_rows_that_repeat_by_nature_are_no_training_rows(kind, n_train):
    train = DISCRETE[kind](n_train, 0)
    model = SVC().fit(train, noisy(train))
    rows = DISCRETE[kind](4500, 1)
    known = {row.tobytes() for row in model.support_vectors_}
    assert sum(row.tobytes() in known for row in rows) > 22  # more than .5 %
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fast = wrap(model, rows, risk=0.05)
        fast.recertify(DISCRETE[kind](3000, 2))


@pytest.mark.parametrize("mixed", [0, 3000])
def test_training_rows_are_noticed_among_others_and_by_recertify(mixed):
    X, y = make(7000)
    model = SVC().fit(X[:1000], y[:1000])
    fast = wrap(model, X[1000:4000])
    rows = np.vstack([X[:1000], X[4000 : 4000 + mixed]])
    with pytest.warns(UserWarning, match="equal support vectors of the model.*they may be training rows"):
        fast.recertify(rows, risk=0.05)
    with pytest.warns(UserWarning, match="they may be training rows"):
        wrap(model, rows, risk=0.05)


def test_training_rows_of_many_discrete_features_are_noticed():
    train = survey(1500, 12, 0)
    with pytest.warns(UserWarning, match="they may be training rows"):
        wrap(SVC().fit(train, noisy(train)), train, risk=0.05)


# ---- too few rows ----------------------------------------------------------------------------------------------------


def test_too_few_rows_say_which_risk_they_can_back():
    model, X = MODELS["rbf"]
    with pytest.warns(UserWarning, match="no early exit") as caught:
        fast = wrap(model, X[1000:3000], risk=0.001)
    assert str(caught[0].message) == (
        "no early exit: 2 995 certificate rows needed, 1 000 given, which can back a risk of 0.3 % at best. Of 2 000 "
        "rows given to fit, 1 000 serve the certificate."
    )
    risk = fast.certificate_.smallest_risk
    assert fast.recertify(X[3000:4000], risk=1.0001 * risk).certificate_.status != "too few rows"
    with pytest.warns(UserWarning, match="1 000 given, which can back a risk of 0.3 % at best$"):
        assert fast.recertify(X[3000:4000], risk=0.9999 * risk).certificate_.status == "too few rows"


def test_so_does_fit_where_rows_train_the_estimator():
    X, y = make(4000)
    with pytest.warns(
        UserWarning, match=r"0\.3 % at best\. Of 4 000 rows given .*, 1 000 serve .*, 2 000 trained the esti"
    ):
        EarlyExitClassifier(SVC(), planner=Planner(cost="units"), random_state=0).fit(X, y)
