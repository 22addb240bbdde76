"""Values as the fields of a header, and as arrays that are called like these."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .header import MOST, MOST_CHARACTERS, number

Arrays = dict[str, NDArray[Any]]
#: Field with the name of a dataclass.
TYPE = "type"
CSR_PARTS = ("data", "indices", "indptr")


def encode(value: Any, arrays: Arrays, where: str) -> Any:
    """Turn a value into JSON.

    Parameters
    ----------
    value : None, bool, number, str, a list, tuple or mapping of those, or a dataclass of wald's own
        A mapping becomes a list of pairs, and a dataclass its fields.
    arrays : dict from name to ndarray
        Receives the arrays among the fields.
    where : str
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
        return number(float(value))
    if isinstance(value, Real):
        raise ValueError(
            f"{where.removeprefix('parameters.')} cannot be saved: a file holds no NaN and no whole numbers above "
            f"2^53. Got {value!r}. Keep this model with pickle or joblib."
        )
    if isinstance(value, list | tuple):
        return [encode(item, arrays, f"{where}.{i}") for i, item in enumerate(value)]
    if isinstance(value, Mapping):
        return encode(list(value.items()), arrays, where)
    kind = type(value)
    if not is_dataclass(kind) or not kind.__module__.startswith("wald."):
        raise ValueError(
            f"{where.removeprefix('parameters.')} cannot be saved: a file holds the rules of wald.stopping and plain "
            f"values, and no {kind.__module__}.{kind.__qualname__}. Keep this model with pickle or joblib."
        )
    return {TYPE: kind.__name__} | encode_fields(fields_of(value), arrays, where)


def encode_fields(values: Mapping[str, Any], arrays: Arrays, where: str) -> dict[str, Any]:
    """Turn named values into the fields of an object, and arrays and tuples of floats among them into arrays."""
    found = {}
    for name, value in values.items():
        place = f"{where}.{name}" if where else name
        if isinstance(value, np.ndarray):
            put(value, arrays, place)
        elif sparse.issparse(value):
            arrays |= {f"{place}.{part}": getattr(value, part) for part in CSR_PARTS}
        elif isinstance(value, tuple) and value and all(type(item) is float for item in value):
            arrays[place] = np.array(value)
        else:
            found[name] = encode(value, arrays, place)
    return found


def fields_of(value: Any) -> dict[str, Any]:
    """The fields from which a dataclass is made.

    Those that are marked as ``later`` are left out where they have their default, as there were none in the files of
    before.
    """
    found = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
    later = [field for field in fields(value) if field.metadata.get("later") and found[field.name] == field.default]
    return {name: given for name, given in found.items() if name not in {field.name for field in later}}


def put(array: NDArray[Any], arrays: Arrays, name: str) -> None:
    """Put an array into ``arrays``; a matrix as it lies in memory, which decides how BLAS sums."""
    by_columns = array.ndim == 2 and array.flags.f_contiguous and not array.flags.c_contiguous
    arrays[f"{name}.T" if by_columns else name] = array.T if by_columns else array


def text_array(texts: Any, what: str) -> NDArray[np.str_]:
    """Turn texts into an array that a file can hold, or raise ValueError."""
    plain = np.array([str(text) for text in texts], dtype=np.str_)
    # NumPy's arrays drop zeros at the end of a text
    if plain.dtype.itemsize > 4 * MOST_CHARACTERS or plain.tolist() != [str(text) for text in texts]:
        raise ValueError(
            f"{what} cannot be saved: texts must have at most {MOST_CHARACTERS} characters and not end in a zero."
        )
    return plain
