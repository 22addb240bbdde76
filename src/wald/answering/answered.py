"""What `answer` gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..utils.figures import percent, thousands


@dataclass(frozen=True, eq=False)
class WholeAnswer:
    """The answers to all rows of a data set.

    Attributes
    ----------
    labels : ndarray of shape (n_rows,)
    asked : bool ndarray of shape (n_rows,)
        Whether a row has the model's own answer.
    n_calls : int
        Number of rows about which the model was asked, each of them once; without those whose answers were given.
    risk, confidence : float
        With this confidence over the draws of rows, at most this share of the data set differs from the model.
    suspects : int ndarray
        Rows that were asked, of which surrogates were sure and the model said otherwise; the surest first.
    surrogates : tuple of str
        What answered the other rows.
    """

    labels: NDArray[Any]
    asked: NDArray[np.bool_]
    n_calls: int
    risk: float
    confidence: float
    suspects: NDArray[np.intp]
    surrogates: tuple[str, ...]

    @property
    def answers(self) -> dict[int, Any]:
        """The model's own answers, by row: for ``fit`` of an `EarlyExitClassifier`, or another `answer`."""
        rows = np.flatnonzero(self.asked)
        return dict(zip(rows.tolist(), self.labels[rows].tolist(), strict=True))

    def __str__(self) -> str:
        n = len(self.labels)
        if self.asked.all():
            return f"all {thousands(n)} rows are answered by the model itself"
        return (
            f"of these {thousands(n)} rows at most {percent(self.risk)} differ from the model's answers, with "
            f"{percent(self.confidence)} confidence; it was asked about {thousands(self.n_calls)} "
            f"({percent(self.n_calls / n)})"
        )
