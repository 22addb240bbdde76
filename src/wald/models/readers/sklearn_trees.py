"""scikit-learn's decision trees, and forests, bagging and AdaBoost of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    RandomForestClassifier,
)
from sklearn.tree import BaseDecisionTree, DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

from ...outputs import Labels
from ..links import Link, Links, as_they_are
from ..reading import Decompose, Family, Reading, of_classes
from ..tree_arrays import TreesBuilder
from ..trees import TreeTerms
from ..units import Floats
from ..watch import Asked, Watch

#: What asks its first `n_estimators` members.
BAGGING = (BaggingClassifier, BaggingRegressor)
#: So many nodes of a tree are watched.
MOST_WATCHED = 256


def read_forest(model: Any, decompose: Decompose) -> Reading:
    """Read a fitted forest, decision tree, or bagging classifier of decision trees: the mean probability of each class.

    scikit-learn adds the probabilities of a forest's trees in the order in which threads finish, and those of bagging
    job by job. The scores here are added in the order of the trees, as with ``n_jobs=1``.

    Raises
    ------
    TypeError
        If it answers several outputs, or its members are not trees of all its classes.
    """
    check_is_fitted(model)
    require_one_output(model)
    classes, members = model.classes_, trees_of(model)
    _require_trees(model, members)
    values = [member.tree_.value[:, 0, :] for member in members]
    for i, member in enumerate(members):
        if len(member.classes_) != len(classes):  # a member of a bagging classifier knows the classes of its sample
            known, values[i] = values[i], np.zeros((len(values[i]), len(classes)))
            values[i][:, member.classes_.astype(np.intp)] = known
    terms = mean_of_trees(model, members, values)
    decision, links = Labels("argmax", len(classes)), Links.of(Link("mean"))
    return Reading(terms, decision, row_by_row="always", links=links, watches=(watch_of_trees(members),))


def trees_of(model: Any) -> list[Any]:
    """The estimators that a fitted forest, decision tree or bagging of trees asks."""
    if isinstance(model, BaseDecisionTree):
        return [model]
    return asked_members(model) if isinstance(model, BAGGING) else list(model.estimators_)


def mean_of_trees(model: Any, members: Sequence[Any], values: Sequence[Any]) -> TreeTerms:
    """The mean of the trees of a model, of which the nodes have the given values, (n_nodes, n_outputs)."""
    columns: list[Any] = list(getattr(model, "estimators_features_", [None] * len(members)))[: len(members)]
    builder = TreesBuilder(model.n_features_in_)
    for member, chosen, each in zip(members, columns, values, strict=True):
        add_tree(builder, member.tree_, each, columns=chosen)
    divisor = float(model.n_estimators if isinstance(model, BAGGING) else len(members))
    base, nan = np.zeros(values[0].shape[1]), takes_nan(members)
    return TreeTerms(builder.build(), base, divisor=divisor, f32_rows=True, nan=nan, infinity=False)


def asked_members(model: Any) -> list[Any]:
    """Members that a fitted ``BaggingClassifier`` asks: the first `n_estimators`, by which it divides their sum.

    Raises
    ------
    ValueError
        If `n_estimators` was set to no positive number after fit.
    """
    if model.n_estimators < 1:
        raise ValueError(f"This BaggingClassifier has n_estimators={model.n_estimators}, and its predict fails.")
    return list(model.estimators_[: model.n_estimators])


def read_adaboost(model: Any) -> Reading:
    """Read a fitted ``AdaBoostClassifier`` of decision trees; see `readers.votes.read_adaboost_votes`.

    Raises
    ------
    TypeError
        If it uses the algorithm SAMME.R.
    """
    if getattr(model, "algorithm", "SAMME") == "SAMME.R":
        raise TypeError("AdaBoostClassifier with algorithm='SAMME.R' is not supported. Fit it with algorithm='SAMME'.")
    members, weights = model.estimators_, np.asarray(model.estimator_weights_, dtype=np.float64)
    n_classes, binary = len(model.classes_), len(model.classes_) == 2
    builder = TreesBuilder(model.n_features_in_)
    for member, weight in zip(members, weights, strict=False):
        predicted = member.classes_[member.tree_.value[:, 0, :].argmax(axis=1)]
        if binary:
            values: Floats = np.where(predicted == model.classes_[1], weight, -weight)
        else:
            chosen = predicted[:, None] == model.classes_
            values = np.where(chosen, weight, -1 / (n_classes - 1) * weight)
        add_tree(builder, member.tree_, values)
    total, base = float(model.estimator_weights_.sum()), np.zeros(1 if binary else n_classes)
    # scikit-learn subtracts the score of class 0, which is the negative of that of class 1
    scale = 2.0 if binary else 1.0
    terms = TreeTerms(builder.build(), base, scale=scale, divisor=total, f32_rows=True, nan=False, infinity=False)
    links = Links(as_they_are, partial(_adaboost_probabilities, n_classes))
    watches = (watch_of_trees(members),)
    return Reading(terms, of_classes(n_classes), row_by_row="always", links=links, watches=watches)


def _adaboost_probabilities(n_classes: int, scores: Floats) -> Floats:
    """AdaBoost's probabilities from its decision function."""
    found: Floats = AdaBoostClassifier._compute_proba_from_decision(as_they_are(scores).copy(), n_classes)
    return found


