"""Small value objects (rules, cost models, certificates) as JSON, by class name and field values."""

from __future__ import annotations

import collections.abc
import dataclasses
import math
import types
import typing
from collections.abc import Mapping
from functools import cache
from numbers import Integral, Real
from typing import Any, Literal, Union

import numpy as np

from .. import stopping
from ..codec.arrays import Arrays, Stock
from ..codec.header import MOST, FileFormatError, Section, number, plain_text
from ..plan import CostModel, PassTimes
from ..stopping import Certificate, Stratum

FLOATS, TUPLE, TYPE, FLOAT = "floats", "tuple", "type", "float"


@cache
def registry() -> Mapping[str, type]:
    """The classes that a file may name: stopping rules, cost models, certificates, and the extractor HOG.

    Rules are the frozen dataclasses that `wald.stopping` exports and that make a boundary from a walk.
    """
    from ..structured.images import HOG  # models with groups of features load wald.structured; others need not

    exported = [getattr(stopping, name) for name in stopping.__all__]
    rules = [
        c
        for c in exported
        if isinstance(c, type) and dataclasses.is_dataclass(c) and hasattr(c, "boundary") and hasattr(c, "needs")
    ]
    return {c.__name__: c for c in (*rules, CostModel, PassTimes, Certificate, Stratum, HOG)}


@cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def encode(value: Any, arrays: Arrays, name: str) -> Any:
    """Turn a value into JSON, and its tuples of floats into arrays.

    Parameters
    ----------
    value : None, bool, number, str, tuple of those, or an instance of a class in `registry`
    arrays : dict from name to ndarray
        Receives the arrays.
    name : str
        Name of the value in messages and array names.

    Raises
    ------
    ValueError
        If it holds anything else.
    """
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Integral) and abs(int(value)) <= MOST:
        return int(value)
    if isinstance(value, Real) and not isinstance(value, Integral) and not math.isnan(value):
        plain = number(float(value))
        return {FLOAT: plain} if isinstance(plain, str) else plain
    if isinstance(value, tuple):
        if value and all(type(item) is float for item in value):
            arrays[name] = np.array(value, dtype=np.float64)
            return {FLOATS: name}
        return {TUPLE: [encode(item, arrays, f"{name}.{i}") for i, item in enumerate(value)]}
    kind = type(value)
    if registry().get(kind.__name__) is not kind:
        raise ValueError(
            f"{name} cannot be saved: a file holds the rules of wald.stopping and plain values, and no "
            f"{kind.__module__}.{kind.__qualname__}. Keep this model with pickle or joblib."
        )
    return {
        TYPE: kind.__name__,
        "fields": {
            field.name: encode(getattr(value, field.name), arrays, f"{name}.{field.name}")
            for field in dataclasses.fields(kind)
            if field.init
        },
    }


def decode(raw: Any, stock: Stock, where: str, expected: Any) -> Any:
    """Turn JSON back into the value.

    Parameters
    ----------
    raw : object
        Parsed JSON.
    stock : Stock
    where : str
        Name of the value in messages.
    expected : type or type hint
        Type that the value must have.

    Raises
    ------
    FileFormatError
        If it is anything else, of an unknown class, or refused by its class.
    """
    value = _decoded(raw, stock, where)
    if not fits(value, expected):
        raise FileFormatError(f"{where} has a value of the wrong kind")
    return value


def _decoded(raw: Any, stock: Stock, where: str) -> Any:
    if isinstance(raw, str):
        return plain_text(raw, where)
    if raw is None or isinstance(raw, bool | int | float):
        return raw
    section = Section(raw, where)
    if FLOAT in raw:
        value: Any = section.number(FLOAT, finite=False)
    elif FLOATS in raw:
        value = tuple(stock.floats(section.text(FLOATS), None, finite=False).tolist())
    elif TUPLE in raw:
        value = tuple(_decoded(item, stock, f"{where}.{i}") for i, item in enumerate(section.items(TUPLE)))
    else:
        value = _instance(section, stock, where)
    section.done()
    return value


def _instance(section: Section, stock: Stock, where: str) -> Any:
    kind = registry()[section.choice(TYPE, sorted(registry()))]
    fields, hints = Section(section.take("fields"), where), _hints(kind)
    names = [field.name for field in dataclasses.fields(kind) if field.init]
    values = {name: decode(fields.take(name), stock, f"{where}.{name}", hints[name]) for name in names}
    fields.done()
    try:
        return kind(**values)
    except (TypeError, ValueError, ArithmeticError) as error:
        raise FileFormatError(f"{where}: {error}") from None


def fits(value: Any, hint: Any) -> bool:
    """Whether a value matches a type hint; knows the hints that value objects use."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return True
    if hint is None:
        return value is None
    if origin is Literal:
        return any(value == option and type(value) is type(option) for option in inner)
    if origin in (Union, types.UnionType):
        return any(fits(value, option) for option in inner)
    if origin in (tuple, collections.abc.Sequence):
        if not isinstance(value, tuple):
            return False
        if origin is tuple and not (len(inner) == 2 and inner[1] is Ellipsis):
            return len(value) == len(inner) and all(map(fits, value, inner))
        return all(fits(item, inner[0]) for item in value)
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    try:
        return isinstance(hint, type) and isinstance(value, hint)
    except TypeError:  # a protocol that cannot be checked at run time
        return False


def check_certificate(certificate: Certificate) -> None:
    """Refuse a certificate whose promise does not follow from its counts."""
    c, where = certificate, "the certificate"
    limits = (
        (c.risk is None or 0 <= c.risk < 1, "risk"),
        (0 < c.confidence <= 1, "confidence"),
        (1 <= c.n_splits <= MOST, "n_splits"),
        (c.q >= 0, "q"),
        (all(0 <= s.n_disagreements <= s.n_rows <= MOST for s in c.strata), "counts"),
        (all(s.risk is None or 0 < s.risk < 1 for s in c.strata), "risks of classes"),
    )
    for holds, what in limits:
        if not holds:
            raise FileFormatError(f"{where} has {what} out of range")
    if c.void is None and not c.verify():
        raise FileFormatError(f"{where} does not follow from its own counts")
