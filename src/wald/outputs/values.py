"""Values: the scores of a regressor or ranker are answers themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .output import Answers, Floats, Output

__all__ = ["Values"]


@dataclass(frozen=True, eq=False)
class Values(Output):
    """The values of a regressor or ranker.

    Every row is evaluated in full: it has no other answers, and so no margin. `answers` gives the code 0 to each row,
    and the model's links turn scores into values.

    Parameters
    ----------
    n_values : int
        Number of values of a row.

    Raises
    ------
    ValueError
        If it is not positive.

    Examples
    --------
    >>> from wald.outputs import Values
    >>> Values(2).n_outputs, Values(2).answers([[0.5, 1.0]])
    (2, array([0], dtype=int32))
    """

    compiled: ClassVar[bool] = True
    valued: ClassVar[bool] = True
    kind: ClassVar[Literal["values"]] = "values"

    n_values: int

    def __post_init__(self) -> None:
        if self.n_values < 1:
            raise ValueError(f"n_values must be positive. Got {self.n_values} instead.")

    @property
    def n_outputs(self) -> int:
        """Number of values of a row."""
        return self.n_values

    @property
    def n_answers(self) -> int:
        """One code, which says nothing."""
        return 1

    def answers(self, scores: ArrayLike) -> Answers:
        """The code 0 for each row; see `Output.answers`."""
        return np.zeros(len(self.table(scores)), dtype=np.int32)

    def judged(self, estimates: ArrayLike) -> tuple[Answers, NDArray[np.floating]]:
        """The code 0, and the margin 0: no estimate is clear; see `Output.judged`."""
        z = self.table(estimates)
        return self.answers(z), np.where(np.isnan(z).any(axis=1), z.dtype.type(np.nan), z.dtype.type(0))

    def settled(self, scores: Floats, errors: Floats) -> tuple[Answers, NDArray[np.bool_]]:
        """The code 0; every value without NaN is settled where its error is known; see `Output.settled`."""
        return self.answers(scores), (errors < np.inf) & ~np.isnan(scores).any(axis=1)
