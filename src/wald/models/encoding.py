"""Encoding of the fields of a dataclass of terms for files: float64 arrays by name, and JSON values."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from .terms import Terms

__all__ = ["decode_fields", "encode_fields"]


def encode_fields(terms: Terms, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """Put the arrays of terms into `arrays`, and return the other fields and the arrays' shapes.

    Raises
    ------
    ValueError
        If a field is no float64 array, number or string.
    """
    facts: dict[str, Any] = {}
    for name in _fields_of(terms):
        value = getattr(terms, name)
        if isinstance(value, np.ndarray) and value.dtype == np.float64:
            arrays[name] = value
            facts[name] = {"array": list(value.shape)}
        elif isinstance(value, bool | int | float | str):
            facts[name] = value
        else:
            raise ValueError(
                f"A {terms.description} cannot be saved: its {name} is a {type(value).__name__}. Keep it with pickle."
            )
    return facts


def decode_fields(cls: type[Terms], section: Any, stock: Any) -> dict[str, Any]:
    """Read the values that `encode_fields` wrote, by the names of the fields.

    Parameters
    ----------
    cls : type
        Class of the terms.
    section : wald.codec.header.Section
        The JSON values.
    stock : wald.codec.arrays.Stock
        The arrays.

    Raises
    ------
    wald.persistence.FileFormatError
        If a value is missing or invalid.
    """
    values: dict[str, Any] = {}
    for name in _fields_of(cls):
        fact = section.take(name)
        if isinstance(fact, dict):
            shape = fact.get("array")
            if not isinstance(shape, list) or not all(type(n) is int for n in shape):
                raise stock.error(f"header.model.terms.{name} is no shape")
            fact = stock.floats(name, *shape)
        values[name] = fact
    section.done()
    return values


def _fields_of(terms: Terms | type[Terms]) -> list[str]:
    if not is_dataclass(terms):
        raise ValueError("Terms that are no dataclass need an encode and a decode of their own.")
    return [field.name for field in fields(terms)]
