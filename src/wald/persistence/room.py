"""How much memory a file makes wald take: at load, and at the first prediction.

The arrays of a file are as large as it is. What is made of them may be larger: sparse support vectors are packed dense,
outputs are padded to registers, and a linear model keeps every stage's weights beside each other. Here is, for each
kind of model, a bound on these bytes as a function of the numbers in the file. `Room` adds them up and refuses
a file that would take too much, before anything is made of it. Rows have what they need beside that: memory
in proportion to their number, and at most `SCRATCH` for each thread.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

from ..utils.bytes import DOUBLE, SINGLE, padded
from .header import FileFormatError

#: A file may take so much memory whatever its size, and so many times its size. Sparse support vectors may take more:
#: honest ones of texts, of which one in 300 is no zero, take 300 times their file.
LEAST, TIMES, TIMES_SPARSE = 64 << 20, 64, 512
#: For what is not bounded.
NO_END = 1 << 62
#: Scratch memory of a thread of the engine, unless a row alone needs more.
SCRATCH = 12 << 20
#: Objects of Python and of the engine around one binary problem.
PROBLEM_OBJECTS = 8192
#: Objects of Python for one text, but for its characters.
TEXT_OBJECT = 100


class Room:
    """Adds up what is made of a file, and refuses what would be too much before it is made.

    Parameters
    ----------
    size : int
        Of the file.
    max_bytes : int or None, default=None
        What it may take; None: as much as files of its size may.

    Attributes
    ----------
    reserved : int
        Bytes, as far as is known yet.
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
        """Allow more: what the file holds sparse will be dense."""
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
    """As a text."""
    return f"{n_bytes / 2**20:,.1f} MiB".replace(",", " ")


def chain_bytes(n_labels: int, n_rows: int, n_groups: int, n_blocks: int) -> int:
    """A chain: a table of weights whose rows are padded, where its blocks begin, and the way back."""
    width = padded(n_labels, SINGLE)
    return 4 * width * n_rows + 4 * width * n_labels + 24 * n_blocks + 1024 * n_groups


def parser_bytes(n_weights: int, n_tags: int) -> int:
    """A parser: a copy of its weights, and the longest arcs by pairs of tags."""
    return 4 * n_weights + 32 * n_tags**2 + (4 << 20)


def learner_bytes(n_problems: int, n_features: int, unit: int, single: bool, costs: bool) -> int:
    """An online learner: weights and their averages, twice while they are put in place, and units of features."""
    n_units = units_of(n_features, unit)
    weights = 2 * padded(n_features, SINGLE) * ((4 if single else 8) + 8) + 24 * n_features
    pieces = 3 * (12 * pieces_of(n_features, n_units, single) + 16 * n_units)
    return n_problems * (weights + 2 * pieces + 24 * n_features * costs + PROBLEM_OBJECTS)


def boundary_bytes(n_features: int, unit: int, single: bool, n_looks: int) -> int:
    """What a learner's boundary keeps for each stage: weights of all pieces that it has seen."""
    n_pieces = pieces_of(n_features, units_of(n_features, unit), single)
    return n_pieces * (16 + 64 * 3) + n_looks * (n_pieces * (64 + 8) + 64)


def attentive_bytes(n_features: int, unit: int, single: bool, n_rows: int) -> int:
    """What the first attentive prediction fits on audited rows: sums by piece and by unit, and a regression."""
    n_units = units_of(n_features, unit)
    n_pieces = pieces_of(n_features, n_units, single)
    width = padded(n_units + 1, SINGLE)
    size = 4 if single else 8
    return size * (width**2 + n_rows * (n_pieces + width)) + 8 * n_units * min(n_units, n_rows) + 80 * n_pieces


def units_of(n_features: int, unit: int) -> int:
    """Units of features that are read together; at most."""
    return min(n_features, 130) if unit == 0 else -(-n_features // unit) + 1


def pieces_of(n_features: int, n_units: int, single: bool) -> int:
    """Registers that read these units; at most."""
    return min(n_features, n_features // (SINGLE if single else DOUBLE) + 2 * n_units) + 1
