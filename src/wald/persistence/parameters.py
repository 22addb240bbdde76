"""The parameters of an `EarlyExitClassifier`, except its estimator, as JSON and arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..codec.arrays import Arrays, Stock
from ..codec.header import FileFormatError, Section, plain_text
from ..early_exit import EarlyExitClassifier
from ..early_exit.parameters import checked_rule
from ..engine.threads import effective_threads
from ..plan import CostModel
from ..stopping import Rule
from ..stopping.core.class_risks import by_code
from . import values
from .estimators import require_plain_seed

ORDERS = ("int64", "int32", "uint32", "uint64", "int16", "uint16", "int8", "uint8")
PLAIN: dict[str, Any] = {
    "risk": float | None,
    "confidence": float,
    "readout": str,
    "rule": str | Rule,
    "cost": str | CostModel,
    "certificate_fraction": float | str,
    "n_splits": int | str,
    "audit_rate": float | None,
    "on_broken": str,
    "n_jobs": int | None,
    "random_state": int | None,
}


def encode_parameters(owner: EarlyExitClassifier, arrays: Arrays) -> dict[str, Any]:
    """Describe the parameters; raises ValueError, naming it, for one that a file cannot hold."""
    checked_rule(owner)
    require_plain_seed(owner.random_state)
    fields = {name: values.encode(getattr(owner, name), arrays, name) for name in PLAIN}
    fields["protect"] = _encode_protect(owner.protect, arrays)
    fields["order"] = _encode_order(owner.order, arrays)
    fields["feature_costs"] = _encode_costs(owner.feature_costs, arrays)
    fields["feature_groups"] = _encode_groups(owner.feature_groups)
    return fields


def decode_parameters(section: Section, stock: Stock) -> dict[str, Any]:
    """Read the parameters as keyword arguments, and check their types."""
    given = {name: values.decode(section.take(name), stock, name, hint) for name, hint in PLAIN.items()}
    given["protect"] = _decode_protect(section.take("protect"), stock)
    given["order"] = _decode_order(section.take("order"), stock)
    given["feature_costs"] = _decode_costs(section.take("feature_costs"), stock)
    given["feature_groups"] = _decode_groups(section.take("feature_groups"))
    section.done()
    return given


def check_parameters(owner: EarlyExitClassifier, classes: NDArray[Any]) -> Rule:
    """Refuse parameters that the estimator would refuse; returns their stopping rule."""
    try:
        rule = checked_rule(owner)
        by_code(owner.protect, classes)
        effective_threads(owner.n_jobs)
    except (TypeError, ValueError) as error:
        raise FileFormatError(f"header.parameters: {error}") from None
    return rule


def _encode_protect(protect: Any, arrays: Arrays) -> Any:
    """Keep a text as it is, and turn risks by class into pairs of label and risk."""
    if isinstance(protect, str):
        return protect
    plain = {getattr(label, "item", lambda label=label: label)(): risk for label, risk in protect.items()}
    return [[values.encode(label, arrays, "protect"), float(risk)] for label, risk in plain.items()]


def _decode_protect(raw: Any, stock: Stock) -> Any:
    if isinstance(raw, str):
        return plain_text(raw, "protect")
    if not isinstance(raw, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in raw):
        raise FileFormatError("protect should be a text, or a list of labels and the risk of each")
    return {
        values.decode(label, stock, "protect", str | bool | int | float): _positive(risk, "protect")
        for label, risk in raw
    }


def _encode_order(order: Any, arrays: Arrays) -> str | None:
    if isinstance(order, str):
        return order
    arrays["parameters.order"] = np.asarray(order)
    return None


def _decode_order(raw: Any, stock: Stock) -> Any:
    return stock.take("parameters.order", ORDERS, None) if raw is None else plain_text(raw, "order")


def _encode_costs(costs: Any, arrays: Arrays) -> Any:
    if costs is None:
        return None
    if isinstance(costs, Mapping):
        return [[_name(name, "feature_costs"), float(cost)] for name, cost in costs.items()]
    arrays["parameters.feature_costs"] = np.asarray(costs, dtype=np.float64)
    return "array"


def _decode_costs(raw: Any, stock: Stock) -> Any:
    if raw is None:
        return None
    if raw == "array":
        return stock.floats("parameters.feature_costs", None)
    return {name: _positive(cost, f"feature_costs[{name!r}]") for name, cost in _pairs(raw, "feature_costs")}


def _encode_groups(groups: Any) -> Any:
    if groups is None:
        return None
    return [
        [_name(name, "feature_groups"), [c if isinstance(c, str) else int(c) for c in columns]]
        for name, columns in groups.items()
    ]


def _decode_groups(raw: Any) -> Any:
    if raw is None:
        return None
    groups = _pairs(raw, "feature_groups")
    return {name: _columns(columns, f"feature_groups[{name!r}]") for name, columns in groups}


def _columns(raw: Any, where: str) -> list[int | str]:
    if not isinstance(raw, list) or not all(isinstance(c, str) or type(c) is int for c in raw):
        raise FileFormatError(f"{where} should be a list of columns")
    return [plain_text(c, where) if isinstance(c, str) else c for c in raw]


def _positive(raw: Any, where: str) -> float:
    return Section({"cost": raw}, where).number("cost", 0.0)


def _pairs(raw: Any, where: str) -> list[tuple[str, Any]]:
    if not isinstance(raw, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in raw):
        raise FileFormatError(f"{where} should be a list of names and what belongs to each")
    return [(plain_text(name, where), value) for name, value in raw]


def _name(name: Any, what: str) -> str:
    if not isinstance(name, str):
        raise ValueError(f"{what} cannot be saved: its names must be texts. Got {name!r}.")
    return str(name)
