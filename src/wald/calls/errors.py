"""Calls that failed, and what was answered before they did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..utils.figures import first_of

#: Most rows that a message names.
MOST_NAMED = 5


@dataclass(frozen=True, eq=False, repr=False)
class PartialAnswer:
    """What was answered before a call failed.

    Parameters
    ----------
    labels : ndarray of shape (n_rows, ...)
        Answers of the rows; any value where ``decided`` is False.
    decided : bool ndarray of shape (n_rows,)
        Whether a row has its answer.
    costs : float64 ndarray of shape (n_rows,)
        What was paid for each row that is decided; 0 for the others.
    state : object, default=None
        What the object that raised needs to go on, such as answers that were paid for and have decided nothing yet.
    """

    labels: NDArray[Any]
    decided: NDArray[np.bool_]
    costs: NDArray[np.float64]
    state: Any = None

    def __str__(self) -> str:
        return f"{np.count_nonzero(self.decided)} of {len(self.decided)} rows are decided"

    def __repr__(self) -> str:
        return f"<PartialAnswer: {self}>"


class CallError(RuntimeError):
    """A call of a costly function failed, for good: it raised, took too long, or answered what cannot be used.

    The cause (``__cause__``) is what the function raised.

    Parameters
    ----------
    message : str
    unit : str, default=""
        Which function it was.
    rows : sequence of int, default=()
        Numbers of the rows of the call.
    partial : PartialAnswer or None, default=None

    Attributes
    ----------
    unit : str
    rows : int64 ndarray
    attempts : int
        How often the call was tried.
    partial : PartialAnswer or None
        What was answered before. Who asks for a part of its work puts its own answers in place of those of the part.
    """

    def __init__(
        self,
        message: str,
        unit: str = "",
        rows: Sequence[int] | NDArray[np.intp] = (),
        partial: PartialAnswer | None = None,
    ) -> None:
        super().__init__(message)
        self.unit, self.rows, self.partial = unit, np.asarray(rows, dtype=np.int64), partial
        self.attempts = 1

    def renumber(self, numbers: NDArray[np.intp]) -> None:
        """Name rows as the caller knows them, who has asked for rows with these numbers."""
        if len(self.rows) and self.rows.max() < len(numbers):
            before, self.rows = named(self.rows), np.asarray(numbers, dtype=np.int64)[self.rows]
            self.args = (str(self.args[0]).replace(f"for {before}", f"for {named(self.rows)}", 1),)

    def __str__(self) -> str:
        return super().__str__() if self.partial is None else f"{super().__str__()} {self.partial}, in .partial."


class TooLateError(CallError):
    """A function has not answered all rows before the moment that `ending` has set; nothing else has failed."""


class BadAnswerError(ValueError):
    """What a function answered cannot be used.

    Parameters
    ----------
    message : str
    places : sequence of int, default=()
        Positions in the batch of the rows whose answers are wrong; empty if it is the whole.
    """

    def __init__(self, message: str, places: Sequence[int] | NDArray[np.intp] = ()) -> None:
        super().__init__(message)
        self.places = [int(place) for place in places]


def named(rows: NDArray[np.intp]) -> str:
    """The first of some rows, as messages name them."""
    return f"row {first_of([str(row) for row in rows.tolist()], MOST_NAMED)}"
