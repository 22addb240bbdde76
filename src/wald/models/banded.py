"""A fitted model that is asked between which thresholds its number lies, as a model of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from ..utils.reals import as_float
from .boosters import BoosterClassifier
from .reading import Kind

#: The method that gives the number which is compared, by kind of model; of probabilities, that of ``classes_[1]``.
METHODS: dict[Kind, str] = {
    "classifier": "predict_proba",
    "regressor": "predict",
    "outlier detector": "decision_function",
}


class Banded(BaseEstimator):
    """A fitted model that answers with the number of the band in which its number lies.

    Everything else it answers as the model does.

    Parameters
    ----------
    estimator : estimator
    bands : list of float
        From `checked_bands`. A number that equals a threshold belongs to the upper band; float32 numbers are compared
        with the thresholds rounded to float32, as NumPy compares them with floats of Python.
    method : {"predict_proba", "predict", "decision_function"}
        What gives the number.
    """

    def __init__(self, estimator: Any, bands: list[float], method: str) -> None:
        self.estimator, self.bands, self.method = estimator, bands, method

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("estimator", "bands", "method"):
            raise AttributeError(name)
        return getattr(self.estimator, name)

    @property
    def classes_(self) -> NDArray[np.int64]:
        """Numbers of the bands."""
        return np.arange(len(self.bands) + 1)

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Numbers of the bands of rows."""
        numbers = np.asarray(getattr(self.estimator, self.method)(X))
        return in_band(numbers[:, 1] if self.method == "predict_proba" else numbers, self.bands)


def in_band(numbers: NDArray[Any], bands: Sequence[float]) -> NDArray[np.int64]:
    """The band of each number, from 0 on."""
    cuts = np.array(bands, dtype=numbers.dtype if numbers.dtype.kind == "f" else np.float64)
    return np.searchsorted(cuts, numbers, side="right").astype(np.int64)


def checked_bands(bands: Any, kind: Kind) -> list[float]:
    """The thresholds as floats; raise ValueError unless they are finite and rise, and lie between 0 and 1 if they must.

    Parameters
    ----------
    bands : array-like of shape (n_thresholds,)
    kind : {"classifier", "outlier detector", "regressor", "ranker"}
    """
    listed: list[Any] = list(bands) if isinstance(bands, list | tuple | np.ndarray) else []
    if not listed or not all(_is_finite(t) for t in listed):
        raise ValueError(
            f"bands must be a list of one or more thresholds, finite numbers such as [0.1, 0.5]. Got {bands!r} instead."
        )
    cuts = [float(t) for t in listed]
    for one, next_one in pairwise(cuts):
        if not one < next_one:
            twice = "holds twice" if one == next_one else f"holds {one:g} before"
            raise ValueError(f"bands must rise, and {twice} {next_one:g}: sort the thresholds, and name each once.")
    if kind == "classifier" and not (cuts[0] > 0 and cuts[-1] < 1):
        outside = cuts[0] if cuts[0] <= 0 else cuts[-1]
        raise ValueError(
            f"bands of a classifier are thresholds of a probability, between 0 and 1 and neither of them. Got "
            f"{outside:g}: leave it out."
        )
    return cuts


def _is_finite(value: Any) -> bool:
    number = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
    return number and math.isfinite(as_float(value))


def require_two_classes(model: Any) -> None:
    """Refuse a model of several classes, or without probabilities."""
    name, n_classes = type(model).__name__, len(model.classes_)
    if n_classes != 2:
        raise ValueError(
            f"bands compare the probability of classes_[1] of two, and this {name} knows {n_classes} classes: leave "
            "bands out, or wrap a model of two classes."
        )
    if isinstance(model, BoosterClassifier):
        raise ValueError(
            "bands compare probabilities, as predict_proba gives them, and a booster has no such method: wrap its "
            "LGBMClassifier, XGBClassifier or CatBoostClassifier, or wald.read_model of its file."
        )
    if not hasattr(model, "predict_proba"):
        raise ValueError(
            f"bands compare probabilities, and this {name} has none: wrap a CalibratedClassifierCV(ensemble=False) "
            "around it."
        )
