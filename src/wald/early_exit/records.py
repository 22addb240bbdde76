"""Values and names of single rows and of records (dicts, named tuples, Series), as arrays and columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from numbers import Number
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

from ..engine.frames import is_missing
from ..models import Schema
from ..models.categories import CategoryCodes
from ..models.schema import listed


def named_rows(X: Any, schema: Schema) -> list[Mapping[Any, Any]] | None:
    """Rows of a list as records, if they have names: dicts, named tuples and rows of pandas frames; else None.

    Raises
    ------
    TypeError
        If some rows have names, and others have none.
    """
    if not isinstance(X, list | tuple) or hasattr(X, "_asdict"):
        return None
    records = [as_record(x, schema) for x in X]
    if all(record is None for record in records):
        return None
    if None in records:
        where = records.index(None)
        raise TypeError(f"Some rows of X have names, and X[{where}], a {type(X[where]).__name__}, has none.")
    return records  # type: ignore[return-value]  # none of them is None


def as_record(x: Any, schema: Schema) -> Mapping[Any, Any] | None:
    """Names and values of a dict, a named tuple or a row of a pandas frame; None for rows without names."""
    if isinstance(x, Mapping):
        return x
    if isinstance(x, tuple) and hasattr(x, "_asdict"):
        return dict(x._asdict())
    if nw.dependencies.is_pandas_series(x) and len(x) and _are_names(x.index, schema):
        if not x.index.is_unique:
            repeated = x.index[x.index.duplicated()][0]
            raise ValueError(f"x must have each name once. Got {repeated!r} several times in its index.")
        return dict(zip(x.index, x.tolist(), strict=True))
    return None


def _are_names(index: Any, schema: Schema) -> bool:
    """Whether the index of a Series names columns, and does not just number its values."""
    if all(isinstance(name, str) for name in index):
        return True
    if schema.names is None or schema.library not in ("lightgbm", "xgboost", "catboost"):
        return False  # scikit-learn knows no names that are numbers
    numbers = all(name.isdecimal() for name in schema.names)
    return {schema.spelled(name) for name in index} == set(schema.names) or (
        numbers and list(index) != list(range(len(index)))
    )


def values_of_row(x: Any, n: int) -> NDArray[Any]:
    """Values of a row, by position."""
    must = f"x must be one row of {n} features"
    if sparse.issparse(x):
        raise ValueError(f"{must}, as an array. Got a sparse matrix of shape {x.shape}: use predict.")
    if isinstance(x, str | bytes) or x is None:
        raise TypeError(f"{must}. Got {x!r}.")
    try:
        values = x if isinstance(x, np.ndarray) else np.asarray(x)
    except (ValueError, TypeError):
        raise ValueError(f"{must}, with one number for each. Got a nested {type(x).__name__}.") from None
    if values.ndim == 0:
        raise TypeError(f"{must}. Got {type(x).__name__}.")
    if values.ndim > 1:
        first = "x.iloc[0]" if hasattr(x, "iloc") else "x[0]"
        hint = "use predict for several rows" + (f", or pass {first}" if len(values) == 1 else "")
        raise ValueError(f"{must}, in one dimension. Got shape {values.shape}: {hint}.")
    if len(values) != n:
        raise ValueError(f"{must}. Got {len(values)}.")
    return values if values.flags.aligned else values.copy()


def numbers_of_row(values: NDArray[Any], x: Any, integers: np.dtype[Any]) -> NDArray[Any]:
    """Convert the values of a row to numbers; integers to the type in which the model reads them."""
    if values.dtype.kind in "biuf":
        return values.astype(integers)
    if values.dtype.kind == "O" or isinstance(x, list | tuple):
        given = x if isinstance(x, list | tuple) else values
        return np.array([_number(value, partial("x[{}]".format, c), True) for c, value in enumerate(given)])
    raise ValueError(f"x must hold real numbers. Got dtype {values.dtype}.")


# ---- several records -------------------------------------------------------------------------------------------------


def require_records(records: Any, for_one: str, for_frames: str) -> None:
    """Raise TypeError, naming the methods to use, for anything but a list of records."""
    if isinstance(records, str | bytes | Mapping) or not hasattr(records, "__len__") or hasattr(records, "columns"):
        hint = f": for one record use {for_one}" if isinstance(records, Mapping) else ""
        hint = f": for a data frame use {for_frames}" if hasattr(records, "columns") else hint
        raise TypeError(f"records must be a list of dicts. Got {type(records).__name__}{hint}.")


def spelled(record: Any, schema: Schema) -> Any:
    """A record with the names of its values as the model's library writes them."""
    known = set(schema.names or ())
    if not isinstance(record, Mapping) or record.keys() <= known:
        return record
    spelled: dict[Any, Any] = {}
    for given, value in record.items():
        name = given if given in known else schema.spelled(given)
        if name is not given and (name in record or name in spelled):
            name = given  # two values for one column: the one by another name is unknown
        spelled[name] = value
    return spelled


