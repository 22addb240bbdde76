"""Regressors of scikit-learn that are sums or means of trees."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.validation import check_is_fitted

from ..links import Links, ValueLink, by_columns
from ..reading import Decompose, Family, Reading, of_values
from ..started import StartedTrees
from ..tree_arrays import TreesBuilder
from ..trees import TreeTerms
from ..watch import Watch
from .sklearn_boosting import encoding_steps, hist_gradient_trees, watch_of_nodes
from .sklearn_trees import add_tree, mean_of_trees, trees_of, watch_of_trees
from .started import terms_of


def read_forest(model: Any, decompose: Decompose) -> Reading:
    """Read a fitted forest, decision tree, or bagging of decision trees: the mean value of its trees.

    scikit-learn adds the values of a forest's trees in the order in which threads finish, and those of bagging job by
    job. They are added in the order of the trees here, as with ``n_jobs=1``.
    """
    check_is_fitted(model)
    members = trees_of(model)
    terms = mean_of_trees(model, members, [member.tree_.value[:, :, 0] for member in members])
    return _reading(terms, watch_of_trees(members))


def read_gradient_boosting(model: Any, decompose: Decompose) -> Reading:
    """Read a fitted ``GradientBoostingRegressor``, whose first values another model may give."""
    check_is_fitted(model)
    builder = TreesBuilder(model.n_features_in_)
    for (tree,) in model.estimators_:
        add_tree(builder, tree.tree_, model.learning_rate * tree.tree_.value[:, 0, 0])
    terms = terms_of(model, builder.build(), 1, decompose)
    return _reading(terms, watch_of_trees(model.estimators_.ravel()))


def read_hist_gradient_boosting(model: Any, decompose: Decompose) -> Reading:
    """Read a fitted ``HistGradientBoostingRegressor``; its trees are read as those of the classifier."""
    check_is_fitted(model)
    trees, base = hist_gradient_trees(model)
    link = model._loss.link
    named = {"IdentityLink": ValueLink("identity"), "LogLink": ValueLink("numpy exp")}.get(type(link).__name__)
    links = Links(predict=partial(_inverse, link.inverse), value_link=named)
    read = _reading(TreeTerms(trees, base), watch_of_nodes(model))
    return replace(read, links=links, steps=encoding_steps(model), dense_only=True)


def _inverse(inverse: Any, scores: Any) -> Any:
    return by_columns(lambda raw: inverse(raw.ravel()), scores)


def _reading(terms: TreeTerms | StartedTrees, watch: Watch) -> Reading:
    row_by_row = "always" if isinstance(terms, TreeTerms) or terms.exact else "never"
    return of_values(terms, ValueLink("identity"), row_by_row=row_by_row, watches=(watch,))


FAMILIES = (
    Family(
        (RandomForestRegressor, ExtraTreesRegressor, DecisionTreeRegressor),
        ("predict",),
        ("estimators_", "tree_"),
        read_forest,
        thresholds=False,
    ),
    Family(
        (GradientBoostingRegressor,),
        ("predict",),
        ("estimators_", "init_", "learning_rate"),
        read_gradient_boosting,
        thresholds=False,
    ),
    Family(
        (HistGradientBoostingRegressor,),
        ("predict",),
        ("_predictors", "_baseline_prediction", "_bin_mapper", "_preprocessor"),
        read_hist_gradient_boosting,
        thresholds=False,
    ),
)
