"""`Cells`: one column as its container holds it, of texts, numbers or anything else, without conversion.

A container holds a column in one of five forms. The extension reads each of them in place: what is here says only where
the cells lie. A column may lie in several chunks, and its first cell need not be the first one in its memory.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Anything with the buffer protocol.
Buffer = Any


@dataclass(frozen=True, eq=False)
class Valid:
    """Which cells of a chunk are there, one bit each, in Arrow's order.

    Parameters
    ----------
    bits : buffer or None
        None: all are there.
    first : int, default=0
        Number of the bit of the first cell.
    """

    bits: Buffer | None = None
    first: int = 0

    def mask(self, n: int) -> NDArray[np.bool_]:
        """The first n cells: whether each is there."""
        if self.bits is None:
            return np.ones(n, dtype=bool)
        bits = np.frombuffer(self.bits, np.uint8)[: (self.first + n + 7) // 8]
        return np.unpackbits(bits, bitorder="little")[self.first : self.first + n].astype(bool)


#: All cells of a chunk are there.
ALL = Valid()


@dataclass(frozen=True, eq=False)
class TextChunk:
    """Texts in Arrow's layout: bytes of UTF-8 one after the other, and where each begins.

    Parameters
    ----------
    n_rows : int
    first : int
        Number of the first cell in the offsets.
    width : {4, 8}
        Bytes of an offset.
    offsets : buffer
    data : buffer or None
        None if there are no bytes.
    valid : Valid
    """

    n_rows: int
    first: int
    width: int
    offsets: Buffer
    data: Buffer | None
    valid: Valid = ALL

    def texts(self) -> list[str]:
        """The texts; whatever the memory holds where one is missing."""
        offsets = np.frombuffer(self.offsets or b"", f"i{self.width}")[self.first : self.first + self.n_rows + 1]
        data = b"" if self.data is None else bytes(self.data)
        bounds = zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
        return [data[start:stop].decode("utf-8", "replace") for start, stop in bounds]


@dataclass(frozen=True, eq=False)
class ViewChunk:
    """Texts in Arrow's layout of views: 16 bytes each, which hold a short text, or say where it lies.

    Parameters
    ----------
    n_rows : int
    first : int
        Number of the first view.
    views : buffer
    data : tuple of buffers
    valid : Valid
    """

    n_rows: int
    first: int
    views: Buffer
    data: tuple[Buffer, ...]
    valid: Valid = ALL

    def texts(self) -> list[str]:
        """The texts; empty where one is missing."""
        views, data, there = bytes(self.views or b""), [bytes(each) for each in self.data], self.valid.mask(self.n_rows)
        texts: list[str] = []
        for view in range(16 * self.first, 16 * (self.first + self.n_rows), 16):
            size, _, which, start = np.frombuffer(views, "i4", 4, view).tolist()
            inline = views[view + 4 : view + 4 + size]
            lies_apart = size > 12 and there[len(texts)]
            texts.append((data[which][start : start + size] if lies_apart else inline).decode("utf-8", "replace"))
        return texts


@dataclass(frozen=True, eq=False)
class NumberChunk:
    """Numbers in an array.

    Parameters
    ----------
    values : ndarray of shape (n_rows,)
        Of bool, of integers, float32 or float64, in the machine's byte order; any stride.
    valid : Valid
    """

    values: NDArray[Any]
    valid: Valid = ALL

    @property
    def n_rows(self) -> int:
        """Number of cells."""
        return len(self.values)


@dataclass(frozen=True, eq=False)
class CodeChunk:
    """Numbers of entries of a dictionary.

    Parameters
    ----------
    codes : ndarray of shape (n_rows,)
        Integers of any width.
    dictionary : Cells
        Entries may be unused, doubled or missing.
    lowest : {0, -1}, default=0
        -1: this code stands for a missing value.
    valid : Valid
    """

    codes: NDArray[Any]
    dictionary: Cells
    lowest: int = 0
    valid: Valid = ALL

    @property
    def n_rows(self) -> int:
        """Number of cells."""
        return len(self.codes)


@dataclass(frozen=True, eq=False)
class Cells(ABC):
    """A column as its container holds it.

    Parameters
    ----------
    kind : hashable
        Library and dtype, such as ``("pandas", "str")``. Cells of one kind are read in the same way.
    """

    kind: Hashable

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of cells."""

    @abstractmethod
    def objects(self) -> NDArray[Any]:
        """The cells as the container's library gives them, in an array of objects. This takes long."""


