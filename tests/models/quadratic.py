"""Quadratic discriminants, as a family of models that wald does not bring."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis

from wald.models import Family, Reading, Terms, register
from wald.outputs import Labels


@dataclass(frozen=True, eq=False)
class QuadraticTerms(Terms):
    """Products of two features as terms, and the features: their products with 1."""

    family: ClassVar[str] = "quadratic"
    unit_name: ClassVar[str] = "products"

    coef: NDArray[np.float64]
    intercept: NDArray[np.float64]
    width: int

    @property
    def n_features(self):
        return self.width

    def values(self, X, which=None):
        extended = np.column_stack([X, np.ones(len(X))]).astype(np.float64)
        pairs = np.array(np.triu_indices(self.width + 1))
        first, second = pairs[:, :-1]  # all but 1 with 1
        picked = slice(None) if which is None else which
        return extended[:, first[picked]] * extended[:, second[picked]]


def read(model, decompose):
    """Read ``-(x - m)' A (x - m) / 2 + constant`` of each class, A = covariance^-1."""
    coef, intercept = [], []
    for mean, rotation, scaling, prior in zip(
        model.means_, model.rotations_, model.scalings_, model.priors_, strict=True
    ):
        A = (rotation / scaling) @ rotation.T
        square = np.diag(np.diag(A)) / 2 - A
        table = np.block([[square, (A @ mean)[:, None]], [np.zeros(len(mean) + 1)]])
        coef.append(table[np.triu_indices(len(table))][:-1])
        intercept.append(np.log(prior) - (mean @ A @ mean + np.log(scaling).sum()) / 2)
    coef, intercept = np.array(coef), np.array(intercept)
    decision = Labels("argmax", len(coef))
    if len(coef) == 2:
        decision = Labels("sign", 2)
        coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
    terms = QuadraticTerms(coef, intercept, len(mean))
    return Reading(terms, decision, coef.dtype)


register(
    Family(
        models=(QuadraticDiscriminantAnalysis,),
        methods=("predict", "decision_function"),
        attributes=("means_", "rotations_", "scalings_", "priors_", "classes_"),
        read=read,
    )
)
