"""What answers rows and is no estimator of scikit-learn: functions, and objects with `predict` and `classes_`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from ..calls import Asked, BadAnswerError, Calls, labels_of
from ..calls.reading import one_type
from ..sources import Source, source_of
from .tree_classifier import FittedForGood

__all__ = ["AskedFunction", "is_asked"]


class AskedFunction(ClassifierMixin, FittedForGood):
    """A function from rows to labels, as a fitted classifier.

    Parameters
    ----------
    function : callable, Calls, or object with `predict`
        Takes rows as they come, and gives a label for each of them. It may be ``async def``; `Calls` says how it is
        called. A bare function is held as `Calls`, once: they keep the event loop, to which clients with connections
        belong, also where others are made of ``function``.
    classes : array-like of labels, default=None
        None: those of the object, or else those that it gives for the rows of `fit`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Once they are known.
    """

    refusal = "A function cannot be fitted: train what it asks, and call fit without y."

    def __init__(self, function: Any, classes: Any = None) -> None:
        made = isinstance(function, Calls) or hasattr(function, "predict")
        self.function, self.classes = function if made else Calls(function), classes
        known = getattr(self.asked, "classes_", None) if classes is None else classes
        if known is not None:
            self.classes_ = np.asarray(known)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.asked, name):
                setattr(self, name, getattr(self.asked, name))

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels of rows."""
        if hasattr(self.function, "predict"):
            return np.asarray(self.function.predict(X))
        source = source_of(X)
        asked = Asked(self.function, source.n_rows, name=self.name, check=label_check(self))
        return asked.ask(np.arange(source.n_rows), _taking(source)).values

    @property
    def asked(self) -> Any:
        """The function, or object, itself."""
        return self.function.function if isinstance(self.function, Calls) else self.function

    @property
    def name(self) -> str:
        """What messages call it."""
        if isinstance(self.function, Calls) and self.function.name:
            return self.function.name
        return str(getattr(self.asked, "__name__", type(self.asked).__name__))


def _taking(source: Source) -> Callable[[NDArray[np.intp]], Any]:
    """What gives rows of a source as they came; all of them as they are."""
    return lambda rows: (source if len(rows) == source.n_rows else source.take(rows)).rows


def label_check(model: Any) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """What takes the answers of a model for labels: one a row, none missing, of its classes where they are known.

    It raises `BadAnswerError`, which knows the rows.
    """
    classes = getattr(model, "classes_", None)
    return partial(_labels, None if classes is None else np.asarray(classes))


def _labels(classes: NDArray[Any] | None, answers: NDArray[Any]) -> NDArray[Any]:
    labels = answers[:, 0] if answers.ndim == 2 and answers.shape[1] == 1 else answers
    if labels.ndim != 1:
        raise BadAnswerError(f"it must answer one label a row. Got answers of shape {answers.shape}")
    if labels.dtype.kind in "fO":
        missing = [i for i, label in enumerate(labels.tolist()) if label is None or label != label]
        if missing:
            raise BadAnswerError(f"it answered {labels[missing[0]]!r}, which is no label", missing)
        one_type(labels)
    if classes is not None:
        labels_of(labels, classes)
    return labels


def is_asked(model: Any) -> bool:
    """Whether an object answers rows and is no estimator of scikit-learn."""
    if isinstance(model, type) or hasattr(model, "get_params") or hasattr(model, "__sklearn_tags__"):
        return False
    if hasattr(model, "predict"):
        classes = getattr(model, "classes_", None)
        return classes is not None and np.asarray(classes).ndim == 1
    return callable(model) or isinstance(model, Calls)
