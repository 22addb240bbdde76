"""Learners that are trained with attention: linear ones, and boosted stumps."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..decision import Decision
from ..tree_arrays import TreesBuilder
from ..trees import TreeTerms

__all__ = ["ATTENTIVE_LINEAR", "BOOSTED_STUMPS", "read_boosted_stumps"]

ATTENTIVE_LINEAR = (
    "wald.online.perceptron.AttentivePerceptron",
    "wald.online.pegasos.AttentivePegasos",
    "wald.online.passive_aggressive.AttentivePassiveAggressive",
)
BOOSTED_STUMPS = ("wald.online.boosting.AttentiveBoosting",)


def read_boosted_stumps(model: Any) -> tuple[TreeTerms, Decision, float]:
    """Read a fitted `wald.online.AttentiveBoosting` of stumps: each is a tree with one node.

    Parameters
    ----------
    model : estimator

    Returns
    -------
    terms : TreeTerms
    decision : Decision
    tie_margin : float
        Bound of the difference that the order of the learner's own additions makes.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the model is not fitted.
    TypeError
        If its hypotheses are a list of classifiers and callables.
    """
    check_is_fitted(model)
    stumps = model.hypotheses_
    if not hasattr(stumps, "thresholds"):
        raise TypeError(
            "This AttentiveBoosting has a list of hypotheses, which is not supported. Wrap one with "
            "hypotheses='stumps', or the fitted classifiers of the list as a VotingClassifier."
        )
    coef = np.asarray(model.coef_, dtype=np.float64)
    intercept = np.asarray(model.intercept_, dtype=np.float64)
    builder = TreesBuilder(int(stumps.n_features))
    for feature, threshold, weights in zip(stumps.features, stumps.thresholds, coef.T, strict=True):
        builder.add([feature], [threshold], [-1], [-2], [1], np.stack([-weights, weights]))
    n_classes = len(model.classes_)
    single = model.problems_[0].dtype == np.float32
    terms = TreeTerms(builder.build(), base=intercept, f32_rows=bool(single), nan=False, infinity=False)
    eps = 2.0**-23 if single else 2.0**-52
    sizes = np.abs(coef).sum(axis=1) + np.abs(intercept)
    tie_margin = float(sizes.max(initial=0.0)) * eps * (coef.shape[1] + 1)
    return terms, Decision("sign" if n_classes == 2 else "argmax", n_classes), tie_margin
