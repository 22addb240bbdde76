"""Input that is refused, and the messages."""

import warnings

import numpy as np
import pytest
from early_exit.models import MODELS, make, wrap
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from wald import EarlyExitClassifier, Planner


def test_a_fitted_estimator_is_taken_as_it_is_and_another_one_needs_labels():
    X, y = make(n=3000)
    model = LogisticRegression().fit(X[:500], y[:500])
    settings = {"risk": 0.05, "planner": Planner(cost="units"), "random_state": 0}
    plain, frozen = (EarlyExitClassifier(e, **settings).fit(X[500:]) for e in (model, FrozenEstimator(model)))
    assert plain.certificate_ == frozen.certificate_
    assert plain.certificate_.status == "certified"
    np.testing.assert_array_equal(plain.plan_.order, frozen.plan_.order)
    np.testing.assert_array_equal(plain.predict(X), frozen.predict(X))
    np.testing.assert_array_equal(plain.decision_function(X), model.decision_function(X))
    with pytest.raises(ValueError, match="requires y"):
        EarlyExitClassifier(LogisticRegression()).fit(X)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"risk": 1.0}, "risk must be"),
        ({"risk": -0.1}, "risk must be"),
        ({"risk": "low"}, "risk must be"),
        ({"risk": True}, "risk must be"),
        ({"confidence": 1.0}, "confidence must be"),
        ({"certificate_fraction": 0.0}, "certificate_fraction must be"),
        ({"order": "best"}, "order must be"),
        ({"order": np.array([0, 0])}, "order must be"),
        ({"order": np.array([99])}, "order must hold unit indices"),
        ({"rule": "wald"}, "rule must be"),
        ({"risk": {"some": 0.1}}, "risk names 'some', which is none of the classes"),
        ({"cost": "money"}, "cost must be"),
        ({"n_jobs": 0}, "n_jobs must be"),
    ],
)
def test_parameters_out_of_range(params, message):
    model, X = MODELS["logistic"]
    with pytest.raises(ValueError, match=message):
        wrap(model, X[1000:1500], **params)
    with pytest.raises(TypeError, match="rule must be"):
        wrap(model, X[1000:1500], rule=3)
    with pytest.raises(TypeError, match=r"planner must be None or a wald.Planner. Got str instead"):
        EarlyExitClassifier(model, planner="units").fit(X[1000:1500])


@pytest.mark.parametrize("name", ["rbf", "logistic", "one-vs-one"])
def test_rows_that_do_not_fit(name):
    model, X = MODELS[name]
    fast = wrap(model, X[1000:5000])
    for bad, message in (
        (X[:5, :3], "features"),
        (X[0], "2D array"),
        (np.full((3, 20), np.nan), "NaN"),
        (np.full((3, 20), np.inf), "infinity"),
        (np.array([["a"] * 20], dtype=object), "could not convert|float"),
        (X[:4] + 1j, "Complex|complex"),
    ):
        with pytest.raises(ValueError, match=message):
            fast.predict(bad)
    assert fast.predict(X[:0]).shape == (0,)
    assert fast.predict(X[:0]).dtype == fast.classes_.dtype
    assert fast.predict(X[:1]).shape == (1,)
    readonly = X[:100].copy()
    readonly.flags.writeable = False
    for same in (readonly, X[:100].tolist(), X[:200:2][:50], X[:100].astype(object)):
        np.testing.assert_array_equal(fast.predict(same), fast.predict(np.array(same, dtype=float)))
    with pytest.raises(ValueError, match="features"):
        fast.predict_one(X[0, :3])
    assert fast.predict_one(X[0].astype(int)) == fast.predict(X[:1].astype(int))[0]
    with pytest.raises(ValueError, match="NaN"):
        fast.predict_one(np.full(20, np.nan))


@pytest.mark.parametrize("cost", ["time", "units"])
@pytest.mark.parametrize("name", ["rbf", "logistic"])
def test_too_few_rows_to_plan_on_are_said(name, cost):
    model, X = MODELS[name]
    for n in range(4):
        with pytest.raises(ValueError, match=f"fit has n_samples={n}, of which {n} plan and certify"):
            wrap(model, X[:n], cost=cost)


@pytest.mark.filterwarnings("ignore:no early exit", "ignore:The certificate's risk")
@pytest.mark.parametrize("cost", ["time", "units"])
@pytest.mark.parametrize("name", ["rbf", "logistic", "logistic multiclass"])
def test_rows_that_teach_nothing_still_give_the_models_labels(name, cost):
    model, X = MODELS[name]
    for rows in (X[1000:1004], np.ones((400, 20))):  # hardly any, and all the same
        fast = wrap(model, rows, cost=cost, risk=0.1)
        np.testing.assert_array_equal(fast.predict(rows), model.predict(rows))


class Network:
    """What is no estimator of scikit-learn's kind."""

    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.zeros(len(X))


@pytest.mark.parametrize(
    "what", [Network(), Network, None, "model.txt", 3], ids=["an object", "a class", "None", "a path", "a number"]
)
def test_what_is_no_estimator_is_refused_in_plain_words(what):
    for estimator in (what, FrozenEstimator(what)):
        for risk, rows in ((0.01, (np.zeros((100, 3)),)), (0.01, (np.zeros((100, 3)), np.zeros(100))), (0, ())):
            with pytest.raises(TypeError, match=r"(?s)not (supported|the class Network).*Supported are scikit-learn"):
                EarlyExitClassifier(estimator, risk=risk).fit(*rows)


def test_a_fitted_estimator_that_is_trained_anew_is_said():
    model, X = MODELS["logistic"]
    y = model.predict(X[:900])
    with pytest.warns(UserWarning, match="fitted already, and with y, a new one is trained") as caught:
        EarlyExitClassifier(model, risk=0.1, random_state=0).fit(X[:900], y)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "no early exit")
        EarlyExitClassifier(clone(model), risk=0.1, random_state=0).fit(X[:900], y)
