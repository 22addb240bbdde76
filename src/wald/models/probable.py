"""A fitted classifier that answers with its probabilities, as a model of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator


class Probable(BaseEstimator):
    """A fitted classifier whose answers are its probabilities; everything else it answers as the classifier does.

    Parameters
    ----------
    estimator : estimator
        With ``predict_proba``.
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "estimator":
            raise AttributeError(name)
        return getattr(self.estimator, name)

    def predict(self, X: Any) -> NDArray[Any]:
        """Probabilities of the classes, (n_rows, n_classes)."""
        return np.asarray(self.estimator.predict_proba(X))
