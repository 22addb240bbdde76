"""`LazyRows`: rows whose columns are fetched in groups, for the rows that need them, and paid for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..calls import Asked, Counts, ask_together
from .arrays import ArraySource
from .building import library_at_hand
from .cells import Cells
from .cells_of import cells_of_array
from .given import source_of
from .lazy_groups import Column, Groups
from .some_columns import SomeColumns
from .source import PLAIN, Block, Conversion, Source


class LazyRows(Source):
    """Rows whose columns are fetched in groups, each for the rows that need it.

    Early exit fetches a group for the rows that no stage before it has decided; groups of one stage at the same time,
    where their functions allow it. Where a classifier mixes groups in most of its terms, as trees do, `fit` learns
    surrogates that know some of them. Nothing is fetched twice: what was fetched stays here, also when a call fails, so
    that the same object can be given again.

    Parameters
    ----------
    n_rows : int
    groups : dict from name to array, frame or callable
        What is at hand, and what is fetched: a function gets numbers of rows, an int64 array, and returns an array, a
        list or a frame with a row for each. It may be ``async def``. A `wald.calls.Calls` says besides how large
        batches are, how many may run at once, with which timeout, and how often a call is tried again.
    columns : dict from name to list of str, or of int, default=None
        The columns of each group: names, which a model finds in any order, or numbers of the model's columns. A frame
        has names; a group of one column that is not listed here is called as the group.
    costs : dict from name to float, default=None
        Cost of a group for one row, in any unit. None, or a group that is left out: 1 if it is fetched; if it is at
        hand, a thousandth of the cheapest that is fetched. Where ``feature_costs`` and ``feature_groups`` are not
        given, `fit` plans with these groups and costs.
    dtype : {float64, float32}, default=float64
        What columns are converted to; a model receives them so.

    Attributes
    ----------
    costs : dict from name to float
        Of each group of which a column is read.
    counts : dict from name to Counts
        What each group that is fetched has taken so far.

    Raises
    ------
    ValueError, TypeError
        If a group has no columns or no provider, or a column has none or two; for another number of rows; for costs
        that are not positive. The message names group and column.

    Notes
    -----
    While rows are fetched, `wald.calls.CallError` is raised if a call fails for good; its ``partial`` has the answers
    of the rows that are decided.

    Examples
    --------
    >>> import numpy as np
    >>> from wald import LazyRows
    >>> laboratory = np.array([[4.1], [5.2], [3.9]])
    >>> rows = LazyRows(3, {"age": np.array([40, 50, 60]), "sugar": lambda numbers: laboratory[numbers]})
    >>> rows.names, rows.cost_to_fetch()
    (['age', 'sugar'], 3.0)
    >>> rows.take(np.array([2])).array()
    array([[60. ,  3.9]])
    >>> rows.counts["sugar"].rows, rows.cost_to_fetch()
    (1, 2.0)
    """

    is_columnar = True
    is_lazy = True
    n_columns: int

    def __init__(
        self,
        n_rows: int,
        groups: Mapping[str, Any],
        *,
        columns: Mapping[str, Sequence[str] | Sequence[int]] | None = None,
        costs: Mapping[str, float] | None = None,
        dtype: Any = np.float64,
    ) -> None:
        self._table = Groups(n_rows, groups, columns or {}, costs or {}, np.dtype(dtype))
        self._places: NDArray[np.intp] | None = None
        self._shown = self._table.order
        self.n_rows, self.n_columns = self._table.n_rows, len(self._shown)

    def _view(self, places: NDArray[np.intp] | None, shown: list[Column]) -> LazyRows:
        """Other rows, or columns, of the same groups."""
        other = object.__new__(type(self))
        other._table, other._places, other._shown = self._table, places, shown
        other.n_rows, other.n_columns = (self._table.n_rows if places is None else len(places)), len(shown)
        return other

    # ---- what is there ---------------------------------------------------------------------------------------------

    @property
    def names(self) -> list[str] | None:  # type: ignore[override]  # only read
        """Names of the columns; None if they have numbers."""
        return [str(column.name) for column in self._shown] if self._table.named else None

    @property
    def dtype(self) -> np.dtype[Any]:
        """What columns are converted to."""
        return self._table.dtype

    @property
    def groups(self) -> dict[str, list[int]]:
        """The columns of each group, by their places here."""
        found: dict[str, list[int]] = {}
        for place, column in enumerate(self._shown):
            found.setdefault(column.group, []).append(place)
        return found

    @property
    def costs(self) -> dict[str, float]:
        """Cost of each group for one row."""
        return {group: self._table.costs[group] for group in self.groups}

    @property
    def counts(self) -> dict[str, Counts]:
        """What each group that is fetched has taken so far, for all rows of these groups."""
        return {group: asked.counts for group, asked in self._asked()}

    def missing(self, rows: ArrayLike | None = None) -> dict[str, int]:
        """Number of rows for which each group is still to be fetched.

        Parameters
        ----------
        rows : array-like of int or of bool, default=None
            Numbers of the rows that are asked about, or a mask of all rows; None: all.
        """
        return {group: len(asked.missing(self._numbers(rows))) for group, asked in self._asked()}

    def n_calls(self, rows: ArrayLike | None = None) -> dict[str, int]:
        """Number of calls that fetch each group for rows that lack it, if they are fetched together.

        Parameters
        ----------
        rows : array-like of int or of bool, default=None
            Numbers of the rows that are asked about, or a mask of all rows; None: all, which is what `fit` fetches.
        """
        numbers = self._numbers(rows)
        return {group: len(asked.calls.batches(asked.missing(numbers))) for group, asked in self._asked()}

    def cost_to_fetch(self, rows: ArrayLike | None = None) -> float:
        """Cost of all that is still to be fetched.

        Parameters
        ----------
        rows : array-like of int or of bool, default=None
            Numbers of the rows that are asked about, or a mask of all rows; None: all, which is what `fit` fetches.
        """
        return sum(n * self._table.costs[group] for group, n in self.missing(rows).items())

    @property
    def numbers(self) -> NDArray[np.intp]:
        """Numbers of the rows here among all rows of these groups, as errors about calls name them."""
        return self._numbers()

    def _asked(self) -> Iterator[tuple[str, Asked]]:
        """Groups that are fetched, of which a column is shown."""
        for group in self.groups:
            provider = self._table.providers[group]
            if isinstance(provider, Asked):
                yield group, provider

    def _numbers(self, rows: ArrayLike | None = None) -> NDArray[np.intp]:
        """Numbers of rows in the table; of all, of those with some numbers, or of those of a mask."""
        every: NDArray[np.intp] = np.arange(self._table.n_rows) if self._places is None else self._places
        if rows is None:
            return every
        wanted = np.asarray(rows)
        if wanted.dtype == bool:
            if wanted.shape != every.shape:
                raise ValueError(f"A mask must have the shape {every.shape}, one entry a row. Got {wanted.shape}.")
            wanted = np.flatnonzero(wanted)
        return every[wanted.astype(np.intp)]

    # ---- fetching --------------------------------------------------------------------------------------------------

    def fetch(self, columns: Iterable[int] | None = None, deadline: float | None = None) -> NDArray[np.bool_]:
        """Fetch the groups of some columns, or of all, for the rows that lack them: those that can be at the same time.

        Parameters
        ----------
        columns : iterable of int, default=None
        deadline : float, default=None
            Seconds after which no call begins; see `wald.calls.Asked.ask`.

        Returns
        -------
        bool ndarray of shape (n_rows,)
            Whether a row has all of these groups; all have, unless the deadline has passed.

        Raises
        ------
        CallError
            If a call fails for good; what was fetched before stays here.
        """
        needed = range(self.n_columns) if columns is None else columns
        providers = [self._table.providers[g] for g in dict.fromkeys(self._shown[c].group for c in needed)]
        asked = [provider for provider in providers if isinstance(provider, Asked)]
        return ask_together(asked, self._numbers(), _same, deadline)

    def some(self, columns: Sequence[int]) -> SomeColumns:
        """Some columns, of which the groups are fetched for all rows here; the others are not held.

        Parameters
        ----------
        columns : sequence of int
        """
        self.fetch(columns)
        held: list[NDArray[Any] | None] = [None] * self.n_columns
        for c in columns:
            column = self._shown[c]
            values = self._table.values(column.group)[:, column.place]
            held[c] = values if self._places is None else values[self._places]
        return SomeColumns(self.n_rows, held, self._table.dtype, self.names)

    def whole(self, columns: Sequence[int] | None = None) -> Source:
        """Rows that are fetched, as an array or, where columns have names, as a data frame, for transformers.

        Parameters
        ----------
        columns : sequence of int, default=None
            Columns of which the groups are fetched; the others are 0. None: all.
        """
        return source_of(self.some(range(self.n_columns) if columns is None else columns).rows)

    # ---- what every source does ------------------------------------------------------------------------------------

    def take(self, rows: NDArray[np.intp] | slice) -> LazyRows:
        """Rows at the given places, whose groups are fetched together with those of all others."""
        return self._view(self._numbers()[rows], self._shown)

    def select(self, columns: Sequence[int]) -> LazyRows:
        """The columns with these numbers, in this order; a group without any is not fetched."""
        return self._view(self._places, [self._shown[c] for c in columns])

    def array(self, conversion: Conversion = PLAIN) -> NDArray[Any]:
        """All columns of the rows here, which are fetched."""
        return self.some(range(self.n_columns)).array()

    @property
    def rows(self) -> Any:
        """All columns as a data frame, or as an array if they have numbers."""
        return ArraySource(self.array(), self.names, library_at_hand()).rows

    @property
    def header(self) -> Any:
        """The columns without any row."""
        return self.take(slice(0, 0)).rows

    def blocks(self, conversion: Conversion = PLAIN, needed: Sequence[int] | None = None) -> Iterator[Block]:
        """The columns that are needed, of which the groups are fetched; others for the rows that are left."""
        there = [c for c in (range(self.n_columns) if needed is None else needed) if c < self.n_columns]
        return iter([_block(self, there)])  # the engine refuses too few columns

    def cells(self, column: int) -> Cells:
        """A column, whose group is fetched."""
        values = self.some([column]).columns[column]
        assert values is not None
        return cells_of_array(values)

    def first_held(self, wrong: Callable[[NDArray[Any]], NDArray[np.bool_]]) -> tuple[int, int] | None:
        """Row and column of the first value that is there and wrong; None if there is none."""
        numbers = self._numbers()
        found = []
        for c, column in enumerate(self._shown):
            provider = self._table.providers[column.group]
            there = provider.answered[numbers] if isinstance(provider, Asked) else np.ones(self.n_rows, dtype=bool)
            at = np.flatnonzero(there & wrong(self._table.values(column.group)[numbers, column.place]))
            found += [(int(at[0]), c)] if len(at) else []
        return min(found, default=None)


class _Fetched(Block):
    """Rows with the columns that were needed so far."""

    __slots__ = ("_columns", "_source")
    whole = False

    def __init__(self, source: LazyRows, columns: Sequence[NDArray[Any] | None], dtype: np.dtype[Any]) -> None:
        super().__init__(_core.Rows.columns(source.n_rows, columns), 0, dtype)
        self._source, self._columns = source, columns

    def rest(self, rows: NDArray[np.intp], columns: Sequence[int]) -> Block:
        """Fetch further columns of some of the rows."""
        return _block(self._source.take(rows), columns)

    def filled(self) -> Block:
        """The block with zeros in the columns that nobody needed."""
        lacking = [c for c, values in enumerate(self._columns) if values is None]
        self.rows.add(lacking, [np.zeros(len(self), dtype=self.dtype)] * len(lacking))
        return self


def _block(source: LazyRows, columns: Sequence[int]) -> Block:
    """All rows of a source with some columns, whose groups are fetched."""
    some = source.some(columns)
    if any(values is None for values in some.columns):
        return _Fetched(source, some.columns, some.dtype)
    return Block(_core.Rows.columns(some.n_rows, some.columns), 0, some.dtype)


def _same(rows: NDArray[np.intp]) -> NDArray[np.intp]:
    return rows
