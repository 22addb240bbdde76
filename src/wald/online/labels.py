"""Labels and weights of rows in one binary problem."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import _check_sample_weight


class Labels(NamedTuple):
    """Labels of rows, and the weights of the rows and of the two classes.

    A row is unchanged if it needed no update when it was last read. An epoch writes this into ``unchanged`` if that is
    an array, and skips unchanged rows if ``skips_unchanged`` is True.
    """

    positive: NDArray[np.uint8]
    sample_weight: NDArray[np.float64] | None
    class_weight: tuple[float, float]
    unchanged: NDArray[np.uint8] | None = None
    skips_unchanged: bool = False

    def take(self, ids: NDArray[np.intp] | slice) -> Labels:
        """Return the labels of these rows."""
        weight = None if self.sample_weight is None else self.sample_weight[ids]
        unchanged = None if self.unchanged is None else self.unchanged[ids]
        return self._replace(positive=self.positive[ids], sample_weight=weight, unchanged=unchanged)

    @property
    def given(self) -> tuple[NDArray[np.uint8], NDArray[np.float64] | None, float, float]:
        """Classes and weights, as compiled learners take them."""
        return (self.positive, self.sample_weight, *self.class_weight)

    @property
    def shrinking(self) -> tuple[NDArray[np.uint8] | None, bool]:
        """Unchanged rows, and whether to skip them, as compiled learners take them."""
        return (self.unchanged, self.skips_unchanged)


def weights_of_classes(
    given: Mapping[Any, float] | str | None, classes: NDArray[Any], y: NDArray[Any]
) -> NDArray[np.float64]:
    """Factors of the updates on each class."""
    if given is None:
        return np.ones(len(classes))
    return np.asarray(compute_class_weight(given, classes=classes, y=y), dtype=np.float64)


def weights_of_rows(given: ArrayLike | None, X: Any) -> NDArray[np.float64] | None:
    """Factors of the updates of each row, checked."""
    if given is None:
        return None
    return np.ascontiguousarray(_check_sample_weight(given, X, dtype=np.float64, ensure_non_negative=True))
