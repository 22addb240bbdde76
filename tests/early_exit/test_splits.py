"""Several splits of the rows: their number, the plan that is kept, and its certificate."""

import numpy as np
import pytest
from early_exit.models import MODELS, wrap
from sklearn.frozen import FrozenEstimator

from wald import EarlyExitClassifier, Planner
from wald.early_exit.fitting import selection
from wald.plan import CostModel, shares_reached
from wald.stopping import ConstantBoundary, Ladder
from wald.stopping.core.binomial import most_disagreements, shared_confidence
from wald.stopping.papers.levels import DegenerateBoundaryWarning


def allowed(n, splits, risk=0.02):
    """Largest number of disagreements that n certificate rows allow in each of several splits."""
    return most_disagreements(n, risk, shared_confidence(0.95, splits))


def free(n, splits, risk=0.02):
    """Whether each split allows as many disagreements as a single split."""
    return allowed(n, splits, risk) == allowed(n, 1, risk) >= 0


@pytest.fixture
def planned(monkeypatch):
    """Record the plans that are made."""
    made = []
    make = selection.make_plan
    monkeypatch.setattr(selection, "make_plan", lambda *args: made.append(make(*args)) or made[-1])
    return made


@pytest.mark.parametrize("n_rows", [320, 380, 420, 480])
def test_a_second_split_of_a_kernel_machine_where_it_costs_nothing(n_rows, planned):
    model, X = MODELS["rbf"]
    fast = wrap(model, X[1000 : 1000 + n_rows])
    assert fast.certificate_.n_rows == n_rows // 2
    assert fast.certificate_.n_splits == len(planned) == (2 if free(n_rows // 2, 2) else 1)


@pytest.mark.parametrize(
    ("n_certificate", "n_splits"), [(150, 1), (186, 2), (231, 5), (240, 5), (285, 2), (315, 1), (345, 1)]
)
def test_up_to_five_splits_of_a_linear_model(n_certificate, n_splits, planned):
    model, X = MODELS["logistic"]
    fast = wrap(model, X[1000 : 1000 + n_certificate * 5 // 3])
    assert fast.certificate_.n_rows == n_certificate
    assert fast.certificate_.n_splits == len(planned) == n_splits


def test_sizes_of_all_kinds_are_among_those_tried():
    assert {free(n, 2) for n in (160, 190, 210, 240)} == {False, True}
    assert free(231, 5)
    assert (allowed(240, 1), allowed(240, 5)) == (1, 0)  # five splits all the same
    assert free(285, 2)
    assert not free(285, 5)
    assert not free(315, 2)


@pytest.mark.filterwarnings("ignore:no early exit")
@pytest.mark.parametrize(
    "params", [{"risk": {"each": 0.004}}, {"risk": None, "rule": Ladder(readout="partial")}, {"risk": 0}]
)
def test_one_split_where_sizes_are_unknown_or_nothing_is_counted(params, planned):
    model, X = MODELS["logistic"]
    assert (allowed(1200, 1, 0.004), allowed(1200, 5, 0.004)) == (1, 0)  # otherwise five
    assert wrap(model, X[1000:3000], **params).certificate_.n_splits == 1
    assert len(planned) == 1


@pytest.mark.parametrize("name", ["logistic", "rbf", "one-vs-one"])
def test_the_cheapest_of_three_is_kept_and_agrees(name):
    model, X = MODELS[name]
    fast = wrap(model, X[1000:4000], n_splits=3)
    first = wrap(model, X[1000:4000], n_splits=1)
    assert fast.certificate_.n_splits == 3
    assert fast.certificate_.status == "certified"
    assert fast.certificate_.verify()
    assert "cheapest of 3 splits" in str(fast.certificate_)
    labels, cost = fast.predict(X[4000:], return_cost=True)
    assert np.mean(labels != model.predict(X[4000:])) <= 0.03
    assert cost.mean() <= 1.15 * first.predict(X[4000:], return_cost=True)[1].mean()
    assert fast.recertify(X[4000:]).certificate_.n_splits == 1  # one plan, rows of its own


def test_the_same_seed_gives_the_same_splits():
    model, X = MODELS["logistic"]
    one, two = (wrap(model, X[1000:2000], n_splits=3) for _ in range(2))
    np.testing.assert_array_equal(one.plan_.order, two.plan_.order)
    assert one.certificate_ == two.certificate_


def test_groups_are_counted_once():
    model, X = MODELS["logistic"]
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0.02, planner=Planner(cost="units"), random_state=0)
    fast.fit(X[1000:3000], groups=np.repeat(np.arange(500), 4))
    assert fast.certificate_.n_rows == 300
    assert fast.certificate_.n_splits == 2


@pytest.mark.parametrize("fraction", [0.0, 1.0, True, "some", None])
def test_what_is_no_share_is_refused(fraction):
    model, X = MODELS["logistic"]
    with pytest.raises(ValueError, match="certificate_fraction must be 'auto' or a number above 0 and below 1"):
        wrap(model, X[1000:1500], certificate_fraction=fraction)


@pytest.mark.parametrize("n_splits", [0, -1, 1.5, True, "some", None])
def test_what_is_no_number_of_splits_is_refused(n_splits):
    model, X = MODELS["logistic"]
    with pytest.raises(ValueError, match="n_splits must be 'auto' or an integer of at least 1"):
        wrap(model, X[1000:1500], n_splits=n_splits)


@pytest.mark.parametrize("risk", [None, 0])
def test_splits_without_a_count_are_refused(risk):
    model, X = MODELS["logistic"]
    with pytest.raises(ValueError, match="n_splits=2 needs a promise that is certified by counting"):
        wrap(model, X[1000:1500], n_splits=2, risk=risk)


@pytest.mark.long
def test_a_cost_model_given_decides_what_is_cheapest(planned):
    model, X = MODELS["logistic"]
    looks_are_dear = CostModel(row=0.0, unit=1.0, readout=0.2, stage=3.0, full=40.0)
    for seed in range(8):
        planned.clear()
        fast = wrap(model, X[1000:3000], n_splits=3, cost=looks_are_dear, random_state=seed)
        assert len(planned) == 3
        alone = wrap(model, X[1000:3000], n_splits=1, cost=looks_are_dear, random_state=seed)
        spent = [expected(each.plan_, each.looks(X[1000:3000])) for each in (fast, alone)]
        assert spent[0] <= 1.2 * spent[1]  # the first split is one of the three


def expected(plan, stage_scores):
    if plan.evaluate_all:
        return plan.cost_model.full
    reached = shares_reached(stage_scores, plan.boundary, plan.q, plan.precision)
    return plan.cost_model.expected(plan.stage_terms, plan.stage_costs, reached, 1)


def test_rules_warn_of_the_plan_that_is_kept_where_fit_was_called():
    model, X = MODELS["logistic"]
    fast = EarlyExitClassifier(
        FrozenEstimator(model), planner=Planner(rule=ConstantBoundary(kind="bridge_simple"), n_splits=3), risk=0.1
    )
    with pytest.warns(DegenerateBoundaryWarning) as caught:
        fast.set_params(random_state=0, planner__cost="units").fit(X[1000:3000])
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_without_certificate_rows_nothing_is_compared():
    model, X = MODELS["logistic"]
    fast = wrap(model, X[1000:1100], risk=None, certificate_fraction=0.001)
    assert fast.certificate_.n_rows == 0


@pytest.mark.parametrize("n_splits", [1, 3])
@pytest.mark.parametrize("grouped", [False, True])
def test_plans_know_the_size_of_their_certificate(n_splits, grouped, monkeypatch):
    sizes = []
    make = selection.make_plan
    monkeypatch.setattr(selection, "make_plan", lambda *args: sizes.append(args[-1]) or make(*args))
    model, X = MODELS["logistic"]
    groups = np.arange(900) // 3 if grouped else None
    fast = EarlyExitClassifier(
        FrozenEstimator(model), risk=0.1, planner=Planner(cost="units", n_splits=n_splits), random_state=0
    )
    certificate = fast.fit(X[1000:1900], groups=groups).certificate_
    assert len(sizes) == n_splits
    for size in sizes:
        assert abs(size.n_rows - certificate.n_rows) <= 2 * grouped  # groups are not cut
        assert size.confidence == shared_confidence(0.95, n_splits)
