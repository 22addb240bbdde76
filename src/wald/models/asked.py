"""What answers rows and is no estimator of scikit-learn: functions, and objects with `predict` and `classes_`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from ..calls import Asked, Calls
from ..sources import Source, source_of
from .tree_classifier import FittedForGood

__all__ = ["AskedFunction", "is_asked"]


class AskedFunction(ClassifierMixin, FittedForGood):
    """A function from rows to labels, as a fitted classifier.

    Parameters
    ----------
    function : callable, Calls, or object with `predict`
        Takes rows as they come, and gives a label for each of them. It may be ``async def``; `Calls` says how it is
        called.
    classes : array-like of labels, default=None
        None: those of the object, or else those that it gives for the rows of `fit`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Once they are known.
    """

    refusal = "A function cannot be fitted: train what it asks, and call fit without y."

    def __init__(self, function: Any, classes: Any = None) -> None:
        self.function, self.classes = function, classes
        known = getattr(function, "classes_", None) if classes is None else classes
        if known is not None:
            self.classes_ = np.asarray(known)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(function, name):
                setattr(self, name, getattr(function, name))

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels of rows."""
        if hasattr(self.function, "predict"):
            return np.asarray(self.function.predict(X))
        source = source_of(X)
        calls = self.function if isinstance(self.function, Calls) else Calls(self.function)
        return Asked(calls, source.n_rows, name=self.name).ask(np.arange(source.n_rows), _taking(source)).values

    @property
    def name(self) -> str:
        """What messages call it."""
        if isinstance(self.function, Calls):
            return self.function.name or AskedFunction(self.function.function).name
        return str(getattr(self.function, "__name__", type(self.function).__name__))


def _taking(source: Source) -> Callable[[NDArray[np.intp]], Any]:
    """What gives rows of a source as they came; all of them as they are."""
    return lambda rows: (source if len(rows) == source.n_rows else source.take(rows)).rows


def is_asked(model: Any) -> bool:
    """Whether an object answers rows and is no estimator of scikit-learn."""
    if isinstance(model, type) or hasattr(model, "get_params") or hasattr(model, "__sklearn_tags__"):
        return False
    if hasattr(model, "predict"):
        classes = getattr(model, "classes_", None)
        return classes is not None and np.asarray(classes).ndim == 1
    return callable(model) or isinstance(model, Calls)
