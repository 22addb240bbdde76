"""`Source`: rows as they come. Everything else asks a source, and none looks at what the user gave."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .cells import Cells, Objects

#: Size of the pieces in which rows are converted, in bytes.
PIECE_BYTES = 4 << 20


@dataclass(frozen=True)
class Conversion:
    """Conversion of rows that the engine does not read in place.

    Parameters
    ----------
    integers : dtype
        Dtype to which arrays are converted that hold integers, booleans, or floating point numbers of another size or
        byte order than the engine reads; data frames are converted to float64.
    categories : bool
        Whether columns of categories that are numbers are read as these numbers. If not, they are refused.
    texts : bool, default=True
        Whether texts in data frames that are numbers, as "1.5", are read as these numbers. If not, they are refused.
    """

    integers: np.dtype[Any]
    categories: bool
    texts: bool = True


#: The conversion of scikit-learn's models.
PLAIN = Conversion(np.dtype(np.float64), True)


class Block:
    """Some rows in the engine's form.

    Parameters
    ----------
    rows : _core.Rows or _core.LateRows
    start : int
        Number of the first of them in the source.
    dtype : dtype
        What the wrapped model would receive of the columns that were read.

    Attributes
    ----------
    whole : bool
        Whether all columns are there; otherwise `rest` reads further ones.
    """

    __slots__ = ("dtype", "rows", "start")
    whole = True

    def __init__(self, rows: Any, start: int, dtype: np.dtype[Any]) -> None:
        self.rows, self.start, self.dtype = rows, start, dtype

    def __len__(self) -> int:
        return len(self.rows)

    def rest(self, rows: NDArray[np.intp], columns: Sequence[int]) -> Block:
        """Give some of the rows, with further columns; it is asked once, and takes the place of this block.

        Parameters
        ----------
        rows : int64 ndarray
            Their numbers in the block.
        columns : sequence of int
        """
        self.rows.take(rows)
        return self

    def filled(self) -> Block:
        """The block with a number in every column, whatever it is where a column was not needed."""
        return self


class Source(ABC):
    """Rows as they come, in any container.

    An implementation has the two attributes and the two abstract methods. One that can read single columns, or rows
    without a copy, has `blocks` of its own. `wald.sources.check_source` says whether an implementation keeps all this.

    Attributes
    ----------
    n_rows : int
    n_columns : int or None
        None for rows that only a first step of a pipeline understands, such as texts.
    names : sequence of names or None
        Names of the columns; None if they have none.
    library : {"pandas", "polars", "pyarrow"} or None
        Whose data frame it is.
    is_sparse : bool
        Whether `array` gives a CSR matrix.
    is_columnar : bool
        Whether rows are stored by columns, so that single columns can be read.
    is_half : bool
        Whether the numbers are float16.
    becomes_sparse : bool
        Whether scikit-learn reads the rows as a sparse matrix: one, or a frame of sparse columns alone.
    is_lazy : bool
        Whether columns are fetched when they are read. A model finds them by name, in any order, whatever its library.
    """

    n_rows: int
    n_columns: int | None
    names: Sequence[Hashable] | None = None
    library: str | None = None
    is_sparse: bool = False
    is_columnar: bool = False
    is_half: bool = False
    becomes_sparse: bool = False
    is_lazy: bool = False

    @property
    def is_named(self) -> bool:
        """Whether the columns have names, which may take longer to list."""
        return self.names is not None

    @abstractmethod
    def take(self, rows: NDArray[np.intp] | slice) -> Self:
        """Give the rows at these places, in this order; a slice need not be a copy."""

    @abstractmethod
    def array(self, conversion: Conversion = PLAIN) -> Any:
        """All rows as an array or a CSR matrix of float32, float64 or uint8, which are never converted."""

    @property
    def rows(self) -> Any:
        """The rows as the wrapped model takes them."""
        return self.array()

    @property
    def header(self) -> Any:
        """What a check of names and of their number looks at: the rows, or none of them if they must be fetched."""
        return self.rows

    def held(self) -> NDArray[Any] | None:
        """The array in which the rows lie, as they are; None if they lie in none."""
        return None

    def floats(self) -> NDArray[Any] | None:
        """The array in which the rows lie, or one of all their floats; None if they are of several types."""
        return self.held()

    def stores_nan(self) -> bool:
        """Whether rows that become a sparse matrix hold NaN among the values that they store."""
        return False

    def plain(self, single: bool, coded: Collection[int] = ()) -> Any:
        """The rows with NumPy's own numbers, for models whose own checks refuse other ones.

        Parameters
        ----------
        single : bool
            Whether the model itself converts numbers to float32.
        coded : collection of int
            Columns that may hold categories, and stay as they are.
        """
        return self.rows

    def blocks(self, conversion: Conversion = PLAIN, needed: Sequence[int] | None = None) -> Iterator[Block]:
        """Rows as the engine reads them: in one block without a copy where possible, else converted piece by piece.

        Parameters
        ----------
        conversion : Conversion
        needed : sequence of int or None, default=None
            Columns without which a block cannot be used; it may lack the others, and says so. None: all.
        """
        step = piece_rows(self.n_columns)
        for start in range(0, max(1, self.n_rows), step):
            part = self if self.n_rows <= step else self.take(slice(start, start + step))
            values = np.require(part.array(conversion), requirements="A")
            yield Block(_core.Rows.dense(values), start, values.dtype)

    def select(self, columns: Sequence[int]) -> Source:
        """The columns with these numbers, in this order."""
        raise ValueError(f"The columns of a {type(self).__name__} have their order: {list(columns)} is another.")

    def objects(self) -> NDArray[Any]:
        """All values before any conversion; an array of one dimension if rows are no lists of values."""
        values: NDArray[Any] = self.array().astype(object)
        return values

    def cells(self, column: int) -> Cells:
        """A column as it lies in memory, without conversion.

        Parameters
        ----------
        column : int
            Its number.

        Raises
        ------
        ValueError
            If rows have no columns, or the source does not hold this one.
        """
        if self.n_columns is None:
            raise ValueError(f"The rows of a {type(self).__name__} have no columns: {column} was asked for.")
        return Objects(("objects", "object"), self.objects()[:, column])

    def row(self, i: int) -> list[Any]:
        """Values of a row before any conversion; none if a row is no list of values."""
        values = self.take(np.array([i])).objects()
        return list(values[0]) if values.ndim == 2 else []

    def parts(self, n_rows: int) -> Iterator[Self]:
        """All rows in sources of at most so many; an empty one if there are none."""
        if self.n_rows <= n_rows:
            yield self
            return
        for start in range(0, self.n_rows, n_rows):
            yield self.take(slice(start, start + n_rows))

    def __len__(self) -> int:
        return self.n_rows

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows, and of columns where they have some."""
        return (self.n_rows,) if self.n_columns is None else (self.n_rows, self.n_columns)


def piece_rows(n_columns: int | None) -> int:
    """Number of rows that are converted at a time."""
    return max(1, PIECE_BYTES // (8 * max(1, n_columns or 0)))


def model_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype that the wrapped model receives: integers, booleans and float32 unchanged, all others as float64."""
    return dtype if dtype.kind in "biu" or dtype.type is np.float32 else np.dtype(np.float64)
