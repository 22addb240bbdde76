"""The groups of columns of `LazyRows`: who provides them, what their columns are called, and what they cost."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from ..calls import Asked, BadAnswerError, Calls
from ..utils.figures import first_of
from ..utils.reals import as_float
from .frames import is_frame
from .given import source_of
from .values import as_numbers

#: Cost of a group that is at hand, as a share of the cheapest that is fetched, unless it is given.
AT_HAND = 1e-3
#: Most names that a message lists.
MOST_NAMED = 8


class Column:
    """A column: its group, its place there, and its name or number."""

    __slots__ = ("group", "name", "place")

    def __init__(self, group: str, place: int, name: Hashable) -> None:
        self.group, self.place, self.name = group, place, name


class Groups:
    """Groups of columns and what was fetched of them, which all views of some rows share.

    Parameters
    ----------
    n_rows, groups, columns, costs, dtype
        As for `LazyRows`.

    Attributes
    ----------
    providers : dict from name to Asked or ndarray of shape (n_rows, n_columns)
    widths : dict from name to int
    costs : dict from name to float
    order : list of Column
        All columns, in the order of the groups or of their numbers.
    named : bool
        Whether they have names.
    """

    def __init__(
        self,
        n_rows: int,
        groups: Mapping[str, Any],
        columns: Mapping[str, Any],
        costs: Mapping[str, float],
        dtype: np.dtype[Any],
    ) -> None:
        count: Any = n_rows  # not yet validated
        if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 0:
            raise ValueError(f"n_rows must be a whole number from 0 on. Got {n_rows!r}.")
        if not groups or not hasattr(groups, "items"):
            raise TypeError(f"groups must be a dict from name to array, frame or callable. Got {groups!r}.")
        if dtype not in (np.dtype(np.float32), np.dtype(np.float64)):
            raise ValueError(f"dtype must be float64 or float32. Got {dtype}.")
        for what, given in (("columns", columns), ("costs", costs)):
            if not hasattr(given, "items"):
                raise TypeError(f"{what} must be a dict with names of groups. Got {given!r}.")
            if other := [repr(name) for name in given if name not in groups]:
                raise ValueError(
                    f"{what} names {first_of(other, MOST_NAMED)}, for which there is no provider. The groups are "
                    f"{first_of([repr(name) for name in groups], MOST_NAMED)}."
                )
        self.n_rows, self.dtype = int(n_rows), dtype
        self.providers: dict[str, Asked | NDArray[Any]] = {}
        self.widths: dict[str, int] = {}
        listed: list[Column] = []
        for group, given in groups.items():
            if given is None:
                raise ValueError(f"Group {group!r} has no provider: give an array, a frame or a function, not None.")
            at_hand = None if callable(given) or isinstance(given, Calls) else self._at_hand(group, given)
            names = self._names(group, given, columns.get(group), at_hand)
            listed += [Column(group, place, name) for place, name in enumerate(names)]
            self.providers[group] = self._fetched(group, given, names) if at_hand is None else at_hand
            self.widths[group] = len(names)
        self.named, self.order = _ordered(listed)
        self.costs = self._prices(costs)

    def values(self, group: str) -> NDArray[Any]:
        """What is there of a group, (n_rows, n_columns); 0 where it was not fetched."""
        provider = self.providers[group]
        if not isinstance(provider, Asked):
            return provider
        values = provider.values  # of no shape as long as nothing was fetched
        return values if values.ndim == 2 else np.zeros((self.n_rows, self.widths[group]), dtype=self.dtype)

    def _at_hand(self, group: str, given: Any) -> NDArray[Any]:
        """A group that is an array or a frame."""
        try:
            values = np.asarray(_numbers(given))
            values = (values[:, None] if values.ndim == 1 else values).astype(self.dtype)
        except (ValueError, TypeError) as error:
            raise type(error)(f"Group {group!r}: {error}") from error
        if values.ndim != 2 or len(values) != self.n_rows:
            raise ValueError(
                f"Group {group!r} must have a row for each of {self.n_rows}. Got an array of shape {values.shape}."
            )
        return values

    def _names(self, group: str, given: Any, columns: Any, at_hand: NDArray[Any] | None) -> list[Hashable]:
        """Names or numbers of the columns of a group."""
        frame = at_hand is not None and is_frame(given)
        if columns is None:
            names: list[Hashable] = list(source_of(given).names or ()) if frame else [group]
        elif isinstance(columns, str | bytes) or not isinstance(columns, Iterable):
            raise TypeError(f"columns[{group!r}] must be a list of names or numbers. Got {columns!r}.")
        else:
            names = list(columns)
        if not names:
            raise ValueError(f"Group {group!r} has no columns.")
        if at_hand is not None and len(names) != at_hand.shape[1]:
            said = f"columns[{group!r}] has {len(names)}" if columns is not None else "columns does not list them"
            raise ValueError(f"Group {group!r} is an array of {at_hand.shape[1]} columns, and {said}.")
        return names

    def _fetched(self, group: str, given: Any, names: Sequence[Hashable]) -> Asked:
        """A group that a function fetches."""
        calls = given if isinstance(given, Calls) else Calls(given)
        if calls.cache is not None and calls.key is None:
            raise ValueError(
                f"Group {group!r} has a cache, and its rows are numbers that mean others elsewhere: give key=, a "
                "function from the number of a row to what it is known by."
            )
        read, check = partial(_read, names), partial(_checked, len(names), self.dtype)
        return Asked(calls, self.n_rows, name=group, read=read, check=check)

    def _prices(self, costs: Mapping[str, float]) -> dict[str, float]:
        for group, cost in costs.items():
            if isinstance(cost, bool) or not isinstance(cost, Real) or not 0 < as_float(cost) < math.inf:
                raise ValueError(
                    f"costs[{group!r}] must be positive and finite. Got {cost!r}. What is at hand costs little: leave "
                    "it out."
                )
        fetched = [group for group, provider in self.providers.items() if isinstance(provider, Asked)]
        found = dict.fromkeys(fetched, 1.0) | {group: float(cost) for group, cost in costs.items()}
        least = AT_HAND * min((found[group] for group in fetched), default=1.0)
        return {group: found.get(group, least) for group in self.providers}


def _ordered(columns: list[Column]) -> tuple[bool, list[Column]]:
    """Whether columns have names, and the columns in their order: of the groups, or of their numbers."""
    named = {isinstance(column.name, str) for column in columns}
    whole = all(isinstance(c.name, str | int | np.integer) and not isinstance(c.name, bool) for c in columns)
    if len(named) > 1 or not whole:
        odd = next(c for c in columns if isinstance(c.name, str) != isinstance(columns[0].name, str) or not whole)
        raise ValueError(
            f"Columns have names, or all have numbers. Those of group {columns[0].group!r} begin with "
            f"{columns[0].name!r}, and group {odd.group!r} has {odd.name!r}: list them in columns=."
        )
    owners: dict[Hashable, Column] = {}
    for column in columns:
        other = owners.setdefault(column.name, column)
        if other is not column:
            where = f"twice in group {column.group!r}"
            if other.group != column.group:
                where = f"in group {other.group!r} and in group {column.group!r}"
            raise ValueError(f"Column {column.name!r} is {where}: it has one provider.")
    if named == {True}:
        return True, columns
    for number in range(len(columns)):
        if number not in owners:
            raise ValueError(
                f"Column {number} has no provider: the groups have {len(columns)} columns, numbered from 0 on."
            )
    return False, [owners[number] for number in range(len(columns))]


def _numbers(given: Any) -> Any:
    """A table or a column as numbers."""
    if is_frame(given):
        return source_of(given).array()
    given = given.toarray() if issparse(given) else given
    values = np.asarray(given)
    return as_numbers(values[:, None]) if values.ndim == 1 else as_numbers(values)


def _read(names: Sequence[Hashable], given: Any) -> Any:
    """What a function has fetched, as an array; columns of a frame are found by name."""
    if not is_frame(given):
        return given.toarray() if issparse(given) else given
    source = source_of(given)
    there = list(source.names or ())
    if all(isinstance(name, str) for name in names):
        lacking = [repr(name) for name in names if there.count(name) != 1]
        if lacking:
            raise BadAnswerError(f"its frame must have {first_of(lacking, MOST_NAMED)} once. It has {there!r}")
        source = source.select([there.index(name) for name in names])
    return source.array()


def _checked(width: int, dtype: np.dtype[Any], answers: NDArray[Any]) -> NDArray[Any]:
    """What a function has fetched, as numbers of the shape (n_rows, width)."""
    table = answers[:, None] if answers.ndim == 1 else answers
    if table.ndim != 2 or table.shape[1] != width:
        first = f". The first is a {type(answers.flat[0]).__name__}" if answers.dtype == object and answers.size else ""
        raise BadAnswerError(f"it gave rows of shape {answers.shape[1:]}, and the group has {width} columns{first}")
    try:
        return np.asarray(as_numbers(table)).astype(dtype)
    except (ValueError, TypeError) as error:
        raise BadAnswerError(f"its values must be numbers: {error}") from error
