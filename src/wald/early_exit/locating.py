"""Adds the row and column of an invalid value to the error about it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..engine.frames import is_frame, is_missing
from ..engine.rows import PREPROCESSED_ROWS, n_rows_of, take, to_array
from ..models import AdditiveModel

#: Number of rows that are searched at a time.
SEARCHED_ROWS = 4096
#: Beginnings of scikit-learn's messages about NaN and infinity.
NAN, INFINITY = "Input X contains NaN", "Input X contains infinity or a value too large for "


@contextmanager
def located(X: Any, model: AdditiveModel, word: str = "row") -> Iterator[None]:
    """Add the place of an invalid value in X to the error that the block raises about it."""
    try:
        yield
    except (ValueError, TypeError) as error:
        locate(error, X, model, model.schema.names, word)
        raise


def locate(error: Exception, X: Any, model: AdditiveModel | None, names: Any = None, word: str = "row") -> None:
    """Add the place of an invalid value to the error about it, if the value can be found.

    Parameters
    ----------
    error : Exception
        Raised while X was read; changed in place.
    X : rows as the user gave them
    model : AdditiveModel or None
        The model that reads the rows; None for an estimator that is no pipeline.
    names : array-like of str or None
        Names of the columns, for X without names.
    word : str
        Noun for a row in messages.
    """
    message = str(error)
    try:
        if message.startswith((NAN, INFINITY)):
            error.args = (_with_place(message, _not_finite(X, model, names, NAN in message, word)),)
        elif "Complex data" in message:
            error.args = (f"Complex data not supported: X must hold real numbers. Got dtype {np.asarray(X).dtype}.",)
        elif model is not None and model.preprocessing is not None:
            return
        elif isinstance(X, list | tuple) and X and isinstance(X[0], str | bytes | dict):
            error.args = (
                f"{message}\nX must be a table of numbers. Got a list of {type(X[0]).__name__}: texts and dicts need a "
                "vectorizer before the model, in a pipeline.",
            )
        elif (found := _first_non_number(X)) is not None:
            row, column, value = found
            place = f"{_column(column, _names(X, names))} holds {value!r}, a {type(value).__name__}, in {word} {row}"
            error.args = (
                f"{message}\nX must hold numbers: {place}. Encode such columns before the model, as with a "
                "ColumnTransformer in a pipeline.",
            )
    except (ValueError, TypeError, KeyError, IndexError):  # X cannot be searched: keep the error as it is
        return


def _with_place(message: str, place: str | None) -> str:
    if place is None:
        return message
    first, *rest = message.split("\n", 1)
    return "\n".join([f"{first.removesuffix('.')} in {place}.", *rest])


def _names(X: Any, names: Any) -> Any:
    if is_frame(X):
        return list(X.column_names) if hasattr(X, "column_names") else list(X.columns)
    return names


def _column(number: int, names: Any) -> str:
    return f"column {number}" if names is None or number >= len(names) else f"column {names[number]!r} ({number})"


# ---- NaN and infinity ------------------------------------------------------------------------------------------------


def _not_finite(X: Any, model: AdditiveModel | None, names: Any, nan: bool, word: str) -> str | None:
    """Return the place of the first NaN, or infinity, in words."""
    if model is not None and model.preprocessing is not None:
        return _after_preprocessing(X, model, names, nan, word)
    found = _first_in_table(X, np.isnan if nan else np.isinf)
    return None if found is None else f"{word} {found[0]}, {_column(found[1], _names(X, names))}"


def _first_in_table(X: Any, wrong: Callable[[Any], NDArray[np.bool_]]) -> tuple[int, int] | None:
    if sparse.issparse(X):
        csr = X.tocsr()
        at = np.flatnonzero(wrong(csr.data))
        return (int(np.searchsorted(csr.indptr, at[0], "right")) - 1, int(csr.indices[at[0]])) if len(at) else None
    n = n_rows_of(X)
    for start in range(0, n, SEARCHED_ROWS):
        found = np.argwhere(wrong(to_array(take(X, np.arange(start, min(n, start + SEARCHED_ROWS))))))
        if len(found):
            return start + int(found[0, 0]), int(found[0, 1])
    return None


def _after_preprocessing(X: Any, model: AdditiveModel, names: Any, nan: bool, word: str) -> str | None:
    """Return the first row that is invalid in or after preprocessing, and its invalid columns, in words."""
    preprocessing, n = model.preprocessing, n_rows_of(X)

    def fails(start: int, stop: int) -> bool:
        try:
            Z = preprocessing.transform(take(X, np.arange(start, stop)))
        except ValueError as error:
            return str(error).startswith((NAN, INFINITY))
        values = Z.data if sparse.issparse(Z) else to_array(Z)
        return bool(np.any(np.isinf(values) | (np.isnan(values) & (not model.allow_nan))))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # predict has already issued them
        for start in range(0, n, PREPROCESSED_ROWS):
            stop = min(n, start + PREPROCESSED_ROWS)
            if fails(start, stop):
                break
        else:
            return None
        while stop - start > 1:
            middle = (start + stop) // 2
            start, stop = (start, middle) if fails(start, middle) else (middle, stop)
    values = _row_values(X, start)
    wrong = [c for c, value in enumerate(values) if (is_missing(value) if nan else _is_infinite(value))]
    if not wrong:
        return f"{word} {start}, after the pipeline's transformers"
    own = _names(X, names)
    return f"{word} {start}, " + ", ".join(_column(c, own) for c in wrong)


def _row_values(X: Any, row: int) -> list[Any]:
    """Values of a row before any conversion."""
    one = take(X, np.array([row]))
    if sparse.issparse(one):
        return list(one.toarray()[0])
    if is_frame(one):
        import narwhals.stable.v2 as nw

        frame = nw.from_native(one, eager_only=True)
        return [frame.get_column(name)[0] for name in frame.columns]
    return list(np.asarray(one, dtype=object)[0]) if np.ndim(one) == 2 else []


def _is_infinite(value: Any) -> bool:
    return isinstance(value, float | np.floating) and bool(np.isinf(value))


# ---- values that are no numbers --------------------------------------------------------------------------------------


def _first_non_number(X: Any) -> tuple[int, int, Any] | None:
    """Row, column and value of the first non-numeric value, column by column."""
    if sparse.issparse(X):
        return None
    if is_frame(X):
        import narwhals.stable.v2 as nw

        frame = nw.from_native(X, eager_only=True)
        columns = [frame.get_column(name).to_list() for name, t in frame.schema.items() if not t.is_numeric()]
        numbers = [c for c, t in enumerate(frame.schema.values()) if not t.is_numeric()]
    else:
        table = np.asarray(X, dtype=object)
        if table.ndim != 2:
            return None
        columns, numbers = list(table.T), list(range(table.shape[1]))
    for column, values in zip(numbers, columns, strict=True):
        for row, value in enumerate(values):
            if not is_missing(value) and not _reads_as_number(value):
                return row, column, value
    return None


def _reads_as_number(value: Any) -> bool:
    if isinstance(value, np.datetime64 | np.timedelta64):
        return False
    try:
        float(value)
    except (ValueError, TypeError, OverflowError):
        return False
    return True
