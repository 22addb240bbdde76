"""Estimators whose answers are no classes, which say where probabilities are to be had."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any


class NoProbabilities:
    """What is said of ``predict_proba`` of a regressor, a ranker or an outlier detector, which has none."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            kind = type(self).__name__
            if name in ("predict_proba", "predict_log_proba"):
                raise AttributeError(
                    f"{kind!r} object has no attribute {name!r}: probabilities are those of classes, and this model "
                    "has none; predict gives its answers. Wrap a classifier in EarlyExitClassifier."
                )
            raise AttributeError(f"{kind!r} object has no attribute {name!r}")
