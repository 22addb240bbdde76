"""Fields of a header and their arrays, taken one by one, each with the type that it must have."""

from __future__ import annotations

import math
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Literal, NoReturn, Union

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .header import INFINITIES, MOST, FileFormatError, plain_text, shown
from .room import NO_END, TEXT_OBJECT, Room
from .writing import CSR_PARTS, TYPE, Arrays

Floats = NDArray[np.float64]
INDICES = ("int32", "int64")
#: What messages call the values of a type.
WORDS: dict[Any, str] = {
    None: "null",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    np.ndarray: "an array",
    Mapping: "a list of pairs",
}
WRONG = object()
#: What classes raise that are made from the values of a file.
BAD_VALUES = (TypeError, ValueError, ArithmeticError, LookupError)


def require(holds: Any, problem: str) -> None:
    """Raise FileFormatError, saying what is wrong, unless a condition holds."""
    if not holds:
        raise FileFormatError(problem)


class Section:
    """An object of a header. Its fields, and the arrays that are called like them, are taken one by one.

    Parameters
    ----------
    fields : object
        Parsed JSON.
    where : str
        Name of the object in messages. The arrays of ``header.plan`` are called ``plan.order`` and so on.
    arrays : dict from name to ndarray, default={}
        All arrays of the file; those that are taken are removed.
    room : Room or None, default=None
        Memory that may be reserved; None: unlimited.

    Raises
    ------
    FileFormatError
        Here and from every method, if something is missing or not what it should be.
    """

    def __init__(self, fields: Any, where: str, arrays: Arrays | None = None, room: Room | None = None) -> None:
        if not isinstance(fields, dict):
            raise FileFormatError(f"{where} should be an object, and is {shown(fields)}")
        self._left, self.where = dict(fields), where
        self._arrays, self.room = {} if arrays is None else arrays, room or Room(0, NO_END)

    # ---- fields ----------------------------------------------------------------------------------------------------

    def __contains__(self, name: str) -> bool:
        return name in self._left or self.holds(name)

    def take(self, name: str) -> Any:
        """Take a field as it is."""
        if name not in self._left:
            raise FileFormatError(f"{self.where} has no {name!r}")
        return self._left.pop(name)

    def lacks(self, name: str) -> bool:
        """Whether a field is null, and then take it."""
        return self._left.get(name, self) is None and self._left.pop(name) is None

    def says(self, name: str, value: str) -> bool:
        """Whether a field has a value; it is not taken."""
        return bool(self._left.get(name) == value)

    def section(self, name: str) -> Section:
        """Take an object."""
        return self.inside(self.take(name), name)

    def inside(self, fields: Any, name: str) -> Section:
        """An object somewhere in this one."""
        return Section(fields, f"{self.where}.{name}", self._arrays, self.room)

    def get(self, name: str, hint: Any) -> Any:
        """Take a value of a type.

        Parameters
        ----------
        name : str
        hint : type or type hint
            None, bool, int, float (of which whole numbers are some), str, an array, a dataclass, or a Literal, tuple,
            list, mapping or union of those. Arrays of floats may hold infinity, and no NaN.
        """
        for option in _options(hint) if name not in self._left else ():
            origin, inner = typing.get_origin(option), typing.get_args(option)
            if origin is np.ndarray:
                return self._array(name, typing.get_args(inner[1])[0])
            if origin in (tuple, Sequence) and inner[0] is float and self.holds(name):
                return tuple(self.floats(name, None, finite=False).tolist())
        return self.decode(self.take(name), hint, name)

    def made(self, kind: type, **other: Any) -> Any:
        """Make a dataclass from the fields that are left; ``other`` are types of fields in place of its own."""
        hints = _hints(kind) | other
        if TYPE in self._left:
            self.choice(TYPE, (kind.__name__,))
        there = [f.name for f in fields(kind) if f.init and (f.name in self or not f.metadata.get("later"))]
        values = {name: self.get(name, hints[name]) for name in there}
        self.done()
        try:
            return kind(**values)
        except BAD_VALUES as error:
            raise FileFormatError(f"{self.where.removeprefix('header.')}: {error}") from None

    def choice(self, name: str, options: Sequence[str]) -> Any:
        """Take one of the options."""
        value = self.take(name)
        good = isinstance(value, str) and value in options
        return value if good else self._refuse(name, f"one of {', '.join(options)}", value)

    def integer(self, name: str, low: int = 0, high: int = MOST) -> int:
        """Take a whole number from ``low`` to ``high``."""
        value = self.take(name)
        if type(value) is not int or not low <= value <= high:
            self._refuse(name, f"a whole number from {low} to {high}", value)
        return value

    def number(self, name: str, low: float = -math.inf, *, finite: bool = True) -> float:
        """Take a number of at least ``low``."""
        value: Any = self.take(name)
        number: Any = value if finite or not isinstance(value, str) else INFINITIES.get(value)
        if type(number) not in (int, float) or not number >= low:
            self._refuse(name, f"a number of at least {low}", value)
        return float(number)

    def done(self) -> None:
        """Refuse a field that was not taken."""
        if self._left:
            raise FileFormatError(f"{self.where} has an unknown {shown(min(self._left))}")

    def end(self) -> None:
        """Refuse whatever of the file was not taken."""
        self.done()
        if self._arrays:
            raise FileFormatError(f"there is an unknown array {min(self._arrays)!r}")

    def decode(self, raw: Any, hint: Any, name: str) -> Any:
        """Turn JSON, which `encode` wrote, into a value of a type, see `get`."""
        options = _options(hint)
        for option in options:
            value = self._as(raw, option, name)
            if value is not WRONG:
                return value
        kinds = [option.__name__ for option in options if isinstance(option, type) and is_dataclass(option)]
        if kinds and isinstance(raw, dict):
            self.inside(raw, name).choice(TYPE, kinds)
        self._refuse(name, " or ".join(map(_words, options)), raw)

    def _as(self, raw: Any, option: Any, name: str) -> Any:
        """The value, or `WRONG` if it is of another kind."""
        origin, inner, good = typing.get_origin(option), typing.get_args(option), False
        if option in (None, bool, int):
            good = type(raw) is (option or type(None))
        elif option is float:
            raw = INFINITIES.get(raw, raw) if isinstance(raw, str) else raw
            good = type(raw) in (int, float)
        elif option is str:
            good = isinstance(raw, str) and bool(plain_text(raw, f"{self.where}.{name}") or True)
        elif origin is Literal:
            good = any(raw == each and type(raw) is type(each) for each in inner)
        elif is_dataclass(option):
            if isinstance(raw, dict) and raw.get(TYPE) == option.__name__:  # type: ignore[union-attr]  # a class
                return self.inside(raw, name).made(option)  # type: ignore[arg-type]  # a class
        elif isinstance(raw, list):
            return self._items(raw, origin, inner, name)
        return raw if good else WRONG

    def _items(self, raw: list[Any], origin: Any, inner: tuple[Any, ...], name: str) -> Any:
        if origin is Mapping and all(isinstance(pair, list) and len(pair) == 2 for pair in raw):
            return {
                self.decode(key, inner[0], name): self.decode(value, inner[1], f"{name}[{key!r}]") for key, value in raw
            }
        if origin not in (tuple, list, Sequence):
            return WRONG
        hints = inner if origin is tuple and inner[-1] is not Ellipsis else inner[:1] * len(raw)
        if len(hints) != len(raw):
            return WRONG
        found = [self.decode(item, hint, f"{name}.{i}") for i, (item, hint) in enumerate(zip(raw, hints, strict=True))]
        return found if origin is list else tuple(found)

    def _refuse(self, name: str, expected: str, value: Any) -> NoReturn:
        raise FileFormatError(f"{self.where}.{name} should be {expected}, and is {shown(value)}")

    # ---- arrays ----------------------------------------------------------------------------------------------------

    def called(self, name: str) -> str:
        """What an array of this object is called."""
        return f"{self.where}.{name}".removeprefix("header.")

    def holds(self, name: str) -> bool:
        """Whether there is an array."""
        return not {self.called(name), f"{self.called(name)}.T"}.isdisjoint(self._arrays)

    def array(self, name: str, dtypes: Sequence[str], *shape: Any) -> NDArray[Any]:
        """Take an array of one of the dtypes and of a shape, in which None is any length; ``...`` is any shape."""
        called = self.called(name)
        if not self.holds(name):
            raise FileFormatError(f"the array {called!r} is missing")
        array = self._arrays.pop(called) if called in self._arrays else self._arrays.pop(f"{called}.T").T
        if array.dtype.name not in dtypes:
            raise FileFormatError(f"the array {called!r} should be {' or '.join(dtypes)}, and is {array.dtype.name}")
        fits = shape == (...,) or len(array.shape) == len(shape)
        if not fits or any(want not in (None, ..., n) for n, want in zip(array.shape, shape, strict=False)):
            wanted = ", ".join("any" if n is None else str(n) for n in shape)
            raise FileFormatError(f"the array {called!r} should have the shape ({wanted}), and has {array.shape}")
        return array

    def floats(self, name: str, *shape: int | None, low: float = -math.inf, finite: bool = True) -> Floats:
        """Take float64 numbers of at least ``low``, none of them NaN."""
        array, what = self.array(name, ("float64",), *shape), f"the array {self.called(name)!r} holds"
        require(not finite or np.isfinite(array).all(), f"{what} NaN or infinity")
        require(finite or not np.isnan(array).any(), f"{what} NaN")
        require(low == -math.inf or not array.size or array.min() >= low, f"{what} numbers below {low}")
        return array

    def integers(self, name: str, dtypes: Sequence[str], *shape: int | None, low: int, high: int) -> NDArray[Any]:
        """Take whole numbers in [low, high)."""
        array = self.array(name, dtypes, *shape)
        inside = not array.size or (array.min() >= low and array.max() < high)
        require(inside, f"the array {self.called(name)!r} holds numbers outside of {low} to {high - 1}")
        return array

    def labels(self, name: str, dtypes: Sequence[str], *shape: int | None) -> NDArray[Any]:
        """Take texts without unpaired surrogates, or an array of one of the dtypes."""
        array = self._arrays.get(self.called(name))
        if array is None or array.dtype.kind != "U":
            return self.array(name, dtypes, *shape)
        self.room.reserve(TEXT_OBJECT * array.size + 2 * array.nbytes, f"texts in {self.called(name)!r}")
        points = array.reshape(-1).view(np.uint32)
        good = not points.size or (points.max() <= 0x10FFFF and not ((points >= 0xD800) & (points <= 0xDFFF)).any())
        require(good, f"the array {self.called(name)!r} holds what is no character")
        return self.array(name, (array.dtype.name,), *shape)

    def csr(self, name: str, n_rows: int, n_columns: int) -> sparse.csr_array:
        """Take a canonical CSR array of finite numbers."""
        parts = [f"{name}.{part}" for part in CSR_PARTS]
        data = self.floats(parts[0], None)
        indices = self.integers(parts[1], INDICES, len(data), low=0, high=n_columns)
        indptr = self.integers(parts[2], INDICES, n_rows + 1, low=0, high=len(data) + 1)
        ends = indptr[0] == 0 and indptr[-1] == len(data)
        rises = ends and np.all(indptr[:-1] <= indptr[1:])
        require(rises, f"the array {self.called(parts[2])!r} does not rise from 0 to the end")
        ascends = indices[:-1] < indices[1:]
        first = indptr[1:-1]
        ascends[first[(first > 0) & (first < len(data))] - 1] = True  # from one row to the next
        require(ascends.all(), f"the array {self.called(parts[1])!r} does not ascend within every row")
        return sparse.csr_array((data, indices, indptr), shape=(n_rows, n_columns))

    def _array(self, name: str, dtype: type[np.generic]) -> NDArray[Any]:
        """Take an array of a type, of one or two axes."""
        if issubclass(dtype, np.str_):
            return self.labels(name, (), None)
        array = self.array(name, (np.dtype(dtype).name,), ...)
        good = array.ndim and not (array.dtype.kind == "f" and np.isnan(array).any())
        require(good, f"the array {self.called(name)!r} holds NaN, or is a single number")
        return array


def _options(hint: Any) -> tuple[Any, ...]:
    """The types of a union, or the one type."""
    union = typing.get_args(hint) if typing.get_origin(hint) in (Union, types.UnionType) else (hint,)
    return tuple(None if option is type(None) else option for option in union)


def _words(option: Any) -> str:
    """What messages call the values of a type."""
    if typing.get_origin(option) is Literal:
        return f"one of {', '.join(map(str, typing.get_args(option)))}"
    if is_dataclass(option):
        return f"a {option.__name__}"  # type: ignore[union-attr]  # a class
    return WORDS.get(typing.get_origin(option) or option, "a list")


@cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)
