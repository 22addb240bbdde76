"""CatBoost's classifiers of numeric features, read from the JSON that ``save_model`` writes."""

from __future__ import annotations

import json
import math
import tempfile
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from ...outputs import Labels
from ..class_names import CATBOOST_MODELS
from ..links import Link, Links
from ..reading import Decompose, Family, Reading
from ..tree_arrays import Trees, TreesBuilder
from ..trees import TreeTerms
from ..units import Floats
from ..watch import Asked, Watch
from .limits import require_sizes

LOSSES = ("Logloss", "CrossEntropy", "MultiClass", "MultiClassOneVsAll")
MOST_DEPTH = 24

#: Dtypes of labels, by their names in a file.
LABELS: dict[Any, Any] = {"Integer": np.int64, "Float": np.float64, "String": np.str_, "Boolean": np.bool_}

#: Types of the column, the threshold and the side of NaN of a split.
COLUMNS = (np.int64, np.float64, np.uint8)


@dataclass(frozen=True, eq=False)
class CatBoostModel:
    """The trees of a model, and the scale and bias of their sums.

    Parameters
    ----------
    trees : Trees
        A tree for each output, where a leaf of the model has several values.
    scale : float
    bias : float64 ndarray of shape (n_outputs,)
    threshold : float
        Two classes: the score above which a row has class 1.
    nan : bool
        Whether NaN has a place in every feature.
    loss : str or None
        Name of the loss; None if the model does not say it.
    classes : ndarray or None
        Labels; None if the model does not say them.
    feature_names : list of str
        Empty if the features have no names.
    """

    trees: Trees
    scale: float
    bias: Floats
    threshold: float
    nan: bool
    loss: str | None = None
    classes: NDArray[Any] | None = None
    feature_names: tuple[str, ...] = ()

    def terms(self) -> TreeTerms:
        """Raw formula values as terms."""
        base = np.zeros(len(self.bias))
        return TreeTerms(self.trees, base, self.bias, self.scale, f32_rows=True, nan=self.nan, refuses_categories=True)

    def reading(self, what: str, n_classes: int | None = None) -> Reading:
        """Read the model: its raw formula values, and the rule from these to labels.

        Parameters
        ----------
        what : str
            What holds the model, in messages.
        n_classes : int or None, default=None
            None: those that the model says, or what follows from the number of scores.

        Raises
        ------
        TypeError
            If the loss has no known rule.
        """
        classes = np.arange(max(2, len(self.bias))) if self.classes is None else self.classes
        decision, link = self._rule(what, len(classes) if n_classes is None else n_classes)
        links, names = Links(link=link), tuple(self.feature_names)
        return Reading(self.terms(), decision, row_by_row="always", links=links, names=names, classes=classes)

    def _rule(self, what: str, n_classes: int) -> tuple[Labels, Link]:
        n_outputs, loss = len(self.bias), self.loss
        if loss is None and self.classes is not None:  # a sum of models keeps the classes, and forgets the loss
            if n_outputs == n_classes:
                return Labels("argmax", n_classes), Link("none")  # softmax or sigmoids: who knows
            loss = "Logloss"
        if loss is None:
            raise TypeError(f"{what} is not supported: it knows neither a loss nor classes. A classifier is needed.")
        if loss not in LOSSES:
            raise TypeError(f"{what} with loss_function={loss!r} is not supported. Supported are {', '.join(LOSSES)}.")
        if n_outputs == 1 and n_classes == 2:
            return Labels("sign", 2, threshold=self.threshold), Link("sigmoid")
        if n_outputs == n_classes:
            return Labels("argmax", n_classes), Link("fast" if loss == "MultiClass" else "sigmoids")
        raise TypeError(f"This {what} has {n_classes} classes and {n_outputs} scores a row.")


def read_catboost(model: Any, decompose: Decompose) -> Reading:
    """Read a fitted ``CatBoostClassifier``; see `CatBoostModel.reading`.

    Raises
    ------
    TypeError
        If it has categorical, text or embedding features, or another loss.
    """
    if not model.is_fitted():
        raise NotFittedError("This CatBoostClassifier is not fitted. Call its fit first.")
    require_numeric(model)
    read = read_catboost_model(catboost_json(model)).reading("CatBoostClassifier", len(model.classes_))
    return replace(read, links=Links.of(read.links.link), classes=None, watches=(watch_of_catboost(model),))


def watch_of_catboost(model: Any) -> Watch:
    """Watch what a new fit replaces, the number of trees, and the scale and bias, which are set in place."""
    told = (
        Asked(model, "the number of trees", partial(getattr, model, "tree_count_")),
        Asked(model, "the scale or bias", model.get_scale_and_bias),
    )
    return Watch([(model, "_prediction_values_change")], asked=told)


def require_numeric(model: Any) -> None:
    """Raise TypeError if a CatBoost model has features that are not numbers."""
    for name in ("cat", "text", "embedding"):
        if len(getattr(model, f"_get_{name}_feature_indices")()):
            raise TypeError(
                f"{type(model).__name__} with {name} features is not supported: CatBoost turns them into numbers by "
                "rules of its own. Encode them in front, for instance by a TargetEncoder, and fit it on numbers."
            )


