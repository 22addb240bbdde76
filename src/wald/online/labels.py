"""What a binary problem makes of rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Labels(NamedTuple):
    """Whether rows are positive, what they and the two classes weigh, and which of them are settled.

    A settled row called for no update when it was last read. Passes note it where there is an array to note it in, and
    may skip the rows that are.
    """

    positive: NDArray[np.uint8]
    sample_weight: NDArray[np.float64] | None
    class_weight: tuple[float, float]
    settled: NDArray[np.uint8] | None = None
    skips_settled: bool = False

    def of(self, ids: NDArray[np.intp] | slice) -> Labels:
        """Those of some rows."""
        weight = None if self.sample_weight is None else self.sample_weight[ids]
        settled = None if self.settled is None else self.settled[ids]
        return self._replace(positive=self.positive[ids], sample_weight=weight, settled=settled)

    @property
    def given(self) -> tuple[NDArray[np.uint8], NDArray[np.float64] | None, float, float]:
        """Classes and weights, as compiled learners take them."""
        return (self.positive, self.sample_weight, *self.class_weight)

    @property
    def memory(self) -> tuple[NDArray[np.uint8] | None, bool]:
        """What is settled, as compiled learners take it."""
        return (self.settled, self.skips_settled)
