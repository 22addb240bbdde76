"""Whether the rows of `fit` fill the leaves of a tree model as the training rows do."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2
from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import BaseDecisionTree

from ...models import AdditiveModel, Terms
from ...steps import Codes
from ...utils.figures import percent
from ...utils.warn import warn_caller

#: Trees that are looked at, and the probability of a false alarm for fresh rows and a single tree.
MOST_TREES, LEVEL = 20, 1e-4
#: Ensembles whose trees count the training rows of their leaves.
ENSEMBLES = (RandomForestClassifier, ExtraTreesClassifier, GradientBoostingClassifier)

#: Hessians of XGBoost's objectives at probability p, as multiples of p (1 - p).
HESSIANS = {"binary:logistic": 1, "binary:logitraw": 1, "multi:softprob": 2, "multi:softmax": 2}
#: Relative error of a sum of hessians, which XGBoost computes in float32, and keeps so.
ROUNDING = 1e-6

#: Of a tree: the numbers of given rows and of training rows in its leaves, and of the classes that it tells apart.
Counts = tuple[NDArray[np.int64], NDArray[np.int64], int]


def warn_of_leaf_counts(model: AdditiveModel, X: Any) -> None:
    """Warn if rows seem to be training rows, because they fill the leaves as evenly as only these do.

    A tree keeps how many training rows each leaf has, or a sum that tells it. If m fresh rows and N training rows are
    draws from one distribution, the counts differ by chance: the statistic of the chi-squared test is ``1 + m / N`` per
    degree of freedom. Rows from another distribution give more, m of the training rows give ``1 - m / N``. Only a
    statistic far below that of fresh rows causes the warning. Trees are not independent, so that their mean counts as
    one.

    In a split that is stratified by class, pure leaves differ less: k classes may take k - 1 degrees of freedom. Trees
    with so few leaves that fresh rows may fill them as training rows do by chance are left out.

    Parameters
    ----------
    model : AdditiveModel
    X : array or CSR
        Rows as the innermost model gets them.
    """
    found, fresh, least = [], [], []
    if isinstance(model.preprocessing, Codes) or X.shape[0] == 0:  # its rows are no numbers yet, or there are none
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about names that arrays lack
        counts = list(_counts(model, X))
    for seen, trained, n_classes in counts:
        m, n, free = int(seen.sum()), int(trained.sum()), len(seen) - n_classes
        if free < 1 or m == 0 or n == 0:
            continue
        expected = trained * (m / n)
        if np.exp(-free / 2 * np.log1p(2 * np.pi * expected).mean()) > LEVEL:  # of equal counts, about
            continue
        per_leaf = (seen - expected) ** 2 / expected
        found.append(float(per_leaf.sum()) / (len(seen) - 1))
        fresh.append(1 + m / n)
        freedom = free / (1 + float(np.mean(1 / expected)) / 2)  # counts of few rows vary more
        least.append((1 + m / n) * float(chi2.ppf(LEVEL, freedom)) / freedom * free / (len(seen) - 1))
    if found and np.mean(found) < np.mean(least):
        warn_caller(
            "The rows seem to be training rows: they fill the leaves of the model as these did, with "
            f"{percent(float(np.mean(found) / np.mean(fresh)))} of the variation of fresh rows. The model is surer on "
            "them than on new ones, and the certificate does not hold; use rows that it was not trained on."
        )


def _counts(model: AdditiveModel, X: Any) -> Iterator[Counts]:
    """Numbers of given rows and of training rows in the leaves of some trees; nothing where a model keeps none."""
    leaf = model.leaf
    if isinstance(leaf, BaseDecisionTree):
        return _of_scikit_learn([leaf], X)
    if isinstance(leaf, ENSEMBLES):
        return _of_scikit_learn(np.ravel(leaf.estimators_)[:MOST_TREES].tolist(), X)
    booster: Any = leaf.booster_ if hasattr(leaf, "booster_") else getattr(leaf, "booster", None)
    if type(booster).__module__ == "lightgbm.basic" and booster.num_feature() == X.shape[1]:
        return _of_lightgbm(booster, X)
    booster = leaf.get_booster() if hasattr(leaf, "get_booster") else booster
    if type(booster).__module__ == "xgboost.core":
        return _of_xgboost(booster, model.terms, X)
    return iter(())


def _of_scikit_learn(trees: list[Any], X: Any) -> Iterator[Counts]:
    rows = X.astype(np.float32)
    for tree in trees:
        fitted = tree.tree_
        ends = fitted.children_left < 0
        reached = np.bincount(fitted.apply(rows), minlength=fitted.node_count)
        n_classes = max(2, fitted.value.shape[2])  # 1 stands for a regression on one class or the others
        yield reached[ends], np.asarray(fitted.n_node_samples[ends], dtype=np.int64), n_classes


def _of_lightgbm(booster: Any, X: Any) -> Iterator[Counts]:
    text = booster.model_to_string(num_iteration=MOST_TREES)
    leaves = np.asarray(booster.predict(X, pred_leaf=True, num_iteration=MOST_TREES)).reshape(X.shape[0], -1)
    for line, column in zip(re.findall(r"^leaf_count=(.*)$", text, re.MULTILINE), leaves.T, strict=False):
        trained = np.array(line.split(), dtype=np.int64)
        yield np.bincount(column, minlength=len(trained)), trained, 2


def _of_xgboost(booster: Any, terms: Terms, X: Any) -> Iterator[Counts]:
    """Counts of the first round's trees, of which each leaf keeps the sum of its training rows' hessians.

    All rows begin at one score, and have one hessian there, of which the sums are multiples. They are none, and nothing
    is yielded, if rows had weights or began at scores of their own. Weights that are integers repeat rows; then the
    statistic of fresh rows is greater. Leaves of equal values are taken together.
    """
    if booster.num_boosted_rounds() == 0:
        return
    learner = json.loads(booster[:1].save_raw("json"))["learner"]
    ensemble, factor = learner["gradient_booster"], HESSIANS.get(learner["objective"]["name"])
    if factor is None or ensemble["name"] != "gbtree":
        return
    hessian = factor * _variance(terms.intercept.astype(np.float32))
    trees, outputs = ensemble["model"]["trees"][:MOST_TREES], ensemble["model"]["tree_info"]
    ends = [np.asarray(tree["left_children"]) < 0 for tree in trees]
    sums = [np.asarray(tree["sum_hessian"])[e] / hessian[k] for tree, e, k in zip(trees, ends, outputs, strict=False)]
    if not _are_counts(np.concatenate(sums)):
        return
    for tree, e, trained, reached in zip(trees, ends, sums, terms.values(X, range(len(trees))).T, strict=True):
        leaves, which = np.unique(np.asarray(tree["split_conditions"], np.float32)[e], return_inverse=True)
        seen = np.bincount(np.searchsorted(leaves, reached), minlength=len(leaves))
        yield seen, np.bincount(which, np.rint(trained)).astype(np.int64), 2


def _variance(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Give p (1 - p) of each output, with the bits that XGBoost computes."""
    one = np.float32(1)
    if len(scores) == 1:
        p = one / (one + np.exp(-scores))
    else:
        odds = np.exp(scores - scores.max())
        p = odds / np.float32(odds.sum(dtype=np.float64))
    return np.asarray(p * (one - p))


def _are_counts(sums: NDArray[np.float64]) -> bool:
    """Whether sums are integers, but for rounding, and sums of any weights would hardly be."""
    near = abs(sums - np.rint(sums)) <= ROUNDING * sums
    return bool(sums.min() > 0.5 and near.all() and np.minimum(2 * ROUNDING * sums, 1).prod() < LEVEL)
