"""Models and learners are described by named fields; a message names the one that is wrong."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from engine import cases
from engine.hostile import MACHINE, RNG, X, floats
from engine.reference import Decision

from wald import _core
from wald.engine import Readout, RunningSums, Stages
from wald.models import LinearTerms, Trees, TreeTerms
from wald.online import AttentivePerceptron
from wald.outputs import Labels, Values

PLAN = cases.plan(RNG, MACHINE, Decision(), 2)
NO_ORDER = np.zeros(0, dtype=np.int64)
#: Two stumps on one feature.
TREES = Trees(
    1,
    first_node=np.array([0, 1, 2]),
    first_leaf=np.array([0, 2, 4]),
    feature=np.zeros(2, dtype=np.int32),
    threshold=floats(0.0, 1.0),
    left=np.full(2, ~0, dtype=np.int32),
    right=np.full(2, ~1, dtype=np.int32),
    nan_left=np.zeros(2, dtype=np.uint8),
    categories=np.full(2, -1, dtype=np.int32),
    leaves=floats(-1.0, 1.0, -2.0, 2.0),
    output=np.zeros(2, dtype=np.int32),
    structure=np.arange(2, dtype=np.int32),
    first_bit_word=NO_ORDER,
    n_categories=np.zeros(0, dtype=np.int32),
    other_left=np.zeros(0, dtype=np.uint8),
    bits=np.zeros(0, dtype=np.uint32),
)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"order": np.zeros(10)},
            r"^order must be a 1-D array of int64 in C order, not one of float64 and shape \(10,\)",
        ),
        (
            {"coef": floats(1, 2)},
            r"^coef must be a 2-D array of float64 in C order, not one of float64 and shape \(2,\)",
        ),
        ({"fill": "none"}, "^fill must be a 1-D array of float64 in C order or None, not str"),
        ({"gamma": "auto"}, "^gamma must be a number, not str"),
        ({"degree": 2.5}, "^degree must be an integer of 32 bits, not float"),
        ({"single": None}, "^single must be True or False, not NoneType"),
        ({"kernel": 3}, "^kernel must be a string, not int"),
        ({"kernel": "linear"}, "^kernel must be one of rbf, poly, sigmoid$"),
        ({"weight": 1.0}, "^weight is no field"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_an_entry_that_is_wrong(change, message):
    with pytest.raises((TypeError, ValueError), match=message):
        MACHINE.pack(**change)


def test_an_entry_that_is_missing():
    for described, what in (({}, _core.Model.kernel), ({"n_features": 3}, _core.OnlineLearner)):
        with pytest.raises(TypeError, match=r" is missing$"):
            what(described)
        with pytest.raises(TypeError, match="incompatible"):
            what(None)


def test_a_description_is_not_changed():
    """A learner's settings describe it again when it is copied."""
    settings = AttentivePerceptron().partial_fit(X, np.arange(8) % 2, classes=[0, 1]).problems_[0].settings
    before = dict(settings)
    _core.OnlineLearner(settings)
    assert settings == before
    with pytest.raises(TypeError, match=r"^rate must be a number, not str"):
        _core.OnlineLearner(settings | {"rate": "fast"})
    with pytest.raises(TypeError, match=r"^negligible is no field"):
        _core.OnlineLearner(settings | {"negligible": 0.1})


@pytest.mark.parametrize("name", ["n_features", *(name for name, _ in TREES.arrays())])
def test_an_attribute_of_trees_that_is_wrong(name):
    terms = TreeTerms(TREES, np.zeros(1))
    _core.Model.trees(terms, NO_ORDER)
    with pytest.raises(TypeError, match=f"^{name} must be .*, not NoneType"):
        _core.Model.trees(replace_anew(terms, trees=replace_anew(TREES, **{name: None})), NO_ORDER)
    with pytest.raises(TypeError, match=f"^{name} is missing"):
        _core.Model.trees(replace_anew(terms, trees=without(TREES, name)), NO_ORDER)


@pytest.mark.parametrize("name", ["base", "bias", "scale", "divisor", "missing", "f32_sums", "nan", "infinity"])
def test_an_attribute_of_terms_that_is_wrong(name):
    with pytest.raises(TypeError, match=f"^{name} must be .*, not str"):
        _core.Model.trees(replace_anew(TreeTerms(TREES, np.zeros(1)), **{name: "no"}), NO_ORDER)


def replace_anew(described, **changes):
    """An object with the same attributes, but for some."""
    return SimpleNamespace(**{name: getattr(described, name) for name in described.__dataclass_fields__} | changes)


def without(described, name):
    changed = replace_anew(described)
    delattr(changed, name)
    return changed


