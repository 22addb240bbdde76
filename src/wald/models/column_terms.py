"""Linear models behind steps that work column by column: terms are functions of raw columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .. import _core
from ..codec.reading import Section, require
from ..engine import CompiledTerms
from ..steps import ByState, ColumnFunction, Numeric, OfScore
from ..utils.bytes import padded
from .linear import LEAST_WEIGHT, MOST_FEATURES, UNDERFLOW, LinearTerms, bytes_with_table, error_of_sum
from .packing import NO_SURROGATES, Compiled, Surrogates
from .planning import Planning, Precision, Rest
from .protocols import Bounded, Columnwise, Filed, Owned, Priced
from .terms import Accepts
from .units import Costs, Floats, Groups, Ints, Units, feature_units


@dataclass(frozen=True, eq=False)
class ColumnTerms(Compiled, Columnwise, Bounded, Priced, Owned, Filed):
    """Functions of raw columns as terms: output k of a row x is ``intercept[k] + sum_j f_jk(x_j)``.

    A column holds numbers or states. A number x adds ``weight[k, j] * x``, and a NaN adds ``at_nan[k, j]``; a state s
    adds ``table[first + s, k]``, where ``first`` is the number of states of the columns before it. Terms are sorted by
    column, then by output, and each has the weight 1 in its own output. A row is not finite if it holds infinity, a NaN
    or state that is refused, or what is no state in a column of states.

    Parameters
    ----------
    intercept : float64 ndarray of shape (n_outputs,)
    weight, at_nan : float64 ndarray of shape (n_outputs, n_columns)
        0 in columns of states. Infinity in `at_nan` stands for a NaN that is refused.
    n_states : int64 ndarray of shape (n_columns,)
        Number of states of each column, or 0 where it holds numbers.
    table : float64 ndarray of shape (n_states.sum(), n_outputs)
        Infinity stands for a state that is refused.
    weight_bound, nan_bound : float64 ndarray of shape (n_columns,)
        What the wrapped model adds up for a column of numbers has a sum of absolute values of at most
        ``weight_bound[j] * |x|``, or ``nan_bound[j]`` at NaN, for any output.
    table_bound : float64 ndarray of shape (n_states.sum(),)
        The same for each state.
    intercept_bound : float
        The same for what does not depend on the row.
    least_bound : float64 ndarray of shape (n_columns,)
        ``least_bound[j] * |x|`` is smaller than the same bound, and infinite where an intermediate value of the wrapped
        model may overflow.
    depth : int
        Largest number of roundings that a value passes through in the wrapped model, see `LinearTerms`.
    """

    family: ClassVar[str] = "columns"
    unit_name: ClassVar[str] = "columns"
    planning: ClassVar[Planning] = Planning(
        rest=Rest.OWN_ENGINE,
        own_weights=True,
        sparse_rows=False,
        certificate_share=0.6,  # as for linear models
        most_splits=5,
        timed_rows=64_000,
        timed_repeats=7,
    )
    needs_feature_ranges: ClassVar[bool] = True

    intercept: Floats
    weight: Floats
    at_nan: Floats
    n_states: Ints
    table: Floats
    weight_bound: Floats
    nan_bound: Floats
    table_bound: Floats
    intercept_bound: float
    least_bound: Floats
    depth: int
    coef: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        coef = np.tile(np.eye(len(self.intercept)), len(self.n_states))
        object.__setattr__(self, "coef", coef)

    @classmethod
    def of(  # type: ignore[override]  # made of a model; the protocols' own `of` asks terms what they have
        cls, linear: LinearTerms, columns: Sequence[ColumnFunction], n_steps: int = 1
    ) -> ColumnTerms:
        """Sum a linear model over the raw columns that its own columns are written from.

        Parameters
        ----------
        linear : LinearTerms
        columns : sequence of ByState, Numeric or OfScore
            One function for each raw column, 0 to ``len(columns) - 1``, in any order. Together they write each column
            of the linear model once. `OfScore` adds numbers that hold the weights already.
        n_steps : int, default=1
            Number of steps in a row that they stand for; each rounds a value a few times.

        Returns
        -------
        ColumnTerms
            Terms of rows that hold the raw columns: numbers, and states as numbers.

        Raises
        ------
        ValueError
            If a raw column is missing or has two functions, if a column of the model is not written once, or if an
            array has a wrong shape or a number that is not finite.

        Examples
        --------
        >>> import numpy as np
        >>> from wald.models import ColumnTerms, LinearTerms
        >>> from wald.steps import ByState, Numeric
        >>> linear = LinearTerms(coef=np.array([[2.0, 5.0, 7.0]]), intercept=np.array([1.0]))
        >>> one_hot = ByState(1, np.eye(2), np.array([1, 2]))
        >>> number = Numeric(0, np.array([0.5]), np.array([-3.0]), None, np.array([0]))
        >>> ColumnTerms.of(linear, [number, one_hot]).scores(np.array([[8.0, 0.0], [8.0, 1.0]])).ravel().tolist()
        [8.0, 10.0]
        """
        functions = _checked(columns, linear.n_terms)
        n_outputs, n_columns = linear.n_outputs, len(functions)
        weight, at_nan = np.zeros((n_outputs, n_columns)), np.full((n_outputs, n_columns), np.inf)
        weight_bound, least_bound, nan_bound = np.zeros(n_columns), np.zeros(n_columns), np.zeros(n_columns)
        n_states = np.zeros(n_columns, dtype=np.int64)
        tables, table_bounds = [np.empty((0, n_outputs))], [np.empty(0)]
        constants: list[Floats] = [linear.intercept[:, None]]
        intercept_bound = linear.intercept_bound.copy()
        depth = linear.depth + 4 * n_steps
        for j, each in enumerate(functions):
            if isinstance(each, OfScore):
                if each.output is None:  # as large as the engine's own bound, which is `depth + 4` times the roundoff
                    weight_bound[j] = 2.0**53 / (depth + 4)
                else:  # what the wrapped model rounds is in that bound, and the engine rounds once a column
                    weight[each.output, j], weight_bound[j] = 1.0, min(1.0, (n_columns + 8) / (depth + 4))
                continue
            coef, bound = linear.coef[:, each.written], linear.coef_bound[:, each.written]
            filled = None if linear.fill is None else linear.fill[each.written]
            if isinstance(each, ByState):
                n_states[j] = each.n_states
                values = each.values
                if sparse.issparse(values):
                    tables.append(_sparse_sums(values, coef))
                else:
                    values = values if filled is None else np.where(np.isnan(values), filled, values)
                    tables.append(_sums(values[:, None, :] * coef))
                table_bounds.append(np.asarray(abs(values) @ bound.T).max(axis=1))
                continue
            fill = each.fill
            if filled is not None:
                fill = filled if fill is None else np.where(np.isnan(fill), filled, fill)
            weight[:, j] = _sums(coef * each.scale)
            constants.append(coef * each.shift)
            weight_bound[j] = (bound * np.abs(each.scale)).sum(axis=1).max()
            least_bound[j] = LEAST_WEIGHT * float(np.abs(each.scale).sum())
            intercept_bound += bound @ each.magnitude + (bound.sum(axis=1) + LEAST_WEIGHT) * UNDERFLOW
            if fill is not None and not np.isnan(fill).any():
                at_nan[:, j] = _sums(np.concatenate([coef * fill, -coef * each.shift], axis=1))
                nan_bound[j] = (bound @ np.abs(fill)).max()
        refused = np.isnan(np.concatenate(table_bounds))
        return cls(
            intercept=_sums(np.concatenate(constants, axis=1)),
            weight=weight,
            at_nan=np.where(n_states > 0, 0.0, at_nan),
            n_states=n_states,
            table=np.where(refused[:, None], np.inf, np.concatenate(tables)),
            weight_bound=weight_bound,
            nan_bound=nan_bound,
            table_bound=np.where(refused, 0.0, np.concatenate(table_bounds)),
            intercept_bound=float(intercept_bound.max()),
            least_bound=least_bound,
            depth=depth,
        )

    @property
    def n_features(self) -> int:
        """Number of raw columns."""
        return len(self.n_states)

    @property
    def accepts(self) -> Accepts:
        """Dense rows, with NaN if some column has a value for it."""
        numbers = self.n_states == 0
        return Accepts(nan=bool(np.isfinite(self.at_nan[:, numbers]).any()), sparse=False)

    def columns_read(self, terms: Ints) -> Ints:
        """Terms of a column stand side by side, one for each output."""
        return terms // self.n_outputs

    def owners(self) -> Ints | None:
        """Output of each term."""
        return np.arange(self.n_terms) % self.n_outputs if self.n_outputs > 1 else None

    # ---- bounds ----------------------------------------------------------------------------------------------------

    def ranges(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Bounds of the terms: of all states, and of numbers in the range of their column, or NaN."""
        with np.errstate(invalid="ignore"):
            ends = np.stack([np.where(self.weight == 0, 0.0, self.weight * end) for end in (low, high)])
        least, most = ends.min(axis=0), ends.max(axis=0)
        if self.accepts.nan:
            taken = np.isfinite(self.at_nan)
            least = np.where(taken, np.minimum(least, self.at_nan), least)
            most = np.where(taken, np.maximum(most, self.at_nan), most)
        first = np.cumsum(self.n_states) - self.n_states
        for j in np.flatnonzero(self.n_states):
            states = self.table[first[j] : first[j] + self.n_states[j]]
            known = np.isfinite(states)
            least[:, j] = np.where(known, states, np.inf).min(axis=0)
            most[:, j] = np.where(known, states, -np.inf).max(axis=0)
        most = np.maximum(least, most)
        return np.ascontiguousarray(least.T).ravel(), np.ascontiguousarray(most.T).ravel()

    def rounding(self, low: Floats, high: Floats, working: float) -> float:
        """Bound of the rounding errors of the engine and of the wrapped model together."""
        size = np.maximum(np.abs(low), np.abs(high)).reshape(-1, self.n_outputs).T
        with np.errstate(divide="ignore", invalid="ignore"):
            largest = np.where(self.weight == 0, np.inf, size / np.abs(self.weight)).min(axis=0)
            numbers = np.where(self.weight_bound == 0, 0.0, self.weight_bound * largest)
        total = float(numbers.sum()) + self._states_bound() + float(self.nan_bound.sum()) + self.intercept_bound
        return 4.0 * total * ((self.n_features + 16) * 2.0**-53 + (self.depth + 16) * working)

    def score_error(self, most: float, working: float) -> float:
        """The same bound as ``ColumnModel::error`` of the engine."""
        size = most * float((self.weight_bound + self.least_bound).sum())
        size += self._states_bound() + float(self.nan_bound.sum()) + self.intercept_bound
        return error_of_sum(size, self.n_features, self.depth, working)

    def _states_bound(self) -> float:
        """Sum of the largest bounds of the states of each column."""
        first = (np.cumsum(self.n_states) - self.n_states)[self.n_states > 0]
        return float(np.maximum.reduceat(self.table_bound, first).sum()) if len(first) else 0.0

    # ---- planning and files ----------------------------------------------------------------------------------------

    def units(self, names: NDArray[Any] | None, groups: Groups, costs: Costs, run: int) -> Units:
        """Raw columns with the terms of all outputs, alone or in the user's groups."""
        units = feature_units(self.n_features, names, groups, costs, 1)
        terms = np.arange(self.n_terms).reshape(self.n_features, self.n_outputs)
        return Units(tuple(terms[columns].ravel() for columns in units.members), units.costs)

    def pack(
        self, order: Ints, surrogates: Surrogates = NO_SURROGATES, precision: Precision = "float64"
    ) -> CompiledTerms:
        """Pack for the compiled engine, which always computes sums over columns in float64."""
        described = {
            "order": np.ascontiguousarray(order, dtype=np.int64),
            "intercept": np.ascontiguousarray(self.intercept),
            "weight": np.ascontiguousarray(self.weight),
            "at_nan": np.ascontiguousarray(self.at_nan),
            "n_states": np.ascontiguousarray(self.n_states),
            "table": np.ascontiguousarray(self.table),
            "magnitude": self.weight_bound + self.least_bound,
            "nan_magnitude": np.ascontiguousarray(self.nan_bound),
            "table_magnitude": np.ascontiguousarray(self.table_bound),
            "bias_magnitude": float(self.intercept_bound),
            "depth": float(self.depth),
        }
        return CompiledTerms(_core.Model.columns(described))

    @property
    def packed_size(self) -> str:
        """Description of what `pack` holds."""
        return f"{self.n_features} columns of {int(self.n_states.sum())} states"

    def packed_bytes(self, n_surrogates: int, precision: Precision) -> int:
        """Bound of the memory of tables, padded to at least 256 rows, or each row to registers, and of the order."""
        rows = int(self.n_states.sum()) + self.n_features * (256 if self.n_outputs == 1 else 2)
        width = 1 if self.n_outputs == 1 else padded(self.n_outputs, 8)
        return 8 * rows * (width + 1) + 64 * (self.n_terms + self.n_features + width)

    def stages_bytes(self, stage_terms: Sequence[int]) -> int:
        """Bound of the memory of readouts and, with one output, of the table of stages by terms."""
        return bytes_with_table(stage_terms, self.n_outputs)

    def facts(self) -> dict[str, Any]:
        """Numbers of columns of states, and of their states."""
        return {"columns of states": int(np.count_nonzero(self.n_states)), "states": int(self.n_states.sum())}

    @classmethod
    def decode(cls, section: Section, n_outputs: int) -> Self:
        """Read the functions and their bounds."""
        weight = section.floats("weight", n_outputs, None)
        n_columns = weight.shape[1]
        called = section.called
        require(1 <= n_columns <= MOST_FEATURES // n_outputs, f"the array {called('weight')!r} has a wrong width")
        table = section.floats("table", None, n_outputs, finite=False)
        n_states = section.integers("n_states", ("int64",), n_columns, low=0, high=len(table) + 1)
        require(sum(n_states.tolist()) == len(table), f"the array {called('n_states')!r} does not add up to the table")
        section.room.reserve(8 * n_outputs * n_outputs * n_columns, f"{n_columns} columns")
        return cls(
            intercept=section.floats("intercept", n_outputs),
            weight=weight,
            at_nan=section.floats("at_nan", n_outputs, n_columns, finite=False),
            n_states=n_states,
            table=table,
            weight_bound=section.floats("weight_bound", n_columns, low=0.0, finite=False),
            nan_bound=section.floats("nan_bound", n_columns, low=0.0, finite=False),
            table_bound=section.floats("table_bound", len(table), low=0.0, finite=False),
            intercept_bound=section.number("intercept_bound", low=0.0),
            least_bound=section.floats("least_bound", n_columns, low=0.0, finite=False),
            depth=section.integer("depth", 1),
        )


def _sums(products: Floats) -> Floats:
    """Sums over the last axis that are rounded once, so that they do not depend on its order; NaN stays NaN."""
    flat = products.reshape(-1, products.shape[-1])
    return np.array([math.fsum(row) for row in flat.tolist()]).reshape(products.shape[:-1])


def _sparse_sums(values: Any, coef: Floats) -> Floats:
    """The same for rows of a CSR matrix, most of which hold one number at most."""
    found = np.asarray(values @ coef.T)
    for i in np.flatnonzero(np.diff(values.indptr) > 1):
        own = slice(values.indptr[i], values.indptr[i + 1])
        found[i] = _sums(values.data[own] * coef[:, values.indices[own]])
    return found


def _checked(columns: Sequence[ColumnFunction], n_written: int) -> list[ColumnFunction]:
    """The functions in the order of their columns; ValueError says what is wrong with them."""
    functions = sorted(columns, key=lambda each: each.column)
    if [each.column for each in functions] != list(range(len(functions))) or not functions:
        raise ValueError(
            "columns must have one function for each raw column, 0 to len(columns) - 1. "
            f"Got functions of {[each.column for each in functions]}."
        )
    for each in functions:
        if isinstance(each, OfScore):
            continue
        arrays = {"values": each.values} if isinstance(each, ByState) else {"scale": each.scale, "shift": each.shift}
        if isinstance(each, Numeric):
            arrays |= {"magnitude": each.magnitude} | ({} if each.fill is None else {"fill": each.fill})
        for name, array in arrays.items():
            rows = (each.n_states,) if isinstance(each, ByState) else ()
            if array.shape != (*rows, len(each.written)) or 0 in rows:
                raise ValueError(
                    f"{name} of column {each.column} must have shape {(*rows, len(each.written))}, a number for each "
                    f"column written. Got {array.shape}."
                )
            numbers = array.data if sparse.issparse(array) else array
            if np.isinf(numbers).any() or (name not in ("values", "fill") and np.isnan(numbers).any()):
                raise ValueError(f"{name} of column {each.column} must be finite. Got {array}.")
    written = np.concatenate([np.asarray(each.written, dtype=np.int64) for each in functions])
    if not np.array_equal(np.sort(written), np.arange(n_written)):
        raise ValueError(
            f"columns must write each of the {n_written} columns of the model once. They write {len(written)}: "
            f"{np.sort(written).tolist()[:20]}."
        )
    return functions
