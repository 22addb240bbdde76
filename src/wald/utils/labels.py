"""Labels as places among the classes of a model, and as columns beside others."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["codes_of_labels", "with_kept"]


def codes_of_labels(classes: NDArray[Any], labels: NDArray[Any]) -> NDArray[np.intp]:
    """Places of labels among the classes, which need not ascend: CatBoost keeps an order of its own.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        Distinct labels.
    labels : ndarray of shape (n,)

    Returns
    -------
    ndarray of shape (n,)
        Of what is none of the classes, some place between 0 and n_classes - 1.
    """
    order = np.argsort(classes, kind="stable")
    found = np.minimum(np.searchsorted(classes, labels, sorter=order), len(classes) - 1)
    places: NDArray[np.intp] = order[found]
    return places


def with_kept(kept: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """Kept columns, then wald's own; a kept column is renamed if wald has a column of its name."""
    columns, taken = {}, {*kept, *own}
    for name, column in kept.items():
        if name in own:
            while name in taken:
                name = f"input_{name}"
            taken.add(name)
        columns[name] = column
    return columns | own
