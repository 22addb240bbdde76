"""Linear models: terms are feature values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..codec.reading import Section, require
from ..engine import CompiledTerms
from ..steps.affine import DERIVED, ColumnMap
from ..utils.bytes import padded, readout_bytes
from .packing import NO_SURROGATES, Compiled, Surrogates
from .planning import Planning, Precision, Rest
from .protocols import Bounded, Columnwise, Filed, Foldable, Priced
from .terms import FINITE, Accepts
from .units import Costs, Floats, Groups, Ints, Units, feature_units

#: Limit of the engine.
MOST_FEATURES: int = _core.LIMITS["linear_features"]
#: Least weight in the bounds when pipeline steps are folded: with it, scores are beyond the limit of `error_of_sum`
#: before a value of a step overflows.
LEAST_WEIGHT = 2.0**-23
#: Largest absolute error of a float32 product that underflows, divided by the unit roundoff.
UNDERFLOW = 2.0**-125


@dataclass(frozen=True, eq=False)
class LinearTerms(Compiled, Columnwise, Foldable, Bounded, Priced, Filed):
    """Feature values as terms: output k of a row x is ``x @ coef[k] + intercept[k]``.

    Parameters
    ----------
    coef : float64 ndarray of shape (n_outputs, n_features)
        Weights, for raw columns.
    intercept : float64 ndarray of shape (n_outputs,)
        Intercepts.
    fill : float64 ndarray of shape (n_features,) or None, default=None
        Raw value that replaces NaN. None: a NaN is an error.
    coef_bound, intercept_bound : float64 ndarrays of the shapes of `coef` and `intercept`, optional
        ``|x| @ coef_bound.T + intercept_bound`` bounds the sum of the absolute values of all summands in the wrapped
        model. It exceeds the sum over the terms here if a pipeline centres columns, or if the weights are sums over
        support vectors: large values then cancel, and rounding errors are relative to these. ``|coef|`` and
        ``|intercept|`` by default.
    depth : int, optional
        Largest number of roundings that a value passes through in the wrapped model. To first order, its score is
        within ``depth * u * (|x| @ coef_bound.T + intercept_bound)`` of the exact one, where u is its unit roundoff.
        ``n_features + 2`` by default.
    """

    family: ClassVar[str] = "linear"
    unit_name: ClassVar[str] = "features"
    planning: ClassVar[Planning] = Planning(
        rest=Rest.ENGINE,
        own_weights=True,
        sparse_rows=False,
        certificate_share=0.6,  # linear-units: planning needs fewer rows, as it uses the weights
        most_splits=5,  # linear-units: with this share, 64.3 to 59.9 features a row
        timed_rows=16_000,  # never-slower: cheap models are memory-bound, so rows must exceed the cache
        timed_repeats=7,  # never-slower
    )
    needs_feature_ranges: ClassVar[bool] = True

    coef: NDArray[np.float64]
    intercept: NDArray[np.float64]
    fill: NDArray[np.float64] | None = None
    coef_bound: NDArray[np.float64] = DERIVED
    intercept_bound: NDArray[np.float64] = DERIVED
    depth: int = 0

    def __post_init__(self) -> None:
        if self.coef_bound is None:
            object.__setattr__(self, "coef_bound", np.abs(self.coef))
        if self.intercept_bound is None:
            object.__setattr__(self, "intercept_bound", np.abs(self.intercept))
        if not self.depth:
            object.__setattr__(self, "depth", self.n_terms + 2)

    @property
    def n_features(self) -> int:
        """Number of columns, one per term."""
        return self.n_terms

    @property
    def accepts(self) -> Accepts:
        """NaN, if `fill` replaces it."""
        return FINITE if self.fill is None else Accepts(nan=True)

    def columns_read(self, terms: Ints) -> Ints:
        """Term j reads column j."""
        return terms

    def after(self, columns: ColumnMap, n_steps: int = 1) -> LinearTerms:
        """Fold a map of the columns into the weights; see `Foldable.after`."""
        # Intermediate values may overflow in the wrapped model although no term is large, hence LEAST_WEIGHT.
        bound = np.maximum(self.coef_bound, LEAST_WEIGHT)
        shifted = [
            math.fsum((*row * columns.shift, start)) for row, start in zip(self.coef, self.intercept, strict=True)
        ]
        return LinearTerms(
            coef=self.coef * columns.scale,
            intercept=np.array(shifted),
            fill=columns.raw_fill(),
            coef_bound=bound * np.abs(columns.scale),
            intercept_bound=self.intercept_bound + bound @ columns.magnitude + bound.sum(axis=1) * UNDERFLOW,
            depth=self.depth + 4 * n_steps,
        )

    # ---- bounds ----------------------------------------------------------------------------------------------------

    def ranges(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Bounds of the features, extended to `fill`."""
        if self.fill is None:
            return low, high
        return np.minimum(low, self.fill), np.maximum(high, self.fill)

    def rounding(self, low: Floats, high: Floats, working: float) -> float:
        """Bound of the rounding errors of the engine and of the wrapped model together."""
        size = np.maximum(np.abs(low), np.abs(high))
        with np.errstate(invalid="ignore"):
            largest = np.where(self.coef_bound == 0, 0.0, self.coef_bound * size).sum(axis=1).max()
        total = float(largest + self.intercept_bound.max())
        return 4.0 * total * ((self.n_terms + 16) * 2.0**-53 + (self.depth + 16) * working)

    def score_error(self, most: float, working: float) -> float:
        """The same bound as ``LinearModel::error`` of the engine."""
        size = most * float(self.coef_bound.max(axis=0).sum()) + float(self.intercept_bound.max())
        return error_of_sum(size, self.n_terms, self.depth, working)

    @property
    def product_weights(self) -> tuple[Floats, Floats] | None:
        """Weights and intercepts, unless values are filled in first."""
        return (self.coef.T, self.intercept) if self.fill is None else None

    # ---- planning, the engine, and files ---------------------------------------------------------------------------

    def units(self, names: NDArray[Any] | None, groups: Groups, costs: Costs, run: int) -> Units:
        """Single features, the user's groups, or runs of neighbouring features."""
        return feature_units(self.n_terms, names, groups, costs, run)

    def pack(
        self, order: Ints, surrogates: Surrogates = NO_SURROGATES, precision: Precision = "float64"
    ) -> CompiledTerms:
        """Pack for the compiled engine, which always computes linear models in float64."""
        packed = _core.Model.linear(
            order=np.ascontiguousarray(order, dtype=np.int32),
            coef=np.ascontiguousarray(self.coef),
            intercept=np.ascontiguousarray(self.intercept),
            fill=None if self.fill is None else np.ascontiguousarray(self.fill),
            magnitude=np.ascontiguousarray(self.coef_bound.max(axis=0)),
            bias_magnitude=float(self.intercept_bound.max()),
            depth=float(self.depth),
        )
        return CompiledTerms(packed)

    def packed_bytes(self, n_surrogates: int, precision: Precision) -> int:
        """Bound of the memory of padded coefficients, their copies and bounds, and of the features' indices."""
        width = padded(self.n_terms, 8)
        return self.n_outputs * (3 * width + 8) * 8 + 64 * width

    def stages_bytes(self, stage_terms: Sequence[int]) -> int:
        """Bound of the memory of readouts and, with one output, of the table of stages by terms."""
        return bytes_with_table(stage_terms, self.n_outputs)

    @classmethod
    def decode(cls, section: Section, n_outputs: int) -> Self:
        """Read weights and their bounds."""
        coef = section.floats("coef", n_outputs, None)
        n_features = coef.shape[1]
        require(1 <= n_features <= MOST_FEATURES, f"the array {section.called('coef')!r} has no columns, or too many")
        return cls(
            coef=coef,
            intercept=section.floats("intercept", n_outputs),
            fill=None if section.lacks("fill") else section.floats("fill", n_features),
            coef_bound=section.floats("coef_bound", n_outputs, n_features, low=0.0, finite=False),
            intercept_bound=section.floats("intercept_bound", n_outputs, low=0.0, finite=False),
            depth=section.integer("depth", 1),
        )


def error_of_sum(size: float, n_summands: int, depth: int, working: float) -> float:
    """Bound of the rounding error of a score, where the absolute values of its summands add up to `size`."""
    if not size <= (2.0**100 if working > 2.0**-50 else 2.0**1000):
        return math.inf
    share = (n_summands + 8) * 2.0**-53 + (depth + 4) * working
    return 1.05 * size * share + (n_summands + depth) * 2.0**-140


def bytes_with_table(stage_terms: Sequence[int], n_outputs: int) -> int:
    """Bound of the memory of readouts and, with one output, of the table of stages by terms."""
    table = max(stage_terms, default=0) * padded(len(stage_terms), 8) * 8 if n_outputs == 1 else 0
    return readout_bytes(stage_terms, n_outputs) + table
