"""Constant boundaries whose formula has no level: training warns once, and only then."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from kinds.containers import DENSE_AND_CSR
from online.reference import walk_problem
from scipy.special import ndtri

from wald.online import AttentiveBoosting, AttentivePassiveAggressive, AttentivePerceptron
from wald.stopping.papers.levels import DegenerateBoundaryWarning

X, Y = walk_problem(np.random.default_rng(3), 1500)
COMMON = {"max_iter": 2, "tol": None, "random_state": 0}
CONSTANT = {"attention": "constant", "run_length": 8, **COMMON}


def said(action):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        action()
    assert all(w.category is DegenerateBoundaryWarning for w in caught)
    return [str(w.message) for w in caught]


def expected(model, positive):
    """The result of the formula, from the moments of the boundary and the present weights."""
    state = model.problems_[0].learner.state()
    name, sign = ("positive.", 1) if positive else ("negative.", -1)
    w = state["weights"]
    at = 1.0 if isinstance(model, AttentivePassiveAggressive) else 0.0
    middle = sign * (w @ state[name + "mean"] + state["intercept"])
    sigma = np.sqrt(w**2 @ state[name + "variance"])
    if sigma == 0:
        return "no spread"
    least = max(0.0, at - middle if model.boundary == "centred" else at)
    if model.boundary == "bridge" or (at - middle - sigma * ndtri(model.delta)) / 2 >= least:
        return "holds"
    return "seldom" if model.boundary == "centred" and middle < at else "at once"


@pytest.mark.filterwarnings("ignore::wald.stopping.papers.levels.DegenerateBoundaryWarning")
@pytest.mark.parametrize("boundary", ["centred", "printed", "bridge"])
@pytest.mark.parametrize(
    "model", [AttentivePerceptron(average=False), AttentivePassiveAggressive(), AttentivePassiveAggressive(C=1e-6)]
)
def test_ranges_are_what_the_formula_says(model, boundary):
    found = set()
    for delta in (1e-12, 1e-3, 0.05, 0.3, 0.8):
        model.set_params(boundary=boundary, delta=delta, **CONSTANT).fit(X, Y)
        ranges = model.problems_[0].learner.ranges
        assert ranges == (expected(model, False), expected(model, True)), delta
        found.update(ranges)
    assert found == {"holds"} if boundary == "bridge" else found - {"holds"}


@pytest.mark.parametrize("boundary", ["centred", "printed"])
@pytest.mark.parametrize("container", DENSE_AND_CSR)
def test_a_level_that_stops_at_once_is_reported(boundary, container):
    runs = {} if container is np.asarray else {"run_length": None}
    model = AttentivePerceptron(boundary=boundary, delta=0.3, **(CONSTANT | runs))
    (message,) = said(lambda: model.fit(container(X), Y))
    assert f"boundary='{boundary}' of AttentivePerceptron is degenerate for examples of class -1, 1:" in message
    assert "stops them at once" in message
    assert "delta=0.3" in message
    assert "boundary='bridge'" in message


def test_a_level_that_hardly_ever_stops_is_reported():
    # Steps too short to learn anything: no example has the margin that PA asks for.
    model = AttentivePassiveAggressive(C=1e-9, **CONSTANT)
    (message,) = said(lambda: model.fit(X, Y))
    assert "class -1, 1:" in message
    assert "hardly ever" in message
    assert model.features_seen_ == 2 * X.size


@pytest.mark.parametrize("boundary", ["centred", "printed", "bridge"])
@pytest.mark.parametrize("container", DENSE_AND_CSR)
def test_margins_without_spread_are_reported(boundary, container):
    rows = np.where(Y[:, None] > 0, 1.0, 2.0) * np.ones(48)
    runs = {} if container is np.asarray else {"run_length": None}
    model = AttentivePerceptron(boundary=boundary, **(CONSTANT | runs))
    (message,) = said(lambda: model.fit(container(rows), Y))
    assert "class -1, 1: it can never stop them" in message
    assert model.features_seen_ == 2 * rows.size


@pytest.mark.parametrize("container", DENSE_AND_CSR)
@pytest.mark.parametrize(
    "attention",
    [
        {"attention": "conditional", "delta": 0.3},
        {"attention": "budgeted", "budget": 20},
        {"attention": "full"},
        {"attention": "constant", "delta": 1e-12},
        {"attention": "constant", "boundary": "printed", "delta": 1e-12},
        {"attention": "constant", "boundary": "bridge", "delta": 0.3},
        {"attention": "constant", "delta": "auto", "max_stop_error": 0.3},  # audits watch over what it does
    ],
)
def test_nothing_is_said_where_the_formula_holds(container, attention):
    runs = {"run_length": 8} if container is np.asarray else {}
    assert said(lambda: AttentivePerceptron(**attention, **runs, **COMMON).fit(container(X), Y)) == []


def test_nothing_is_said_before_there_is_a_boundary():
    assert said(lambda: AttentivePerceptron(delta=0.3, **CONSTANT).fit(X[:40], Y[:40])) == []  # within the warm-up
    assert said(lambda: AttentivePerceptron(delta=0.3, **CONSTANT).fit(X[:, :8], Y)) == []  # a single run


def test_classes_against_the_rest_are_named_once():
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + X[:, 1], [-0.7, 0.7])]
    messages = said(lambda: AttentivePerceptron(delta=0.4, **CONSTANT).fit(X, y))
    named = [name for message in messages for name in message.split("class ")[1].split(":")[0].split(", ")]
    assert sorted(named) == ["a", "b", "c", "not a", "not b", "not c"]


def test_a_few_classes_are_named_of_many():
    (message,) = said(lambda: AttentivePerceptron(**CONSTANT).fit(np.ones_like(X), np.arange(len(X)) % 4))
    assert "class not 0, 0, not 1, 1, not 2 and 3 more: it can never stop them" in message


def test_each_chunk_says_it_again_and_an_empty_one_nothing():
    model = AttentivePerceptron(delta=0.3, **CONSTANT)
    chunks = [slice(0, 100), slice(100, 100), slice(100, 800), slice(800, 1500), slice(1500, 1500)]
    caught = [len(said(lambda s=s: model.partial_fit(X[s], Y[s], classes=[-1, 1]))) for s in chunks]
    assert caught == [0, 0, 1, 1, 0]


def test_boosting_says_it_too():
    model = AttentiveBoosting(delta=0.4, n_thresholds=1, learning_rate=10.0, **CONSTANT)
    (message,) = said(lambda: model.fit(X, Y))
    assert "boundary='centred' of AttentiveBoosting" in message


def test_the_warning_points_at_the_caller():
    for call in (AttentivePerceptron.fit, AttentivePerceptron.partial_fit):
        more = {"classes": [-1, 1]} if call is AttentivePerceptron.partial_fit else {}
        with pytest.warns(DegenerateBoundaryWarning) as caught:
            call(AttentivePerceptron(delta=0.3, **CONSTANT), X, Y, **more)
        assert caught[0].filename == __file__
