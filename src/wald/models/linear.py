"""Models that decide by weighted sums of feature values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from ..engine import CompiledTerms
from ..engine.threads import effective_threads
from ..utils.bytes import padded, readout_bytes
from .columns import DERIVED, ColumnMap
from .terms import NO_SURROGATES, Precision, Surrogates, Terms
from .units import Floats, Ints, Units, feature_units

if TYPE_CHECKING:
    from ..engine import Packed

__all__ = ["LinearTerms"]

#: The engine takes no more.
MOST_FEATURES: int = _core.LIMITS["linear_features"]
#: Behind folded steps, weights count as no smaller than this in the bounds.
LEAST_WEIGHT = 2.0**-27
#: What float32 loses at most when a product underflows, as a multiple of its unit roundoff.
UNDERFLOW = 2.0**-125


@dataclass(frozen=True, eq=False)
class LinearTerms(Terms):
    """Feature values as terms: output k of a row x is ``x @ coef[k] + intercept[k]``.

    Parameters
    ----------
    coef : float64 ndarray of shape (n_outputs, n_features)
        Weights, for raw columns.
    intercept : float64 ndarray of shape (n_outputs,)
        Intercepts.
    fill : float64 ndarray of shape (n_features,) or None, default=None
        Raw value that stands in for NaN. None: a NaN is an error.
    coef_bound, intercept_bound : float64 ndarrays of the shapes of `coef` and `intercept`, optional
        ``|x| @ coef_bound.T + intercept_bound`` bounds the sum of the sizes of everything that the wrapped
        model adds up. It exceeds the sum of the terms here where a pipeline centres columns, or where the
        weights themselves are sums over support vectors: there the model cancels large values, and its
        rounding is relative to those. ``|coef|`` and ``|intercept|`` when missing.
    depth : int, optional
        Number of roundings that a value goes through in the wrapped model, at most: to first order its score
        is within ``depth * u * (|x| @ coef_bound.T + intercept_bound)`` of the exact one, u its unit
        roundoff. The number of features and a few when missing.
    """

    family: ClassVar[str] = "linear"
    unit_name: ClassVar[str] = "features"
    own_weights: ClassVar[bool] = True
    certificate_share: ClassVar[float] = 0.6  # the weights say something of the plan themselves
    most_splits: ClassVar[int] = 5
    timed_rows: ClassVar[int] = 16_000  # cheap models are as slow as the rows' memory
    timed_repeats: ClassVar[int] = 7
    plans_sparse_rows: ClassVar[bool] = False
    rest_by_model: ClassVar[bool] = False

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
        """Number of columns: one a term."""
        return self.n_terms

    @property
    def allow_nan(self) -> bool:
        """Whether something stands in for NaN."""
        return self.fill is not None

    @property
    def description(self) -> str:
        """In words."""
        return "linear model"

    def values(self, X: Any, which: Sequence[int] | NDArray[np.intp] | None = None) -> NDArray[np.float64]:
        """Values of the terms.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Raw rows.
        which : array-like of int, optional
            Indices of the terms; all by default.

        Returns
        -------
        float64 ndarray of shape (n_rows, n_terms) or (n_rows, len(which))
            The feature values, NaN replaced where the model replaces it.
        """
        order = np.arange(self.n_terms) if which is None else np.asarray(which)
        return self._packed(order).values(X, effective_threads(-1))

    def columns_read(self, terms: Ints) -> Ints:
        """Each term reads the column of its number."""
        return terms

    def after(self, columns: ColumnMap, n_steps: int = 1) -> LinearTerms:
        """Fold a map of the columns into the weights.

        Parameters
        ----------
        columns : ColumnMap
            What happens to a raw row before it meets the present terms.
        n_steps : int, default=1
            Number of pipeline steps behind the map: each rounds a value a few times.

        Returns
        -------
        LinearTerms
            Terms for the rows before the map.
        """
        # The wrapped model may overflow on the way although no term is large: weights count as no smaller than this.
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

    def needs_feature_ranges(self) -> bool:
        """A term is a feature, or what stands in for it."""
        return True

    def ranges(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Those of the features, and of what stands in for them."""
        if self.fill is None:
            return low, high
        return np.minimum(low, self.fill), np.maximum(high, self.fill)

    def rounding(self, low: Floats, high: Floats, working: float) -> float:
        """Bound of all rounding, the engine's and the wrapped model's."""
        size = np.maximum(np.abs(low), np.abs(high))
        with np.errstate(invalid="ignore"):
            largest = np.where(self.coef_bound == 0, 0.0, self.coef_bound * size).sum(axis=1).max()
        total = float(largest + self.intercept_bound.max())
        return 4.0 * total * ((self.n_terms + 16) * 2.0**-53 + (self.depth + 16) * working)

    def score_error(self, most: float, working: float) -> float:
        """As ``LinearModel::error`` of the engine has it."""
        size = most * float(self.coef_bound.max(axis=0).sum()) + float(self.intercept_bound.max())
        if not size <= (2.0**100 if working > 2.0**-50 else 2.0**1000):
            return math.inf
        share = (self.n_terms + 8) * 2.0**-53 + (self.depth + 4) * working
        return 1.05 * size * share + (self.n_terms + self.depth) * 2.0**-140

    # ---- planning, the engine, and files ---------------------------------------------------------------------------

    def units(
        self,
        names: NDArray[Any] | None,
        groups: Mapping[str, Sequence[int | str]] | None,
        costs: ArrayLike | Mapping[str, float] | None,
        run: int,
    ) -> Units:
        """Features, one by one, in the user's groups, or in runs of neighbours."""
        return feature_units(self.n_terms, names, groups, costs, run)

    def pack(self, order: Ints, surrogates: Surrogates = NO_SURROGATES, precision: Precision = "float64") -> Packed:
        """Pack for the compiled engine, which always computes linear models in float64."""
        return self._packed(order)

    def _packed(self, order: Ints) -> CompiledTerms:
        packed = _core.Model.linear(
            order=np.ascontiguousarray(order, dtype=np.int32),
            coef=np.ascontiguousarray(self.coef),
            intercept=np.ascontiguousarray(self.intercept),
            fill=None if self.fill is None else np.ascontiguousarray(self.fill),
            magnitude=np.ascontiguousarray(self.coef_bound.max(axis=0)),
            bias_magnitude=float(self.intercept_bound.max()),
            depth=float(self.depth),
        )
        return CompiledTerms(packed, columns=np.asarray(order, dtype=np.int64))

    def packed_bytes(self, n_surrogates: int, precision: str) -> int:
        """Coefficients by output, padded, and copies of them; their bounds; places of the features."""
        width = padded(self.n_terms, 8)
        return self.n_outputs * (3 * width + 8) * 8 + 64 * width

    def stages_bytes(self, stage_terms: Sequence[int]) -> int:
        """Readouts, and with one output a table of all stages by all terms."""
        table = max(stage_terms, default=0) * padded(len(stage_terms), 8) * 8 if self.n_outputs == 1 else 0
        return readout_bytes(stage_terms, self.n_outputs) + table

    def encode(self, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
        """Weights and their bounds."""
        arrays |= {
            "coef": self.coef,
            "intercept": self.intercept,
            "coef_bound": self.coef_bound,
            "intercept_bound": self.intercept_bound,
        }
        by_columns = not self.coef.flags.c_contiguous  # products take another way then, and round otherwise
        if by_columns:
            arrays["coef"] = self.coef.T
        if self.fill is not None:
            arrays["fill"] = self.fill
        return {"depth": int(self.depth), "fill": self.fill is not None, "by_columns": by_columns}

    @classmethod
    def decode(cls, section: Any, stock: Any, n_outputs: int) -> Self:
        """Weights and their bounds."""
        by_columns = section.flag("by_columns")
        coef = stock.floats("coef", None, n_outputs).T if by_columns else stock.floats("coef", n_outputs, None)
        n_features = coef.shape[1]
        stock.require(1 <= n_features <= MOST_FEATURES, "the array 'coef' has no columns, or too many")
        terms = cls(
            coef=coef,
            intercept=stock.floats("intercept", n_outputs),
            fill=stock.floats("fill", n_features) if section.flag("fill") else None,
            coef_bound=stock.floats("coef_bound", n_outputs, n_features, low=0.0, finite=False),
            intercept_bound=stock.floats("intercept_bound", n_outputs, low=0.0, finite=False),
            depth=section.integer("depth", 1),
        )
        section.done()
        return terms
