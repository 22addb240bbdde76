"""LightGBM's classifiers, read from the text that ``Booster.save_model`` writes."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ...outputs import Labels
from ...steps.categories import OrderedCategories
from ..class_names import LIGHTGBM_MODELS
from ..links import Link, Links, as_they_are
from ..reading import Decompose, Family, Reading
from ..tree_arrays import Trees, TreesBuilder
from ..trees import TreeTerms
from ..watch import Asked, Watch
from .even_odds import even_odds
from .limits import most_words, require_sizes

#: Parameters of ``LGBMClassifier`` that its predict heeds, whenever they are set; attributes once they are.
PREDICTION_PARAMETERS = (
    *("pred_early_stop", "pred_early_stop_freq", "pred_early_stop_margin"),
    *("start_iteration_predict", "num_iteration_predict", "predict_disable_shape_check"),
)

CATEGORICAL, DEFAULT_LEFT, MISSING_ZERO, MISSING_NAN = 1, 2, 1, 2

#: Values of at most this size are 0: 1e-35 in float32.
ZERO = float(np.float32(1e-35))

#: Softmax and sigmoid of scores this near may be equal after rounding; of larger scores, whatever their distance.
NEAR, SATURATION = 5e-8, 20.0


@dataclass(frozen=True, eq=False)
class LightGBMText:
    """What the text of a booster says.

    Parameters
    ----------
    trees : Trees
    n_outputs : int
    objective : list of str
        Its name and options.
    average : bool
        Whether scores are divided by the number of iterations (random forests).
    feature_names : list of str
    categorical : list of int
        Columns of categories.
    ranges : list of str
        What training saw in each column: ``[low:high]`` of numbers, the codes of categories, or ``none``.
    zero_is_missing : uint8 ndarray of shape (n_features,) or None
        Columns in which values near 0 are missing.
    pandas_categories : list of list, default=[]
        Categories of the columns of dtype category, in the order of their codes.
    """

    trees: Trees
    n_outputs: int
    objective: list[str]
    average: bool
    feature_names: list[str]
    categorical: list[int]
    ranges: list[str]
    zero_is_missing: NDArray[np.uint8] | None
    pandas_categories: list[list[Any]] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """Names of the columns; empty for the names that LightGBM gives to columns without any."""
        own = self.feature_names != [f"Column_{i}" for i in range(self.trees.n_features)]
        return self.feature_names if own else []

    def terms(self) -> TreeTerms:
        """Raw scores as terms; scores of random forests are means."""
        return TreeTerms(
            self.trees,
            np.zeros(self.n_outputs),
            divisor=float(self.trees.n_trees // self.n_outputs) if self.average else 1.0,
            truncates=True,
            zero_is_missing=self.zero_is_missing,
            f32_integers=True,
            refuses_categories=True,
        )

    def reading(self, what: str, n_classes: int | None = None, categories: Any = None) -> Reading:
        """Read the model: its raw scores, and the rule from these to labels.

        Two classes: class 1 where the probability is above one half, in the rounding of LightGBM. More: the largest
        score; LightGBM compares probabilities, and scores nearer than `tie_margin` may have equal ones after rounding.

        Parameters
        ----------
        what : str
            What holds the model, in messages.
        n_classes : int or None, default=None
            None: what follows from the number of scores.
        categories : list of list or None, default=None
            Categories of each column of dtype category; None: those of the text.

        Raises
        ------
        TypeError
            If the objective has no known rule.
        ValueError
            If its options are out of range.
        """
        decision, tie_margin, link = self._rule(what, n_classes)
        steps = self.steps(self.pandas_categories if categories is None else categories)
        links, names = Links(link=link), tuple(self.names)
        return Reading(
            self.terms(), decision, steps=steps, row_by_row="always", tie_margin=tie_margin, links=links, names=names
        )

    def _rule(self, what: str, n_classes: int | None) -> tuple[Labels, float, Link]:
        name, *options = self.objective or [""]
        settings = dict(option.split(":", 1) for option in options if ":" in option)
        slope = float(settings.get("sigmoid", 1.0))
        if not 1e-100 < slope < 1e100:
            raise ValueError(f"This LightGBM model has sigmoid:{slope}, which is out of range.")
        n_classes = max(2, self.n_outputs) if n_classes is None else n_classes
        if name in ("binary", "cross_entropy") and self.n_outputs == 1 and n_classes == 2:
            slope = slope if name == "binary" else 1.0
            return Labels("sign", 2, threshold=even_odds(slope)), 0.0, Link("sigmoid", slope)
        if name == "multiclass" and self.n_outputs == n_classes > 1:
            return Labels("argmax", n_classes), NEAR, Link("softmax")
        if name == "multiclassova" and self.n_outputs == n_classes > 1:
            saturation = SATURATION / slope
            decision = Labels("argmax", n_classes, saturation=saturation)
            return decision, NEAR * saturation / SATURATION, Link("sigmoids", slope)
        if name in ("multiclass", "multiclassova"):
            raise TypeError(
                f"{what} with num_class={self.n_outputs} for {n_classes} classes is not supported: some of its scores "
                "have no label. Train it with as many as there are."
            )
        raise TypeError(
            f"{what} with {f'objective {name!r}' if name else 'an objective of its own'} is not supported: wald "
            "does not know how its scores become labels. Supported are binary, cross_entropy, multiclass and "
            "multiclassova."
        )

    def steps(self, categories: Any) -> tuple[tuple[str, OrderedCategories], ...]:
        """Return the codes of the categories of columns of dtype category; none if there are no such columns.

        Parameters
        ----------
        categories : list of list or None
            Categories of each of these columns, as the booster or its text holds them.
        """
        known = [list(each) for each in categories or ()]
        if not known:
            return ()
        sizes = list(map(len, known))
        columns = columns_of_categories(self.ranges, sizes)
        if not columns and all(isinstance(value, str) for each in known for value in each):
            # numbers may be categories, too, by `categorical_feature`, but then texts are refused where numbers belong
            columns = columns_of_categories(self.ranges, sizes, listed=True)
        if not columns and len(self.categorical) == len(known):
            columns = self.categorical
        return (("categories", OrderedCategories(known, self.trees.n_features, columns)),)


def read_lightgbm(model: Any, decompose: Decompose) -> Reading:
    """Read a fitted ``LGBMClassifier``; see `LightGBMText.reading`.

    Raises
    ------
    TypeError
        If its labels do not follow from its scores by a known rule.
    """
    check_is_fitted(model)
    if extra := sorted(prediction_parameters(model)):
        raise TypeError(
            f"This LGBMClassifier was made with {', '.join(extra)}, which changes what its predict answers. Set it to "
            "the default with set_params, and let wald decide how many trees a row needs."
        )
    booster = model.booster_
    text = read_lightgbm_text(booster.model_to_string())
    read = text.reading("LGBMClassifier", len(model.classes_), booster.pandas_categorical or ())
    raw = None if text.average else as_they_are  # LightGBM's raw scores of a random forest are sums, and not means
    links = Links.of(read.links.link, decision_function=raw)
    return replace(read, links=links, names=(), watches=(watch_of_booster(booster),))


def watch_of_booster(booster: Any) -> Watch:
    """Watch at which round predictions end, and the number of trees: what goes on learning or is loaded changes it.

    New values of leaves (``set_leaf_output``) are not noticed: a look at all of them takes longer than a prediction.
    """
    trees = Asked(booster, "the number of trees", booster.num_trees)
    return Watch((), asked=[Asked(booster, "best_iteration", partial(last_round, booster)), trees])


def last_round(booster: Any) -> int:
    """The round at which predictions end; 0 for the last, which LightGBM calls 0 or, in a deep copy, -1."""
    return max(0, int(booster.best_iteration))


def prediction_parameters(model: Any) -> set[str]:
    """Parameters of the constructor that predict would use."""
    return {name for name, value in model.get_params().items() if name in PREDICTION_PARAMETERS and value}


def read_lightgbm_text(text: str) -> LightGBMText:
    """Read a booster's text.

    Raises
    ------
    ValueError
        If it is no such text, or if the booster has linear leaves.
    """
    # after the trees come features and their importance, and a feature may be called Tree=
    head, *blocks = text.split("\nend of trees\n", 1)[0].split("\nTree=")
    header = _fields(head)
    if not {"max_feature_idx", "num_tree_per_iteration"} <= header.keys():
        raise ValueError("This is no text of a LightGBM model.")
    try:
        n_outputs, n_features = int(header["num_tree_per_iteration"]), int(header["max_feature_idx"]) + 1
        require_sizes("LightGBM", n_features, n_outputs, len(blocks), len(text))
        names = [name for name in header.get("feature_names", "").split(" ") if name]  # tabs belong to names
        if len(names) not in (0, n_features):
            raise ValueError(f"This LightGBM model has {n_features} features and {len(names)} names of them.")
        if len(blocks) % n_outputs:
            raise ValueError(f"This LightGBM model has {len(blocks)} trees and {n_outputs} outputs.")
        builder = TreesBuilder(n_features, most_words(len(text)))
        zero = np.zeros(n_features, dtype=np.uint8)
        for t, block in enumerate(blocks):
            _add_tree(builder, _fields(block.split("\n\n", 1)[0]), t % n_outputs, zero)
    except (KeyError, IndexError, ValueError, OverflowError) as error:
        if "LightGBM" in str(error):
            raise
        raise ValueError(f"This is no text of a LightGBM model that wald can read: {error!r}.") from None
    ranges = header.get("feature_infos", "").split()
    return LightGBMText(
        trees=builder.build(),
        n_outputs=n_outputs,
        objective=header.get("objective", "").split(),
        average="average_output" in head.split("\n"),
        feature_names=names,
        # numbers have a range, and categories a list
        categorical=[c for c, info in enumerate(ranges) if info[0] not in "[n"],
        ranges=ranges,
        zero_is_missing=zero if zero.any() else None,
        pandas_categories=_pandas_categories(text),
    )


def columns_of_categories(ranges: list[str], sizes: list[int], listed: bool = False) -> list[int]:
    """Find the columns that hold the categories of a data frame, ordered ones among them.

    LightGBM reads the codes of ordered categories as numbers, and its text does not say which columns these are. They
    stand in their order, and the codes of k categories are whole numbers below k.

    Parameters
    ----------
    ranges : list of str
        What training saw in each column.
    sizes : list of int
        Number of categories of each column of categories.
    listed : bool, default=False
        Whether every column of which training saw codes of categories is one of them.

    Returns
    -------
    list of int
        Numbers of these columns; empty if more than one choice of columns, or none, fits.

    Examples
    --------
    >>> columns_of_categories(["[-1.5:2]", "1:0:2", "[0:3]"], [3, 4])
    [1, 2]
    >>> columns_of_categories(["[0:3]", "[0:2]"], [4])
    []
    """
    by_number: list[list[list[int]]] = [[[]], *([] for _ in sizes)]  # up to two choices of 0, 1, ... columns
    for c, seen in enumerate(ranges):
        must = listed and seen[:1] not in ("[", "n")
        for k in range(len(sizes), -1, -1):
            kept = [] if must else by_number[k]
            taken = [[*some, c] for some in by_number[k - 1]] if k and _may_be_codes(seen, sizes[k - 1]) else []
            by_number[k] = (kept + taken)[:2]
    return by_number[-1][0] if len(by_number[-1]) == 1 else []


def _may_be_codes(seen: str, n_categories: int) -> bool:
    """Whether what training saw in a column may be codes of so many categories."""
    if seen == "none":
        return True
    try:
        codes = [float(code) for code in seen.strip("[]").split(":")]
    except ValueError:
        return False
    return all(code.is_integer() and -1 <= code < n_categories for code in codes)


def _pandas_categories(last: str) -> list[list[Any]]:
    """The categories of columns of a data frame, from the last line of a text."""
    _, found, lists = last.rpartition("\npandas_categorical:")
    read = json.loads(lists.split("\n", 1)[0]) if found else None
    if read is None:
        return []
    plain = str | int | float
    if not isinstance(read, list) or not all(isinstance(each, list) for each in read):
        raise ValueError("The categories of this LightGBM model are no lists.")
    if not all(isinstance(value, plain) for each in read for value in each):
        raise ValueError("The categories of this LightGBM model are neither texts nor numbers.")
    return read


def _fields(block: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in block.split("\n") if "=" in line)


def _add_tree(builder: TreesBuilder, tree: dict[str, str], output: int, zero: NDArray[np.uint8]) -> None:
    if tree.get("is_linear", "0") != "0":
        raise ValueError(
            "This LightGBM model has linear leaves (linear_tree), which wald does not read: its values are no sums "
            "of numbers that leaves hold. Train it with linear_tree=False, or serve it as it is."
        )

    def numbers(name: str, dtype: Any) -> Any:
        return np.array(tree[name].split(), dtype=dtype)

    leaves = numbers("leaf_value", np.float64)
    if int(tree["num_leaves"]) == 1:
        builder.add_leaf(leaves, output)
        return
    feature, threshold = numbers("split_feature", np.int64), numbers("threshold", np.float64)
    sets, kind = threshold, numbers("decision_type", np.int64)
    missing, left_by_default = kind >> 2 & 3, (kind & DEFAULT_LEFT) != 0
    categorical = (kind & CATEGORICAL) != 0
    if feature.min() < 0 or feature.max() >= builder.n_features:
        raise ValueError(f"A tree of this LightGBM model reads beyond its {builder.n_features} features.")
    zero[feature[(missing == MISSING_ZERO) & ~categorical]] = 1
    threshold = _with_zeros_joined(threshold)
    nan_left = np.where(categorical, False, np.where(missing == 0, threshold >= 0.0, left_by_default))
    categories = np.full(len(feature), -1)
    if categorical.any():
        first, bits = numbers("cat_boundaries", np.int64), numbers("cat_threshold", np.uint32)
        for n in np.flatnonzero(categorical):
            s = int(sets[n])
            if not (0 <= s < len(first) - 1 and 0 <= first[s] <= first[s + 1] <= len(bits)):
                raise ValueError("A categorical split of this LightGBM model has no categories.")
            words = bits[first[s] : first[s + 1]]
            categories[n] = builder.add_set(words, 32 * len(words), False)
    builder.add(
        feature,
        threshold,
        numbers("left_child", np.int64),
        numbers("right_child", np.int64),
        nan_left,
        leaves,
        output,
        categories,
    )


def _with_zeros_joined(threshold: NDArray[np.float64]) -> NDArray[np.float64]:
    """Thresholds that compare rows as if values of at most 1e-35 in size were 0."""
    joined = np.where((threshold >= 0) & (threshold < ZERO), ZERO, threshold)
    return np.where((threshold < 0) & (threshold >= -ZERO), math.nextafter(-ZERO, -math.inf), joined)


FAMILY = Family(
    (),
    ("predict", "predict_proba"),
    ("_Booster", "_le", "_classes", *PREDICTION_PARAMETERS),
    read_lightgbm,
    thresholds=False,
    named=LIGHTGBM_MODELS,
)
