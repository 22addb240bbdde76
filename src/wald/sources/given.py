"""`source_of`: the only function that looks at what rows are given in."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array

from .arrays import ArraySource, ArrowTexts, ListedObjects, RawSource, SparseSource
from .cells import objects_of
from .frames import FrameSource, is_frame
from .records import Coding, RecordSource, named_rows
from .schema import Schema
from .source import Source
from .values import number_at, numbers_of


def source_of(X: Any, schema: Schema | None = None) -> Source:
    """Rows as they come, as a source.

    Parameters
    ----------
    X : rows in any form
        An array, a sparse matrix, a data frame, nested lists, a list of records, texts, or a `Source`.
    schema : Schema or None, default=None
        The columns of the model that is to read the rows: columns are then found by name, and records are rows. None:
        rows are taken as they are.

    Returns
    -------
    Source
        ``X`` itself if it is one that needs no other order of its columns.

    Raises
    ------
    ValueError, TypeError
        If ``X`` is no table, or its names are not those of the model.

    Examples
    --------
    >>> import numpy as np
    >>> from wald.sources import source_of
    >>> source = source_of(np.array([[1, 2], [3, 4]]))
    >>> source.n_rows, source.n_columns, source.take(np.array([1])).array()
    (2, 2, array([[3., 4.]]))
    """
    if type(X) is np.ndarray and X.ndim == 2:
        return ArraySource(X)
    source: Source
    if isinstance(X, Source):
        source = X
    elif sparse.issparse(X):
        if X.ndim != 2:
            raise ValueError(_no_table(X, " For one row, use predict_one(x.toarray())." if X.ndim == 1 else ""))
        source = SparseSource(X)
    elif is_frame(X):
        source = FrameSource(X)
    elif isinstance(X, np.ndarray) and X.ndim == 2:
        source = ArraySource(X)
    else:
        return _of_rows(X, schema)
    return source if schema is None else schema.matched(source)


def table_of(X: Any, schema: Schema, coding: Coding | None = None) -> Any:
    """Rows for a library, with columns in the order of a schema: as they come, but records as an array.

    `coding` has the codes of categories in records.
    """
    source = source_of(X, schema)
    if not isinstance(source, RecordSource):
        return source.rows
    source.require(source.names, source.names)
    return source.numbers(True, coding)


def _of_rows(X: Any, schema: Schema | None) -> Source:
    """A source of what is neither a table of a known kind nor a source."""
    shape = getattr(X, "shape", None)
    arrow = None if shape is not None or isinstance(X, list | tuple) else nw.dependencies.get_pyarrow()
    if arrow is not None and isinstance(X, arrow.Array | arrow.ChunkedArray):  # which vectorizers cannot read
        if schema is None or schema.n_columns is None:
            return ArrowTexts(X)
        X, shape = objects_of(X.to_pylist()), (len(X),)
    if schema is None:
        table = not _is_raw(X) and (shape is None or len(shape) != 2)
        return ArraySource(as_array(X, dtype=None)) if table else RawSource(X)
    if schema.n_columns is None:
        if shape == () or not hasattr(X, "__len__"):
            hint = ": pass list(X)" if isinstance(X, Iterable) and shape is None else ""
            raise TypeError(f"X must be a list or a column. Got {type(X).__name__}{hint}.")
        return RawSource(X)
    if schema.names is not None and (records := named_rows(X, schema)) is not None:
        return RecordSource(records, schema, "X[{}]".format)
    if shape is None:
        rows = as_array(X, dtype=None, ensure_min_samples=0)
        if rows.dtype.kind in "USO":  # encoders tell None from NaN
            return ListedObjects(rows if rows.dtype == object else as_array(X, dtype=object, ensure_min_samples=0))
        return ArraySource(as_array(rows, dtype="numeric", ensure_min_samples=0))
    return RawSource(X) if len(shape) == 2 else ArraySource(as_array(X))  # as_array raises


def _is_raw(X: Any) -> bool:
    """Whether X holds strings or dicts for a vectorizer instead of numbers."""
    if isinstance(X, list | tuple):
        return len(X) > 0 and isinstance(X[0], str | bytes | dict)
    if len(getattr(X, "shape", ())) != 1 or not hasattr(X, "dtype"):
        return False
    if nw.dependencies.is_polars_series(X):
        return not X.dtype.is_numeric()
    return getattr(X.dtype, "kind", None) in ("O", "U", "S", "T")


def as_array(X: Any, **checks: Any) -> Any:
    """Convert nested lists and the like to an array; add a hint to scikit-learn's error if X is not a table."""
    if isinstance(X, str | bytes):
        raise TypeError(f"X must be rows of features. Got one {type(X).__name__}: for one row use predict_one.")
    try:
        return check_array(X, ensure_all_finite=False, input_name="X", **checks)
    except TypeError:  # a missing value of another kind than None, or an object that is no number
        return numbers_of(np.asarray(X, dtype=object))
    except ValueError as error:
        message = str(error)
        if message.startswith(("Expected 2D array", "Expected a 2-dimensional")):
            lazy = nw.dependencies.is_polars_lazyframe(X)
            one = " Collect it: X.collect()." if lazy else " For one row, use predict_one(x) or predict([x])."
        elif message.startswith("Found array with dim"):
            one = ""
        elif "inhomogeneous" in message:
            one = " Its rows have different lengths."
        else:
            raise
        raise ValueError(f"{_no_table(X, one)}\n{message}") from None


def _no_table(X: Any, hint: str) -> str:
    """What to say of rows that are no table."""
    shape = f" of shape {X.shape}" if hasattr(X, "shape") else ""
    return (
        "X must be a table: one row for each example, one column for each feature. Got "
        f"{type(X).__name__}{shape}.{hint}"
    )


# ---- one row ---------------------------------------------------------------------------------------------------------


def values_of_row(x: Any, n: int) -> NDArray[Any]:
    """Values of a row, by position."""
    must = f"x must be one row of {n} features"
    if sparse.issparse(x):
        hint = "use predict" if x.ndim == 2 else "pass x.toarray()"
        raise ValueError(f"{must}, as an array. Got a sparse matrix of shape {x.shape}: {hint}.")
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
        return np.array([number_at(value, partial("x[{}]".format, c), True) for c, value in enumerate(given)])
    raise ValueError(f"x must hold real numbers. Got dtype {values.dtype}.")
