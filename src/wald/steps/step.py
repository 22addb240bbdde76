"""`Step`: one function from rows as they come to columns of the terms."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from ..sources import Source

#: Number of rows that a step transforms at a time.
ROWS_AT_ONCE = 16384


class Step(ABC):
    """A function from rows as they come to columns of the terms.

    A row's columns depend on that row alone. An implementation has `transform`, and the two properties where it knows
    them; `check_step` says whether it keeps what it promises.

    Examples
    --------
    >>> import numpy as np
    >>> from wald.sources import source_of
    >>> from wald.steps import Step, check_step
    >>> class Squares(Step):
    ...     reads, width = (0, 2), 2
    ...
    ...     def transform(self, source):
    ...         return source.array()[:, [0, 2]] ** 2
    >>> rows = source_of(np.arange(12.0).reshape(4, 3))
    >>> check_step(Squares(), rows)
    >>> Squares().transform(rows.take(slice(1)))
    array([[0., 4.]])
    """

    @property
    def reads(self) -> Sequence[int] | None:
        """Numbers of the columns that it reads, ascending; None if it reads all, or if rows are no tables."""
        return None

    @property
    def width(self) -> int | None:
        """Number of columns that it writes; None if only `transform` can tell."""
        return None

    @abstractmethod
    def transform(self, source: Source) -> Any:
        """Columns of these rows: an array, a CSR matrix or a data frame."""

    @property
    def branches(self) -> tuple[Step, ...]:
        """Steps that each write some of the columns and can run apart; empty if it runs as a whole."""
        return ()

    @property
    def identity(self) -> Any:
        """What decides all that it writes, for fingerprints."""
        return self

    @property
    def rows_at_once(self) -> int:
        """Number of rows that it should get at a time."""
        return ROWS_AT_ONCE

    def given(self, source: Source) -> Any:
        """Rows in the form that the transformers in the step take."""
        return source.rows
