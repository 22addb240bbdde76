"""An estimator of `wald.online` as a header and arrays, and back: with everything that training goes on from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..codec.arrays import Arrays, Stock, require
from ..codec.header import MOST, FileFormatError, Section
from ..codec.room import attentive_bytes, boundary_bytes, learner_bytes
from ..models.linear import MOST_FEATURES
from ..online.attention import settings
from ..online.classifier import AttentiveClassifier
from ..online.problem import Problem
from ..outputs.labels import MOST_CLASSES
from . import values
from .estimators import decode_names, decode_plain, encode_names, encode_plain
from .models import decode_labels, encode_labels

#: Parameters that are no plain values.
LEFT_OUT = ("class_weight", "feature_costs")
#: Settings of the compiled learners but for their seeds and the features' costs.
SETTINGS: dict[str, type] = {
    **dict.fromkeys(("rule", "attention", "order", "variance", "error"), str),
    **dict.fromkeys(("single", "intercept", "average", "watch_all"), bool),
    **dict.fromkeys(("rate", "width", "target", "audit_rate"), float),
    **dict.fromkeys(("n_features", "average_from", "budget", "warm_up", "ring", "unit", "line_offset"), int),
}


def encode_learner(owner: AttentiveClassifier, arrays: Arrays) -> dict[str, Any]:
    """Describe a fitted estimator, and put its weights and what attention knows into ``arrays``."""
    check_is_fitted(owner, "problems_")
    answers = [problem.learner.answer(owner._averages)[0] for problem in owner.problems_]
    if not np.array_equal(owner.coef_, np.stack(answers)):
        raise ValueError("coef_ is not what was learned: a file holds what training goes on from. Fit again.")
    first = owner.problems_[0].settings
    fields = {
        "parameters": encode_plain(owner, arrays, LEFT_OUT),
        "class_weight": _encode_class_weight(owner.class_weight, arrays),
        "feature_costs": owner.feature_costs is not None,
        "labels": encode_labels(owner.classes_, arrays),
        "n_classes": len(owner.classes_),
        "feature_names_in": encode_names(owner, arrays),
        "settings": {name: values.encode(first[name], arrays, name) for name in SETTINGS},
        "costs": first["costs"] is not None,
        "n_iter": int(owner.n_iter_),
    }
    if owner.feature_costs is not None:
        arrays["feature_costs"] = np.asarray(owner.feature_costs, dtype=np.float64)
    if first["costs"] is not None:
        arrays["costs"] = first["costs"]
    arrays["seeds"] = np.array([problem.settings["seed"] for problem in owner.problems_], dtype=np.int64)
    arrays["epochs"] = np.array(owner._epoch, dtype=np.int64)
    _encode_states(owner.problems_, arrays)
    return fields


def decode_learner(kind: type[AttentiveClassifier], header: Section, stock: Stock) -> AttentiveClassifier:
    """Build the estimator again."""
    given = decode_plain(header.section("parameters"), stock, kind, LEFT_OUT)
    given["class_weight"] = _decode_class_weight(header.take("class_weight"), stock)
    given["feature_costs"] = stock.floats("feature_costs", None) if header.flag("feature_costs") else None
    owner = kind(**given)
    owner._check_parameters()
    owner._rule()
    n_classes = header.integer("n_classes", 2, MOST_CLASSES)
    owner.classes_ = decode_labels(header.choice("labels", ("array", "object")), stock, n_classes)
    section = header.section("settings")
    common = {name: values.decode(section.take(name), stock, name, hint) for name, hint in SETTINGS.items()}
    section.done()
    n_features = common["n_features"]
    require(1 <= n_features <= MOST_FEATURES, f"header.settings.n_features is none from 1 to {MOST_FEATURES}")
    settings(owner, n_features, csr=False)  # what it refuses, fit would refuse
    common["costs"] = stock.floats("costs", n_features) if header.flag("costs") else None
    owner.problems_ = _decode_problems(stock, common, 1 if n_classes == 2 else n_classes)
    owner._epoch = stock.integers("epochs", ("int64",), len(owner.problems_), low=0, high=MOST).tolist()
    owner.n_features_in_ = n_features
    names = decode_names(header.flag("feature_names_in"), stock, n_features)
    if names is not None:
        owner.feature_names_in_ = names
    owner.n_iter_ = header.integer("n_iter")
    owner._publish()
    require(np.isfinite(owner.coef_).all() and np.isfinite(owner.intercept_).all(), "the weights overflow")
    return owner


# ---- class weights ---------------------------------------------------------------------------------------------------


def _encode_class_weight(weight: Any, arrays: Arrays) -> Any:
    if weight is None or isinstance(weight, str):
        return weight
    return [
        [values.encode(label, arrays, "class_weight"), values.encode(float(factor), arrays, "class_weight")]
        for label, factor in weight.items()
    ]


def _decode_class_weight(raw: Any, stock: Stock) -> Any:
    if raw is None or raw == "balanced":
        return raw
    if not isinstance(raw, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in raw):
        raise FileFormatError("header.class_weight should be null, 'balanced', or a list of labels and factors")
    label: Any = bool | int | float | str
    return {
        values.decode(pair[0], stock, "class_weight", label): Section({"factor": pair[1]}, "class_weight").number(
            "factor", 0.0
        )
        for pair in raw
    }


# ---- what training changes -------------------------------------------------------------------------------------------


def _encode_states(problems: list[Problem], arrays: Arrays) -> None:
    """Put one array for each of a learner's into ``arrays``, the problems one behind the other, and one of lengths."""
    states = [problem.learner.state() for problem in problems]
    vectors, counts, numbers = _sorted(states[0])
    for name in vectors:
        arrays[f"state.{name}"] = np.concatenate([state[name] for state in states])
    arrays["lengths"] = np.array([[len(state[name]) for name in vectors] for state in states], dtype=np.int64)
    arrays["counts"] = np.array([[state[name] for name in counts] for state in states], dtype=np.int64)
    arrays["numbers"] = np.array([[state[name] for name in numbers] for state in states], dtype=np.float64)


