"""Whether the rows of `fit` fill the leaves of a tree model as the training rows do."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2
from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import BaseDecisionTree

from ..models import AdditiveModel
from ..utils.figures import percent
from ..utils.warn import warn_caller

#: Trees that are looked at, and the probability of a false alarm for fresh rows and a single tree.
MOST_TREES, LEVEL = 20, 1e-4
#: Ensembles whose trees count the training rows of their leaves.
ENSEMBLES = (RandomForestClassifier, ExtraTreesClassifier, GradientBoostingClassifier)

#: Of a tree: the numbers of given rows and of training rows in its leaves, and of the classes that it tells apart.
Counts = tuple[NDArray[np.int64], NDArray[np.int64], int]


def warn_of_leaf_counts(model: AdditiveModel, X: Any) -> None:
    """Warn if rows seem to be training rows, because they fill the leaves as evenly as only these do.

    A tree keeps how many training rows each leaf has. If m fresh rows and N training rows are draws from one
    distribution, the counts differ by chance: the statistic of the chi-squared test is ``1 + m / N`` per degree of
    freedom. Rows from another distribution give more, m of the training rows give ``1 - m / N``. Only a statistic
    far below that of fresh rows causes the warning. Trees are not independent, so that their mean counts as one.

    In a split that is stratified by class, pure leaves differ less: k classes may take k - 1 degrees of freedom. Trees
    with so few leaves that fresh rows may fill them as training rows do by chance are left out.

    Parameters
    ----------
    model : AdditiveModel
    X : array or CSR
        Rows as the innermost model gets them.
    """
    found, fresh, least = [], [], []
    if model.own_steps:  # its rows are no numbers yet
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about names that arrays lack
        counts = list(_counts(model.leaf, X))
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


def _counts(leaf: Any, X: Any) -> Iterator[Counts]:
    """Numbers of given rows and of training rows in the leaves of some trees; nothing where a model keeps none."""
    booster: Any = getattr(leaf, "booster_", None) if hasattr(leaf, "_Booster") else getattr(leaf, "booster", None)
    if type(booster).__module__ == "lightgbm.basic" and booster.num_feature() == X.shape[1]:
        text = booster.model_to_string(num_iteration=MOST_TREES)
        leaves = np.asarray(booster.predict(X, pred_leaf=True, num_iteration=MOST_TREES)).reshape(X.shape[0], -1)
        for line, column in zip(re.findall(r"^leaf_count=(.*)$", text, re.MULTILINE), leaves.T, strict=False):
            trained = np.array(line.split(), dtype=np.int64)
            yield np.bincount(column, minlength=len(trained)), trained, 2
        return
    if isinstance(leaf, BaseDecisionTree):
        trees = [leaf]
    else:
        trees = np.ravel(leaf.estimators_)[:MOST_TREES].tolist() if isinstance(leaf, ENSEMBLES) else []
    rows = X.astype(np.float32) if trees else X
    for tree in trees:
        fitted = tree.tree_
        ends = fitted.children_left < 0
        reached = np.bincount(fitted.apply(rows), minlength=fitted.node_count)
        n_classes = max(2, fitted.value.shape[2])  # 1 stands for a regression on one class or the others
        yield reached[ends], np.asarray(fitted.n_node_samples[ends], dtype=np.int64), n_classes
