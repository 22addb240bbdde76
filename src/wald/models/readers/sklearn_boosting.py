"""scikit-learn's ``GradientBoostingClassifier`` and ``HistGradientBoostingClassifier``."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier
from sklearn.utils.validation import check_is_fitted

from ...steps.encoded_categories import EncodedCategories
from ..links import Link, Links, as_they_are, by_columns
from ..reading import Decompose, Family, Reading, of_classes
from ..tree_arrays import Trees, TreesBuilder
from ..trees import TreeTerms
from ..units import Floats
from ..watch import Watch
from .sklearn_trees import add_tree, watch_of_trees
from .started import terms_of

#: Fields of the private node records of HistGradientBoosting that the reader uses.
FIELDS = {
    *("value", "feature_idx", "num_threshold", "missing_go_to_left", "left", "right", "is_leaf"),
    *("is_categorical", "bitset_idx"),
}


def read_gradient_boosting(model: Any, decompose: Decompose) -> Reading:
    """Read a fitted ``GradientBoostingClassifier``.

    Rows are rounded to float32; scores are the initial score, which another model may give, plus ``learning_rate``
    times a leaf, tree by tree. Two classes: class 1 where the score is at least 0. More: the first of the largest.
    """
    check_is_fitted(model)
    n_outputs = model.estimators_.shape[1]
    builder = TreesBuilder(model.n_features_in_)
    for stage in model.estimators_:
        for k, tree in enumerate(stage):
            add_tree(builder, tree.tree_, model.learning_rate * tree.tree_.value[:, 0, 0], k)
    terms = terms_of(model, builder.build(), n_outputs, decompose)
    decision = of_classes(max(2, n_outputs), tie_positive=n_outputs == 1)
    slopes = {"HalfBinomialLoss": 1.0, "ExponentialLoss": 2.0}
    slope = slopes.get(type(model._loss).__name__)
    link = Link("exp_rows") if n_outputs > 1 else None if slope is None else Link("expit", slope)
    links, watches = Links(as_they_are, model._loss.predict_proba, link), (watch_of_trees(model.estimators_.ravel()),)
    row_by_row: Any = "always" if isinstance(terms, TreeTerms) or terms.exact else "never"
    return Reading(terms, decision, row_by_row=row_by_row, links=links, watches=watches)


def read_hist_gradient_boosting(model: Any, decompose: Decompose) -> Reading:
    """Read a fitted ``HistGradientBoostingClassifier``.

    Its trees have no public form: the fields of their nodes are read by name. Terms are those of rows whose categories
    are encoded. Two classes: class 1 where the score is above 0. More: the first of the largest.

    Raises
    ------
    TypeError
        If its trees have an unknown form.
    """
    check_is_fitted(model)
    trees, base = hist_gradient_trees(model)
    link = Link("expit" if len(base) == 1 else "exp")
    return Reading(
        TreeTerms(trees, base),
        of_classes(max(2, len(base))),
        steps=encoding_steps(model),
        row_by_row="always",
        dense_only=True,
        links=Links(as_they_are, partial(by_columns, model._loss.predict_proba), link),
        watches=(watch_of_nodes(model),),
    )


def watch_of_nodes(model: Any) -> Watch:
    """Watch the nodes of the first tree of a ``HistGradientBoosting`` model, which may be changed in place."""
    return Watch([(model._predictors[0][0], "nodes")])


def hist_gradient_trees(model: Any) -> tuple[Trees, Floats]:
    """Read the trees of a ``HistGradientBoosting`` model, whose nodes have no public form, and the score before them.

    Parameters
    ----------
    model : HistGradientBoostingClassifier or HistGradientBoostingRegressor

    Returns
    -------
    trees : Trees
    base : float64 ndarray of shape (n_outputs,)

    Raises
    ------
    TypeError
        If its trees have an unknown form.
    """
    try:
        predictors, base = model._predictors, np.asarray(model._baseline_prediction, dtype=np.float64).ravel()
        first = predictors[0][0].nodes
        if not set(first.dtype.names) >= FIELDS:
            raise AttributeError(f"nodes have the fields {first.dtype.names}")
    except (AttributeError, IndexError, TypeError) as error:
        raise TypeError(
            f"The trees of this {type(model).__name__} have a form that wald does not know: {error}. Use a "
            "version of scikit-learn that wald supports."
        ) from None
    builder = TreesBuilder(model.n_features_in_)
    known, place = model._bin_mapper.make_known_categories_bitsets()
    for iteration in predictors:
        for k, predictor in enumerate(iteration):
            _add_nodes(builder, predictor, k, known, place)
    return builder.build(), base


def _add_nodes(builder: TreesBuilder, predictor: Any, output: int, known: Any, place: Any) -> None:
    """Add a tree; the categories of column c that training knew are the bits ``known[place[c]]``."""
    nodes, left = predictor.nodes, predictor.raw_left_cat_bitsets
    is_leaf = nodes["is_leaf"].astype(bool)
    categories = np.full(len(nodes), -1)
    for n in np.flatnonzero(nodes["is_categorical"] & ~is_leaf):
        node = nodes[n]
        missing_left = bool(node["missing_go_to_left"])
        bits = left[node["bitset_idx"]]
        if missing_left:  # unknown categories count as missing
            bits = bits | ~known[place[node["feature_idx"]]]
        categories[n] = builder.add_set(bits, 32 * len(bits), missing_left)
    builder.add_nodes(
        is_leaf,
        nodes["feature_idx"],
        nodes["num_threshold"],
        nodes["left"].astype(np.int64),
        nodes["right"].astype(np.int64),
        nodes["missing_go_to_left"],
        nodes["value"][is_leaf],
        output,
        categories,
    )


def encoding_steps(model: Any) -> tuple[tuple[str, Any], ...]:
    """The model's own encoding of categories as steps of a pipeline; none for a model of numbers."""
    encoding = getattr(model, "_preprocessor", None)
    if encoding is None:
        return ()
    return (("categories", EncodedCategories(encoding, np.flatnonzero(model.is_categorical_).tolist())),)


FAMILIES = (
    Family(
        (GradientBoostingClassifier,),
        ("predict", "decision_function"),
        ("estimators_", "init_", "learning_rate", "classes_"),
        read_gradient_boosting,
        thresholds=False,
    ),
    Family(
        (HistGradientBoostingClassifier,),
        ("predict", "decision_function"),
        ("_predictors", "_baseline_prediction", "_bin_mapper", "_preprocessor", "classes_"),
        read_hist_gradient_boosting,
        thresholds=False,
    ),
)
