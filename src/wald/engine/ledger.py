"""How rows were answered: at which stage, for what, and by whom. Engines write it; nothing is computed from it anew."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _core

Codes = NDArray[np.int32]
Statuses = NDArray[np.uint8]


class Status(IntEnum):
    """How a row was answered.

    Attributes
    ----------
    EARLY
        By an early stage, beyond its thresholds.
    FULL
        By the full model.
    OUT_OF_BUDGET
        By the last stage within the budget, or that the row reached before the deadline, between its thresholds.
    HANDED_OVER
        By the wrapped object, because the engine left the row to it: the plan says so, or the row lies within rounding
        of a tie. In the engine's own ledger such a row has no label yet.
    PENDING
        Not yet: no stage of the call has decided the row.
    NOT_FINITE
        Not yet: the row, or its estimate, is not finite.
    """

    EARLY = _core.EARLY
    FULL = _core.FULL
    OUT_OF_BUDGET = _core.OUT_OF_BUDGET
    HANDED_OVER = _core.HANDED_OVER
    PENDING = _core.PENDING
    NOT_FINITE = _core.NOT_FINITE


#: Comparisons of arrays with members of an enumeration are slow.
HANDED_OVER = int(Status.HANDED_OVER)


class Ledger(NamedTuple):
    """How rows were answered.

    Attributes
    ----------
    stages : int32 ndarray of shape (n_rows,)
        Where each row left; the number of early stages stands for the full model.
    paid : float64 ndarray of shape (n_rows,)
        What it cost, in the unit of the plan.
    status : uint8 ndarray of shape (n_rows,)
        Numbers of `Status`.
    """

    stages: Codes
    paid: NDArray[np.float64]
    status: Statuses

    @property
    def settled(self) -> NDArray[np.bool_]:
        """Whether the engine has given each row a label."""
        return self.status < HANDED_OVER

    @property
    def complete(self) -> bool:
        """Whether every row has one; `settled` with `all` takes a microsecond more."""
        return bool(np.count_nonzero(self.settled) == len(self.status))


class Decisions(NamedTuple):
    """Labels of rows, with the ledger.

    Attributes
    ----------
    codes : int32 ndarray of shape (n_rows,)
        Indices of labels; 0 for rows that have none. For outputs of values, the values
        themselves, of shape (n_rows,) or (n_rows, n_values); from an engine, their float64 scores.
    ledger : Ledger
    """

    codes: NDArray[Any]
    ledger: Ledger

    @classmethod
    def of(cls, codes: NDArray[Any], stages: Codes, paid: NDArray[np.float64], status: Statuses) -> Decisions:
        """Put the arrays of an engine together."""
        return cls(codes, Ledger(stages, paid, status))

    @classmethod
    def of_one(cls, code: Any, stage: int, paid: float, status: int) -> Decisions:
        """The decision about one row; `code` may be a value."""
        codes = np.array([code], np.int32 if isinstance(code, int) else None)
        return cls.of(codes, np.array([stage], np.int32), np.array([paid]), np.array([status], np.uint8))

    def taken(self, rows: NDArray[np.bool_]) -> Decisions:
        """The decisions about some rows."""
        stages, paid, status = self.ledger
        return Decisions.of(self.codes[rows], stages[rows], paid[rows], status[rows])

    def put(self, rows: NDArray[np.intp] | slice, found: Decisions) -> None:
        """Write the decisions about some rows in place of what is there."""
        (stages, paid, status), new = self.ledger, found.ledger
        self.codes[rows], stages[rows], paid[rows], status[rows] = found.codes, new.stages, new.paid, new.status

    @property
    def first(self) -> tuple[Any, int, float, int]:
        """Code (or value), stage, cost and status of the first row."""
        stages, paid, status = self.ledger
        code = self.codes[0]
        return code if self.codes.dtype.kind == "f" else int(code), int(stages[0]), float(paid[0]), int(status[0])

    @classmethod
    def concatenated(cls, parts: Sequence[Decisions]) -> Decisions:
        """The decisions of all rows, one part after the other."""
        if len(parts) == 1:
            return parts[0]
        return cls.of(*(np.concatenate(arrays) for arrays in zip(*((p.codes, *p.ledger) for p in parts), strict=True)))

    @classmethod
    def gathered(cls, n_rows: int, parts: Iterable[Decisions]) -> Decisions:
        """The same for parts that are made one by one, none of which is kept."""
        found, start = NOTHING, 0
        for part in parts:
            n = len(part.codes)
            if start == 0:
                if n == n_rows:
                    return part
                shaped = (np.empty((n_rows, *a.shape[1:]), dtype=a.dtype) for a in (part.codes, *part.ledger))
                found = cls.of(*shaped)
            found.put(slice(start, start + n), part)
            start += n
        return found


#: Decisions about no rows.
NOTHING = Decisions.of(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0), np.empty(0, np.uint8))
