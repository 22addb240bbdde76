"""UBJSON, the binary JSON of https://ubjson.org (draft 12), as XGBoost writes it."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

_NUMBERS: dict[bytes, np.dtype[Any]] = {
    b"i": np.dtype(">i1"),
    b"U": np.dtype(">u1"),
    b"I": np.dtype(">i2"),
    b"l": np.dtype(">i4"),
    b"L": np.dtype(">i8"),
    b"d": np.dtype(">f4"),
    b"D": np.dtype(">f8"),
}
MOST_DEPTH = 64


def read_ubjson(raw: bytes) -> Any:
    """Read a document.

    Returns
    -------
    object
        Dicts, lists, strings, numbers, bools and None; arrays of one type of numbers are ndarrays.

    Raises
    ------
    ValueError
        If it is no UBJSON, is cut off, or is nested too deeply.
    """
    reader = _Reader(raw)
    try:
        value = reader.value(reader.take(1), 0)
    except (struct.error, UnicodeDecodeError, OverflowError) as error:
        raise ValueError(f"This is no UBJSON: {error}.") from None
    if reader.at != len(raw):
        raise ValueError(f"This UBJSON ends at byte {reader.at}, and {len(raw) - reader.at} more follow.")
    return value


class _Reader:
    def __init__(self, raw: bytes) -> None:
        self.raw, self.at = raw, 0

    def take(self, n: int) -> bytes:
        """Return the next n bytes."""
        if n < 0 or n > len(self.raw) - self.at:
            raise ValueError(f"This UBJSON is cut off: {n} bytes are missing at byte {self.at}.")
        self.at += n
        return self.raw[self.at - n : self.at]

    def number(self, kind: bytes) -> Any:
        """Return the next number, of a type."""
        dtype = _NUMBERS[kind]
        return np.frombuffer(self.take(dtype.itemsize), dtype)[0].item()

    def length(self) -> int:
        """Return the next length."""
        kind = self.take(1)
        if kind not in _NUMBERS or kind in b"dD":
            raise ValueError(f"This is no UBJSON: byte {self.at - 1} should begin a length.")
        return int(self.number(kind))

    def text(self) -> str:
        """Return the next string."""
        return self.take(self.length()).decode("utf-8")

    def value(self, kind: bytes, depth: int) -> Any:
        """Return the value that begins with a byte."""
        if depth > MOST_DEPTH:
            raise ValueError(f"This UBJSON is nested deeper than {MOST_DEPTH}.")
        if kind in _NUMBERS:
            return self.number(kind)
        match kind:
            case b"S" | b"H":
                return self.text()
            case b"C":
                return self.take(1).decode("ascii")
            case b"T" | b"F":
                return kind == b"T"
            case b"Z":
                return None
            case b"[":
                return self.array(depth)
            case b"{":
                return self.members(depth)
        raise ValueError(f"This is no UBJSON: byte {self.at - 1} is {kind!r}.")

    def header(self) -> tuple[bytes | None, int | None]:
        """Return type and number of the elements of a container; None where they are not given."""
        kind = count = None
        if self.peek() == b"$":
            self.take(1)
            kind = self.take(1)
        if self.peek() == b"#":
            self.take(1)
            count = self.length()
            if count < 0 or (count > len(self.raw) - self.at and kind not in (b"T", b"F", b"Z")):
                raise ValueError(f"This UBJSON is cut off: a container has {count} elements at byte {self.at}.")
        if kind is not None and (count is None or kind not in _NUMBERS):
            raise ValueError(f"This is no UBJSON that wald reads: a container of type {kind!r} at byte {self.at}.")
        return kind, count

    def peek(self) -> bytes:
        """Return the next byte without taking it."""
        return self.raw[self.at : self.at + 1]

    def array(self, depth: int) -> Any:
        """Return the next elements of an array."""
        kind, count = self.header()
        if kind is not None and count is not None:
            dtype = _NUMBERS[kind]
            return np.frombuffer(self.take(dtype.itemsize * count), dtype).astype(dtype.newbyteorder("="))
        found: list[Any] = []
        while (count is not None and len(found) < count) or (count is None and self.peek() != b"]"):
            found.append(self.value(self.take(1), depth + 1))
        if count is None:
            self.take(1)
        return found

    def members(self, depth: int) -> dict[str, Any]:
        """Return the next members of an object."""
        kind, count = self.header()
        found: dict[str, Any] = {}
        n = 0
        while (count is not None and n < count) or (count is None and self.peek() != b"}"):
            name = self.text()
            found[name] = self.value(self.take(1) if kind is None else kind, depth + 1)
            n += 1
        if count is None:
            self.take(1)
        return found
