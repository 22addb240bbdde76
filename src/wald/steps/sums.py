"""Numbers that are added to one score of a sum as they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


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
