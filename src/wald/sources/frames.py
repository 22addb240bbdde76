"""Data frames of pandas, polars, Arrow and other libraries that narwhals knows."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from .. import _core
from .arrays import ArraySource
from .cells import Cells, objects_of
from .cells_of import cells_of_frame, cells_of_pandas_frame
from .held import column_reader, held_array, held_columns, whole_block
from .source import PLAIN, Block, Conversion, Source, model_dtype, piece_rows
from .values import NATIVE, as_numbers, becomes_float64, numbers_of, plain_numbers, refuse_times

FLOATS = frozenset((np.dtype(np.float32), np.dtype(np.float64)))


def is_frame(X: Any) -> bool:
    """Whether X is a data frame of pandas, polars, Arrow or another library that narwhals knows."""
    if isinstance(X, np.ndarray | list | tuple):
        return False
    quick = nw.dependencies.is_pandas_dataframe(X) or nw.dependencies.is_polars_dataframe(X)
    return quick or nw.dependencies.is_into_dataframe(X)


class FrameSource(Source):
    """A data frame.

    Parameters
    ----------
    rows : data frame
    """

    rows: Any = None
    is_columnar = True
    n_columns: int

    def __init__(self, rows: Any) -> None:
        self.rows = rows
        self.n_rows, self.n_columns = rows.shape
        self._pandas = nw.dependencies.is_pandas_dataframe(rows)
        self._polars = not self._pandas and nw.dependencies.is_polars_dataframe(rows)
        self._known: NDArray[Any] | None = None  # names that it is known to have

    @cached_property
    def names(self) -> list[Hashable]:  # type: ignore[override]  # only read
        """Names of the columns."""
        return list(self.rows.columns if self._pandas else nw.from_native(self.rows, eager_only=True).columns)

    @property
    def is_named(self) -> bool:
        """Whether the columns have names: always."""
        return True

    def has_names(self, names: NDArray[Any]) -> bool:
        """Whether the columns have exactly these names; faster than scikit-learn's check."""
        if names is not self._known and self._has_names(names):
            self._known = names
        return names is self._known

    def _has_names(self, names: NDArray[Any]) -> bool:
        if self._pandas:
            same = self.rows.columns.equals(_pandas_index(_Names(names)))
            return bool(same) or bool(self.names == names.tolist())  # indices of other types are never equal
        return self._polars and bool(self.rows.columns == names.tolist())

    @property
    def library(self) -> str | None:  # type: ignore[override]  # only read
        """Whose data frame it is; None for another library than those in which frames are built."""
        if self._pandas or self._polars:
            return "pandas" if self._pandas else "polars"
        return "pyarrow" if nw.dependencies.is_pyarrow_table(self.rows) else None

    @property
    def is_half(self) -> bool:  # type: ignore[override]  # only read
        """Whether the frame as one array is float16."""
        if self._pandas:
            dtypes = {getattr(dtype, "numpy_dtype", dtype) for dtype in set(self.rows.dtypes)}
            numeric = len(dtypes) > 0 and all(isinstance(dtype, np.dtype) and dtype.kind in "biuf" for dtype in dtypes)
            return numeric and np.result_type(*dtypes) == np.float16
        return self.library == "pyarrow" and {str(kind) for kind in self.rows.schema.types} == {"halffloat"}

    @cached_property
    def becomes_sparse(self) -> bool:  # type: ignore[override]  # only read
        """Whether all columns are sparse ones of pandas."""
        if not self._pandas or self.n_columns == 0 or type(held_array(self.rows, 0)) is np.ndarray:
            return False
        return all(str(dtype).startswith("Sparse") for dtype in set(self.rows.dtypes))

    def stores_nan(self) -> bool:
        """Whether a sparse column has missing values; one whose fill is missing is refused by scikit-learn itself."""
        return self.becomes_sparse and any(self.rows.iloc[:, c].array.isna().any() for c in range(self.n_columns))

    def take(self, rows: NDArray[np.intp] | slice) -> FrameSource:
        """Give the rows at these places."""
        if self._pandas:
            return FrameSource(self.rows.iloc[rows])
        return FrameSource(nw.from_native(self.rows, eager_only=True)[rows].to_native())

    def select(self, columns: Sequence[int]) -> FrameSource:
        """The columns with these numbers, in this order."""
        if self._pandas:
            return FrameSource(self.rows.iloc[:, list(columns)])
        frame = nw.from_native(self.rows, eager_only=True)
        return FrameSource(frame.select([frame.columns[c] for c in columns]).to_native())

    def array(self, conversion: Conversion = PLAIN) -> NDArray[Any]:
        """The frame as one array; float32 and float64 are kept."""
        return as_numbers(self._eager(conversion).to_numpy())

    def plain(self, single: bool, coded: Collection[int] = ()) -> Any:
        """The frame with NumPy's floats in place of objects, of Arrow's types and of other floats, in pandas.

        Raises
        ------
        ValueError
            If it has a column of times, and none of categories, which may be times.
        """
        if not coded:
            self._refuse_columns_of_times()
        if not self._pandas:
            return self.rows
        X = self.rows
        dtypes = [] if FLOATS.issuperset(X.dtypes) else X.dtypes
        odd = [c for c, dtype in enumerate(dtypes) if c not in coded and _is_odd(X, c, dtype, single)]
        if odd:
            X = X.copy(deep=False)
            for c in odd:
                X.isetitem(c, plain_numbers(X.iloc[:, c].to_numpy(), False))
        return X

    def blocks(self, conversion: Conversion = PLAIN, needed: Sequence[int] | None = None) -> Iterator[Block]:
        """The columns where the frame holds them; those that it does not hold as arrays are converted."""
        block = self.held()
        if block is not None:
            yield from ArraySource(block).blocks(conversion)
            return
        if needed is not None and self._reads_columns_faster(len(needed)):
            yield _Columns(self, conversion, needed)
            return
        if min(self.n_rows, self.n_columns) > 0:
            every = range(self.n_columns)
            rows, held = _core.Rows.columns(self.n_rows, [None] * self.n_columns), held_columns(self.rows, every)
            dtypes, others = rows.add(every, held.arrays, held.lines)
            if not others:
                yield Block(rows, 0, np.result_type(*dtypes))
                return
        yield from _converted(self._eager(conversion), conversion)

    def held(self) -> NDArray[Any] | None:
        """The array in which a pandas frame holds all of its columns, if there is one."""
        return whole_block(self.rows) if self._pandas else None

    def floats(self) -> NDArray[Any] | None:
        """All values as one array, if every column has the same type of floats."""
        if not (self._pandas or self._polars):
            return None
        dtypes = set(self.rows.dtypes)
        if self._pandas:
            return self.rows.to_numpy() if len(dtypes) == 1 and FLOATS.issuperset(dtypes) else None
        polars = nw.dependencies.get_polars()
        return self.rows.to_numpy() if dtypes in ({polars.Float32}, {polars.Float64}) else None

    def cells(self, column: int) -> Cells:
        """A column as the frame's library holds it."""
        return cells_of_pandas_frame(self.rows, column) if self._pandas else cells_of_frame(self.rows, column)

    def objects(self) -> NDArray[Any]:
        """All values before any conversion."""
        frame, table = nw.from_native(self.rows, eager_only=True), np.empty(self.shape, dtype=object)
        for c, name in enumerate(frame.columns):
            table[:, c] = objects_of(frame.get_column(name).to_list())
        return table

    def columns_of_others(self) -> dict[int, list[Any]]:
        """The values of all columns whose type is no number, by their places."""
        frame = nw.from_native(self.rows, eager_only=True)
        kinds = enumerate(frame.schema.items())
        return {c: frame.get_column(name).to_list() for c, (name, kind) in kinds if not kind.is_numeric()}

    def _reads_columns_faster(self, n_columns: int) -> bool:
        """Whether reading some of the columns one by one is faster than converting the whole frame."""
        if self._pandas or self._polars:
            return True
        return 4 * n_columns <= self.n_columns or self.n_rows > piece_rows(self.n_columns)

    def _eager(self, conversion: Conversion) -> Any:
        """The frame as narwhals has it; duplicate names in pandas are replaced, since only the values are read.

        Raises
        ------
        ValueError
            If it has a column of times, or one of categories, and the conversion refuses these.
        """
        X = self.rows
        if self._pandas and not X.columns.is_unique:
            X = X.set_axis(range(X.shape[1]), axis=1)
        frame = nw.from_native(X, eager_only=True)
        self._refuse_columns_of_times()
        if not conversion.categories:
            for name, dtype in frame.schema.items():
                if isinstance(dtype, nw.Categorical | nw.Enum):
                    raise ValueError(
                        f"Column {name!r} of X has the dtype {dtype}, and the wrapped model was not trained on "
                        "categories with names. Give the numbers on which it was trained."
                    )
        return frame

    def _refuse_columns_of_times(self) -> None:
        """Refuse a frame with such columns."""
        if self._pandas:
            times = [dtype for dtype in set(self.rows.dtypes) if dtype.kind in "mM"]
        else:  # the schema of narwhals takes longer
            dtypes = self.rows.dtypes if self._polars else nw.from_native(self.rows, eager_only=True).schema.values()
            kinds = {dtype if isinstance(dtype, type) else type(dtype) for dtype in dtypes}
            times = [kind.__name__ for kind in kinds if kind.is_temporal()]  # type: ignore[attr-defined]  # a dtype's class
        if times:
            raise ValueError(f"X must hold numbers. Got a column of dtype {times[0]}: convert it.")


