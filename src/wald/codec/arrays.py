"""The arrays of a file, taken one by one and checked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .header import MOST_CHARACTERS, FileFormatError
from .room import NO_END, TEXT_OBJECT, Room

Arrays = dict[str, NDArray[Any]]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
INDICES = ("int32", "int64")


class Stock:
    """Arrays that are taken by name.

    Parameters
    ----------
    arrays : mapping from name to ndarray
    room : Room or None, default=None
        Memory that may be reserved; None: unlimited.

    Raises
    ------
    FileFormatError
        From every method, if an array is missing or not what it should be.
    """

    def __init__(self, arrays: Mapping[str, NDArray[Any]], room: Room | None = None) -> None:
        self._left, self.room = dict(arrays), room or Room(0, NO_END)

    def take(self, name: str, dtypes: Sequence[str], *shape: int | None) -> NDArray[Any]:
        """Take an array of one of the dtypes and of a shape, in which None is any length."""
        if name not in self._left:
            raise FileFormatError(f"the array {name!r} is missing")
        array = self._left.pop(name)
        if array.dtype.name not in dtypes:
            raise FileFormatError(f"the array {name!r} should be {' or '.join(dtypes)}, and is {array.dtype.name}")
        fits = len(array.shape) == len(shape)
        if not fits or any(want is not None and want != n for n, want in zip(array.shape, shape, strict=True)):
            wanted = ", ".join("any" if n is None else str(n) for n in shape)
            raise FileFormatError(f"the array {name!r} should have the shape ({wanted}), and has {array.shape}")
        return array

    def floats(self, name: str, *shape: int | None, low: float = -math.inf, finite: bool = True) -> Floats:
        """Take float64 numbers of at least ``low``, none of them NaN."""
        array = self.take(name, ("float64",), *shape)
        if finite and not np.isfinite(array).all():
            raise FileFormatError(f"the array {name!r} holds NaN or infinity")
        if not finite and np.isnan(array).any():
            raise FileFormatError(f"the array {name!r} holds NaN")
        if low > -math.inf and array.size and array.min() < low:
            raise FileFormatError(f"the array {name!r} holds numbers below {low}")
        return array

    def integers(self, name: str, dtypes: Sequence[str], *shape: int | None, low: int, high: int) -> NDArray[Any]:
        """Take whole numbers in [low, high)."""
        array = self.take(name, dtypes, *shape)
        if array.size and (array.min() < low or array.max() >= high):
            raise FileFormatError(f"the array {name!r} holds numbers outside of {low} to {high - 1}")
        return array

    def labels(self, name: str, dtypes: Sequence[str], *shape: int | None) -> NDArray[Any]:
        """Take texts without unpaired surrogates, or an array of one of the dtypes."""
        array = self._left.get(name)
        if array is None or array.dtype.kind != "U":
            return self.take(name, dtypes, *shape)
        self.room.reserve(TEXT_OBJECT * array.size + 2 * array.nbytes, f"texts in {name!r}")
        points = array.reshape(-1).view(np.uint32)
        if points.size and (points.max() > 0x10FFFF or ((points >= 0xD800) & (points <= 0xDFFF)).any()):
            raise FileFormatError(f"the array {name!r} holds what is no character")
        return self.take(name, (array.dtype.name,), *shape)

    def csr(self, names: Sequence[str], n_rows: int, n_columns: int) -> sparse.csr_array:
        """Take a canonical CSR array, given the names of its data, indices and indptr."""
        data = self.floats(names[0], None)
        indices = self.integers(names[1], INDICES, len(data), low=0, high=n_columns)
        indptr = self.integers(names[2], INDICES, n_rows + 1, low=0, high=len(data) + 1)
        ends = indptr[0] == 0 and indptr[-1] == len(data)
        rises = ends and np.all(indptr[:-1] <= indptr[1:])
        require(rises, f"the array {names[2]!r} does not rise from 0 to the end")
        ascends = indices[:-1] < indices[1:]
        first = indptr[1:-1]
        ascends[first[(first > 0) & (first < len(data))] - 1] = True  # from one row to the next
        require(ascends.all(), f"the array {names[1]!r} does not ascend within every row")
        return sparse.csr_array((data, indices, indptr), shape=(n_rows, n_columns))

    def require(self, holds: Any, problem: str) -> None:
        """Raise FileFormatError, saying what is wrong, unless a condition holds."""
        require(holds, problem)

    def error(self, problem: str) -> FileFormatError:
        """Make the error to raise."""
        return FileFormatError(problem)

    def done(self) -> None:
        """Refuse an array that was not taken."""
        if self._left:
            raise FileFormatError(f"there is an unknown array {min(self._left)!r}")


def text_array(texts: Any, what: str) -> NDArray[np.str_]:
    """Turn texts into an array that a file can hold, or raise ValueError."""
    plain = np.array([str(text) for text in texts], dtype=np.str_)
    # NumPy's arrays drop zeros at the end of a text
    if plain.dtype.itemsize > 4 * MOST_CHARACTERS or plain.tolist() != [str(text) for text in texts]:
        raise ValueError(
            f"{what} cannot be saved: texts must have at most {MOST_CHARACTERS} characters and not end in a zero."
        )
    return plain


def require(holds: Any, problem: str) -> None:
    """Raise FileFormatError, saying what is wrong, unless a condition holds."""
    if not holds:
        raise FileFormatError(problem)