@dataclass(frozen=True, eq=False)
class _Chunked(Cells):
    """A column in chunks.

    Parameters
    ----------
    null : None, nan or pandas.NA
        What the library gives for a missing value.
    chunks : sequence
    """

    null: Any
    chunks: Sequence[Any]

    @property
    def n_rows(self) -> int:
        """Number of cells of all chunks."""
        return sum(chunk.n_rows for chunk in self.chunks)

    def objects(self) -> NDArray[Any]:
        """All cells, those that are missing as `null`."""
        values = np.empty(self.n_rows, dtype=object)
        start = 0
        for chunk in self.chunks:
            part = values[start : (start := start + chunk.n_rows)]
            part[:] = self._values(chunk)
            part[~chunk.valid.mask(chunk.n_rows)] = self.null
        return values

    @abstractmethod
    def _values(self, chunk: Any) -> Any: ...


@dataclass(frozen=True, eq=False)
class Texts(_Chunked):
    """Texts in Arrow's layouts.

    Parameters
    ----------
    kind, null
        As for all columns in chunks.
    chunks : sequence of TextChunk and ViewChunk
    """

    chunks: Sequence[TextChunk | ViewChunk]

    def _values(self, chunk: TextChunk | ViewChunk) -> list[str]:
        return chunk.texts()


@dataclass(frozen=True, eq=False)
class Numbers(_Chunked):
    """Numbers.

    Parameters
    ----------
    kind, null
        As for all columns in chunks.
    chunks : sequence of NumberChunk
    """

    chunks: Sequence[NumberChunk]

    def _values(self, chunk: NumberChunk) -> list[Any]:
        values: list[Any] = chunk.values.tolist()
        return values


@dataclass(frozen=True, eq=False)
class Coded(_Chunked):
    """Codes of the entries of a dictionary.

    Parameters
    ----------
    kind, null
        As for all columns in chunks.
    chunks : sequence of CodeChunk
    """

    chunks: Sequence[CodeChunk]

    def _values(self, chunk: CodeChunk) -> NDArray[Any]:
        entries = np.append(chunk.dictionary.objects(), np.empty(1, dtype=object))
        entries[-1] = self.null
        valid = chunk.valid.mask(chunk.n_rows)
        return entries[np.where(valid, chunk.codes.astype(np.int64), -1)]


@dataclass(frozen=True, eq=False)
class Objects(Cells):
    """Python's objects.

    Parameters
    ----------
    kind : hashable
    values : ndarray of shape (n_rows,)
        Of objects, with any stride.
    """

    values: NDArray[Any]

    @property
    def n_rows(self) -> int:
        """Number of cells."""
        return len(self.values)

    def objects(self) -> NDArray[Any]:
        """The objects themselves."""
        return self.values


@dataclass(frozen=True, eq=False)
class WideTexts(Cells):
    """Texts of NumPy, which all have the same number of code points in memory.

    Parameters
    ----------
    kind : hashable
    values : ndarray of shape (n_rows,)
        Of texts in the machine's byte order, with any stride.
    """

    values: NDArray[np.str_]

    @property
    def n_rows(self) -> int:
        """Number of cells."""
        return len(self.values)

    def objects(self) -> NDArray[Any]:
        """The texts, without NULs at their ends."""
        return self.values.astype(object)


def objects_of(values: Sequence[Any]) -> NDArray[Any]:
    """An array of objects, whatever they are."""
    return np.fromiter(values, object, len(values))


#: What stands for a missing value in NumPy, and in pandas' `str` and category.
NAN = math.nan
