"""A `BudgetedPredictor` with its model and policy as a header and arrays, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..codec.reading import Section, require
from ..codec.room import PROBLEM_OBJECTS
from ..codec.writing import Arrays, encode_fields
from ..structured import BudgetedPredictor, ChainClassifier, DependencyParser, WordTagger
from ..structured.certificate import StructureCertificate
from ..structured.policies import IteratedPolicy, OneShotPolicy, UniformPolicy
from ..structured.policies.base import Policy, check_policy
from ..structured.policies.driver import Allowance
from ..structured.policies.scores import BoostedTrees, LinearScore
from .parameters import decode_plain, encode_plain

#: Policies that a file can hold.
POLICIES: dict[str, type[Policy]] = {kind.__name__: kind for kind in (IteratedPolicy, OneShotPolicy, UniformPolicy)}
#: Parameters of predictors and policies that are no plain values.
_LEFT_OUT = ("model", "policy", "feature_costs")
_COSTS: Any = str | Mapping[str, float] | NDArray[np.float64] | None
_CV, _CLASS_WEIGHT = int | str, str | float | Mapping[str, float]
_TREES = {
    "ends": "int64",
    "feature": "int32",
    "threshold": "float64",
    "left": "int32",
    "right": "int32",
    "value": "float64",
}


def encode_spending(predictor: BudgetedPredictor, arrays: Arrays) -> dict[str, Any]:
    """Describe a fitted predictor but for its model."""
    check_is_fitted(predictor, "threshold_")
    kind = type(predictor.policy).__name__
    if POLICIES.get(kind) is not type(predictor.policy):
        raise ValueError(
            f"A {kind} cannot be saved: files hold {', '.join(POLICIES)}. Keep this predictor with pickle or joblib."
        )
    check_policy(predictor.policy, predictor.model)
    costs, allowance = predictor.feature_costs, predictor.allowance_ if hasattr(predictor, "allowance_") else None
    plain = costs is None or isinstance(costs, str | Mapping)
    values = {
        "feature_costs": costs if plain else np.asarray(costs, dtype=np.float64),
        "threshold": float(predictor.threshold_),
        "mean_cost": float(predictor.mean_cost_),
        "costs": np.asarray(predictor.group_costs_, dtype=np.float64),
        "mode": predictor.mode_,
        "certificate": predictor.certificate_,
        "longest": None if predictor.max_parts_ is None else int(predictor.max_parts_),
        "allowance": None if allowance is None else float(allowance.per_part),
    }
    own: Arrays = {}
    policy = _encode_policy(predictor.policy, own)
    arrays.update({f"policy.{name}": array for name, array in own.items()})
    return encode_fields(values, arrays, "") | {
        "parameters": encode_plain(predictor, arrays, _LEFT_OUT),
        "policy": {"kind": kind} | policy,
    }


def decode_spending(header: Section, model: Any) -> BudgetedPredictor:
    """Build the predictor again, around its model."""
    parameters = decode_plain(header.section("parameters"), BudgetedPredictor, _LEFT_OUT)
    parameters["feature_costs"] = None if header.lacks("feature_costs") else header.get("feature_costs", _COSTS)
    section = header.section("policy")
    policy = _decode_policy(section)
    section.done()
    n_groups = len(model.group_names_)
    require(n_groups > 1, "a policy needs a model with a costly group")
    if isinstance(policy, OneShotPolicy):
        require(len(policy.scores_) == n_groups - 1, "the policy has another number of groups than the model")
    if isinstance(policy, IteratedPolicy):
        require(len(policy.repaired_) == n_groups - 1, "the policy has another number of groups than the model")
    policy._check(model, ())
    policy.model_ = model
    made = BudgetedPredictor(model, policy, **parameters)
    require(made.spend in ("mean", "each"), "the parameter 'spend' should be 'mean' or 'each'")
    made.threshold_ = header.number("threshold", finite=False)
    made.mean_cost_ = header.number("mean_cost", low=0.0)
    made.group_costs_ = header.floats("costs", n_groups, low=0.0)
    made.mode_ = header.choice("mode", ("policy", "everything", "nothing"))
    made.certificate_ = header.get("certificate", StructureCertificate)
    made.max_parts_ = None if header.lacks("longest") else header.integer("longest", 1)
    made.allowance_ = (
        None if header.lacks("allowance") else Allowance(header.number("allowance", low=0.0), made.group_costs_[1:])
    )
    return made


def _encode_policy(policy: Any, arrays: Arrays) -> dict[str, Any]:
    given = policy.get_params(deep=False)
    shown = {"cv": given["cv"] if isinstance(given["cv"], int | str) else "prefit"} if "cv" in given else {}
    if "class_weight" in given:
        shown["class_weight"] = given["class_weight"]
    fields = {"parameters": encode_plain(policy, arrays, ("cv", "class_weight")), **encode_fields(shown, arrays, "")}
    if isinstance(policy, IteratedPolicy):
        trees = policy.trees_._arrays
        values: dict[str, Any] = {name: trees[name] for name in _TREES}
        values |= {"base": float(trees["base"]), "n_features": int(trees["n_features"])}
        return fields | encode_fields(values | {"repaired": np.asarray(policy.repaired_)}, arrays, "")
    if isinstance(policy, OneShotPolicy):
        scores = {f"score.{i}": score.weights for i, score in enumerate(policy.scores_)}
        biases = np.array([score.bias for score in policy.scores_], dtype=np.float64)
        return fields | encode_fields({**scores, "biases": biases, "share": np.asarray(policy.share_)}, arrays, "")
    return fields


def _decode_policy(section: Section) -> Any:
    kind = POLICIES[section.choice("kind", tuple(POLICIES))]
    given = decode_plain(section.section("parameters"), kind, ("cv", "class_weight"))
    if kind is not UniformPolicy:
        given["cv"] = section.get("cv", _CV)
    if kind is OneShotPolicy:
        given["class_weight"] = section.get("class_weight", _CLASS_WEIGHT)
    policy: Any = kind(**given)
    if kind is IteratedPolicy:
        arrays: dict[str, Any] = {name: section.array(name, (dtype,), None) for name, dtype in _TREES.items()}
        section.room.reserve(64 * len(arrays["feature"]) + PROBLEM_OBJECTS, "trees of a policy")
        arrays |= {"base": section.number("base"), "n_features": section.integer("n_features", 1)}
        policy.trees_ = object.__new__(BoostedTrees)
        policy.trees_.__setstate__(arrays)
        policy.repaired_ = section.floats("repaired", None, low=0.0)
        require((policy.repaired_ > 0).all(), f"{section.where}.repaired holds a zero")
    if kind is OneShotPolicy:
        biases = section.floats("biases", None)
        policy.scores_ = []
        for i, bias in enumerate(biases.tolist()):
            weights = section.array(f"score.{i}", ("float32",), None)
            require(np.isfinite(weights).all(), f"{section.where} has weights that are not finite")
            policy.scores_.append(LinearScore(weights, bias))
        policy.share_ = section.floats("share", len(biases), low=0.0)
    return policy


def encode_budgeted(predictor: BudgetedPredictor, arrays: Arrays) -> dict[str, Any]:
    """Describe a fitted predictor with its model and its policy."""
    models = _models()
    kind = type(predictor.model).__name__
    if kind not in models or type(predictor.model) is not models[kind][0]:
        raise ValueError(
            f"A BudgetedPredictor of a {kind} cannot be saved: files hold those of {', '.join(models)}. Keep it with "
            "pickle or joblib."
        )
    fields = encode_spending(predictor, arrays)
    own: Arrays = {}
    described = models[kind][1](predictor.model, own)
    arrays.update({f"model.{name}": array for name, array in own.items()})
    return fields | {"model": {"kind": kind} | described}


def decode_budgeted(header: Section) -> BudgetedPredictor:
    """Build the predictor again."""
    models = _models()
    section = header.section("model")
    model = models[section.choice("kind", tuple(models))][2](section)
    section.done()
    return decode_spending(header, model)


def _models() -> dict[str, Any]:
    """Models that a file holds inside of a predictor: their class, and how they are described and built."""
    from .chains import decode_chain, encode_chain
    from .parsers import decode_parser, encode_parser
    from .taggers import decode_tagger, encode_tagger

    return {
        "ChainClassifier": (ChainClassifier, encode_chain, decode_chain),
        "DependencyParser": (DependencyParser, encode_parser, decode_parser),
        "WordTagger": (WordTagger, encode_tagger, decode_tagger),
    }
