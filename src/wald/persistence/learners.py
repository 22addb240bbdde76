"""An estimator of `wald.online` as a header and arrays, and back: with everything that training goes on from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..codec.header import MOST
from ..codec.reading import Section, require
from ..codec.room import attentive_bytes, boundary_bytes, learner_bytes
from ..codec.writing import Arrays, encode_fields, text_array
from ..models.linear import MOST_FEATURES
from ..online.attention import settings
from ..online.classifier import AttentiveClassifier
from ..online.problem import Problem
from ..online.restoring import check_learner, epochs_of, restore, weights_of
from ..outputs.labels import MOST_CLASSES
from .models import decode_labels, encode_labels
from .parameters import decode_plain, encode_plain

#: Parameters that are no plain values.
LEFT_OUT = ("class_weight", "feature_costs")
CLASS_WEIGHT: Any = Literal["balanced"] | Mapping[bool | int | float | str, float] | None
#: Settings of the compiled learners but for their seeds and the features' costs.
SETTINGS: dict[str, Any] = {
    **dict.fromkeys(("rule", "attention", "order", "variance", "error"), str),
    **dict.fromkeys(("single", "intercept", "average", "watch_all"), bool),
    **dict.fromkeys(("rate", "width", "target", "audit_rate"), float),
    **dict.fromkeys(("n_features", "average_from", "budget", "warm_up", "ring", "unit", "line_offset"), int),
}


def encode_learner(owner: AttentiveClassifier, arrays: Arrays) -> dict[str, Any]:
    """Describe a fitted estimator, and put its weights and what attention knows into ``arrays``."""
    check_is_fitted(owner, "problems_")
    if not np.array_equal(owner.coef_, weights_of(owner)):
        raise ValueError("coef_ is not what was learned: a file holds what training goes on from. Fit again.")
    first, costs = owner.problems_[0].settings, owner.feature_costs
    names = getattr(owner, "feature_names_in_", None)
    values = {
        "class_weight": owner.class_weight,
        "feature_costs": None if costs is None else np.asarray(costs, dtype=np.float64),
        "n_classes": len(owner.classes_),
        "feature_names_in": None if names is None else text_array(names, "feature_names_in_"),
        "costs": first["costs"],
        "n_iter": int(owner.n_iter_),
        "seeds": np.array([problem.settings["seed"] for problem in owner.problems_], dtype=np.int64),
        "epochs": np.array(epochs_of(owner), dtype=np.int64),
        **encode_labels(owner.classes_),
        **_states(owner.problems_),
    }
    return encode_fields(values, arrays, "") | {
        "parameters": encode_plain(owner, arrays, LEFT_OUT),
        "settings": encode_fields({name: first[name] for name in SETTINGS}, arrays, "settings"),
    }


def decode_learner(kind: type[AttentiveClassifier], header: Section) -> AttentiveClassifier:
    """Build the estimator again."""
    given = decode_plain(header.section("parameters"), kind, LEFT_OUT)
    given["class_weight"] = header.get("class_weight", CLASS_WEIGHT)
    weights = given["class_weight"].values() if isinstance(given["class_weight"], dict) else ()
    require(all(weight >= 0 for weight in weights), "header.class_weight should hold numbers of at least 0")
    given["feature_costs"] = None if header.lacks("feature_costs") else header.floats("feature_costs", None)
    owner = kind(**given)
    check_learner(owner)
    n_classes = header.integer("n_classes", 2, MOST_CLASSES)
    owner.classes_ = decode_labels(header, n_classes)
    section = header.section("settings")
    common = {name: section.get(name, hint) for name, hint in SETTINGS.items()}
    section.done()
    n_features = common["n_features"]
    require(1 <= n_features <= MOST_FEATURES, f"header.settings.n_features is none from 1 to {MOST_FEATURES}")
    settings(owner, n_features, csr=False)  # what it refuses, fit would refuse
    common["costs"] = None if header.lacks("costs") else header.floats("costs", n_features)
    problems = _decode_problems(header, common, 1 if n_classes == 2 else n_classes)
    epochs = header.integers("epochs", ("int64",), len(problems), low=0, high=MOST).tolist()
    owner.n_features_in_ = n_features
    if not header.lacks("feature_names_in"):
        owner.feature_names_in_ = header.labels("feature_names_in", (), n_features).astype(object)
    owner.n_iter_ = header.integer("n_iter")
    restore(owner, problems, epochs)
    require(np.isfinite(owner.coef_).all() and np.isfinite(owner.intercept_).all(), "the weights overflow")
    return owner


# ---- what training changes -------------------------------------------------------------------------------------------


def _states(problems: list[Problem]) -> dict[str, NDArray[Any]]:
    """One array for each of a learner's, the problems one behind the other, and one of lengths."""
    states = [problem.learner.state() for problem in problems]
    vectors, counts, numbers = _sorted(states[0])
    return {
        **{f"state.{name}": np.concatenate([state[name] for state in states]) for name in vectors},
        "lengths": np.array([[len(state[name]) for name in vectors] for state in states], dtype=np.int64),
        "counts": np.array([[state[name] for name in counts] for state in states], dtype=np.int64),
        "numbers": np.array([[state[name] for name in numbers] for state in states], dtype=np.float64),
    }


