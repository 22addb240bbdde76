"""Labels of rows, with what was paid for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..engine import Decisions

if TYPE_CHECKING:
    from .predictor import Predictor

#: Decisions about no rows.
NOTHING = Decisions(np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32))


class Answers:
    """Labels of rows, and how they were found.

    Parameters
    ----------
    predictor : Predictor
    decided : Decisions
    """

    def __init__(self, predictor: Predictor, decided: Decisions) -> None:
        self._predictor, self._decided = predictor, decided

    @property
    def labels(self) -> NDArray[Any]:
        """Labels of the rows."""
        return self._predictor.labels(self._decided.codes)

    @property
    def costs(self) -> NDArray[np.float64]:
        """What the rows cost, in the plan's unit."""
        return self._predictor.plan.paid(self._decided.stages, self._decided.skipped)

    @property
    def stages(self) -> NDArray[np.int32]:
        """Stages at which the rows left; the number of early stages stands for full evaluation."""
        return self._decided.stages

    def labels_or_both(self, return_cost: bool) -> NDArray[Any] | tuple[NDArray[Any], NDArray[np.float64]]:
        """Labels, and with ``return_cost`` a tuple of labels and costs."""
        return (self.labels, self.costs) if return_cost else self.labels