def test_numbers_are_converted():
    """Arrays of float32 and other strides are what they are as float64 in C order."""
    exact = [w.astype(np.float32).astype(np.float64) for w in PLAN.weights]
    engines = (
        replace(PLAN, weights=[w.astype(np.float32) for w in exact]).engine(MACHINE.pack()),
        replace(PLAN, weights=[np.repeat(w, 2, axis=1)[:, ::2] for w in exact]).engine(MACHINE.pack()),
    )
    expected = replace(PLAN, weights=exact).engine(MACHINE.pack()).trace(_core.Rows.dense(X), 1)
    for engine in engines:
        np.testing.assert_array_equal(engine.trace(_core.Rows.dense(X), 1), expected)


def summed(**changes):
    """An engine of one stage with a sum of both trees, or with another field."""
    fields = {
        "weights": np.ones((1, 2)),
        "corrections": (np.array([0.5, 0.0, 0.0, 0.0], dtype=np.float32),),
        "spread": floats(0.0),
        "spread_bias": 1.0,
        "passes": np.array([1]),
        "race": None,
        "terms": np.array([2]),
    } | changes
    packed = _core.Model.trees(TreeTerms(TREES, np.zeros(1)), np.arange(2))
    readout = Readout(np.ones((1, 1)), np.zeros(1), fields["spread"], fields["spread_bias"])
    sums = RunningSums(np.array([2]), fields["weights"], fields["corrections"])
    stages = Stages(fields["terms"], [readout], sums, fields["passes"], fields["race"])
    decided = SimpleNamespace(decision=SimpleNamespace(**vars(Decision()), saturation=np.inf), tie_margin=0.0)
    return _core.Engine(packed, decided, stages, floats(-np.inf), floats(np.inf))


def test_running_sums():
    """The weights of trees behind the last stage, and corrections of their leaves, are not read."""
    rows = _core.Rows.dense(np.array([[-1.0], [0.5], [2.0]]))
    np.testing.assert_array_equal(summed().trace(rows, 1), [[-2.5], [-1.0], [3.0]])
    longer = summed(weights=np.array([[1.0, 7.0]]), terms=np.array([1]), corrections=(None,))
    np.testing.assert_array_equal(longer.trace(rows, 1), [[-1.0], [1.0], [1.0]])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": np.ones((1, 1))}, "weights of sums"),
        ({"weights": np.ones((0, 2))}, "weights of sums"),
        ({"weights": np.full((1, 2), np.nan)}, "finite"),
        ({"weights": "many"}, "^weights must be a 2-D array"),
        ({"corrections": (np.ones(9, dtype=np.float32),)}, "more corrections than leaves"),
        ({"corrections": (np.ones(1, dtype=np.float32),) * 2}, "corrected leaves need a row for each sum"),
        ({"spread": floats(0.0, 1.0)}, "spread needs a weight for each sum"),
        ({"spread": floats(np.inf)}, "finite"),
        ({"spread_bias": None}, "^spread_bias must be a number, not NoneType"),
        ({"passes": np.array([], dtype=np.int64)}, "last pass"),
        ({"passes": np.array([2])}, "last pass"),
        ({"passes": np.array([0, 1])}, "passes must ascend"),
        ({"passes": "all"}, "^passes must be a 1-D array of int64 in C order or None, not str"),
        ({"race": floats(1.0)}, "race needs"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_running_sums_that_are_wrong(change, message):
    with pytest.raises((TypeError, ValueError), match=message):
        summed(**change)


def spread_of(spread, decision="values", n_terms=2):
    """An engine of a linear model with one stage whose rows have a spread of their own."""
    readout = Readout(np.ones((1, n_terms)), np.zeros(1), spread, 1.0)
    output = Values(1, 0.5, "constant") if decision == "values" else Labels("sign", 2)
    decided = SimpleNamespace(decision=output, tie_margin=0.0)
    terms = LinearTerms(np.ones((1, 3)), np.zeros(1)).pack(np.arange(3)).core
    return _core.Engine(terms, decided, Stages(np.array([n_terms]), [readout]), floats(-np.inf), floats(np.inf))


def test_a_spread_that_does_not_fit():
    assert spread_of(floats(1.0, 2.0)).trace(_core.Rows.dense(np.ones((1, 3))), 1) == 2.0
    with pytest.raises(ValueError, match="a spread needs a weight for each sum, or for each term of the stage"):
        spread_of(floats(1.0))
    with pytest.raises(ValueError, match="must be finite"):
        spread_of(floats(1.0, np.nan))
    with pytest.raises(ValueError, match="a spread without sums needs a decision by the margin of one score"):
        spread_of(floats(1.0, 2.0), decision="sign")