def _decode_problems(header: Section, common: dict[str, Any], n: int) -> list[Problem]:
    # first the weights: a learner makes room for as many as it has features
    weights = header.array("state.weights", ("float32" if common["single"] else "float64",), None)
    require(len(weights) >= n * common["n_features"], "the array 'state.weights' is too short")
    seeds = header.integers("seeds", ("int64",), n, low=0, high=2**62)
    d, unit, single = common["n_features"], max(0, common["unit"]), common["single"]
    header.room.reserve(learner_bytes(n, d, unit, single, common["costs"] is not None), f"{n} problems of {d} features")
    problems = [Problem(common | {"seed": seed}) for seed in seeds.tolist()]
    blank = problems[0].learner.state()
    vectors, counts, numbers = _sorted(blank)
    lengths = header.integers("lengths", ("int64",), n, len(vectors), low=0, high=2**48)
    parts: dict[str, list[NDArray[Any]]] = {}
    for name, sizes in zip(vectors, lengths.T, strict=True):
        size = int(sizes.sum())
        if name == "weights":
            require(len(weights) == size, "the array 'state.weights' has another length than 'lengths' says")
            whole = weights
        else:
            whole = header.array(f"state.{name}", (blank[name].dtype.name,), size)
        parts[name] = np.split(whole, np.cumsum(sizes)[:-1])
    counted = header.integers("counts", ("int64",), n, len(counts), low=0, high=MOST).tolist()
    numbered = header.floats("numbers", n, len(numbers)).tolist()
    for k in range(n):
        _reserve_boundaries(header, {name: parts[name][k] for name in vectors}, common)
    for k, problem in enumerate(problems):
        state: dict[str, Any] = {name: parts[name][k] for name in vectors}
        state |= dict(zip(counts, counted[k], strict=True)) | dict(zip(numbers, numbered[k], strict=True))
        problem.learner.restore(state)
    return problems


def _reserve_boundaries(header: Section, state: dict[str, Any], common: dict[str, Any]) -> None:
    """Make sure that there is room for what a learner lays out for its checkpoints, now and in its first prediction."""
    d, unit, single = common["n_features"], max(0, common["unit"]), common["single"]
    kept = 0
    for side in ("negative.", "positive."):
        order, n_checkpoints = state[f"{side}order"], len(state[f"{side}checkpoints"])
        require(len(np.unique(order)) == len(order), f"the array 'state.{side}order' names something twice")
        kept += len(state[f"{side}ring"]) // d
        if n_checkpoints:  # walks keep one table for all of them
            conditional = common["attention"] in ("conditional", "budgeted")
            header.room.reserve(
                boundary_bytes(d, unit, single, n_checkpoints if conditional else 1), f"{n_checkpoints} checkpoints"
            )
    if kept:  # a problem's regression is gone when that of the next one begins
        header.room.reserve(attentive_bytes(d, unit, single, kept), f"{kept} audited rows")


def _sorted(state: dict[str, Any]) -> tuple[list[str], list[str], list[str]]:
    """Names of arrays, of whole numbers, and of others."""
    vectors = [name for name, value in state.items() if isinstance(value, np.ndarray)]
    counts = [name for name, value in state.items() if isinstance(value, int)]
    return vectors, counts, [name for name, value in state.items() if isinstance(value, float)]
