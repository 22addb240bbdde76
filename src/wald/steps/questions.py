"""What a fitted encoder is asked: rows of values that it knows, of one that it does not know, and of missing ones."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from scipy import sparse

from .known_values import Known, unknown_value
from .probing import Kind, all_held, holds, made_table
from .written import Written, canonical, stacked

#: Largest number of values in the tables of one encoder as arrays, and in one array that it is asked for.
MOST_VALUES = 1 << 22


@dataclass(eq=False)
class Questions:
    """An encoder, alone or in a pipeline, that is asked in rows of certain kinds.

    Attributes
    ----------
    transformer : transformer
    names : list of names or None
        Those of its columns, if it was fitted on a data frame.
    weight : float or None
        Factor of what it writes.
    known : list of lists of str and arrays
        Values that it knows in each column.
    kinds : tuple of Kind
        Library and dtype of the cells of each column.
    sparse : bool
        Whether answers are sparse matrices.
    """

    transformer: Any
    names: list[Any] | None
    weight: float | None
    known: list[Known]
    kinds: tuple[Kind, ...]
    sparse: bool

    @cached_property
    def states(self) -> list[dict[int, Any]]:
        """The states that cells of each column can have, each with a value that has it."""
        return [_states(known, kind) for known, kind in zip(self.known, self.kinds, strict=True)]

    @cached_property
    def usual(self) -> list[Any]:
        """A value of each column that the encoder knows."""
        return [next(iter(each.values())) for each in self.states]

    def first(self, begins: bool) -> Written:
        """What is written for a row of usual values; the first of all answers decides whether tables are sparse."""
        written = self._written([[value] for value in self.usual])
        if begins and max(map(len, self.states)) * written.shape[1] > MOST_VALUES:
            if not sparse.issparse(written):
                raise MemoryError("no array as large")
            self.sparse = True
        return self._weighted(written)

    def answers(self, lists: list[list[Any]]) -> Written:
        """What is written for rows of these values, given by column."""
        return self._weighted(self._written(lists))

    def of_states(self, j: int) -> tuple[NDArray[np.intp], Written] | None:
        """What is written for the states of column j, beside usual values in the others; without those that raise."""
        states, n_known = self.states[j], len(self.known[j])

        def ask(which: list[int]) -> Written:
            lists = [[value] * len(which) for value in self.usual]
            lists[j] = [states[s] for s in which]
            return self.answers(lists)

        known, others = [s for s in states if s < n_known], [s for s in states if s >= n_known]
        try:
            return np.array([*known, *others], dtype=np.intp), ask([*known, *others])
        except Exception:  # one of them is refused
            pass
        which, values = list(known), []
        try:
            values += [ask(known)] if known else []
        except Exception:
            return None
        for s in others:
            try:
                values.append(ask([s]))
            except Exception:  # the encoder itself will say so
                continue
            which.append(s)
        return np.array(which, dtype=np.intp), stacked(values)

    def _written(self, lists: list[list[Any]]) -> Any:
        with warnings.catch_warnings(), sklearn.config_context(transform_output="default"):
            warnings.simplefilter("ignore")
            return self.transformer.transform(made_table(self.kinds, self.names, lists))

    def _weighted(self, written: Any) -> Written:
        table = written if self.weight is None else written * self.weight
        if self.sparse:
            return canonical(table)
        table = table.toarray() if sparse.issparse(table) else np.asarray(table)
        if table.ndim != 2 or table.dtype.kind not in "biuf":
            raise TypeError("no table of numbers")
        return table


def _states(known: Known, kind: Kind) -> dict[int, Any]:
    text = isinstance(known, list)
    values = list(known) if isinstance(known, list) else known.tolist()
    missing: list[Any] = [None, float("nan")]
    if find_spec("pandas") is not None:
        import pandas

        missing.append(pandas.NA)
    every = dict(enumerate(values))
    certain = text and (kind[1] in (np.dtype(object), "category") or "str" in str(kind[1]).lower())
    found = every if certain or all_held(kind, values) else {s: v for s, v in every.items() if holds(kind, v)}
    unknown = unknown_value(values, kind, text)
    others = enumerate([*unknown, *missing], len(values) + 1 - len(unknown))
    return found | {s: value for s, value in others if holds(kind, value)}


def own_kinds(known: Sequence[Known], named: bool) -> tuple[Kind, ...] | None:
    """Kinds in which known values certainly are what the encoder means; `named`: whether it was fitted on a frame."""
    text = np.dtype(object)
    dtypes = [text if isinstance(values, list) else values.dtype for values in known]
    if not named:
        same = dtypes[0] if len(set(dtypes)) == 1 else text
        return (("numpy", same),) * len(dtypes)
    if find_spec("pandas") is None:
        return None
    import pandas  # noqa: F401 - probing reads it from the loaded modules

    return tuple(("pandas", dtype) for dtype in dtypes)


def record_kind(known: Known, library: str) -> Kind:
    """The kind of the column that a frame gets for values of records."""
    text, booleans = isinstance(known, list), are_booleans(known)
    if library != "polars":
        return "pandas", np.dtype(object if text else bool if booleans else np.float64)
    import polars

    return "polars", polars.String if text else polars.Boolean if booleans else polars.Float64


def are_booleans(known: Known) -> bool:
    """Whether known values are True and False."""
    return not isinstance(known, list) and known.dtype == bool
