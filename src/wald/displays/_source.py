"""Checks of what displays are given, and facts about fitted estimators."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ..early_exit.base import EarlyExitEstimator
from ..early_exit.compiled.documents import costs_at_stages
from ..early_exit.ranked_estimator import RankedEstimator
from ..models import AdditiveModel
from ..models.protocols import Documents
from ..persistence import SavedModel
from ..sources import source_of
from ..utils.install import install

Floats = NDArray[np.float64]


def require_matplotlib(caller: str) -> None:
    """Raise ImportError, which says what to install, if matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401  # imported only to see whether it is installed
    except ImportError as error:
        raise ImportError(f"{caller} requires matplotlib, which is not installed: {install('plot')}") from error


def require_fitted(estimator: Any, caller: str) -> EarlyExitEstimator:
    """Return the estimator if a display can read it."""
    compiled = getattr(estimator, "compiled_plan_", None)
    if compiled is not None and compiled.model.words.nothing:
        raise ValueError(f"{caller}: {type(estimator).__name__} {compiled.model.words.nothing}.")
    if not isinstance(estimator, EarlyExitEstimator):
        raise TypeError(f"{caller} needs a fitted early-exit estimator. Got {type(estimator).__name__} instead.")
    check_is_fitted(estimator, "plan_")
    return estimator


def require_rows(X: Any, caller: str) -> int:
    """Return the number of rows, which must not be 0."""
    n_rows = source_of(X).n_rows
    if n_rows == 0:
        raise ValueError(f"{caller} needs at least one row. X has none.")
    return n_rows


def require_chosen(rows: ArrayLike, n_rows: int, caller: str) -> NDArray[np.intp]:
    """Return chosen rows as indices."""
    chosen = np.asarray(rows)
    if chosen.ndim != 1 or chosen.size == 0 or chosen.dtype.kind not in "iu":
        raise ValueError(f"The 'rows' parameter of {caller} must be a list of row numbers. Got {rows!r} instead.")
    if chosen.min() < 0 or chosen.max() >= n_rows:
        raise ValueError(f"The 'rows' parameter of {caller} must hold numbers from 0 to {n_rows - 1}. Got {rows!r}.")
    return chosen.astype(np.intp)


def model_of(estimator: EarlyExitEstimator | RankedEstimator) -> AdditiveModel:
    """The wrapped model as terms."""
    return estimator.compiled_plan_.model


def row_costs(estimator: EarlyExitEstimator, X: Any) -> Floats | None:
    """Cost of each row up to each stage, (n_rows, T + 1), of texts that are read in parts.

    None for other rows, which all have the plan's costs.
    """
    documents, compiled = Documents.of(model_of(estimator).terms), estimator.compiled_plan_
    return None if documents is None else costs_at_stages(documents, compiled.plan, compiled.read(X).preprocessed)


def thresholds_of(estimator: EarlyExitEstimator) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
    """Thresholds in use of the early stages, infinite on a side where no row leaves; a margin has no lower side."""
    low, high = estimator.plan_.thresholds()
    closed = estimator.plan_.evaluate_all
    if closed or not model_of(estimator).decision.two_sided:
        low = np.full_like(low, -np.inf)
    return low, np.full_like(high, np.inf) if closed else high


def name_of(estimator: EarlyExitEstimator | RankedEstimator) -> str:
    """Class name of the wrapped estimator, or of a pipeline's last step; of a model from a file, its description."""
    inner = estimator.estimator_
    while isinstance(inner, FrozenEstimator | Pipeline):
        inner = inner.estimator if isinstance(inner, FrozenEstimator) else inner.steps[-1][1]
    if isinstance(inner, SavedModel):
        return model_of(estimator).terms.description
    return type(inner).__name__


def unit_of(estimator: EarlyExitEstimator) -> str:
    """Name the unit of the plan's costs."""
    if estimator.feature_costs is not None:
        return "feature cost"
    return "features" if estimator.feature_groups is not None else model_of(estimator).terms.unit_name