class _Columns(Block):
    """Rows of a frame with the columns that were needed so far."""

    __slots__ = ("_conversion", "_read", "_source")
    whole = False

    def __init__(self, source: FrameSource, conversion: Conversion, needed: Sequence[int]) -> None:
        super().__init__(_core.Rows.columns(source.n_rows, [None] * source.n_columns), 0, np.dtype(np.float64))
        self._source, self._conversion = source, conversion
        self._read: frozenset[int] | None = None
        self._add(needed)

    def rest(self, rows: NDArray[np.intp], columns: Sequence[int]) -> Block:
        """Add columns of all rows, and see some of the rows only."""
        self._add(columns)
        return super().rest(rows, columns)

    def filled(self) -> Block:
        """The block with zeros in the columns that nobody needed."""
        others = sorted(set(range(self._source.n_columns)).difference(self._read or ()))
        self.rows.add(others, [np.zeros(self._source.n_rows)] * len(others))
        return self

    def _add(self, needed: Sequence[int]) -> None:
        if max(needed, default=0) >= self._source.n_columns:
            return  # the engine refuses too few columns
        before = self._read
        unread = list(needed) if before is None else [c for c in needed if c not in before]
        held = held_columns(self._source.rows, unread)
        names, others = self.rows.add(unread, held.arrays, held.lines)
        dtypes = {*map(np.dtype, names), *(self._convert({unread[i]: held.array(i) for i in others}) if others else ())}
        if dtypes:
            self.dtype = np.result_type(*dtypes, *(() if not before else (self.dtype,)))
        self._read = frozenset(unread).union(before or ())

    def _convert(self, columns: dict[int, NDArray[Any] | None]) -> set[np.dtype[Any]]:
        """Read columns with a copy, by their numbers; None for those that the frame does not hold as arrays."""
        apart = [c for c, values in columns.items() if values is None]
        if apart and not self._conversion.categories:
            self._source.take(slice(0)).select(apart)._eager(self._conversion)  # raises if there are categories
        column, read, dtypes = column_reader(self._source.rows), [], set()
        for c, held in columns.items():
            values = column(c) if held is None else held
            if not self._conversion.texts and values.dtype.kind in "OUT":
                _refuse_numbers_as_texts(values, self._source.names[c])
            dtypes.add(model_dtype(values.dtype))
            in_place = values.dtype in NATIVE and values.flags.aligned
            read.append(values if in_place else _as_float64(values))
        self.rows.add(list(columns), read)
        return dtypes


