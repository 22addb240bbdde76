"""Parsers, chains and online learners in files: round trips, refusals, and files with false content."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from persistence.forge import put_together, taken_apart
from persistence.test_fuzz import mutated
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.svm import SVC

import wald
from wald.codec.writing import encode
from wald.datasets import make_chains, make_trees
from wald.online import AttentivePassiveAggressive, AttentivePegasos, AttentivePerceptron
from wald.persistence import FileFormatError, from_bytes, to_bytes
from wald.stopping import Ladder
from wald.structured import HOG, ChainClassifier, DependencyParser, FeatureGroup

BANK = make_trees(60, random_state=0)
CHAINS, LABELS = make_chains(60, n_features=6, random_state=0)
IMAGES = [np.hstack([part, part]) for part in CHAINS]
X, Y = make_classification(400, 20, n_informative=10, n_classes=3, random_state=0)
WORDS = np.array(["a", "b", "c"])[Y]
GROUPS = [FeatureGroup("raw", cost=1.0), FeatureGroup("again")]
SHAPES = [FeatureGroup("pixels"), FeatureGroup("hog", HOG((4, 3), cell=1, block=2, orientations=2), cost=3.0)]


def parser(**params: Any) -> Callable[[], Any]:
    params = {"table_bits": 8, "max_iter": 1, "random_state": 0} | params
    return lambda: (DependencyParser(**params).fit(BANK), BANK)


def chain(parts: Any = CHAINS, **params: Any) -> Callable[[], Any]:
    return lambda: (ChainClassifier(**({"max_iter": 2, "random_state": 0} | params)).fit(parts, LABELS), parts)


def online(model: Any, rows: Any = X, y: Any = WORDS) -> Callable[[], Any]:
    # runs and a warm-up so short that attention has something to know
    model.set_params(random_state=0, warm_up=16, ring_size=20, audit_rate=0.2)
    short = {} if sparse.issparse(rows) else {"run_length": 4}
    return lambda: (model.set_params(max_iter=2, tol=None, **short).fit(rows, y), rows)


MAKERS: dict[str, Callable[[], Any]] = {
    "parser": parser(),
    "parser of tags": parser(feature_groups="tags", relations=False, length_filter=None, decoder="chu-liu-edmonds"),
    "chain": chain(),
    "chain by svm": chain(learner="svm", tol=0.1),
    "chain of groups": chain(feature_groups=GROUPS),
    "chain of shared weights": chain(feature_groups=GROUPS, own_weights=False),
    "chain of images": chain(IMAGES, feature_groups=SHAPES),
    "chain of names": chain([[{"sign": str(part[0] > 0), "x": float(part[1])} for part in row] for row in CHAINS]),
    "chain of numbers": lambda: (ChainClassifier(max_iter=1).fit(X, Y, lengths=[100] * 4), [X]),
    "perceptron": online(AttentivePerceptron()),
    "perceptron in float32": online(AttentivePerceptron(average=False), X.astype(np.float32)),
    "perceptron on CSR": online(AttentivePerceptron(attention="constant"), sparse.csr_matrix(X)),
    "passive-aggressive": online(AttentivePassiveAggressive(delta="auto", class_weight={"a": 2.0, "b": 1, "c": 0.5})),
    "pegasos": online(AttentivePegasos(attention="constant", order="cost", feature_costs=range(1, 21)), y=Y > 0),
    "budgeted": online(AttentivePegasos(attention="budgeted", budget=8), X, Y),
    "frame": lambda: online(AttentivePegasos(), pytest.importorskip("pandas").DataFrame(X).add_prefix("x"))(),
}
ONLINE = ("perceptron", "perceptron in float32", "perceptron on CSR", "passive-aggressive", "pegasos", "budgeted")


@cache
def made(name: str) -> tuple[Any, Any]:
    return MAKERS[name]()


def answers(model: Any, rows: Any) -> list[Any]:
    """All answers of a model for some rows, as plain lists."""
    if isinstance(model, DependencyParser):
        bank = model.predict(rows)
        return [bank.to_bytes(), model.arcs(rows, 0).tolist()]
    if isinstance(model, ChainClassifier):
        return [labels.tolist() for labels in model.predict(rows)] + [m.tolist() for m in model.max_marginals(rows)]
    labels, cost = model.predict(rows, attention="conditional", return_cost=True)
    return [labels.tolist(), np.asarray(cost).tolist(), model.decision_function(rows).tolist()]


def attributes(model: Any) -> dict[str, Any]:
    spent = ("seconds_", "n_calls_", "problems_")  # of `fit`, which no file holds
    names = [name for name in vars(model) if name.endswith("_") and name not in spent]
    return {name: getattr(model, name) for name in names} | model.get_params(deep=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", MAKERS)
def test_what_was_saved_comes_back(name, tmp_path):
    model, rows = made(name)
    path = tmp_path / "model.wald"
    wald.save(model, path)
    loaded = wald.load(path)
    assert type(loaded) is type(model)
    assert answers(loaded, rows) == answers(model, rows)
    ours, theirs = attributes(loaded), attributes(model)
    assert ours.keys() == theirs.keys()
    for key, value in theirs.items():
        if key == "feature_costs" and value is not None:
            np.testing.assert_array_equal(ours[key], value)
        else:
            np.testing.assert_equal(ours[key], value)
    assert path.read_bytes() == to_bytes(model) == to_bytes(loaded)
    assert answers(from_bytes(path.read_bytes()), rows) == answers(model, rows)


@pytest.mark.slow
@pytest.mark.parametrize("name", ONLINE)
def test_online_learners_go_on_as_if_nothing_had_happened(name):
    model, rows = made(name)
    y = np.asarray(model.classes_)[np.arange(len(Y)) % len(model.classes_)]
    one, other = from_bytes(to_bytes(model)), from_bytes(to_bytes(model))
    for learner in (one, from_bytes(to_bytes(other))):
        learner.set_params(class_weight=None, warm_start=True).fit(rows, y).partial_fit(rows, y)
    other = from_bytes(to_bytes(other)).set_params(class_weight=None, warm_start=True).fit(rows, y)
    other = from_bytes(to_bytes(other)).partial_fit(rows, y)
    np.testing.assert_array_equal(one.coef_, other.coef_)
    assert (one.t_, one.features_seen_, one.stop_error_) == (other.t_, other.features_seen_, other.stop_error_)
    assert to_bytes(one) == to_bytes(other)


def test_features_that_nobody_had_take_no_room(tmp_path):
    """A table of 2^18 columns for names is mostly zeros, which take no space in a file."""
    model, rows = made("chain of names")
    wald.save(model, tmp_path / "chain.wald")
    assert (tmp_path / "chain.wald").stat().st_size < 20_000  # 4 MB with all rows
    loaded = wald.load(tmp_path / "chain.wald")
    assert loaded._chain.table().tobytes() == model._chain.table().tobytes()
    assert [list(labels) for labels in loaded.predict(rows)] == [list(labels) for labels in model.predict(rows)]


def test_chains_and_parsers_learn_on():
    chained, rows = made("chain")
    one, other = from_bytes(to_bytes(chained)), from_bytes(to_bytes(chained))
    other = from_bytes(to_bytes(other))
    assert answers(one.partial_fit(rows, LABELS), rows) == answers(other.partial_fit(rows, LABELS), rows)
    parsed = from_bytes(to_bytes(made("parser")[0]))
    assert parsed.n_iter_ == 1
    assert parsed.partial_fit(BANK).score(BANK) > 0.3


# ---- refusals --------------------------------------------------------------------------------------------------------


def spoilt(model: Any, **attributes: Any) -> Any:
    copy = from_bytes(to_bytes(model))
    for name, value in attributes.items():
        setattr(copy, name, value)
    return copy


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "another class": (lambda: SVC().fit(X, Y), TypeError, "DependencyParser, ChainClassifier, .* Got SVC"),
    "a parser that is not fitted": (DependencyParser, NotFittedError, "not fitted"),
    "a chain that is not fitted": (ChainClassifier, NotFittedError, "not fitted"),
    "a learner that is not fitted": (AttentivePerceptron, NotFittedError, "not fitted"),
    "an extractor that is a function": (
        chain(feature_groups=[FeatureGroup("raw"), FeatureGroup("half", lambda parts: parts[:, ::2])]),
        ValueError,
        "Group 'half' cannot be saved: its extractor is code.*Extract the features beforehand.*pickle",
    ),
    "a generator": (
        lambda: spoilt(made("parser")[0], random_state=np.random.RandomState(0)),
        ValueError,
        "random_state must be an int or None to be saved",
    ),
    "a parameter that predict would refuse": (
        lambda: spoilt(made("parser")[0], decoder="greedy"),
        ValueError,
        "cannot be saved: The 'decoder' parameter of DependencyParser must be one of",
    ),
    "weights from elsewhere": (
        lambda: spoilt(made("perceptron")[0], coef_=np.zeros((3, 20))),
        ValueError,
        "coef_ is not what was learned",
    ),
    "a subclass": (lambda: type("Own", (DependencyParser,), {})().fit(BANK[:5]), TypeError, "Got Own"),
    "groups of other names": (
        lambda: spoilt(made("chain of groups")[0], feature_groups=[*GROUPS, FeatureGroup("third")]),
        ValueError,
        "sizes should have one entry for each of the groups",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_file_cannot_hold(name, tmp_path):
    make, error, message = REFUSED[name]
    model = make()
    model = model[0] if isinstance(model, tuple) else model
    with pytest.raises(error, match=message):
        wald.save(model, tmp_path / "model.wald")
    assert not list(tmp_path.iterdir())


def test_an_estimator_is_for_classifiers_that_wrap_one(tmp_path):
    wald.save(made("parser")[0], tmp_path / "model.wald")
    with pytest.raises(TypeError, match="holds a DependencyParser, which wraps no estimator"):
        wald.load(tmp_path / "model.wald", estimator=SVC())


# ---- files that lie --------------------------------------------------------------------------------------------------


def changed_file(name: str, change: Callable[..., Any]) -> bytes:
    fields, arrays = taken_apart(to_bytes(made(name)[0]))
    change(fields, arrays)
    return put_together(fields, arrays)


def field(*where: str, value: Any) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    def change(fields: dict[str, Any], arrays: dict[str, Any]) -> None:
        for owner in where[:-1]:
            fields = fields[owner]
        fields[where[-1]] = value

    return change


def array(name: str, edit: Callable[[Any], Any]) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    def change(fields: dict[str, Any], arrays: dict[str, Any]) -> None:
        arrays[name] = edit(arrays[name])

    return change


def holding(value: Any, at: Any = 0) -> Callable[[Any], Any]:
    def edit(a: Any) -> Any:
        a = a.copy()
        a.reshape(-1)[at] = value
        return a

    return edit


LIES: dict[str, tuple[str, Callable[..., Any], str]] = {
    "an unknown kind": ("parser", field("kind", value="SVC"), "header.kind should be one of DependencyParser"),
    "another kind": ("parser", field("kind", value="ChainClassifier"), "header.parameters has no"),
    "one field more": ("chain", field("more", value=1), "unknown 'more'"),
    "one array more": ("chain", lambda f, a: a.update(more=np.zeros(1)), "unknown array 'more'"),
    "weights cut off": ("parser", array("weights", lambda w: w[:-1]), "weights do not fit the tags"),
    "no weights": ("parser", lambda f, a: a.pop("weights"), "'weights' is missing"),
    "weights of NaN": ("parser", array("weights", holding(np.nan)), "weights must be finite"),
    "other precision": ("parser", array("weights", lambda w: w.astype(float)), "should be float32, and is float64"),
    "a large table": ("parser", field("bits", value=28), "weights do not fit the tags"),
    "a table beyond the largest": ("parser", field("bits", value=64), "a table of"),
    "a large table of relations": ("parser", field("label_bits", value=24), "relations' weights do not fit"),
    "more tags": ("parser", array("fine", lambda t: np.concatenate([t, t])), "length filter does not fit"),
    "a hundred tags": ("parser", array("coarse", lambda t: np.repeat(t, 100)[:100]), "too many tags"),
    "numbers for tags": ("parser", array("fine", lambda t: np.zeros(len(t))), "'fine' should be"),
    "an unknown decoder": ("parser", field("parameters", "decoder", value="fast"), "'decoder' .* must be one of"),
    "a text for a number": (
        "parser",
        field("parameters", "n_jobs", value="2"),
        "n_jobs should be a whole number or null",
    ),
    "a parameter less": ("parser", lambda f, a: f["parameters"].pop("step"), "parameters has no 'step'"),
    "a chain of NaN": ("chain", array("table", holding(np.nan)), "weights must be finite"),
    "a short table": ("chain", array("table", lambda t: t[:-1]), "'table' should have the shape"),
    "many features": ("chain", field("sizes", value=[2**31 - 1]), "'table' should have the shape"),
    "negative sizes": ("chain", field("sizes", value=[-5]), "sizes should hold whole numbers"),
    "rows that lie": ("chain of names", array("rows", holding(2**18 + 100, -1)), "'rows' holds numbers outside"),
    "a row twice": ("chain of names", array("rows", lambda r: r[[0, 0, *range(2, len(r))]]), "'rows' should ascend"),
    "a row less": ("chain of names", array("rows", lambda r: r[1:]), "'table' should have the shape"),
    "more rows than memory": ("chain of names", field("sizes", value=[2**31 - 1]), "too many rows for some to be left"),
    "rows of a whole table": (
        "chain of names",
        lambda f, a: (a.pop("rows"), f.update(rows=None)),
        "'table' should have the shape",
    ),
    "six groups": ("chain", field("sizes", value=[1] * 6), "one entry for each of the groups"),
    "labels twice": ("chain", array("classes", lambda c: c[[0] * len(c)]), "'classes' does not ascend"),
    "a group that is none": ("chain of groups", field("groups", value=[1, 2]), "groups.0 should be an object"),
    "a group twice": (
        "chain of groups",
        lambda f, a: f["groups"][1].update(name="raw"),
        "groups must have different names",
    ),
    "an extractor that is none": (
        "chain of images",
        lambda f, a: f["groups"][1].update(extract=encode(Ladder(), {}, "extract")),
        "extract.type should be one of HOG, and is 'Ladder'",
    ),
    "an extractor that would need much memory": (
        "chain of images",
        lambda f, a: f["groups"][1]["extract"].update(orientations=2**50),
        "another number of features than its extractor gives",
    ),
    "an infinite cost": ("chain of images", array("group_costs", holding(np.inf)), "NaN or infinity"),
    "many columns": ("perceptron", field("settings", "n_features", value=2**31 - 1), "'state.weights' is too short"),
    "no columns": ("perceptron", field("settings", "n_features", value=0), "n_features is none from 1"),
    "an unknown rule": ("perceptron", field("settings", "rule", value="adaboost"), "rule must be one of"),
    "a ring without space": ("perceptron", field("settings", "ring", value=2**40), "ring"),
    "long lengths": ("perceptron", array("lengths", holding(2**47)), "another length than 'lengths' says"),
    "lengths that change places": (
        "perceptron",
        array("lengths", lambda n: n[:, [2, 1, 0, *range(3, n.shape[1])]]),
        "another length|should have the shape",
    ),
    "a negative count": ("perceptron", array("counts", holding(-1)), "numbers outside of"),
    "a state of NaN": ("perceptron", array("numbers", holding(np.nan)), "NaN or infinity"),
    "a stage beyond the order": ("perceptron", array("state.negative.checkpoints", holding(10**6)), "damaged"),
    "an unknown unit": ("perceptron", array("state.negative.order", holding(-1)), "damaged"),
    "a class less": ("perceptron", field("n_classes", value=2), "'classes' should have the shape"),
    "costs of nothing": ("pegasos", array("costs", holding(-1.0)), "costs must be finite and positive"),
    "a class weight below 0": (
        "passive-aggressive",
        field("class_weight", value=[["a", -1.0]]),
        "class_weight should hold numbers of at least 0",
    ),
}


@pytest.mark.parametrize("name", LIES)
def test_lies_are_named(name, tmp_path):
    of, change, message = LIES[name]
    path = tmp_path / "model.wald"
    path.write_bytes(changed_file(of, change))
    with pytest.raises(FileFormatError, match=message) as error:
        wald.load(path)
    assert str(error.value).startswith(f"{path}: ")


@pytest.mark.parametrize("name", ["parser", "chain", "perceptron"])
def test_truncated_and_altered_bytes_are_refused(name):
    raw = to_bytes(made(name)[0])
    rng = np.random.default_rng(0)
    for end in [*range(0, 200, 7), *rng.integers(200, len(raw), 20), len(raw) - 1]:
        with pytest.raises(FileFormatError, match=r"<bytes>: .*(cut off|no file that)"):
            from_bytes(raw[:end])
    for at in rng.integers(len(raw), size=40):
        altered = bytearray(raw)
        altered[at] ^= 0x10
        with pytest.raises(FileFormatError):
            from_bytes(bytes(altered))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["parser", "chain of images", "perceptron", "perceptron on CSR", "passive-aggressive"])
def test_mutated_files_are_refused_or_answer(name):
    model, rows = made(name)
    raw = to_bytes(model)
    fields, arrays = taken_apart(raw)
    parts = json.dumps(fields), arrays
    rng = np.random.default_rng(7)
    outcomes = {"refused": 0, "loaded": 0}
    for _ in range(60 if name == "parser" else 400):
        try:
            loaded = from_bytes(mutated(raw, parts, rng))
        except FileFormatError:
            outcomes["refused"] += 1
            continue
        outcomes["loaded"] += 1
        with np.errstate(all="ignore"):
            assert answers(loaded, rows[:5])
    assert min(outcomes.values()) > 5, outcomes