def add_tree(builder: TreesBuilder, tree: Any, values: Any, output: int = 0, columns: Any = None) -> None:
    """Add a ``sklearn.tree._tree.Tree``.

    Parameters
    ----------
    builder : TreesBuilder
    tree : sklearn.tree._tree.Tree
    values : ndarray of shape (n_nodes,) or (n_nodes, n_values)
        Value of every node that is a leaf.
    output : int, default=0
        The output of the first value.
    columns : ndarray of int or None, default=None
        Column of each feature of the tree; None: the feature itself.
    """
    left, right = np.asarray(tree.children_left, np.int64), np.asarray(tree.children_right, np.int64)
    is_leaf = left < 0
    feature = np.where(is_leaf, 0, tree.feature)
    feature = feature if columns is None else np.asarray(columns)[feature]
    missing = getattr(tree, "missing_go_to_left", np.zeros(len(left), dtype=np.uint8))
    builder.add_nodes(is_leaf, feature, tree.threshold, left, right, missing, np.asarray(values)[is_leaf], output)


def watch_of_trees(trees: Sequence[Any]) -> Watch:
    """Watch the values of the first tree, which are changed in place where all are; later trees would take too long."""
    return Watch([], asked=[Asked(trees[0], "the first tree", partial(_values, trees[0].tree_))] if len(trees) else [])


def _values(tree: Any) -> bytes:
    return bytes(tree.value[:MOST_WATCHED].tobytes())


def _require_trees(model: Any, members: Any) -> None:
    for member in members:
        if not isinstance(member, DecisionTreeClassifier):
            raise TypeError(
                f"{type(model).__name__} of {type(member).__name__} is not supported yet. Supported are "
                "ensembles of DecisionTreeClassifier. Wrap one of its estimators_."
            )


def require_one_output(model: Any) -> None:
    """Raise TypeError if a classifier answers several labels a row."""
    if isinstance(model.classes_, list) or np.ndim(model.classes_) != 1:
        raise TypeError(
            f"This {type(model).__name__} answers several outputs a row, and wald stops at one. Fit one model for each."
        )


def takes_nan(members: Any) -> bool:
    """Whether trees take NaN, as they say themselves."""
    tags: list[Callable[[], Any]] = [member.__sklearn_tags__ for member in members[:1]]
    return all(tag().input_tags.allow_nan for tag in tags)


FAMILY = Family(
    (RandomForestClassifier, ExtraTreesClassifier, DecisionTreeClassifier),
    ("predict", "predict_proba"),
    ("estimators_", "tree_", "classes_"),
    read_forest,
    thresholds=False,
)
