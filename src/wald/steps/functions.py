"""What a step writes as functions of single raw columns, so that a linear model can be summed over raw columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .affine import DERIVED


@dataclass(frozen=True, eq=False)
class ByState:
    """Columns that a step writes from a raw column of few states, such as categories.

    Parameters
    ----------
    column : int
        Number of the raw column, whose cells are states, 0 to ``n_states - 1``.
    values : float64 ndarray or CSR matrix of shape (n_states, n_written)
        What the step writes for each state. NaN stands for states that the wrapped model refuses.
    written : int64 ndarray of shape (n_written,)
        Numbers of the columns that it writes.

    Examples
    --------
    One-hot columns 3 and 4 for two categories, and zeros for a third state, an unknown category:

    >>> import numpy as np
    >>> from wald.steps import ByState
    >>> function = ByState(0, np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]), np.array([3, 4]))
    >>> function.values[2].tolist()
    [0.0, 0.0]
    """

    column: int
    values: Any
    written: NDArray[np.int64]

    @property
    def n_states(self) -> int:
        """Number of states."""
        return int(self.values.shape[0])


@dataclass(frozen=True, eq=False)
class Numeric:
    """Columns that a step writes as affine functions of a raw column of numbers.

    Parameters
    ----------
    column : int
        Number of the raw column.
    scale, shift : float64 ndarray of shape (n_written,)
        A raw value x becomes ``x * scale + shift``.
    fill : float64 ndarray of shape (n_written,) or None
        What the step writes for NaN. None: the wrapped model refuses a NaN.
    written : int64 ndarray of shape (n_written,)
        Numbers of the columns that it writes.
    magnitude : float64 ndarray of shape (n_written,), optional
        ``|x * scale| + magnitude`` bounds every intermediate value of the step, in units of what it writes, as in
        `ColumnMap`. ``|shift|`` by default.

    Examples
    --------
    A standardized column with the mean in place of NaN, and an indicator of NaN:

    >>> import numpy as np
    >>> from wald.steps import Numeric
    >>> function = Numeric(0, np.array([0.5, 0.0]), np.array([-1.0, 0.0]), np.array([0.0, 1.0]), np.array([0, 1]))
    >>> function.magnitude.tolist()
    [1.0, 0.0]
    """

    column: int
    scale: NDArray[np.float64]
    shift: NDArray[np.float64]
    fill: NDArray[np.float64] | None
    written: NDArray[np.int64]
    magnitude: NDArray[np.float64] = DERIVED

    def __post_init__(self) -> None:
        if self.magnitude is None:
            object.__setattr__(self, "magnitude", np.abs(self.shift))


@dataclass(frozen=True, eq=False)
class OfScore:
    """What a raw column adds to a score of a linear model, once the weights of all columns that it determines are in.

    Attributes
    ----------
    column : int
        Number of the column that holds this, among the columns of the sum.
    output : int or None
        The score. None: the column bounds the errors of what is added to each of the scores.
    written : int64 ndarray of shape (n_written,)
        Numbers of the columns of the model that it stands for.
    """

    column: int
    output: int | None
    written: NDArray[np.int64]


#: One function of a raw column. Each raw column has one, which may write many columns; texts have one for each score.
ColumnFunction = ByState | Numeric | OfScore


class PartOfSum:
    """A fitted transformer, of whose columns a sum is taken.

    Attributes
    ----------
    columns : list of int
        Numbers of the raw columns that it reads.
    together : bool
        Whether a sum gets all of its columns at the price of one.
    """

    columns: list[int]
    together: ClassVar[bool] = False

    @property
    def sources(self) -> list[int]:
        """The raw column of each column that a sum reads; -1 if it is made of several."""
        return self.columns
