"""An output that wald does not bring: in which band between thresholds a score lies, and a model that is asked it."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LinearRegression

from wald.models import Family, Reading, register
from wald.models.linear import LinearTerms
from wald.outputs import Output


@dataclass(frozen=True, eq=False)
class Band(Output):
    """The number of the band in which the score lies; a score on a threshold belongs to the upper band.

    With ``steps``, an answer loses its distance to the right one, as a share of the largest distance.
    """

    event: ClassVar[str] = "another band"

    cuts: list[float]
    steps: bool = False
    n_outputs: ClassVar[int] = 1

    @property
    def n_answers(self):
        return len(self.cuts) + 1

    def answers(self, scores):
        return np.searchsorted(self.cuts, self.table(scores)[:, 0], side="right").astype(np.int32)

    def judged(self, estimates):
        z = self.table(estimates)
        return self.answers(z), np.abs(z - np.array(self.cuts, dtype=z.dtype)).min(axis=1)

    def settled(self, scores, errors):
        answers, distances = self.judged(scores)
        return answers, (distances > errors) | ((errors == 0) & ~np.isnan(distances))

    def losses(self, early, full):
        return np.abs(early - full) / len(self.cuts) if self.steps else super().losses(early, full)


class BandRegression(ClassifierMixin, BaseEstimator):
    """A linear regression that answers with the band of its value."""

    def __init__(self, cuts=(-1.0, 1.0), steps=False):
        self.cuts, self.steps = cuts, steps

    def fit(self, X, y):
        fitted = LinearRegression().fit(X, y)
        self.coef_, self.intercept_, self.n_features_in_ = fitted.coef_, fitted.intercept_, X.shape[1]
        self.classes_ = np.arange(len(self.cuts) + 1)
        return self

    def predict(self, X):
        return np.searchsorted(self.cuts, np.asarray(X) @ self.coef_ + self.intercept_, side="right")


def read(model, decompose):
    """Read the value as a sum of one term a column."""
    terms = LinearTerms(model.coef_[None].astype(np.float64), np.array([float(model.intercept_)]))
    return Reading(terms, Band([float(cut) for cut in model.cuts], model.steps), np.dtype(np.float64))


register(Family((BandRegression,), ("predict",), ("coef_", "intercept_", "cuts"), read, thresholds=False))
