"""Naive Bayes on counts and on binary features, whose log-likelihoods are linear."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB
from sklearn.utils.validation import check_is_fitted

from ...steps.above import Above
from ..reading import Decompose, Family, Reading
from .largest import first_of_largest

NAIVE_BAYES_MODELS: tuple[type, ...] = (BernoulliNB, ComplementNB, MultinomialNB)


def read_naive_bayes(model: Any, decompose: Decompose) -> Reading:
    """Read a fitted naive Bayes classifier whose joint log-likelihoods are linear; the first of the largest wins.

    Raises
    ------
    ValueError
        If the model has one class only, or a feature or class has the probability 0 or 1.
    """
    check_is_fitted(model)
    name = type(model).__name__
    if len(model.classes_) < 2:
        raise ValueError(f"This {name} was trained on one class only: there is nothing to decide.")
    weights = np.asarray(model.feature_log_prob_)
    prior = np.asarray(model.class_log_prior_)
    with np.errstate(divide="ignore", invalid="ignore"):
        if isinstance(model, BernoulliNB):
            # The expressions of its _joint_log_likelihood, so that results are bit-identical.
            absent = np.log(1 - np.exp(weights))
            coef, intercept = weights - absent, prior + absent.sum(axis=1)
            sizes, start = np.abs(weights) + np.abs(absent), np.abs(prior) + np.abs(absent).sum(axis=1)
        else:
            # ComplementNB uses its prior only if there is a single class.
            coef, intercept = weights, np.zeros(len(weights)) if isinstance(model, ComplementNB) else prior
            sizes, start = np.abs(coef), np.abs(intercept)
    if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
        raise ValueError(
            f"This {name} gives a feature or a class the probability 0 or 1, whose log-likelihood is not finite. "
            "Fit it with alpha > 0, rows of every class, and a prior above 0 for each."
        )
    # A value is rounded once in its product, in at most n_features - 1 additions, and once when the prior is added: at
    # most n_features + 1 times; two more are a reserve. The weights and intercepts of BernoulliNB, differences and sums
    # of logarithms, have the same bits here as in the model.
    terms, decision = first_of_largest(coef, intercept, sizes, start, depth=coef.shape[1] + 3)
    # The product with the weights sets the precision, even if the prior is float64.
    return Reading(terms, decision, weights.dtype, _binarizing_steps(model), row_by_row="sparse")


def _binarizing_steps(model: Any) -> tuple[tuple[str, Any], ...]:
    """The preprocessing of a ``BernoulliNB`` as steps of a pipeline; none with ``binarize=None``."""
    if not isinstance(model, BernoulliNB) or model.binarize is None:
        return ()
    step = Above(model.binarize, type(model).__name__)
    for attribute in ("n_features_in_", "feature_names_in_"):  # by which rows are checked
        if hasattr(model, attribute):
            setattr(step, attribute, getattr(model, attribute))
    return (("binarize", step),)


FAMILY = Family(
    NAIVE_BAYES_MODELS,
    ("predict", "_joint_log_likelihood", "_check_X"),
    ("feature_log_prob_", "class_log_prior_", "classes_", "binarize"),
    read_naive_bayes,
    thresholds=False,
)
