"""Tree ensembles: terms are trees, whose value is the leaf that a row falls into."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..codec.reading import Section
from ..engine import CompiledTerms
from ..engine.threads import effective_threads
from ..sources import Conversion
from .packing import NO_SURROGATES, Compiled, Surrogates
from .planning import Planning, Precision, Rest
from .protocols import Bounded, Filed, Owned, Sharing, Stepped, Summed
from .terms import Accepts
from .tree_arrays import Bytes, Trees, rows_at_thresholds
from .tree_work import TreeWork, units_by_columns
from .units import NO_TERMS, Costs, Floats, Groups, Ints, Units, feature_units

#: Leaves of trees with more than so many are not corrected.
MOST_CORRECTED = 256


@dataclass(frozen=True, eq=False)
class TreeTerms(Compiled, Bounded, Sharing, Owned, Summed, Stepped, Filed):
    """Leaves of trees as terms.

    An output is the sum of its base and the leaves of its trees, added in the order of the trees, times ``scale``,
    divided by ``divisor``, plus ``bias``. Full scores have the bits of the wrapped model's own.

    Parameters
    ----------
    trees : Trees
    base : float64 ndarray of shape (n_outputs,)
        The number to which the leaves of each output are added.
    bias : float64 ndarray of shape (n_outputs,), default=[]
        An empty array stands for 0.
    scale, divisor : float, default=1.0
    f32_rows : bool, default=False
        Whether the model rounds rows to float32 before it compares them.
    f32_sums : bool, default=False
        Whether the model adds leaves in float32.
    nan, infinity : bool, default=True
        Whether the model accepts such values.
    missing : float, default=NaN
        A value that counts as NaN.
    absent_is_missing : bool, default=False
        Whether values that sparse rows do not store are NaN instead of 0.
    truncates : bool, default=False
        Whether numbers between -1 and 0 are category 0.
    zero_is_missing : uint8 ndarray of shape (n_features,) or None, default=None
        Columns in which values of at most 1e-35 in size count as NaN.
    f32_integers : bool, default=False
        Whether the model rounds arrays of integers to float32, though it compares float64.
    refuses_categories : bool, default=False
        Whether the model refuses columns of categories in a data frame, or reads their codes instead of their values.
    """

    family: ClassVar[str] = "trees"
    unit_name: ClassVar[str] = "trees"
    planning: ClassVar[Planning] = Planning(
        rest=Rest.OWN_ENGINE,
        precisions=("float32",),
        own_weights=True,
        most_splits=5,  # trees-wide, trees-flights, trees-classes
        most_order_rows=40_000,  # trees-wide, trees-flights: leaves of sums are fitted, too
        boundary_width=0.5,  # trees-wide, trees-flights, trees-classes
        boundary_floor=0.02,  # trees-wide, trees-flights, trees-classes
        timed_rows=4_000,  # trees-wide, trees-flights
        timed_repeats=3,  # trees-wide, trees-flights
    )

    trees: Trees
    base: Floats
    bias: Floats = field(default_factory=lambda: np.zeros(0))
    scale: float = 1.0
    divisor: float = 1.0
    f32_rows: bool = False
    f32_sums: bool = False
    nan: bool = True
    infinity: bool = True
    missing: float = math.nan
    absent_is_missing: bool = False
    truncates: bool = False
    zero_is_missing: Bytes | None = None
    f32_integers: bool = False
    refuses_categories: bool = False
    coef: Floats = field(init=False, repr=False)
    intercept: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        n_outputs = len(self.base)
        bias = self.bias if len(self.bias) else np.zeros(n_outputs)
        coef, output = np.zeros((n_outputs, self.trees.n_trees)), self.trees.output
        if len(output) and not (output.min() >= 0 and output.max() < n_outputs):
            raise ValueError("an output is out of range")
        coef[output, np.arange(self.trees.n_trees)] = self.scale / self.divisor
        for name, array in (
            ("bias", bias),
            ("coef", coef),
            ("intercept", self.base * self.scale / self.divisor + bias),
        ):
            object.__setattr__(self, name, array)

    def of_output(self, output: int, sign: float) -> TreeTerms:
        """One output alone, or with ``sign=-1.0`` its negative, to the last bit."""
        which = slice(output, output + 1)
        bias = sign * self.bias[which]
        trees = self.trees.of_output(output)
        return replace(self, trees=trees, base=self.base[which], bias=bias, scale=sign * self.scale)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.trees.n_features

    @cached_property
    def accepts(self) -> Accepts:
        """What the model accepts, with its own conversion of integers and categories."""
        single = self.f32_rows or self.f32_integers
        dtype = np.dtype(np.float32 if single else np.float64)
        by_texts = self.f32_sums or self.truncates  # XGBoost's and LightGBM's; CatBoost reads texts as numbers
        conversion = Conversion(dtype, not self.refuses_categories, not (self.refuses_categories and by_texts))
        # Trees of scikit-learn send a NaN in a sparse row to the right, wherever missing values went in training. Its
        # forests of classes and values refuse such a matrix, but not a frame of sparse columns.
        scikit_learn = self.f32_rows and not self.refuses_categories
        return Accepts(self.nan, self.infinity, conversion=conversion, stored_nan=not scikit_learn)

    @property
    def description(self) -> str:
        """Description of the model in messages."""
        return "tree ensemble"

    @property
    def speed_key(self) -> Hashable:
        """Sizes of the trees."""
        trees = self.trees
        most = int(np.diff(trees.first_leaf).max(initial=0))
        sizes = (trees.n_trees, len(trees.first_node), len(trees.feature), len(trees.leaves), len(trees.n_categories))
        return self.description, *sizes, most, self.f32_rows

    def leaf_counts(self) -> Ints | None:
        """Number of leaves of each tree; None if a tree is large, or shares its leaves with others."""
        counts, n_structures = np.diff(self.trees.first_leaf), len(self.trees.first_node) - 1
        return counts if n_structures == self.n_terms and counts.max() <= MOST_CORRECTED else None

    def leaves(self, X: Any, which: Ints) -> NDArray[np.int32]:
        """Leaf of each tree."""
        return self.pack(which).leaves(X, effective_threads(-1))

    def at_thresholds(self, n_rows: int, rng: np.random.Generator) -> Floats | None:
        """Rows with values next to thresholds of random nodes, zeros, categories, and NaN where it is allowed."""
        return rows_at_thresholds(self.trees, n_rows, rng, self.nan)

    def pass_work(self, order: Ints, ends: Ints, columnar: bool) -> Callable[[int, int, int, float], float]:
        """Work of passes, in nanoseconds of one machine."""
        work = TreeWork(self.trees, order, columnar)

        def of(begin: int, end: int, n_stages: int, reached: float) -> float:
            return work.of(begin, end, int(np.count_nonzero(ends > begin)), n_stages, reached)

        return of

    def units_by_columns(self, units: Units) -> Units:
        """The same units, which share the columns that their trees read."""
        return units_by_columns(self.trees, units)

    def ranges(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Smallest and largest leaf of each tree."""
        first = self.trees.first_leaf[:-1]
        return np.minimum.reduceat(self.trees.leaves, first), np.maximum.reduceat(self.trees.leaves, first)

    def rounding(self, low: Floats, high: Floats, working: float) -> float:
        """Bound of the difference between float32 estimates and the model's own sums.

        Infinite where the model compares float64 values: early stages round these to float32, and a value near a
        threshold may then reach another leaf.
        """
        if not self.f32_rows:
            return math.inf
        largest = np.abs(self.coef) @ np.maximum(np.abs(low), np.abs(high)) + np.abs(self.intercept)
        return float(largest.max()) * 2.0**-24 * (3 * self.n_terms + 8)

    def units(self, names: NDArray[Any] | None, groups: Groups, costs: Costs, run: int) -> Units:
        """Trees, each with all values of its leaves: at cost 1, or at the price of the features that it reads."""
        ends = np.flatnonzero(np.diff(self.trees.structure, append=-1)) + 1
        members = tuple(np.split(np.arange(self.n_terms), ends[:-1]))
        if groups is None and costs is None:
            return Units(members, np.ones(len(ends)))
        items = feature_units(self.n_features, names, groups, costs, 1)
        item_of = np.empty(self.n_features, dtype=np.int64)
        for item, columns in enumerate(items.members):
            item_of[columns] = item
        read = self.trees.features_of(self.trees.structure[ends - 1])
        return Units.sharing(members, tuple(np.unique(item_of[features]) for features in read), items.costs)

    def owners(self) -> Ints | None:
        """Output of each tree."""
        return self.trees.output.astype(np.int64) if self.n_outputs > 1 else None

    def pack(
        self, order: Ints, surrogates: Surrogates = NO_SURROGATES, precision: Precision = "float64"
    ) -> CompiledTerms:
        """Pack for the compiled engine."""
        reordered = self._model.reordered(np.ascontiguousarray(order, dtype=np.int64))
        return CompiledTerms(reordered, conversion=self.accepts.conversion)

    def facts(self) -> dict[str, Any]:
        """Numbers of leaves, and of the features that trees read."""
        return {"leaves": len(self.trees.leaves), "features read": len(np.unique(self.trees.feature))}

    def packed_bytes(self, n_surrogates: int, precision: Precision) -> int:
        """Bound of the memory that `pack` takes, in bytes."""
        return 512 * (len(self.trees.leaves) + len(self.trees.feature)) + 64 * self.n_features + (1 << 16)

    def encode(self) -> dict[str, Any]:
        """The fields; None stands for NaN, which no file holds."""
        return super().encode() | {"missing": None if math.isnan(self.missing) else self.missing}

    @classmethod
    def decode(cls, section: Section, n_outputs: int) -> Self:
        """Read the trees, which are checked when they are packed, and the rules of their sums."""
        trees, base = section.get("trees", Trees), section.floats("base", n_outputs)
        section.room.reserve(8 * n_outputs * trees.n_trees, f"{trees.n_trees} trees")
        return cls(
            trees,
            base,
            bias=section.floats("bias", n_outputs),
            scale=section.number("scale"),
            divisor=section.number("divisor"),
            missing=math.nan if section.lacks("missing") else section.number("missing"),
            zero_is_missing=section.get("zero_is_missing", Bytes | None),
            **{name: section.get(name, bool) for name in FLAGS},
        )

    @cached_property
    def _model(self) -> _core.Model:
        """The trees, checked and packed once."""
        return _core.Model.trees(self, NO_TERMS)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_model"}


FLAGS = (
    *("f32_rows", "f32_sums", "nan", "infinity", "absent_is_missing", "truncates"),
    *("f32_integers", "refuses_categories"),
)


def sum_of_trees(trees: Trees, base: float) -> CompiledTerms:
    """Pack the sum of a number and of trees over finite float32 rows, added in their order."""
    return TreeTerms(trees, np.array([base]), f32_rows=True, nan=False, infinity=False).pack(NO_TERMS)