def _converted(frame: Any, conversion: Conversion) -> Iterator[Block]:
    """Pieces of a narwhals frame, converted one at a time."""
    step = piece_rows(frame.shape[1])
    for start in range(0, max(1, len(frame)), step):
        given = frame[start : start + step].to_numpy()
        if not conversion.texts and given.dtype.kind in "OUT":
            for c, name in enumerate(frame.columns):
                _refuse_numbers_as_texts(given[:, c], name, start)
        values = np.require(as_numbers(given), requirements=["C", "A"])
        yield Block(_core.Rows.dense(values), start, model_dtype(given.dtype))


def _refuse_numbers_as_texts(values: NDArray[Any], name: Any, start: int = 0) -> None:
    """Refuse a column of a frame with a text that would be read as a number; other texts are refused anyway."""
    for row, value in enumerate(values.tolist()):
        if isinstance(value, str) and _is_number(value):
            raise ValueError(
                f"X must hold numbers: column {name!r} holds the text {value!r} in row {start + row}, and the wrapped "
                "model's library takes no texts for numbers. Convert the column, as with X.astype(float)."
            )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _as_float64(column: NDArray[Any]) -> NDArray[np.float64]:
    if column.dtype.kind in "biuf":
        return column.astype(np.float64)  # a copy is aligned
    refuse_times(column)
    column = numbers_of(column) if column.dtype.kind == "O" else column
    given = check_array(column, ensure_2d=False, dtype=np.float64, ensure_all_finite=False, ensure_min_samples=0)
    converted: NDArray[np.float64] = np.require(given, requirements="A")
    return converted


def _is_odd(X: Any, c: int, dtype: Any, single: bool) -> bool:
    """Whether column c of a pandas frame must become an array of NumPy's floats."""
    if isinstance(dtype, np.dtype):
        return dtype.kind == "O" or (becomes_float64(dtype) and not single)
    if hasattr(dtype, "pyarrow_dtype"):  # LightGBM refuses such columns, with missing values or without
        return dtype.kind in "biuf" or str(dtype).startswith("decimal")
    return str(dtype) != "category" and dtype.kind in "biuf" and bool(X.iloc[:, c].isna().any())


@dataclass(frozen=True, eq=False)
class _Names:
    """Names as a key of a cache, compared by the identity of their array: a thousand names take long to hash."""

    names: NDArray[Any]

    def __hash__(self) -> int:
        return id(self.names)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Names) and self.names is other.names


@lru_cache(maxsize=16)
def _pandas_index(key: _Names) -> Any:
    """Names as a pandas Index; two of them compare ten times as fast as one converts to a list."""
    return nw.dependencies.get_pandas().Index(key.names.tolist())
