"""How much memory a file makes wald take: at load, and at the first prediction.

The arrays of a file are as large as the file. The model in memory may be larger: sparse support vectors are packed
dense, outputs are padded to registers, and a linear model keeps the weights of every stage. This module bounds these
bytes for each kind of model, as a function of the numbers in the file. `Room` adds them up, and refuses a file that
would take too much before anything is allocated. Rows take memory besides: in proportion to their number, and at most
`SCRATCH` for each thread.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

from ..utils.bytes import DOUBLE, SINGLE, padded
from .header import FileFormatError

#: Memory allowed for any file, and as a multiple of the file's size. Sparse support vectors are allowed more: with
#: one non-zero in 300, as texts have, they take 300 times their file.
LEAST, TIMES, TIMES_SPARSE = 64 << 20, 64, 512
#: The limit where memory is not bounded.
NO_END = 1 << 62
#: Scratch memory of a thread of the engine, unless a row alone needs more.
SCRATCH = 12 << 20
#: Bytes of Python's and the engine's objects for one binary problem.
PROBLEM_OBJECTS = 8192
#: Bytes of a Python text without its characters.
TEXT_OBJECT = 100


class Room:
    """Adds up the memory that a file's model takes, and refuses too much before it is allocated.

    Parameters
    ----------
    size : int
        Size of the file.
    max_bytes : int or None, default=None
        Bytes that may be reserved; None: what a file of this size is allowed.

    Attributes
    ----------
    reserved : int
        Bytes reserved so far.
    """

    def __init__(self, size: int, max_bytes: Any = None) -> None:
        if max_bytes is not None and (not isinstance(max_bytes, Integral) or isinstance(max_bytes, bool)):
            raise TypeError(f"max_bytes must be a whole number of bytes, or None. Got {max_bytes!r} instead.")
        if max_bytes is not None and max_bytes < 1:
            raise ValueError(f"max_bytes must be at least 1. Got {max_bytes!r} instead.")
        self._size, self._given, self._times, self.reserved = size, max_bytes, TIMES, 0

    @property
    def allowed(self) -> int:
        """Bytes that may be reserved."""
        return int(self._given) if self._given is not None else self.of_size(self._size)

    def of_size(self, size: int) -> int:
        """Bytes that a file of a size may reserve."""
        return max(LEAST, self._times * size)

    def holds_sparse(self) -> None:
        """Allow more: the file's sparse arrays will be dense in memory."""
        self._times = TIMES_SPARSE

    def reserve(self, n_bytes: int, what: str) -> None:
        """Count bytes; raises FileFormatError if they are too many."""
        self.reserved += int(n_bytes)
        if self.reserved > self.allowed:
            source = "for a file of this size" if self._given is None else "by max_bytes"
            raise FileFormatError(
                f"its {what} would bring the memory that it takes to {mebibytes(self.reserved)}, and "
                f"{mebibytes(self.allowed)} are allowed {source}. If you trust the file and have the memory, allow "
                f"more: wald.load(path, max_bytes={self.reserved}) or above"
            )


def mebibytes(n_bytes: int) -> str:
    """Format a number of bytes as MiB."""
    return f"{n_bytes / 2**20:,.1f} MiB".replace(",", " ")


def chain_bytes(n_labels: int, n_rows: int, n_groups: int, n_blocks: int) -> int:
    """A chain: a table of weights on whole pages, whose rows are padded, where its blocks begin, and the way back."""
    width = padded(n_labels, SINGLE)
    return 4 * width * n_rows + (2 << 20) + 4 * width * n_labels + 24 * n_blocks + 1024 * n_groups


def parser_bytes(n_weights: int, n_tags: int) -> int:
    """Bytes of a parser: a copy of its weights, and the longest arcs by pairs of tags."""
    return 4 * n_weights + 32 * n_tags**2 + (4 << 20)


def learner_bytes(n_problems: int, n_features: int, unit: int, single: bool, costs: bool) -> int:
    """Bytes of an online learner: units of features, and weights and averages, two copies of both while loading."""
    n_units = units_of(n_features, unit)
    weights = 2 * padded(n_features, SINGLE) * ((4 if single else 8) + 8) + 24 * n_features
    pieces = 3 * (12 * pieces_of(n_features, n_units, single) + 16 * n_units)
    return n_problems * (weights + 2 * pieces + 24 * n_features * costs + PROBLEM_OBJECTS)


def boundary_bytes(n_features: int, unit: int, single: bool, n_checkpoints: int) -> int:
    """Bytes of a learner's boundary, which keeps the weights of all pieces read so far for each checkpoint."""
    n_pieces = pieces_of(n_features, units_of(n_features, unit), single)
    return n_pieces * (16 + 64 * 3) + n_checkpoints * (n_pieces * (64 + 8) + 64)


def attentive_bytes(n_features: int, unit: int, single: bool, n_rows: int) -> int:
    """Bytes of the fit at the first attentive prediction: sums by piece and by unit, and a regression."""
    n_units = units_of(n_features, unit)
    n_pieces = pieces_of(n_features, n_units, single)
    width = padded(n_units + 1, SINGLE)
    size = 4 if single else 8
    return size * (width**2 + n_rows * (n_pieces + width)) + 8 * n_units * min(n_units, n_rows) + 80 * n_pieces


def units_of(n_features: int, unit: int) -> int:
    """Upper bound on the units of features that are read together."""
    return min(n_features, 130) if unit == 0 else -(-n_features // unit) + 1


def pieces_of(n_features: int, n_units: int, single: bool) -> int:
    """Upper bound on the registers that read these units."""
    return min(n_features, n_features // (SINGLE if single else DOUBLE) + 2 * n_units) + 1
