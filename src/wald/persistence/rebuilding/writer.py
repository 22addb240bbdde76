"""Describes an estimator by a header and arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline

from ...codec.arrays import Arrays
from ...codec.header import MOST, number
from .kinds import (
    ISOTONIC,
    MACHINES,
    NUMBERS,
    SIGMOID,
    SVC_PARAMS,
    TABLE,
    NotRebuildableError,
)


class Writer:
    """Describes one estimator.

    Parameters
    ----------
    arrays : dict
        Receives the arrays.
    classes : ndarray
        Labels of the whole estimator.
    names : ndarray or None
        Feature names of the whole estimator.
    vectors : ndarray, CSR array or None
        Support vectors that are already in the file.
    """

    def __init__(self, arrays: Arrays, classes: NDArray[Any], names: Any, vectors: Any) -> None:
        self._arrays, self._classes, self._names, self._vectors = arrays, classes, names, vectors

    def node(self, part: Any) -> dict[str, Any]:
        """Describe an estimator and what is inside it; raises NotRebuildableError."""
        kind = type(part)
        if hasattr(part, "_sklearn_output_config"):
            raise NotRebuildableError(f"the {kind.__name__} has a set_output of its own")
        node: dict[str, Any] = {"class": kind.__name__}
        if isinstance(part, BaseSearchCV):  # predicts with its best estimator
            return self.node(part.best_estimator_)
        if kind is FrozenEstimator:
            return node | {"estimator": self.node(part.estimator)}
        if kind is Pipeline:
            return node | {"steps": [[name, self._step(step)] for name, step in part.steps]}
        if kind in (FixedThresholdClassifier, TunedThresholdClassifierCV):
            return self._threshold(part)
        if kind is CalibratedClassifierCV:
            return node | self._calibrated(part)
        if kind not in TABLE and kind not in MACHINES.values():
            raise NotRebuildableError(f"{kind.__module__}.{kind.__qualname__} is no class that a file can describe")
        node |= {"n_features": int(part.n_features_in_), "names": self._has_names(part)}
        if kind in MACHINES.values():
            return node | self._machine(part)
        row = TABLE[kind]
        if row.classes:
            self._require_classes(part)
        given = part.get_params(deep=False)
        params = {name: self._value(given[name], f"{name} of {kind.__name__}") for name in row.params if name in given}
        state = {name: self._fitted(part, name, shape) for name, shape in row.state.items()}
        return node | {"params": params, "state": state}

    def _step(self, step: Any) -> Any:
        return None if step is None or (isinstance(step, str) and step == "passthrough") else self.node(step)

    def _has_names(self, part: Any) -> bool:
        names = getattr(part, "feature_names_in_", None)
        if names is None:
            return False
        if self._names is None or not np.array_equal(names, self._names):
            raise NotRebuildableError(f"the {type(part).__name__} has feature names of its own")
        return True

    def _require_classes(self, part: Any) -> None:
        classes = np.asarray(part.classes_)
        if classes.dtype != self._classes.dtype or not np.array_equal(classes, self._classes):
            raise NotRebuildableError(f"the {type(part).__name__} has labels of its own")

    def _put(self, array: NDArray[Any]) -> str:
        name = f"e.{len(self._arrays)}"
        self._arrays[name] = array
        return name

    def _value(self, value: Any, what: str) -> Any:
        """Encode a plain value; a NumPy scalar keeps its dtype."""
        if value is None or isinstance(value, str) or type(value) in (bool, int):
            if type(value) is int and abs(value) > MOST:
                raise NotRebuildableError(f"{what} is too large")
            return value
        if type(value) is float and not math.isnan(value):
            return {"float": number(value)}
        if isinstance(value, np.generic) and value.dtype.name in NUMBERS:
            return {"number": self._put(np.asarray(value).reshape(1))}
        raise NotRebuildableError(f"{what} is no plain value")

    def _fitted(self, part: Any, name: str, shape: str) -> Any:
        value: Any = getattr(part, name, None)
        what = f"{name} of {type(part).__name__}"
        if value is None and shape.endswith("?"):
            return None
        if shape.startswith("dtype"):
            value = np.dtype(value).name
            if value not in NUMBERS:
                raise NotRebuildableError(f"{what} is {value}")
            return value
        if shape == "k" and np.ndim(value) == 0:
            return self._value(value[()] if isinstance(value, np.ndarray) else value, what)
        if type(value) is np.ndarray and value.dtype == object and all(map(_is_real, value.flat)):
            value = value.astype(np.float64)  # the constants of a SimpleImputer
        if type(value) is not np.ndarray or value.dtype.name not in NUMBERS:
            raise NotRebuildableError(f"{what} is no array of numbers")
        if value.ndim not in map(len, shape.rstrip("?").split("/")):
            raise NotRebuildableError(f"{what} is an array of the shape {value.shape}, which a file cannot describe")
        # the order in memory decides how BLAS sums, and so how products round
        by_columns = value.ndim == 2 and value.strides[1] != value.itemsize and value.strides[0] == value.itemsize
        if not by_columns and value.shape[-1] > 1 and value.strides[-1] != value.itemsize:
            raise NotRebuildableError(f"{what} is a view with gaps")
        flat = "/" in shape and value.ndim == 1
        return {"array": self._put(value.T if by_columns else value), "by_columns": by_columns, "flat": flat}

    def _threshold(self, part: Any) -> dict[str, Any]:
        """Describe a fixed threshold; a tuned one becomes a fixed one at the threshold found."""
        from ...models.wrappers import _positive_code, _response_method

        fixed = isinstance(part, FixedThresholdClassifier)
        inner = part.estimator_ if hasattr(part, "estimator_") else part.estimator
        code = None if fixed and part.pos_label is None else _positive_code(part, self._classes)
        return {
            "class": "FixedThresholdClassifier",
            "estimator": self.node(inner),
            "threshold": self._value(part.threshold if fixed else part.best_threshold_, "threshold"),
            "pos_label": code,
            "response_method": part.response_method if fixed else _response_method(part),
            **self._outer(part),
        }

    def _outer(self, part: Any) -> dict[str, Any]:
        """Number and names of a wrapper's features, if it has them."""
        n = getattr(part, "n_features_in_", None)
        return {"n_features": None if n is None else int(n), "names": self._has_names(part)}

    def _calibrated(self, part: Any) -> dict[str, Any]:
        self._require_classes(part)
        pair = part.calibrated_classifiers_[0]
        node = {"method": pair.method, "estimator": self.node(pair.estimator), **self._outer(part)}
        for calibrator in pair.calibrators[:1]:
            if isinstance(calibrator, IsotonicRegression):
                for name in ISOTONIC:
                    node[name] = self._put(getattr(calibrator, name))
            elif hasattr(calibrator, "a_") and hasattr(calibrator, "b_"):
                node |= {name: self._value(getattr(calibrator, name), name) for name in SIGMOID}
            else:
                raise NotRebuildableError(f"it is calibrated by a {type(calibrator).__name__}")
        return node

    def _machine(self, part: Any) -> dict[str, Any]:
        self._require_classes(part)
        n, dual = len(part.support_), part.dual_coef_
        if sparse.issparse(dual):
            if dual.data.size != dual.shape[0] * n:
                raise NotRebuildableError(f"dual_coef_ of {type(part).__name__} has gaps")
            dual = dual.data.reshape(dual.shape)
        vectors, held = part.support_vectors_, self._vectors
        shared = held is not None and _same_rows(vectors, held)
        node: dict[str, Any] = {
            "params": {name: self._value(getattr(part, name), name) for name in SVC_PARAMS},
            "sparse": bool(part._sparse),
            "gamma": number(float(part._gamma)),
            "n_fitted": int(part.shape_fit_[0]),
            "support": self._put(part.support_),
            "n_support": self._put(part._n_support),
            "dual_coef": self._put(np.asarray(dual)),
            "intercept": self._put(part.intercept_),
            "prob_a": self._put(part._probA),
            "prob_b": self._put(part._probB),
            "shared": shared,
        }
        if not shared and sparse.issparse(vectors):
            node |= {name: self._put(getattr(vectors, name)) for name in ("data", "indices", "indptr")}
        elif not shared:
            node["support_vectors"] = self._put(vectors)
        return node


def _is_real(value: Any) -> bool:
    """Whether float64 holds a number exactly."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool) and abs(int(value)) <= MOST
    return whole or isinstance(value, float | np.float32)


def _same_rows(one: Any, other: Any) -> bool:
    if sparse.issparse(one) != sparse.issparse(other) or one.shape != other.shape:
        return False
    if sparse.issparse(one):
        return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("data", "indices", "indptr"))
    return bool(np.array_equal(one, other))