def check_names(
    records: Sequence[Mapping[str, Any]], needed: Sequence[str], allowed: Sequence[str], where: Callable[[int], str]
) -> None:
    """Raise ValueError if a record lacks a column that is needed, or has one that is not allowed."""
    must, may = set(needed), set(allowed)
    for i, record in enumerate(records):
        if not isinstance(record, Mapping):
            raise TypeError(f"{where(i)} must be a dict from feature name to value. Got {type(record).__name__}.")
        if record.keys() <= may and must <= record.keys():
            continue
        wrong = []
        missing = [name for name in needed if name not in record]
        if missing:
            wrong.append(f"lacks {listed(missing)}")
        unknown = [name for name in record if name not in may]
        if unknown:
            wrong.append(f"has {listed(unknown)}, which the model does not know")
        raise ValueError(f"{where(i)} {' and '.join(wrong)}. The features are {listed(allowed)}.")


def numbers_of_records(
    records: Sequence[Mapping[str, Any]], names: Sequence[str], allow_nan: bool, where: Callable[[int], str]
) -> NDArray[np.float64]:
    """Rows of numbers, from records with these names."""
    rows = [[record[name] for name in names] for record in records]
    try:
        table = np.array(rows)
    except ValueError:  # a value that is a list
        table = np.empty(0, dtype=object)
    if table.dtype.kind in "biuf" and table.ndim == 2:
        return np.ascontiguousarray(table, dtype=np.float64)
    return np.array(
        [
            [_number(v, partial("{}[{!r}]".format, where(i), n), allow_nan) for n, v in zip(names, row, strict=True)]
            for i, row in enumerate(rows)
        ]
    )


def codes_of_records(
    categories: CategoryCodes,
    records: Sequence[Mapping[str, Any]],
    names: Sequence[str],
    allow_nan: bool,
    where: Callable[[int], str],
) -> NDArray[np.float64]:
    """Rows of codes and numbers."""
    rows = np.empty((len(records), len(names)))
    for i, record in enumerate(records):
        for c, name in enumerate(names):
            try:
                code = categories.code_of(c, record[name])
            except (TypeError, ValueError) as error:
                raise type(error)(f"{where(i)}[{name!r}] {error}") from None
            if code is None:
                code = _number(record[name], partial("{}[{!r}]".format, where(i), name), allow_nan)
            rows[i, c] = code
    return rows


def column_of(values: list[Any]) -> Any:
    """Values of a column for a frame: of one kind, whichever object stands for the missing ones."""
    missing = [is_missing(value) for value in values]
    if not any(missing):
        return values
    others = [value for value, lacks in zip(values, missing, strict=True) if not lacks]
    if others and all(isinstance(value, Number) and not isinstance(value, complex) for value in others):
        return np.array([math.nan if lacks else value for value, lacks in zip(values, missing, strict=True)], float)
    kept = (type(value) is float for value in values)  # NaN stays NaN, which encoders tell from None
    return [value if keep or not lacks else None for value, lacks, keep in zip(values, missing, kept, strict=True)]


def _number(value: Any, where: Callable[[], str], allow_missing: bool) -> float:
    """A single value as a float; NaN for None, pd.NA, NaT and the NaN of any type."""
    if is_missing(value):
        if allow_missing or isinstance(value, float | np.floating):  # whether NaN is taken, the engine says
            return math.nan
        raise ValueError(f"{where()} is {value!r}, and the model takes no missing values.")
    no_number = complex | np.complexfloating | np.timedelta64  # though each of them is a Number
    if isinstance(value, Number | np.bool_) and not isinstance(value, no_number):
        try:
            return float(value)  # type: ignore[arg-type]  # Decimal and Fraction are numbers, too
        except OverflowError:
            raise ValueError(f"{where()} is too large for a float64.") from None
    raise ValueError(f"{where()} must be a number. Got {value!r}, a {type(value).__name__}.")


def needed(first: Any, names: Sequence[str]) -> list[str]:
    """Names of the columns that a pipeline's first step reads; all names if it is no ColumnTransformer."""
    if not isinstance(first, ColumnTransformer):
        return list(names)
    read = {
        name
        for step, columns in _parts(first, names)
        if not (isinstance(step, str) and step == "drop")
        for name in columns
    }
    return [name for name in names if name in read]


def text_columns(first: Any, names: Sequence[str]) -> dict[str, float | None]:
    """Columns that a pipeline's first step encodes as texts, and what stands for a missing one: NaN or None."""
    parts = _parts(first, names) if isinstance(first, ColumnTransformer) else [(first, list(names))]
    found: dict[str, float | None] = {}
    for step, columns in parts:
        inner = [each for _, each in step.steps] if isinstance(step, Pipeline) else [step]
        known_of = next((each.categories_ for each in inner if hasattr(each, "categories_")), ())
        for name, known in zip(columns, known_of, strict=False):
            if known.dtype == object:
                found[name] = math.nan if any(value != value for value in known.tolist()) else None
    return found


def _parts(transformer: ColumnTransformer, names: Sequence[str]) -> list[tuple[Any, list[str]]]:
    """Steps of a fitted ColumnTransformer, and the names of their columns."""
    parts = []
    for _, step, columns in transformer.transformers_:
        if isinstance(columns, str):
            parts.append((step, [columns]))
        elif isinstance(columns, slice) or not all(isinstance(c, str) for c in columns):
            some = columns if isinstance(columns, slice) else np.asarray(columns)
            parts.append((step, np.asarray(names, dtype=object)[some].tolist()))
        else:
            parts.append((step, list(columns)))
    return parts
