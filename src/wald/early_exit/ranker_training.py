"""Training of a ranker on some groups of rows, whose keys it gets in the way of its library."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from ..ranking import RowGroups
from ..sources import RawSource, Source

#: Share of the groups that train, where others plan and certify.
TRAINING_SHARE = 0.5
#: How rankers are told the groups of rows side by side: by sizes (LightGBM, XGBoost), or by keys (CatBoost).
SIZES, KEYS = "group", ("group_id", "qid")


def trained_by_groups(
    estimator: Any,
    source: Source,
    y: Any,
    groups: ArrayLike,
    params: Mapping[str, Any],
    rng: np.random.Generator | None,
) -> tuple[Any, NDArray[np.int64]]:
    """Train a clone of a ranker on half of the groups.

    Parameters
    ----------
    estimator : estimator
        A ranker, or a pipeline that ends in one; it is not fitted.
    source : Source
    y : array-like of shape (n_rows,)
        Relevance.
    groups : array-like of shape (n_rows,)
        The key of each row's group; rows of a group may lie apart.
    params : dict
        Further arguments of its ``fit``; those with an entry for each row are split like the rows.
    rng : numpy.random.Generator or None
        Chooses the groups; None: all groups train.

    Returns
    -------
    trained : estimator
    rest : int64 ndarray
        The rows that it was not trained on, in their order.

    Raises
    ------
    ValueError, TypeError
        If there is no relevance or one group alone, or ``fit`` takes no groups.
    """
    name, n = type(estimator).__name__, source.n_rows
    if y is None:
        raise ValueError(f"{name} is not fitted yet: y must have the relevance of each row, by which it is trained.")
    if (n_labels := RawSource(y if hasattr(y, "shape") else np.asarray(y)).n_rows) != n:
        raise ValueError(f"y must have the relevance of each of the {n} rows. Got {n_labels}.")
    side_by_side = RowGroups.of(groups, n)
    n_groups = len(side_by_side)
    if rng is not None and n_groups < 2:
        raise ValueError(
            f"groups must hold several groups: some train the model, others plan and certify. Got {n_groups}."
        )
    most = n_groups if rng is None else min(max(1, round(TRAINING_SHARE * n_groups)), n_groups - 1)
    chosen = np.arange(n_groups) if rng is None else np.sort(rng.permutation(n_groups)[:most])
    rows, own = side_by_side.rows_of(chosen)
    asked = _groups_for(estimator, own, params)
    split = {key: RawSource(value).take(rows).rows if _per_row(value, n) else value for key, value in params.items()}
    relevance = RawSource(y if hasattr(y, "shape") else np.asarray(y)).take(rows).rows
    trained = clone(estimator).fit(source.take(rows).rows, relevance, **split, **asked)
    return trained, np.setdiff1d(np.arange(n), rows)


def _groups_for(estimator: Any, groups: RowGroups, params: Mapping[str, Any]) -> dict[str, Any]:
    """The argument of ``fit`` that says which rows belong together."""
    last, prefix = estimator, ""
    while hasattr(last, "steps"):
        step, last = last.steps[-1]
        prefix += f"{step}__"
    takes = signature(last.fit).parameters
    if given := [key for key in params if key.rpartition("__")[2] in (SIZES, *KEYS)]:
        raise ValueError(f"{given[0]} follows from groups, of which some train the model: leave it out.")
    if SIZES in takes:
        return {f"{prefix}{SIZES}": groups.sizes}
    for key in KEYS:
        if key in takes:
            return {f"{prefix}{key}": groups.members}
    raise TypeError(
        f"{type(last).__name__}.fit takes no groups (group, group_id or qid): fit it first, and pass it fitted."
    )


def _per_row(value: Any, n: int) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, str | Mapping) and len(value) == n
