"""Outlier detectors of scikit-learn: isolation forests, and machines of one class."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import SGDOneClassSVM
from sklearn.svm import OneClassSVM
from sklearn.utils.validation import check_is_fitted

from ...outputs import Labels
from ..linear import LinearTerms
from ..links import Links, PathLink
from ..reading import Decompose, Family, Reading
from ..terms import Terms
from ..tree_arrays import TreesBuilder
from ..trees import TreeTerms
from ..units import Floats
from .kernel import MACHINE, dense, one_sum
from .sklearn_trees import add_tree, watch_of_trees

#: Distance from the threshold, relative to it, within which the rounding of a power of two may decide.
NEAR = 1e-12
#: Labels of the codes 0 and 1.
OUTLIER_AND_INLIER = np.array([-1, 1])


def read_isolation_forest(model: Any, decompose: Decompose) -> Reading:
    """Read a fitted ``IsolationForest``: sums of depths, which lie above a threshold for inliers.

    A tree adds the number of splits on the way to a leaf, and the average path length of the training rows in it (Liu,
    Ting and Zhou, "Isolation Forest", 2008). scikit-learn adds the trees in the order in which threads finish; the
    depths here are added in the order of the trees, as without threads.

    Raises
    ------
    TypeError
        If it does not hold the depths of its leaves in the form that wald knows.
    """
    check_is_fitted(model)
    try:
        lengths, averages = model._decision_path_lengths, model._average_path_length_per_tree
        all_columns, usual = model._max_features == model.n_features_in_, _usual_length(model)
    except (AttributeError, IndexError) as error:
        raise TypeError(
            f"The leaves of this IsolationForest have a form that wald does not know: {error}. Use a version of "
            "scikit-learn that wald supports."
        ) from None
    watches = (watch_of_trees(model.estimators_),)
    builder = TreesBuilder(model.n_features_in_)
    for tree, columns, length, average in zip(
        model.estimators_, model.estimators_features_, lengths, averages, strict=True
    ):
        add_tree(builder, tree.tree_, length + average - 1.0, columns=None if all_columns else columns)
    terms = TreeTerms(builder.build(), np.zeros(1), f32_rows=True)
    link = PathLink(usual * len(model.estimators_), float(model.offset_))
    deepest = float(np.maximum.reduceat(terms.trees.leaves, terms.trees.first_leaf[:-1]).sum()) + 1.0
    threshold = _deepest_outlier(link.decision_function, deepest)
    links = Links(link.decision_function, score_samples=link.score_samples, path_link=link)
    if math.isinf(threshold):  # all rows have one label
        label, decision = OUTLIER_AND_INLIER[[int(threshold < 0)]], Labels("sign", 1, threshold=math.inf)
        return _reading(terms, decision, label, row_by_row="always", links=links)
    decision, tie_margin = Labels("sign", 2, threshold=threshold), NEAR * max(1.0, abs(threshold))
    return _reading(terms, decision, row_by_row="always", tie_margin=tie_margin, links=links, watches=watches)


def _reading(terms: Terms, decision: Labels, classes: NDArray[Any] = OUTLIER_AND_INLIER, **options: Any) -> Reading:
    return Reading(terms, decision, classes=classes, kind="outlier detector", **options)


def _usual_length(model: Any) -> float:
    """The average path length in a tree of as many rows as each tree was trained on."""
    from sklearn.ensemble._iforest import _average_path_length

    return float(_average_path_length([model._max_samples])[0])


def _deepest_outlier(score: Callable[[Floats], Floats], deepest: float) -> float:
    """The largest sum of depths, up to `deepest`, whose score is below 0; infinite where one label is all there is."""
    low, high = 0.0, deepest
    if not score(np.array([[low]]))[0] < 0:
        return -math.inf
    if score(np.array([[high]]))[0] < 0:
        return math.inf
    while np.nextafter(low, high) < high:
        middle = 0.5 * (low + high)
        if score(np.array([[middle]]))[0] < 0:
            low = middle
        else:
            high = middle
    return low


def read_one_class_svm(model: Any, decompose: Decompose) -> Reading:
    """Read a fitted ``OneClassSVM``: inliers have a score above 0.

    Raises
    ------
    TypeError, ValueError
        As for an ``SVC``.
    """
    terms, dense_only = one_sum(model)
    return _reading(terms, Labels("sign", 2), row_by_row="always", dense_only=dense_only)


def read_linear_detector(model: Any, decompose: Decompose) -> Reading:
    """Read a fitted ``SGDOneClassSVM``: inliers have a score of at least 0."""
    check_is_fitted(model, "coef_")
    coef = np.array(np.atleast_2d(dense(model.coef_)), dtype=np.float64)
    intercept = -np.array(np.ravel(model.offset_), dtype=np.float64)
    return _reading(
        LinearTerms(coef, intercept),
        Labels("sign", 2, tie_positive=True),
        OUTLIER_AND_INLIER.astype(np.int32),  # as its predict gives them
        dtype=np.dtype(model.coef_.dtype),
        row_by_row="sparse",
    )


FAMILIES = (
    Family(
        (IsolationForest,),
        ("predict", "decision_function", "score_samples"),
        ("estimators_", "estimators_features_", "offset_", "_max_samples"),
        read_isolation_forest,
        thresholds=False,
    ),
    Family(
        (SGDOneClassSVM,),
        ("predict", "decision_function"),
        ("coef_", "offset_"),
        read_linear_detector,
        thresholds=False,
    ),
    Family((OneClassSVM,), ("predict", "decision_function"), MACHINE, read_one_class_svm, thresholds=False),
)