def catboost_json(model: Any) -> bytes:
    """Write a fitted CatBoost model as JSON."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        return path.read_bytes()


def read_catboost_model(raw: bytes) -> CatBoostModel:
    """Read a model's JSON.

    Raises
    ------
    ValueError
        If it is no such model, or one with features that are not numbers.
    """
    try:
        document = json.loads(raw)
        if document.get("ctr_data") or document["features_info"].get("categorical_features"):
            raise ValueError("CatBoost models with categorical features are not supported. Encode them in front.")
        scale, bias = document["scale_and_bias"]
        bias = np.atleast_1d(np.asarray(bias, dtype=np.float64))
        columns, nan_left, names = [], [], []
        floats = sorted(document["features_info"]["float_features"], key=lambda each: int(each["feature_index"]))
        for each in floats:
            columns.append(int(each["flat_feature_index"]))
            names.append(str(each.get("feature_id", "")))
            nan_left.append(each.get("nan_value_treatment", "AsIs") != "AsTrue")
        n_trees = len(document.get("oblivious_trees", ())) + len(document.get("trees", ()))
        require_sizes("CatBoost", max(columns) + 1, len(bias), n_trees, len(raw))
        if min(columns) < 0 or not (np.isfinite(bias).all() and math.isfinite(scale)):
            raise ValueError("This CatBoost model has a column, a scale or a bias that is out of range.")
        builder = TreesBuilder(max(columns) + 1)
        feature = _Features(np.array(columns), np.array(nan_left))
        for tree in document.get("oblivious_trees", ()):
            _add_symmetric(builder, tree, feature, len(bias))
        for tree in document.get("trees", ()):
            _add_nested(builder, tree, feature, len(bias))
        settings = document.get("model_info", {})
        half = float(settings.get("binclass_probability_threshold", 0.5))
        if not 0 < half < 1:
            raise ValueError(f"This CatBoost model has the probability threshold {half}.")
        return CatBoostModel(
            builder.build(),
            float(scale),
            bias,
            0.0 if half == 0.5 else -math.log(1.0 / half - 1.0),
            True,
            *_loss_and_classes(settings),
            tuple(name for _, name in sorted(zip(columns, names, strict=True)))
            if all(names) and len(names) == builder.n_features
            else (),
        )
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        if "CatBoost" in str(error):
            raise
        raise ValueError(f"This is no CatBoost model that wald can read: {error!r}.") from None


def _loss_and_classes(settings: Any) -> tuple[str | None, NDArray[Any] | None]:
    """Loss and labels of a model, where its file says them."""
    loss = settings.get("params", {}).get("loss_function", {}).get("type")
    labels = settings.get("class_params", {})
    names = labels.get("class_names")
    if not names:
        return loss, None
    classes = np.array(names, dtype=LABELS.get(labels.get("class_label_type")))
    if classes.ndim != 1 or classes.dtype.kind not in "iufUb" or len(np.unique(classes)) < len(classes):
        raise ValueError(f"The {len(names)} class names of this CatBoost model are no distinct numbers or texts.")
    return loss, classes


@dataclass(frozen=True, eq=False)
class _Features:
    """Column, and side of NaN, of each feature of the model."""

    column: Any
    nan_left: Any

    def split(self, split: Any) -> tuple[int, float, bool]:
        """Column, threshold and side of NaN of a split, which sends a row to the right if ``x > border``."""
        if split.get("split_type", "FloatFeature") != "FloatFeature":
            raise ValueError(f"CatBoost splits of type {split['split_type']!r} are not supported.")
        f = int(split["float_feature_index"])
        if f < 0:
            raise ValueError("A feature of this CatBoost model is out of range.")
        return self.column[f], float(np.float32(split["border"])), self.nan_left[f]


def _add_symmetric(builder: TreesBuilder, tree: Any, features: _Features, n_outputs: int) -> None:
    """Add a tree in which bit d of a leaf's number tells whether the row exceeds the border of split d."""
    splits = [features.split(split) for split in tree.get("splits") or ()][::-1]
    depth = len(splits)
    if depth > MOST_DEPTH:
        raise ValueError(f"A tree of this CatBoost model is {depth} levels deep.")
    leaves = np.asarray(tree["leaf_values"], dtype=np.float64).reshape(1 << depth, n_outputs)
    n = (1 << depth) - 1
    level = np.repeat(np.arange(depth), 1 << np.arange(depth))
    left = 2 * np.arange(n) + 1
    left = np.where(left < n, left, ~(left - n))
    right = np.where(left >= 0, left + 1, left - 1)
    column, threshold, nan_left = (np.array([split[i] for split in splits], dtype) for i, dtype in enumerate(COLUMNS))
    builder.add(column[level], threshold[level], left, right, nan_left[level], leaves)


def _add_nested(builder: TreesBuilder, tree: Any, features: _Features, n_outputs: int) -> None:
    """Add a tree whose nodes hold their children."""
    nodes: list[tuple[int, float, bool]] = []
    children: list[list[int]] = []
    leaves: list[Any] = []
    stack: list[tuple[Any, int, int]] = [(tree, -1, 0)]
    while stack:
        node, parent, place = stack.pop()
        if "split" in node:
            number = len(nodes)
            nodes.append(features.split(node["split"]))
            children.append([0, 0])
            stack += [(node["right"], number, 1), (node["left"], number, 0)]
        else:
            number = ~len(leaves)
            leaves.append(np.asarray(node["value"], dtype=np.float64).reshape(n_outputs))
        if parent >= 0:
            children[parent][place] = number
    column, threshold, nan_left = (np.array([node[i] for node in nodes], dtype) for i, dtype in enumerate(COLUMNS))
    left, right = [child[0] for child in children], [child[1] for child in children]
    builder.add(column, threshold, left, right, nan_left, leaves)


FAMILY = Family((), ("predict", "predict_proba"), ("_object",), read_catboost, thresholds=False, named=CATBOOST_MODELS)
