"""XGBoost's classifiers, read from the JSON or UBJSON that ``Booster.save_raw`` writes."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ...outputs import Labels
from ...steps.categories import NamedCategories
from ..class_names import XGBOOST_MODELS
from ..exponentials import float32_logarithms
from ..links import Link, Links
from ..reading import Decompose, Family, Reading
from ..tree_arrays import Trees, TreesBuilder
from ..trees import TreeTerms
from ..units import Floats
from ..watch import Asked, Watch
from .even_odds import largest_not_above_half
from .limits import most_words, require_sizes
from .ubjson import read_ubjson

#: Dtypes of the names of categories, by their numbers in a file.
NAMES = {9: "int8", 10: "uint8", 11: "int16", 12: "uint16", 13: "int32", 14: "uint32", 15: "int64", 16: "uint64"}


#: Objectives whose scores start at the logit of ``base_score``.
LOGISTIC = ("binary:logistic", "reg:logistic")
#: Objectives whose values are exponentials of their margins.
EXPONENTIAL = ("count:poisson", "reg:gamma", "reg:tweedie", "survival:cox", "survival:aft")

#: XGBoost takes base scores of logistic objectives that are nearer to 0 or 1 as this far away.
LEAST_BASE = 1e-6

#: Softmax of scores this near may be equal in float32; sigmoid this near the threshold may round to one half.
NEAR = 3e-7

#: Categories are below 2^24, as XGBoost has it.
MOST_CATEGORIES = 1 << 24


@dataclass(frozen=True, eq=False)
class XGBoostModel:
    """The trees of a booster and the scores to which they are added.

    Parameters
    ----------
    trees : Trees
    base : float64 ndarray of shape (n_outputs,)
    objective : str
    feature_names : list of str
    categories : list of (ndarray or None)
        Names of the categories of each column, in the order of their codes: numbers or objects of bytes. Empty if it
        was trained on codes.
    best_iteration : int or None
        The best round, if the model was saved by an early stopped ``XGBClassifier``, whose predict ends there.
    by_estimator : bool
        Whether an estimator such as ``XGBClassifier`` saved the model.
    """

    trees: Trees
    base: Floats
    objective: str
    feature_names: list[str]
    categories: list[NDArray[Any] | None]
    best_iteration: int | None = None
    by_estimator: bool = False

    def require_codes(self, what: str) -> None:
        """Raise TypeError if the model codes categories with names by itself."""
        if self.categories:
            raise TypeError(
                f"{what} was trained on a DataFrame with columns of dtype category. Wrap the XGBClassifier, which "
                "takes such frames, or train on integer codes and enable_categorical with feature_types."
            )

    def category_steps(self) -> tuple[tuple[str, NamedCategories], ...]:
        """Return the codes of named categories; none if it was trained on codes."""
        codes = NamedCategories(self.categories, len(self.categories))
        return (("categories", codes),) if self.categories else ()

    def terms(self, missing: float = math.nan) -> TreeTerms:
        """Margins as terms: sums in float32, to which the base comes first."""
        return TreeTerms(
            self.trees,
            self.base,
            f32_rows=True,
            f32_sums=True,
            missing=missing,
            absent_is_missing=True,
            refuses_categories=True,
        )

    def reading(self, what: str, missing: float = math.nan) -> Reading:
        """Read the model: its margins, and the rule from these to labels.

        Scores nearer than `tie_margin` may have equal probabilities in float32.

        Parameters
        ----------
        what : str
            What holds the model, in messages.
        missing : float, default=NaN
            A value that counts as missing.

        Raises
        ------
        TypeError
            If the objective has no known rule.
        """
        decision, tie_margin, link = self._rule(what)
        return Reading(
            self.terms(missing),
            decision,
            np.dtype(np.float32),
            steps=self.category_steps(),
            row_by_row="always",
            tie_margin=tie_margin,
            links=Links(link=link),
            names=tuple(self.feature_names),
        )

    def _rule(self, what: str) -> tuple[Labels, float, Link]:
        n_outputs = len(self.base)
        if n_outputs == 1 and self.objective == "binary:logistic":
            return Labels("sign", 2, threshold=_half_in_float32()), NEAR, Link("sigmoid", single=True)
        if n_outputs == 1 and self.objective == "binary:logitraw":
            return Labels("sign", 2, threshold=0.5), 0.0, Link("none")
        if n_outputs == 1 and self.objective == "binary:hinge":
            return Labels("sign", 2), 0.0, Link("none")
        if n_outputs > 1 and self.objective in ("multi:softprob", "multi:softmax"):
            scipy = self.by_estimator and self.objective == "multi:softmax"  # of which it computes them in Python
            return Labels("argmax", n_outputs), NEAR, Link("scipy" if scipy else "softmax", single=True)
        if n_outputs > 1 and str(self.objective).startswith("binary:"):
            raise TypeError(
                f"{what} with {n_outputs} labels a row is not supported: a row has one label. Wrap a model of each "
                "label by itself."
            )
        raise TypeError(
            f"{what} with objective {self.objective!r} is not supported: wald does not know how its margins become "
            "labels. Supported are binary:logistic, binary:logitraw, binary:hinge, multi:softprob and multi:softmax."
        )


def read_xgboost(model: Any, decompose: Decompose) -> Reading:
    """Read a fitted ``XGBClassifier`` or ``XGBRFClassifier``; see `XGBoostModel.reading`.

    Raises
    ------
    TypeError
        If its labels do not follow from its margins by a known rule, or its trees have leaves of several values.
    """
    check_is_fitted(model)
    booster = model.get_booster()
    if model.booster == "gblinear":
        raise TypeError(
            "XGBClassifier with booster='gblinear' is not supported: it is a linear model in XGBoost's own format. "
            "Use LogisticRegression, or booster='gbtree'."
        )
    # predict asks the booster where to end, and no parameter: a callback, a file or a hand may have set it
    read = read_xgboost_model(booster.save_raw("ubj"), getattr(booster, "best_iteration", None))
    if read.objective == "multi:softmax" and model.objective != read.objective:
        raise TypeError(
            f"This XGBClassifier has objective={model.objective!r}, and its booster answers labels (multi:softmax), "
            "which its predict takes for probabilities. Set the objective back with set_params."
        )
    if read.objective == "multi:softprob" and len(read.base) == 2:
        raise TypeError(
            "XGBClassifier with objective='multi:softprob' and two classes is not supported: its predict answers two "
            "columns and no labels. Use objective='binary:logistic', or wrap its get_booster()."
        )
    missing = float(model.missing) if model.missing is not None else math.nan
    if math.isinf(missing):
        raise TypeError("XGBClassifier with an infinite 'missing' is not supported. Use NaN or a finite number.")
    reading, n_outputs = read.reading("XGBClassifier", missing), len(read.base)
    if n_outputs != (1 if len(model.classes_) == 2 and n_outputs == 1 else len(model.classes_)):
        raise TypeError(
            f"This XGBClassifier has {len(model.classes_)} classes and {n_outputs} scores a row, which wald cannot "
            "turn into labels."
        )
    # whose predict_proba computes in Python for this objective
    link = Link("scipy", single=True) if model.objective == "multi:softmax" else reading.links.link
    return replace(reading, links=Links.of(link), names=(), watches=(watch_of_rounds(booster),))


def watch_of_rounds(booster: Any) -> Watch:
    """Watch the number of rounds, which further learning raises, and the best one, with which predictions end.

    New values of leaves are not noticed. The best round is read where it is kept: the estimator's attribute of this
    name, which most models lack, takes longer to say so.
    """
    best = Asked(booster, "best_iteration", partial(booster.attr, "best_iteration"))
    return Watch([], asked=[Asked(booster, "the number of rounds", booster.num_boosted_rounds), best])


def _half_in_float32() -> float:
    one = np.float32(1)
    return largest_not_above_half(lambda margin: one / (one + np.exp(-margin)), np.float32, 1.0)


def read_xgboost_model(raw: bytes | bytearray, best_iteration: int | None = None) -> XGBoostModel:
    """Read a booster's JSON or UBJSON.

    Parameters
    ----------
    raw : bytes
    best_iteration : int or None, default=None
        The last boosting round to keep; None, or -1 as in XGBoost: all.

    Raises
    ------
    ValueError
        If it is no such model, or one that wald does not read.
    """
    try:
        is_json = bytes(raw[:64]).lstrip()[1:].lstrip()[:1] == b'"'
        document = json.loads(raw) if is_json else read_ubjson(bytes(raw))
        learner = document["learner"]
        booster, objective = learner["gradient_booster"], learner["objective"]["name"]
        parameters = learner["learner_model_param"]
        if booster["name"] == "gblinear":
            raise ValueError("XGBoost's linear booster (gblinear) is not supported. Use gbtree.")
        weights = booster.get("weight_drop")
        model = (booster["gbtree"] if booster["name"] == "dart" else booster)["model"]
        n_outputs = max(1, int(parameters["num_class"]), int(parameters.get("num_target", 1)))
        trees, outputs = model["trees"], model["tree_info"]
        constant = not trees and weights is None  # of no rounds, whose answer is the base; DART itself fails there
        require_sizes("XGBoost", int(parameters["num_feature"]), n_outputs, len(trees) + constant, len(raw))
        if best_iteration is not None and best_iteration != -1:
            ends = model["iteration_indptr"]
            if not 0 <= best_iteration < len(ends) - 1:
                raise ValueError(
                    f"This XGBoost model has best_iteration {best_iteration} and {len(ends) - 1} rounds, and XGBoost "
                    "refuses to predict with it. Set best_iteration to a round that it has."
                )
            kept = int(ends[best_iteration + 1])
            trees, outputs = trees[:kept], outputs[:kept]
        builder = TreesBuilder(int(parameters["num_feature"]), most_words(len(raw)))
        # XGBoost estimates a base score in the first round, and without one takes the default as it is
        estimated = not (constant and parameters.get("boost_from_average") == "1")
        base = _base(parameters["base_score"], objective if estimated else "", n_outputs)
        if constant:
            builder.add_leaf(np.zeros(1))
        for t, (tree, output) in enumerate(zip(trees, outputs, strict=True)):
            weight = None if weights is None else (np.float32(weights[t]), np.float32(base[int(output)]))
            _add_tree(builder, tree, int(output), weight)
        names = [str(name) for name in learner.get("feature_names", ())]
        if len(names) not in (0, builder.n_features):
            raise ValueError(f"This XGBoost model has {builder.n_features} features and {len(names)} names of them.")
        return XGBoostModel(
            builder.build(),
            base,
            objective,
            names,
            _categories(model.get("cats"), builder.n_features),
            _best_iteration(learner.get("attributes") or {}),
            "scikit_learn" in (learner.get("attributes") or {}),
        )
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        if "XGBoost" in str(error):
            raise
        raise ValueError(f"This is no XGBoost model that wald can read: {error!r}.") from None


def _categories(cats: Any, n_features: int) -> list[NDArray[Any] | None]:
    """Names of the categories of each column; empty if there are none."""
    columns = [] if not cats else [_names(encoded) for encoded in cats.get("enc", ())]
    if all(names is None for names in columns):
        return []
    if len(columns) != n_features:
        raise ValueError(f"This XGBoost model has the categories of {len(columns)} columns, and {n_features} columns.")
    return columns


def _names(encoded: Any) -> NDArray[Any] | None:
    values = np.asarray(encoded["values"], dtype=np.int64)
    if "type" in encoded:
        return values.astype(NAMES[int(encoded["type"])])
    ends = np.asarray(encoded["offsets"], dtype=np.int64)
    if len(ends) < 2:
        return None
    raw = (values & 0xFF).astype(np.uint8).tobytes()
    names = np.empty(len(ends) - 1, dtype=object)
    # XGBoost counts characters of pandas' texts and bytes of their UTF-8, and so cuts texts beyond ASCII elsewhere
    names[:] = [raw[start:stop] for start, stop in pairwise(ends.tolist())]
    if len(set(names.tolist())) < len(names):
        raise ValueError(
            "Two categories of this XGBoost model have one name, because XGBoost cuts texts beyond ASCII in wrong "
            "places. Train it on names in ASCII, or on codes."
        )
    return names


def _best_iteration(attributes: Any) -> int | None:
    return int(attributes["best_iteration"]) if {"scikit_learn", "best_iteration"} <= attributes.keys() else None


def _base(text: Any, objective: str, n_outputs: int) -> Floats:
    """The score to which leaves are added, of each output, in float32."""
    numbers = [np.float32(part) for part in str(text).strip("[]").split(",")]
    base = np.array(numbers * n_outputs if len(numbers) == 1 else numbers, dtype=np.float32)
    if len(base) != n_outputs or not np.isfinite(base).all():
        raise ValueError(f"This XGBoost model has the base score {str(text)[:80]} and {n_outputs} outputs.")
    if objective in LOGISTIC:
        one, least = np.float32(1), np.float32(LEAST_BASE)
        if not ((base >= 0) & (base <= 1)).all():
            raise ValueError(f"This XGBoost model has the base score {str(text)[:80]}, which is no probability.")
        base = np.clip(base, least, one - least)
        base = -float32_logarithms(one / base - one)
    elif objective in EXPONENTIAL:
        if not (base >= np.finfo(np.float32).tiny).all():
            raise ValueError(f"This XGBoost model has the base score {str(text)[:80]}, which is not positive.")
        base = float32_logarithms(base)
    return base.astype(np.float64)


def _add_tree(builder: TreesBuilder, tree: Any, output: int, dart: tuple[Any, Any] | None) -> None:
    """Add a tree. XGBoost sends a row to the left if ``x < threshold`` in float32, or its category is not in the set.

    DART's trees have a weight each. Its in-place prediction adds a leaf to the base, subtracts the base and multiplies
    by the weight, each with a rounding to float32.
    """
    left, right = np.asarray(tree["left_children"], np.int64), np.asarray(tree["right_children"], np.int64)
    condition = np.asarray(tree["split_conditions"], np.float32)
    inner = left >= 0
    n_values = int(tree["tree_param"].get("size_leaf_vector", 1))
    misplaced = (right < 0) & inner if n_values > 1 else (right >= 0) != inner
    if len(left) != len(right) or len(left) != len(condition) or misplaced.any():
        raise ValueError("The nodes of a tree of this XGBoost model do not fit together.")
    leaves = condition[~inner] if n_values <= 1 else _vectors(tree, right[~inner], n_values)
    if dart is not None:
        weight, base = dart
        leaves = ((leaves + base) - base) * weight
    categories = np.full(len(left), -1)
    types = np.asarray(tree.get("split_type", np.zeros(len(left))), np.int64)
    if len(tree.get("categories_nodes", ())):
        first, sizes = np.asarray(tree["categories_segments"], np.int64), np.asarray(tree["categories_sizes"], np.int64)
        members = np.asarray(tree["categories"], np.int64)
        for node, begin, size in zip(tree["categories_nodes"], first, sizes, strict=True):
            categories[node] = _add_categories(builder, members[begin : begin + size])
    if (types[inner] == 1).any() and (categories[inner & (types == 1)] < 0).any():
        raise ValueError("A categorical split of this XGBoost model has no categories.")
    builder.add_nodes(
        ~inner,
        np.asarray(tree["split_indices"], np.int64),
        np.nextafter(condition, np.float32(-np.inf)),  # x < threshold
        left,
        right,
        np.asarray(tree["default_left"], np.uint8),
        leaves,
        output,
        categories,
    )


def _vectors(tree: Any, which: Any, n_values: int) -> NDArray[np.float32]:
    """Values of leaves of several outputs, which XGBoost keeps apart from its nodes, by the numbers of the leaves."""
    if "leaf_weights" not in tree:
        raise ValueError(
            "XGBoost's trees with leaves of several values (multi_output_tree) are read from the files of its version "
            "3.2 and later. Save the model by such a version, or train it with multi_strategy='one_output_per_tree'."
        )
    values = np.asarray(tree["leaf_weights"], np.float32).reshape(-1, n_values)
    if not ((which >= 0) & (which < len(values))).all():
        raise ValueError("A leaf of this XGBoost model is out of range.")
    return np.asarray(values[which])


def _add_categories(builder: TreesBuilder, right: Any) -> int:
    """Add the categories that do not go to the right; other numbers go to the left."""
    if len(right) and not (right.min() >= 0 and right.max() < MOST_CATEGORIES):
        raise ValueError("A category of this XGBoost model is out of range.")
    n = int(right.max(initial=-1)) + 1
    bits = np.full((n + 31) // 32, 0xFFFFFFFF, dtype=np.uint32)
    np.bitwise_and.at(bits, right // 32, ~(np.uint32(1) << (right % 32).astype(np.uint32)))
    return builder.add_set(bits, n, other_left=True)


FAMILY = Family(
    (),
    ("predict", "predict_proba"),
    ("_Booster", "n_classes_", "missing", "objective"),
    read_xgboost,
    thresholds=False,
    named=XGBOOST_MODELS,
)
