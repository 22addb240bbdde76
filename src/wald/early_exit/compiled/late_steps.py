"""Branches of a pipeline that run late: for the rows that are undecided when a stage first reads one of their columns.

Branches write the columns that stages read. The branches for the first stages run for all rows. Further branches run
only for the rows that these stages leave undecided. As in jobs that read columns late, these rows begin again at the
first stage, with more columns and up to a later stage. That changes no answer, because the estimate of a stage does not
depend on how often a row has begun.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import sklearn
from numpy.typing import NDArray

from ...engine import AtEnd, Cascade, Decisions, Status
from ...models import AdditiveModel
from ...sources import Conversion, SomeColumns, Source
from ...sources.source import model_dtype
from ...steps import Branch, Chain

#: Comparisons of arrays with members of an enumeration are slow.
PENDING = int(Status.PENDING)
#: Columns count as equal if they differ by at most this part of their largest value.
ALIKE = 1e-5
SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)


def columns_by_stage(cascade: Cascade, n_stages: int, n_features: int) -> list[NDArray[np.intp]] | None:
    """Columns of the terms that the first 1, 2, ... stages read, and last those in full; None if these are all."""
    found = [cascade.columns_read(t) for t in range(1, n_stages + 1)]
    if any(columns is None for columns in found):
        return None
    in_full = cascade.columns_read(None)
    found.append(range(n_features) if in_full is None else in_full)
    return [np.unique(np.array(columns, dtype=np.intp)) for columns in found]


class Reading(Protocol):
    """What runs before a round."""

    @property
    def reads(self) -> Sequence[int]:
        """Numbers of the raw columns that it reads."""


@dataclass(frozen=True, eq=False)
class Look:
    """One round of prediction for the rows that are still undecided.

    Attributes
    ----------
    depth : int
        Number of stages that the rows take.
    new : Branch or None
        The branches that must run before it and that no earlier round has run, as one; None if there are none.
    """

    depth: int
    new: Reading | None


class LateSteps:
    """Answers rows by a cascade whose columns a chain with branches writes.

    Parameters
    ----------
    chain : Chain
    cascade : Cascade
    looks : list of Look
        One for each stage after which further branches run, and one for the last stage.
    rest : Branch or None
        The branches that full evaluation needs besides, as one.
    conversion : Conversion
        How the terms convert rows.
    """

    #: Fewer rows are transformed as a whole.
    least_rows = 0

    def __init__(
        self, chain: Chain, cascade: Cascade, looks: list[Look], rest: Reading | None, conversion: Conversion
    ) -> None:
        self._chain, self._cascade = chain, cascade
        self._looks, self._rest = looks, rest
        self._width = sum(branch.width for branch in chain.branches)
        self._by_column = len(chain.steps) > 1
        self._integers = conversion.integers == DOUBLE

    @classmethod
    def of(
        cls, model: AdditiveModel, cascade: Cascade, by_stage: Sequence[NDArray[np.intp]] | None
    ) -> LateSteps | None:
        """Find which branches of a model run before which stage; None if all rows need all branches."""
        chain = model.preprocessing
        if by_stage is None or len(by_stage) < 2 or not isinstance(chain, Chain) or not chain.branches:
            return None
        owner = np.repeat(np.arange(len(chain.branches)), [branch.width for branch in chain.branches])
        needed = [set(owner[columns].tolist()) for columns in by_stage[:-1]]
        depths = [t for t, (now, later) in enumerate(pairwise(needed), 1) if now != later] + [len(needed)]
        looks, run = [], set[int]()
        for depth in depths:
            looks.append(Look(depth, _joined(chain, needed[depth - 1] - run)))
            run |= needed[depth - 1]
        # full evaluation runs all branches, also one that no term reads: it can change the table's dtype, or raise
        rest = _joined(chain, set(range(len(chain.branches))) - run)
        late = len(looks) > 1 or rest is not None
        return cls(chain, cascade, looks, rest, model.terms.accepts.conversion) if late else None

    def columns_by_stage(self) -> list[NDArray[np.intp]]:
        """Raw columns that the first 1, 2, ... stages need, and last those of all branches."""
        found: list[NDArray[np.intp]] = []
        read: set[int] = set()
        for look in self._looks:
            read |= set() if look.new is None else set(look.new.reads)
            found += [np.array(sorted(read), dtype=np.intp)] * (look.depth - len(found))
        read |= set() if self._rest is None else set(self._rest.reads)
        return [*found, np.array(sorted(read), dtype=np.intp)]

    def require_rows_alone(self, source: Source, together: NDArray[np.floating[Any]]) -> None:
        """Raise ValueError if a branch gives rows other columns, by more than rounding, when it gets half of them.

        `together` are the columns that the whole chain gives for all of these rows.
        """
        half = source.take(slice(0, source.n_rows // 2))
        for branch in self._chain.branches if half.n_rows else ():
            known = together[: half.n_rows, branch.columns]
            largest = np.abs(known).max(axis=0, initial=0.0, where=np.isfinite(known))
            scale = np.where(largest > 0, largest, 1.0)
            alone = np.asarray(branch.transform(half), dtype=np.float64)
            if not np.allclose(alone / scale, known / scale, rtol=0.0, atol=ALIKE, equal_nan=True):
                names = ", ".join(repr(name) for name, _, _ in branch.parts)
                raise ValueError(
                    f"The transformer {names} gives a row other values when it gets fewer rows. wald runs it for the "
                    "rows that need it, and a row's answer must not depend on the others. Let it learn in fit "
                    "what it needs of other rows."
                )

    def predict(
        self,
        source: Source,
        n_stages: int,
        at_end: AtEnd,
        n_threads: int,
        whole: Callable[[Source], Decisions],
    ) -> Decisions:
        """Decide raw rows by the first stages; `whole` decides those for which branches cannot run apart."""
        if sklearn.get_config()["transform_output"] != "default" or source.n_rows < self.least_rows:
            return whole(source)
        rows, left, decided = self._nothing(source.n_rows), None, None
        for look, ends in self._reached(n_stages, at_end):
            further = rows if look.new is None else self._beside(rows, look.new, source, left, n_threads)
            if further is None:
                found, ends = whole(source if left is None else source.take(left)), True
            else:
                rows = further
                found = self._cascade.predict(rows, look.depth, at_end if ends else "pending", n_threads)
            if decided is None or left is None:
                decided = found
            else:
                decided.put(left, found)
            still = np.flatnonzero(found.ledger.status == PENDING)
            if ends or len(still) == 0:
                break
            if len(still) < rows.n_rows:
                left, rows = still if left is None else left[still], rows.take(still)
        assert decided is not None
        return decided

    def _nothing(self, n_rows: int) -> SomeColumns:
        """Rows without any column."""
        return SomeColumns(n_rows, [None] * self._width, np.dtype(np.uint8))

    def _reached(self, n_stages: int, at_end: AtEnd) -> Iterator[tuple[Look, bool]]:
        """The rounds of a call that takes at most `n_stages` stages, and whether each is the last."""
        looks = [look for look in self._looks if look.depth < n_stages]
        looks.append(Look(n_stages, self._looks[len(looks)].new))
        if at_end == "full" and self._rest is not None:
            looks.append(Look(n_stages, self._rest))
        return ((look, i == len(looks)) for i, look in enumerate(looks, 1))

    def _beside(
        self, rows: SomeColumns, branch: Any, source: Source, left: NDArray[np.intp] | None, n_threads: int
    ) -> SomeColumns | None:
        """Add the columns of a branch to those so far; None if the whole table may have other numbers, or none.

        `left`: numbers of the rows in the source; None: they are all of its rows. `n_threads` is for columns of texts,
        which no branch has.
        """
        source = source if left is None else source.take(left)
        begun = branch.begun(source)
        if type(begun) is not np.ndarray or begun.shape != (source.n_rows, branch.width):
            return None
        first = all(values is None for values in rows.columns)
        if begun.dtype.kind not in "biuf" or begun.dtype.itemsize > 8 or (first and not self._settles(begun.dtype)):
            return None
        if self._by_column:  # what comes after the ColumnTransformer computes in the dtype of the table
            begun = branch.finished(begun.astype(DOUBLE))
        dtype = begun.dtype if first else np.result_type(begun.dtype, rows.dtype)
        held = SINGLE if dtype == SINGLE else DOUBLE
        columns = [None if values is None else values.astype(held, copy=False) for values in rows.columns]
        for c, values in zip(branch.columns.tolist(), begun.T.astype(held, order="C"), strict=True):
            columns[c] = values
        return SomeColumns(source.n_rows, columns, model_dtype(dtype), rows.names)

    def _settles(self, dtype: np.dtype[np.generic]) -> bool:
        """Whether the first columns keep their values in a table with columns of any other dtype."""
        if self._by_column:
            return np.result_type(dtype, SINGLE) == DOUBLE
        return dtype in (SINGLE, DOUBLE) or (dtype.kind in "biu" and self._integers)


def _joined(chain: Chain, numbers: set[int]) -> Branch | None:
    """Some branches of a chain as one."""
    if not numbers:
        return None
    first, *others = (chain.branches[i] for i in sorted(numbers))
    return first.joined(others, chain) if others else first
