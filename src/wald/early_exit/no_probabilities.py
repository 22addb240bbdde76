"""Estimators whose answers are no classes, which say where probabilities are to be had."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

#: What only classifiers have, and outlier detectors a part of.
OF_CLASSES = ("predict_proba", "predict_log_proba", "decision_function")


class NoProbabilities:
    """What is said of ``predict_proba`` of a regressor, a ranker or an outlier detector, which has none.

    Attributes
    ----------
    no_probabilities : str
        Why there are none, and what there is instead.
    """

    no_probabilities: ClassVar[str] = (
        "scores and probabilities are those of classes, and this model has none; predict gives its answers. Wrap a "
        "classifier in EarlyExitClassifier."
    )

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name in OF_CLASSES and not hasattr(type(self), name):
                kind = type(self).__name__
                raise AttributeError(f"{kind!r} object has no attribute {name!r}: {self.no_probabilities}")
            return object.__getattribute__(self, name)  # raises the error of a property once more
