"""The parameters of estimators in files: plain values, stopping rules and arrays."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Union

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from .. import stopping
from ..codec.header import FileFormatError
from ..codec.reading import Section
from ..codec.writing import Arrays, encode_fields
from ..early_exit.compiled.parameters import checked_rule
from ..early_exit.compiled.planner import Planner, planner_of, require_sides
from ..early_exit.estimators import EarlyExit, promising
from ..early_exit.fitting.truth import require_reference
from ..engine.threads import effective_threads
from ..plan import CostModel
from ..stopping import Rule
from ..stopping.core.risks import promised

#: The rules that a file may name: the dataclasses of `wald.stopping` that make a boundary from a walk.
RULES = tuple(
    kind
    for kind in (getattr(stopping, name) for name in stopping.__all__)
    if dataclasses.is_dataclass(kind) and hasattr(kind, "boundary") and hasattr(kind, "needs")
)
#: Types of the parameters of early-exit estimators, except the wrapped estimator and the planner.
PARAMETERS: dict[str, Any] = {
    "k": int,
    "tolerance": float | list[float] | None,
    "relative": bool | Literal["std", "quantile"],
    "bands": list[float] | None,
    "risk": float | None | Mapping[bool | int | float | str, float | None],
    "confidence": float,
    "reference": str,
    "feature_costs": NDArray[np.float64] | Mapping[str, float] | None,
    "feature_groups": Mapping[str, list[int | str]] | None,
    "n_jobs": int | None,
    "random_state": int | None,
}
#: Parameters that are in files where they are not these, as there were none in those of before.
LATER: dict[str, dict[str, Any]] = {
    "EarlyExitClassifier": {"bands": None, "tolerance": None, "reference": "model"},
    "EarlyExitRegressor": {"bands": None},
    "EarlyExitOutlierDetector": {"bands": None},
    "ChainClassifier": {"keep_names": False, "constraints": None},
    "DependencyParser": {"second_order": False},
}
#: Types of those of its planner.
PLANNER: dict[str, Any] = {
    "rule": Union[str, *RULES],  # of a tuple
    "order": str | NDArray[np.int64],
    "cost": str | CostModel,
    "certificate_fraction": float | str,
    "n_splits": int | str,
}


def encode_parameters(owner: EarlyExit, arrays: Arrays) -> dict[str, Any]:
    """Describe the parameters; raises ValueError, naming it, for one that a file cannot hold."""
    checked_rule(promising(owner))
    values = {name: getattr(owner, name) for name in _names_of(type(owner))}
    if isinstance(values.get("risk"), Mapping):
        values["risk"] = {_plain(stratum): None if r is None else float(r) for stratum, r in values["risk"].items()}
    for name, usual in LATER.get(type(owner).__name__, {}).items():
        if values[name] is usual or (usual is not None and values[name] == usual):
            del values[name]
    for name in ("bands", "tolerance"):
        if values.get(name) is not None:
            values[name] = np.asarray(values[name], dtype=np.float64).tolist()
    if isinstance(values.get("relative"), np.bool_):
        values["relative"] = bool(values["relative"])
    costs, groups = values.get("feature_costs"), values.get("feature_groups")
    if costs is not None and not isinstance(costs, Mapping):
        values["feature_costs"] = np.asarray(costs, dtype=np.float64)
    if groups is not None:
        values["feature_groups"] = {name: list(columns) for name, columns in groups.items()}
    require_plain_seed(values.get("random_state"))
    if "planner" not in values:
        return encode_fields(values, arrays, "parameters")
    del values["planner"]
    planner = planner_of(owner)
    planned: dict[str, Any] = {name: getattr(planner, name) for name in PLANNER}
    if not isinstance(planner.order, str):
        order = np.asarray(planner.order)
        planned["order"] = order.astype(np.int64) if order.dtype.kind in "iu" else order
    return {
        **encode_fields(values, arrays, "parameters"),
        "planner": encode_fields(planned, arrays, "parameters.planner"),
    }


def _names_of(kind: type[EarlyExit]) -> list[str]:
    """Names of the parameters of an estimator, except the wrapped one and those before it, which no file holds."""
    return [name for name in kind._get_param_names() if name not in ("estimator", "surrogates")]


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


def decode_parameters(section: Section, kind: type[EarlyExit]) -> dict[str, Any]:
    """Read the parameters of an estimator as keyword arguments, and check their types."""
    names, later = _names_of(kind), LATER.get(kind.__name__, {})
    there = [name for name in names if name != "planner" and (name in section or name not in later)]
    given = {name: section.get(name, PARAMETERS[name]) for name in there}
    if "planner" in names:
        planner = section.section("planner")
        given["planner"] = Planner(**{name: planner.get(name, hint) for name, hint in PLANNER.items()})
        planner.done()
    section.done()
    return given


def check_parameters(owner: EarlyExit, classes: NDArray[Any]) -> Rule:
    """Refuse parameters that the estimator would refuse; returns their stopping rule."""
    try:
        given = promising(owner)
        rule = checked_rule(given)
        require_reference(given)
        require_sides(rule, promised(given.promised_risk, classes).sides)
        effective_threads(owner.n_jobs)
    except (TypeError, ValueError) as error:
        raise FileFormatError(f"header.parameters: {error}") from None
    return rule


def encode_plain(owner: BaseEstimator, arrays: Arrays, left_out: Sequence[str] = ()) -> dict[str, Any]:
    """Describe an estimator's parameters but for some; raises ValueError, naming it, for one that is no plain value."""
    require_plain_seed(owner.random_state)
    usual = LATER.get(type(owner).__name__, {})
    values = {name: getattr(owner, name) for name in owner.get_params(deep=False) if name not in left_out}
    return encode_fields(
        {name: value for name, value in values.items() if name not in usual or value != usual[name]},
        arrays,
        "parameters",
    )


def decode_plain(section: Section, kind: type, left_out: Sequence[str] = ()) -> dict[str, Any]:
    """Give these parameters as keyword arguments, each of the kind that the class says."""
    hints = typing.get_type_hints(kind) | {"random_state": int | None}
    later = LATER.get(kind.__name__, {})
    names = [name for name in inspect.signature(kind).parameters if name not in left_out]
    names = [name for name in names if name in section or name not in later]
    given = {name: section.get(name, hints[name]) for name in names}
    section.done()
    return given


def require_plain_seed(random_state: Any) -> None:
    """Refuse a random state that goes on changing."""
    if not (random_state is None or isinstance(random_state, int | np.integer)):
        raise ValueError(
            f"random_state must be an int or None to be saved. Got a {type(random_state).__name__}, which goes on "
            "changing; set_params(random_state=None) leaves it out of the file."
        )
