"""Former names of parameters: taken with a FutureWarning, for the same plan as under the new names."""

import pickle

import numpy as np
import pytest
from early_exit.models import MODELS
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from wald import CostModel, EarlyExitClassifier, Planner
from wald.stopping import Budget, Ladder, Qwyc

COSTS = CostModel(row=0.0, unit=1.0, readout=0.01, stage=0.1, full=50.0)

SAME = {
    "cost": ({"cost": COSTS}, {"planner": Planner(cost=COSTS)}),
    "rule": ({"cost": "units", "rule": Qwyc()}, {"planner": Planner(cost="units", rule=Qwyc())}),
    "order": ({"cost": "units", "order": "random"}, {"planner": Planner(cost="units", order="random")}),
    "splits": (
        {"cost": "units", "n_splits": 2, "certificate_fraction": 0.4},
        {"planner": Planner(cost="units", n_splits=2, certificate_fraction=0.4)},
    ),
    "readout": (
        {"cost": "units", "readout": "partial"},
        {"planner": Planner(cost="units", rule=Ladder(readout="partial"))},
    ),
    "readout of another rule": (
        {"cost": "units", "readout": "partial", "rule": Budget(7), "risk": None},
        {"planner": Planner(cost="units", rule=Budget(7)), "risk": None},
    ),
    "readout of a proof": (
        {"cost": "units", "readout": "partial", "risk": 0},
        {"planner": Planner(cost="units"), "risk": 0},
    ),
    "all": ({"cost": "units", "protect": "all"}, {"planner": Planner(cost="units")}),
    "each": ({"cost": "units", "protect": "each"}, {"planner": Planner(cost="units"), "risk": {"each": 0.05}}),
    "positive": (
        {"cost": "units", "protect": "positive"},
        {"planner": Planner(cost="units"), "risk": {"positive": 0.05, "negative": 0}},
    ),
    "negative": (
        {"cost": "units", "protect": "negative"},
        {"planner": Planner(cost="units"), "risk": {"negative": 0.05, "positive": 0}},
    ),
    "measured": (
        {"cost": "units", "protect": "positive", "risk": None},
        {"planner": Planner(cost="units"), "risk": {"positive": None, "negative": 0}},
    ),
    "label": (
        {"cost": "units", "protect": {1: 0.03}},
        {"planner": Planner(cost="units"), "risk": {"all": 0.05, 1: 0.03}},
    ),
}


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize("name", SAME)
def test_the_plan_is_that_of_the_new_names(name):
    former, new = SAME[name]
    model, X = MODELS["rbf"]
    common = {"risk": 0.05, "random_state": 0}
    with pytest.warns(FutureWarning, match="became") as caught:
        old = EarlyExitClassifier(FrozenEstimator(model), **common | former)
    assert [w.filename for w in caught] == [__file__]
    assert all(word in str(caught[0].message) for word in former.keys() - {"risk"})
    now = EarlyExitClassifier(FrozenEstimator(model), **common | new)
    assert str(old.get_params()) == str(now.get_params())
    old.fit(X[1000:4000])
    now.fit(X[1000:4000])
    assert pickle.dumps(old.plan_) == pickle.dumps(now.plan_)
    assert old.certificate_ == now.certificate_
    np.testing.assert_array_equal(old.predict(X), now.predict(X))


def test_audits_are_those_of_watched():
    model, X = MODELS["rbf"]
    common = {"risk": 0.05, "random_state": 0, "planner": Planner(cost="units")}
    with pytest.warns(FutureWarning, match=r"audit_rate, on_broken became fit\(...\).watched\(audit_rate=...\)"):
        old = EarlyExitClassifier(FrozenEstimator(model), audit_rate=0.5, on_broken="full", **common)
    old.fit(X[1000:4000])
    now = EarlyExitClassifier(FrozenEstimator(model), **common).fit(X[1000:4000]).watched(0.5, on_broken="full")
    for fast in (old, now):
        assert (fast.monitor_.audit_rate, fast.monitor_.on_broken) == (0.5, "full")
    assert old.certificate_ == now.certificate_
    with pytest.warns(FutureWarning, match="audit_rate"):
        unwatched = EarlyExitClassifier(FrozenEstimator(model), audit_rate=None, **common).fit(X[1000:4000])
    with pytest.raises(AttributeError, match="There is no monitor_"):
        _ = unwatched.monitor_


def test_clones_and_copies_have_the_new_names_and_do_not_warn():
    with pytest.warns(FutureWarning):
        old = EarlyExitClassifier(MODELS["rbf"][0], cost="units", protect={1: 0.1})
    for other in (clone(old), pickle.loads(pickle.dumps(old))):
        assert other.get_params(deep=False).keys() == EarlyExitClassifier(None).get_params(deep=False).keys()
        assert other.get_params()["planner__cost"] == "units"
        assert other.risk == {"all": 0.001, 1: 0.1}
    with pytest.raises(ValueError, match="Invalid parameter 'cost'"):
        old.set_params(cost="time")


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"protect": "some"}, ValueError, "protect must be one of"),
        ({"readout": "none"}, ValueError, "'readout' parameter of Ladder"),
        ({"audit_rate": 1.5}, ValueError, "audit_rate"),
        ({"audit_rate": 0.1, "on_broken": "never"}, ValueError, "on_broken"),
        (
            {"cost": "units", "planner": Planner()},
            TypeError,
            "was given planner and cost, a former name",
        ),
    ],
    ids=str,
)
def test_senseless_former_parameters_are_refused(params, error, message):
    with pytest.raises(error, match=message):
        EarlyExitClassifier(MODELS["rbf"][0], **params)


@pytest.mark.parametrize(
    "params", [{"costs": "units"}, {"cost": "units", "protects": "each"}, {"planer": None}], ids=str
)
def test_unknown_names_are_refused(params):
    (unknown,) = params.keys() - {"cost"}
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{unknown}'"):
        EarlyExitClassifier(MODELS["rbf"][0], **params)
    with pytest.raises(TypeError, match="unexpected keyword argument 'costs'"):
        Planner(costs="units")