def _decode_problems(stock: Stock, common: dict[str, Any], n: int) -> list[Problem]:
    # first the weights: a learner makes room for as many as it has features
    weights = stock.take("state.weights", ("float32" if common["single"] else "float64",), None)
    require(len(weights) >= n * common["n_features"], "the array 'state.weights' is too short")
    seeds = stock.integers("seeds", ("int64",), n, low=0, high=2**62)
    d, unit, single = common["n_features"], max(0, common["unit"]), common["single"]
    stock.room.reserve(learner_bytes(n, d, unit, single, common["costs"] is not None), f"{n} problems of {d} features")
    problems = [Problem(common | {"seed": seed}) for seed in seeds.tolist()]
    blank = problems[0].learner.state()
    vectors, counts, numbers = _sorted(blank)
    lengths = stock.integers("lengths", ("int64",), n, len(vectors), low=0, high=2**48)
    parts: dict[str, list[NDArray[Any]]] = {}
    for name, sizes in zip(vectors, lengths.T, strict=True):
        size = int(sizes.sum())
        if name == "weights":
            require(len(weights) == size, "the array 'state.weights' has another length than 'lengths' says")
            whole = weights
        else:
            whole = stock.take(f"state.{name}", (blank[name].dtype.name,), size)
        parts[name] = np.split(whole, np.cumsum(sizes)[:-1])
    counted = stock.integers("counts", ("int64",), n, len(counts), low=0, high=MOST).tolist()
    numbered = stock.floats("numbers", n, len(numbers)).tolist()
    for k in range(n):
        _reserve_boundaries(stock, {name: parts[name][k] for name in vectors}, common)
    for k, problem in enumerate(problems):
        state: dict[str, Any] = {name: parts[name][k] for name in vectors}
        state |= dict(zip(counts, counted[k], strict=True)) | dict(zip(numbers, numbered[k], strict=True))
        problem.learner.restore(state)
    return problems


def _reserve_boundaries(stock: Stock, state: dict[str, Any], common: dict[str, Any]) -> None:
    """Make sure that there is room for what a learner lays out for its checkpoints, now and in its first prediction."""
    d, unit, single = common["n_features"], max(0, common["unit"]), common["single"]
    kept = 0
    for side in ("negative.", "positive."):
        order, n_checkpoints = state[f"{side}order"], len(state[f"{side}checkpoints"])
        require(len(np.unique(order)) == len(order), f"the array 'state.{side}order' names something twice")
        kept += len(state[f"{side}ring"]) // d
        if n_checkpoints:  # walks keep one table for all of them
            conditional = common["attention"] in ("conditional", "budgeted")
            stock.room.reserve(
                boundary_bytes(d, unit, single, n_checkpoints if conditional else 1), f"{n_checkpoints} checkpoints"
            )
    if kept:  # a problem's regression is gone when that of the next one begins
        stock.room.reserve(attentive_bytes(d, unit, single, kept), f"{kept} audited rows")


def _sorted(state: dict[str, Any]) -> tuple[list[str], list[str], list[str]]:
    """Names of arrays, of whole numbers, and of others."""
    vectors = [name for name, value in state.items() if isinstance(value, np.ndarray)]
    counts = [name for name, value in state.items() if isinstance(value, int)]
    return vectors, counts, [name for name, value in state.items() if isinstance(value, float)]
