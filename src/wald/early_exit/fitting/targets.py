"""What a model that is not fitted is to be trained on: labels or numbers, one for each row."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_regressor

from ...sources import RawSource


def require_targets(y: Any, n_rows: int, estimator: Any) -> None:
    """Raise ValueError for targets of another length than the rows, with NaN, or for a regressor with infinity.

    Libraries say it in words of their own, or not at all.

    Parameters
    ----------
    y : array-like
    n_rows : int
    estimator : estimator
        What is trained on them.
    """
    n_targets = RawSource(y if hasattr(y, "shape") or hasattr(y, "__len__") else np.asarray(y)).n_rows
    if n_targets != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {n_rows}, y has {n_targets}."
        )
    try:
        numbers = np.asarray(y)
    except ValueError:  # rows of several lengths, which the model refuses
        return
    if numbers.dtype.kind != "f":
        return
    values = is_regressor(estimator)
    bad = ~np.isfinite(numbers) if values else np.isnan(numbers)
    if not bad.any():
        return
    first = int(np.flatnonzero(bad.reshape(n_rows, -1).any(axis=1))[0])
    found = numbers[first][bad[first]][0] if numbers.ndim > 1 else numbers[first]
    raise ValueError(
        f"y must hold {'a finite number' if values else 'a label'} for every row, and holds {found} for "
        f"{int(bad.reshape(n_rows, -1).any(axis=1).sum())} of {n_rows} rows, the first of them row {first}: leave such "
        f"rows out before fit. (Input y contains {'NaN' if np.isnan(found) else 'infinity'}.)"
    )
