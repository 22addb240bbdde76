"""Adds the row and column of an invalid value to the error about it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...models import AdditiveModel
from ...models.opaque import Looks
from ...sources import FrameSource, LazyRows, RawSource, Source, source_of
from ...sources.texts import NoTextError
from ...sources.values import is_missing
from ...steps import Step
from ...steps.step import ROWS_AT_ONCE
from .odd_cells import Columns, is_internal, shown, with_place

#: Number of rows that are searched at a time.
SEARCHED_ROWS = 4096
#: Beginnings of scikit-learn's messages about NaN and infinity.
NAN, INFINITY = "Input X contains NaN", "Input X contains infinity or a value too large for "


class TooLargeError(ValueError, OverflowError):
    """An integer that no float holds, in rows: bad input, and the error that transformers themselves raise."""


class NoNumberError(ValueError, TypeError):
    """A cell that is no number, in rows: bad input, and the error that libraries themselves raise about its type."""


class located:  # noqa: N801  # a function in all but speed: a generator takes a microsecond more
    """Add the place of an invalid value in X to the error that the block raises about it."""

    __slots__ = ("_X", "_model", "_word")

    def __init__(self, X: Any, model: AdditiveModel, word: str = "row") -> None:
        self._X, self._model, self._word = X, model, word

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        no_text = isinstance(error, AttributeError) or str(error).endswith("expected byte or unicode string.")
        if no_text and (told := _no_text(self._X, self._model, self._word)) is not None:
            raise NoTextError(told) from error
        if not isinstance(error, Exception):
            return
        said = error.args
        if isinstance(error, ValueError | TypeError | OverflowError):
            locate(error, self._X, self._model, self._model.schema.names, self._word)
        if error.args == said and (row := _refused_by_a_step(self._X, self._model, error)) is not None:
            error.add_note(f"The first {self._word} that a step before the model refuses is {self._word} {row}.")
        if isinstance(error, OverflowError):
            raise TooLargeError(str(error)) from error
        if error.args != said and not isinstance(error, ValueError):
            raise NoNumberError(str(error.args[0])) from error  # NumPy's errors print something else


def locate(error: Exception, X: Any, model: AdditiveModel | None, names: Any = None, word: str = "row") -> None:
    """Add the place of an invalid value to the error about it, if the value can be found.

    Parameters
    ----------
    error : Exception
        Raised while X was read; changed in place.
    X : Source, or rows as the user gave them
    model : AdditiveModel or None
        The model that reads the rows; None for an estimator that is no pipeline.
    names : array-like of str or None
        Names of the columns, for X without names.
    word : str
        Noun for a row in messages.
    """
    message = str(error)
    try:
        source = _searched(X)
        if isinstance(source, LazyRows) and not message.startswith((NAN, INFINITY)):
            return
        if message.startswith((NAN, INFINITY)):
            error.args = (_with_place(message, _not_finite(source, model, names, NAN in message, word)),)
        elif isinstance(source.rows, np.ndarray) and source.rows.dtype.kind in "mM":
            error.args = (f"X must hold numbers. Got values of dtype {source.rows.dtype}: convert them.",)
        elif "Complex data" in message:
            dtype = np.asarray(source.rows).dtype
            error.args = (f"Complex data not supported: X must hold real numbers. Got dtype {dtype}.",)
        elif "ufunc 'isnan' not supported" in message and (coded := _coded(model)):
            error.args = (_of_another_type(source, coded, source.names or names, word),)
        elif model is not None and model.preprocessing is not None:
            placed = with_place(error, _columns(source, source.names or names, word))
            if placed is not None and not isinstance(error, UnicodeError):
                error.args = (placed,)
        elif isinstance(source.rows, list | tuple) and isinstance(next(iter(source.rows), None), str | bytes | dict):
            kind = type(source.rows[0]).__name__
            error.args = (
                f"{message}\nX must be a table of numbers. Got a list of {kind}: texts and dicts need a vectorizer "
                "before the model, in a pipeline.",
            )
        elif (found := _first_non_number(source)) is not None:
            row, column, value = found
            place = (
                f"{_column(column, source.names or names)} holds {value!r}, a {type(value).__name__}, in {word} {row}"
            )
            advice = "Encode such columns before the model, as with a ColumnTransformer in a pipeline."
            before = "" if is_internal(error) else f"{message}\n"
            error.args = (f"{before}X must hold numbers: {place}. {advice}",)
    except (ValueError, TypeError, KeyError, IndexError):  # X cannot be searched: keep the error as it is
        return


def _refused_by_a_step(X: Any, model: AdditiveModel, error: Exception) -> int | None:
    """The first row for which the steps before the model raise an error; None if they do for every row, or for none."""
    step = model.preprocessing
    if step is None or not isinstance(X, Source) or isinstance(X, LazyRows) or isinstance(step, Looks):
        return None
    # others, of a service or a machine, may be the fault of no row, and calls may cost
    if not isinstance(error, ValueError | TypeError | AttributeError | LookupError | ArithmeticError):
        return None

    def raises(start: int, stop: int) -> bool:
        try:
            step.transform(X.take(slice(start, stop)))
        except Exception as again:
            return type(again) is type(error)
        return False

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        row = _first_row(X.n_rows, raises)
        return None if row is None or (row == 0 and raises(X.n_rows - 1, X.n_rows)) else row


def _is_text(row: Any) -> bool:
    return isinstance(row, str)


def _no_text(X: Any, model: AdditiveModel, word: str) -> str | None:
    """What to say of the first row that is no text, or no dict, for a vectorizer that asks it for their methods."""
    if not isinstance(X, Source):
        return None
    rows: Any = None
    kind, takes = "texts", _is_text
    if model.texts is not None:
        vectorizer = model.texts.vectorizer
        rows, kind, takes = vectorizer.rows_of(X), vectorizer.row_kind, vectorizer.takes
    elif hasattr(getattr(model.preprocessing, "first", None), "build_analyzer"):  # with a tokenizer of the user's
        rows = X.objects() if X.n_columns is None else None
    for i, row in enumerate(() if rows is None else rows):
        if not (takes(row) or isinstance(row, bytes)):
            return f"X must hold {kind}: {word} {i} is {shown(row)}."
    return None


def _searched(X: Any) -> Source:
    """Rows as they were given, even if they are no table."""
    try:
        return source_of(X)
    except (ValueError, TypeError):
        return RawSource(X)


def _with_place(message: str, place: str | None) -> str:
    if place is None:
        return message
    first, *rest = message.split("\n", 1)
    if first.endswith(f" in {place}."):  # whoever was asked on the way has said so
        return message
    return "\n".join([f"{first.removesuffix('.')} in {place}.", *rest])


def _column(number: int, names: Any) -> str:
    return f"column {number}" if names is None or number >= len(names) else f"column {names[number]!r} ({number})"


# ---- NaN and infinity ------------------------------------------------------------------------------------------------


def _not_finite(source: Source, model: AdditiveModel | None, names: Any, nan: bool, word: str) -> str | None:
    """Return the place of the first NaN, or infinity, in words."""
    names = source.names or names
    if isinstance(source, LazyRows):  # what was not fetched is wrong nowhere
        held = source.first_held(np.isnan if nan else np.isinf)
        return None if held is None else f"{word} {held[0]}, {_column(held[1], names)}"
    if model is not None and model.preprocessing is not None:
        return _after_preprocessing(source, model, model.preprocessing, names, nan, word)
    found = _first_in_table(source, np.isnan if nan else np.isinf)
    return None if found is None else f"{word} {found[0]}, {_column(found[1], names)}"


def _first_in_table(source: Source, wrong: Callable[[Any], NDArray[np.bool_]]) -> tuple[int, int] | None:
    if source.is_sparse:
        csr = source.rows
        at = np.flatnonzero(wrong(csr.data))
        return (int(np.searchsorted(csr.indptr, at[0], "right")) - 1, int(csr.indices[at[0]])) if len(at) else None
    for k, part in enumerate(source.parts(SEARCHED_ROWS)):
        found = np.argwhere(wrong(part.array()))
        if len(found):
            return k * SEARCHED_ROWS + int(found[0, 0]), int(found[0, 1])
    return None


def _after_preprocessing(
    source: Source, model: AdditiveModel, step: Step, names: Any, nan: bool, word: str
) -> str | None:
    """Return the first row that is invalid in or after preprocessing, and its invalid columns, in words."""

    def not_finite(start: int, stop: int) -> bool:
        try:
            Z = source_of(step.transform(source.take(slice(start, stop))))
        except ValueError as error:
            return str(error).startswith((NAN, INFINITY))
        values = Z.rows.data if Z.is_sparse else Z.array()
        return bool(np.any(np.isnan(values) & (not model.allow_nan) if nan else np.isinf(values)))

    def refused(start: int, stop: int) -> bool:
        try:
            model.estimator.predict(step.given(source.take(slice(start, stop))))
        except ValueError as error:
            return str(error).startswith((NAN, INFINITY))
        return False

    def cells(row: int) -> list[int]:
        return [c for c, value in enumerate(source.row(row)) if (is_missing(value) if nan else _is_infinite(value))]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # predict has already issued them
        start = _first_row(source.n_rows, not_finite)
        # some columns may hold NaN, and others not; and infinity stands for cells that the step does not read by itself
        if (start is None or not cells(start)) and not isinstance(step, Looks):
            by_model = _first_row(source.n_rows, refused)
            start = start if by_model is None else by_model
    if start is None:
        return None
    wrong = cells(start)
    if not wrong:
        return f"{word} {start}, after the pipeline's transformers"
    return f"{word} {start}, " + ", ".join(_column(c, names) for c in wrong)


def _first_row(n: int, fails: Callable[[int, int], bool]) -> int | None:
    """The first of n rows that fails, alone and among others; None if there is none."""
    for start in range(0, n, ROWS_AT_ONCE):
        stop = min(n, start + ROWS_AT_ONCE)
        if fails(start, stop):
            break
    else:
        return None
    while stop - start > 1:
        middle = (start + stop) // 2
        start, stop = (start, middle) if fails(start, middle) else (middle, stop)
    return start


def _is_infinite(value: Any) -> bool:
    return isinstance(value, float | np.floating) and bool(np.isinf(value))


# ---- values of another type than the categories ----------------------------------------------------------------------


def _coded(model: AdditiveModel | None) -> Sequence[int]:
    """The columns that encoders read."""
    found: Sequence[int] = getattr(getattr(getattr(model, "preprocessing", None), "first", None), "places", ())
    return found


def _of_another_type(source: Source, coded: Sequence[int], names: Any, word: str) -> str:
    """What to say where an encoder cannot compare a value with the categories that it knows."""
    row = source.row(0) if source.n_rows else ()
    wrong = [
        c for c in coded if c < len(row) and isinstance(row[c], int | float | np.number) and not is_missing(row[c])
    ]
    place = f": {_cell(word, _column(wrong[0], names), 0)} is {row[wrong[0]]!r}" if wrong else ""
    return (
        f"X holds numbers where the model's categories are texts{place}. Give categories as they were in training, and "
        "not their codes."
    )


# ---- values that are no numbers --------------------------------------------------------------------------------------


def _first_non_number(source: Source) -> tuple[int, int, Any] | None:
    """Row, column and value of the first non-numeric value, column by column."""
    if source.is_sparse:
        return None
    if isinstance(source, FrameSource):
        columns = source.columns_of_others()
    else:
        table = np.asarray(source.rows, dtype=object)
        columns = dict(enumerate(table.T)) if table.ndim == 2 else {}
    for column, values in columns.items():
        for row, value in enumerate(values):
            if not is_missing(value) and not _reads_as_number(value):
                return row, column, value
    return None


def _columns(source: Source, names: Any, word: str) -> Columns:
    """All cells that are no numbers for sure, with their places."""
    if isinstance(source, RawSource) and all(isinstance(row, dict) for row in source.rows):
        for name in dict.fromkeys(name for row in source.rows for name in row):
            yield partial(_cell, word, repr(name)), [row.get(name, 0) for row in source.rows]
    columns: dict[int, Any] = {}
    if isinstance(source, FrameSource):
        columns = source.columns_of_others()
    elif isinstance(source.rows, np.ndarray) and source.rows.ndim == 2 and source.rows.dtype == object:
        columns = dict(enumerate(source.rows.T))
    for number, values in columns.items():
        yield partial(_cell, word, _column(number, names)), values


def _cell(word: str, column: str, row: int) -> str:
    return f"{column} of {word} {row}"


def _reads_as_number(value: Any) -> bool:
    if isinstance(value, np.datetime64 | np.timedelta64):
        return False
    try:
        float(value)
    except (ValueError, TypeError, OverflowError):
        return False
    return True
