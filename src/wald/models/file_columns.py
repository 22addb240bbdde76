"""Rows for the transformers of a pipeline, from the columns of a file: of the dtypes that `fit` saw."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..steps import Codes
from ..steps.columns import needed
from .column_kinds import ColumnKind, Holds, column_kinds, vectorizes

#: Cells that mean a missing value, as ``pandas.read_csv`` has them.
MISSING_CELLS = frozenset(
    (
        *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>"),
        *("N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
    )
)
#: Cells that are booleans, as ``pandas.read_csv`` has them.
BOOLEAN_CELLS = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}
#: Most documents that are read at a time, and their bytes on average.
DOCUMENTS_AT_ONCE, DOCUMENT_BYTES = 1 << 14, 32 << 20
#: Arrow's types of texts, of numbers, and of those that may become float64 where a value is missing.
TEXT_TYPES, NUMBER_TYPES = ("string", "large_string", "null"), ("integer", "floating", "boolean", "decimal", "null")
SMALL_TYPES = ("boolean", "int8", "int16", "uint8", "uint16")
#: What a message calls the values of a kind.
CALLED = {
    Holds.NUMBERS: "numbers",
    Holds.BOOLEANS: "true and false",
    Holds.DOCUMENTS: "texts",
    Holds.TEXTS: "texts",
}


class BadCellError(ValueError):
    """A cell does not fit its column.

    Parameters
    ----------
    row : int
        Its number in the block.
    why : str
    """

    def __init__(self, row: int, why: str) -> None:
        super().__init__(why)
        self.row = row


@dataclass(frozen=True)
class FileColumns:
    """The columns of a file as the rows that a pipeline was fitted on: a data frame, or a column of texts.

    Parameters
    ----------
    names : tuple of str or None
        The columns that the pipeline reads; None if its rows are texts.
    kinds : tuple of ColumnKind
        What each of them held in `fit`.
    unused : frozenset of str, default=frozenset()
        Columns that were there in `fit`, and that no transformer reads.
    """

    names: tuple[str, ...] | None
    kinds: tuple[ColumnKind, ...]
    unused: frozenset[str] = frozenset()

    @classmethod
    def of(cls, model: Any) -> Self | None:
        """Columns for an additive model; None if it takes numbers, or reads categories without a pipeline.

        Raises
        ------
        ValueError
            If no file holds the rows of the pipeline, or pandas is missing.
        """
        chain, schema = model.preprocessing, model.schema
        if chain is None or isinstance(chain, Codes):
            return None
        if schema.n_columns is None:
            if not vectorizes(chain.first):
                raise ValueError(
                    f"the pipeline begins with a {type(chain.first).__name__}, which reads no texts and names no "
                    "columns of a table; use it from Python, by wald.load"
                )
            return cls(None, (ColumnKind(Holds.DOCUMENTS),))
        if schema.names is None:
            return None
        names = needed(chain.first, schema.names)
        every = dict(zip(schema.names, column_kinds([step for _, step in chain.steps], schema.names), strict=True))
        if find_spec("pandas") is None:
            raise ValueError("the pipeline reads data frames, which needs pandas: pip install pandas")
        return cls(tuple(names), tuple(every[name] for name in names), frozenset(schema.names) - {*names})

    @property
    def open(self) -> tuple[int, ...]:
        """Columns of which no transformer says what they held, so that the cells of the whole file decide."""
        return tuple(c for c, kind in enumerate(self.kinds) if kind.holds == Holds.ANYTHING)

    @property
    def texts(self) -> tuple[str, ...]:
        """Names of the columns that hold texts."""
        return tuple(n for n, kind in zip(self.names or (), self.kinds, strict=False) if kind.holds >= Holds.DOCUMENTS)

    @property
    def holds_documents(self) -> bool:
        """Whether some column holds whole texts, and not categories."""
        return any(kind.holds == Holds.DOCUMENTS for kind in self.kinds)

    @property
    def takes_numbers(self) -> bool:
        """Whether a table of numbers without names holds its columns, in their order."""
        return not self.unused and all(kind.holds <= Holds.NUMBERS for kind in self.kinds)

    def rows(self, columns: Sequence[Any]) -> Any:
        """The rows, from columns of `from_cells` or `from_arrow`."""
        if self.names is None:
            return columns[0]
        import pandas

        return pandas.DataFrame(dict(zip(self.names, columns, strict=True)), copy=False)

    # ---- cells of a text table -------------------------------------------------------------------------------------

    def from_cells(self, column: int, cells: NDArray[Any], guess: Guess | None = None) -> Any:
        """A column from the cells of a text table.

        Parameters
        ----------
        column : int
        cells : object ndarray of shape (n_rows,)
            As they are written.
        guess : Guess or None, default=None
            What all cells of the file say of an open column.

        Raises
        ------
        BadCellError
            For a cell that does not fit the column.
        """
        kind = self.kinds[column]
        holds = kind.holds if guess is None else guess.holds
        if holds == Holds.DOCUMENTS:
            return cells if self.names is None else _texts(cells, np.nan)
        if holds >= Holds.TEXTS or holds == Holds.ANYTHING:
            return _texts(_with_missing(cells, kind), kind.missing)
        whole = kind.whole if guess is None else guess.whole
        if holds == Holds.NUMBERS and not (whole or kind.objects) and (floats := _as_floats(cells)) is not None:
            return floats
        values = np.array([_value(cell) for cell in cells.tolist()], dtype=object)
        bad = np.flatnonzero([value is None for value in values])
        if len(bad):
            wrong = "is not a number" if holds == Holds.NUMBERS else "is neither true nor false"
            raise BadCellError(int(bad[0]), f"{_short(cells[bad[0]])} {wrong}.")
        lacks = np.array([value != value for value in values], dtype=bool)
        if kind.objects or (holds == Holds.BOOLEANS and lacks.any()):
            values[lacks] = kind.missing
            return values
        if holds == Holds.BOOLEANS or all(type(value) is bool for value in values):
            return values.astype(np.float64).astype(bool)
        if whole and not lacks.any() and all(type(value) is int and abs(value) < 2**63 for value in values):
            return values.astype(np.int64)
        return values.astype(np.float64)

    # ---- columns of Arrow ------------------------------------------------------------------------------------------

    def misfit(self, column: int, kind: Any) -> str | None:
        """What the model takes in a column, if an Arrow type holds something else; None if it fits."""
        holds = self.kinds[column].holds
        kind = _plain(kind)
        if holds >= Holds.DOCUMENTS:
            fits = str(kind) == "string_view" or _is_one_of(kind, TEXT_TYPES)
        else:
            fits = holds == Holds.ANYTHING or _is_one_of(kind, NUMBER_TYPES)
        return None if fits else CALLED[holds]

    def from_arrow(self, column: int, given: Any, lacks: bool = False) -> Any:
        """A column from an Arrow array whose type fits.

        Parameters
        ----------
        column : int
        given : Arrow array
        lacks : bool, default=False
            Whether a value is missing elsewhere in the file, which decides the type in which pandas reads the column.

        Raises
        ------
        BadCellError
            For a null among documents.
        """
        import pyarrow
        from pyarrow import types

        kind = self.kinds[column]
        given = given.combine_chunks() if isinstance(given, pyarrow.ChunkedArray) else given
        if kind.holds == Holds.ANYTHING:
            return _as_pandas(given)
        if types.is_dictionary(given.type):
            given = given.dictionary_decode()
        if kind.holds >= Holds.DOCUMENTS:
            given = given.cast(pyarrow.large_string())
            if kind.holds == Holds.DOCUMENTS and given.null_count:
                row = int(np.flatnonzero(given.is_null().to_numpy(zero_copy_only=False))[0])
                raise BadCellError(row, "a missing value is no text.")
            if self.names is None:
                return _objects(given)
            return _texts(given, kind.missing)
        lacks |= given.null_count > 0
        if kind.objects or (kind.holds == Holds.BOOLEANS and lacks):
            values = _objects(given)
            values[given.is_null().to_numpy(zero_copy_only=False)] = kind.missing
            return values
        if types.is_null(given.type) or types.is_decimal(given.type) or types.is_boolean(given.type):
            keep = types.is_boolean(given.type) and not lacks
            return given.to_numpy(zero_copy_only=False) if keep else _floats(given)
        return _floats(given) if lacks and types.is_integer(given.type) else _as_pandas(given)


@dataclass(frozen=True)
class Guess:
    """What the cells of a column say of it, as ``pandas.read_csv`` would of the whole file.

    Parameters
    ----------
    holds : Holds
        Numbers, booleans, or anything else, which is read as texts.
    whole : bool
        Whether all cells are whole numbers.
    """

    holds: Holds
    whole: bool

    @classmethod
    def of(cls, cells: NDArray[Any]) -> Guess | None:
        """From the cells of a block; None if all are missing."""
        values = {_value(cell) for cell in set(cells.tolist()) - MISSING_CELLS}
        if not values:
            return None
        booleans = {isinstance(value, bool) for value in values}
        if None in values or len(booleans) > 1:
            return cls(Holds.ANYTHING, False)
        whole = all(isinstance(value, int) for value in values) and MISSING_CELLS.isdisjoint(cells.tolist())
        return cls(Holds.BOOLEANS if True in booleans else Holds.NUMBERS, whole)

    def joined(self, other: Guess | None) -> Guess:
        """From the cells of two blocks."""
        if other is None or self.holds != other.holds:
            return Guess(self.holds if other is None else Holds.ANYTHING, False)
        return Guess(self.holds, self.whole and other.whole)


def rows_at_once(about: Any, columns: FileColumns, names: Sequence[str], most_values: int) -> int:
    """Number of rows of a Parquet file to read at a time, from its metadata: few if they are documents."""
    size = max(1, most_values // max(1, len(names)))
    documents = {name for name, kind in zip(names, columns.kinds, strict=True) if kind.holds == Holds.DOCUMENTS}
    if not documents or not about.num_rows:
        return size
    groups = (about.row_group(i) for i in range(about.num_row_groups))
    chunks = (group.column(i) for group in groups for i in range(group.num_columns))
    n_bytes: int = sum(chunk.total_uncompressed_size for chunk in chunks if chunk.path_in_schema in documents)
    return min(size, DOCUMENTS_AT_ONCE, max(1, DOCUMENT_BYTES * int(about.num_rows) // max(1, n_bytes)))


def lacking(about: Any, schema: Any, names: Sequence[str]) -> set[str]:
    """Columns of a Parquet file of booleans and small integers in which a value is missing, or may be.

    scikit-learn computes with them in float32 beside columns of float32; where one is missing, pandas makes float64 of
    the whole column.
    """
    small = {name for name in names if _is_one_of(schema.field(name).type, SMALL_TYPES)}
    found = set()
    for i in range(about.num_row_groups if small else 0):
        group = about.row_group(i)
        for chunk in map(group.column, range(group.num_columns)):
            if chunk.path_in_schema in small:
                statistics = chunk.statistics
                if statistics is None or not statistics.has_null_count or statistics.null_count:
                    found.add(chunk.path_in_schema)
    return found


def _value(cell: str) -> Any:
    """The number or boolean in a cell, NaN where it is missing; None if it is something else."""
    if cell in MISSING_CELLS:
        return np.nan
    if cell in BOOLEAN_CELLS:
        return BOOLEAN_CELLS[cell]
    try:
        if "_" in cell:
            return None
        return float(cell) if not cell.strip().lstrip("+-").isdecimal() else int(cell)
    except ValueError:
        return np.nan if cell.strip() in MISSING_CELLS else None


def _as_floats(cells: NDArray[Any]) -> NDArray[np.float64] | None:
    """Cells as numbers; None if one of them must be looked at more closely."""
    if "_" in "".join(cells.tolist()):  # which Python reads
        return None
    try:
        return np.where(cells == "", "nan", cells).astype(np.float64)
    except ValueError:
        return None


def _with_missing(cells: NDArray[Any], kind: ColumnKind) -> NDArray[Any]:
    """Texts, with what stands for the missing ones."""
    empty = "" in kind.known
    words = MISSING_CELLS - kind.known - {""}
    values = cells.tolist()
    if empty and kind.knows_missing and "" in set(values):
        raise BadCellError(
            values.index(""),
            "an empty cell may be missing or the category ''; write the rows as Parquet, which tells them apart.",
        )
    words = words if empty else words | {""}
    found = np.empty(len(values), dtype=object)
    found[:] = [kind.missing if value in words else value for value in values]
    return found


def _texts(values: Any, missing: Any) -> Any:
    """A column of texts as pandas holds them: its own strings, whose missing value is NaN, or objects."""
    import pandas

    arrow = not isinstance(values, np.ndarray)
    if missing is not None and missing is not pandas.NA and int(pandas.__version__.split(".")[0]) >= 3:
        dtype = pandas.StringDtype(na_value=np.nan)
        if arrow and dtype.storage == "pyarrow":
            return dtype.__from_arrow__(values)
        return pandas.array(_objects(values, missing) if arrow else values, dtype=dtype)
    return _objects(values, missing) if arrow else values


def _objects(given: Any, missing: Any = None) -> NDArray[Any]:
    """An Arrow array as Python's objects."""
    values = np.empty(len(given), dtype=object)
    values[:] = given.to_pylist()
    if missing is not None and given.null_count:
        values[given.is_null().to_numpy(zero_copy_only=False)] = missing
    return values


def _floats(given: Any) -> NDArray[np.float64]:
    """An Arrow array of numbers as float64, NaN where one is missing."""
    import pyarrow

    floats: NDArray[np.float64] = given.cast(pyarrow.float64(), safe=False).to_numpy(zero_copy_only=False)
    return floats


def _as_pandas(given: Any) -> Any:
    """An Arrow array as pandas reads it from Parquet."""
    import pyarrow

    return pyarrow.table({"": given}).to_pandas()[""]


def _plain(kind: Any) -> Any:
    from pyarrow import types

    return kind.value_type if types.is_dictionary(kind) else kind


def _is_one_of(kind: Any, names: Iterable[str]) -> bool:
    """Whether an Arrow type is one of those that ``pyarrow.types`` calls by these names."""
    from pyarrow import types

    return any(getattr(types, f"is_{name}")(kind) for name in names)


def _short(cell: str) -> str:
    return repr(cell if len(cell) <= 40 else cell[:40] + "…")
