"""Numbers that a fitted transformer cuts at thresholds: their states, and what is written for each of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import Binarizer, KBinsDiscretizer
from sklearn.utils import check_array

from ..sources import FrameSource, Source
from ..sources.arrays import ArraySource
from .affine import READ_BY_TRANSFORM, gives_frames, overrides, sliced
from .functions import ByState, ColumnFunction, PartOfSum
from .later import Later, nothing_later
from .numbers import columns_of, number_reader, of_number, operations_of
from .probing import Kind, kinds_of
from .questions import MOST_VALUES
from .tables import BYTES

#: Up to this number of thresholds, each number is compared with all of them.
FEW = 24
#: Numbers that are compared at a time, so that they stay in the cache.
AT_ONCE = 8192
CUT: tuple[type, ...] = (Binarizer, KBinsDiscretizer)
Dtype = np.dtype[Any]
FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)


@dataclass(frozen=True, eq=False)
class Cut:
    """Thresholds of a column, whose numbers have as state how many of the thresholds they exceed.

    Attributes
    ----------
    edges : tuple of float or numpy.float64
        Ascending. A Python number is compared in the dtype of the column, as NumPy does.
    reaches : bool
        Whether a number that equals a threshold counts as above it.
    """

    edges: tuple[Any, ...]
    reaches: bool

    @property
    def n_states(self) -> int:
        """Number of states."""
        return len(self.edges) + 1

    def states(self, values: NDArray[Any]) -> NDArray[Any]:
        """The state of each number, as uint8 where there are few; what is not finite gets one that is none."""
        few, n = self.n_states < BYTES, len(values)
        found: NDArray[Any] = np.empty(n, dtype=np.uint8 if few else np.float64)
        side: Any = "right" if self.reaches else "left"
        edges = np.array(self.edges)
        above: NDArray[np.bool_] = np.empty(min(n, AT_ONCE), dtype=bool)
        beyond = np.greater_equal if self.reaches else np.greater
        for start in range(0, n, AT_ONCE):
            part, states = np.ascontiguousarray(values[start : start + AT_ONCE]), found[start : start + AT_ONCE]
            finite = part.dtype.kind != "f" or bool(np.isfinite(part).all())
            if len(edges) > FEW:
                states[:] = np.searchsorted(edges, part, side=side)
            else:
                states[:] = 0
                for edge in self.edges:
                    beyond(part, edge, out=above[: len(part)])
                    np.add(states, above[: len(part)].view(np.uint8), out=states)
            if not finite:
                states[~np.isfinite(part)] = BYTES - 1 if few else np.nan
        return found


class Cuts(PartOfSum):
    """A `Binarizer` or `KBinsDiscretizer`, alone or after scalers and imputers, as states of its columns.

    What it writes is known from its thresholds, and compared with what it writes itself. Numbers are compared in the
    dtype in which it compares them, which hangs on all columns that it reads and on what holds them.

    Parameters
    ----------
    steps : list of transformer
        The last of them cuts.
    columns : list of int
        Numbers of the raw columns that they read.
    first : int
        Number of the first column that is written.
    weight : float or None
        Factor of what is written.
    later : Later or None, default=None
        Transformers that are applied after it.

    Attributes
    ----------
    cuts : list of Cut
        One for each column.
    values : list of float64 ndarray of shape (n_states, n_own)
        What is written for each state of a column.
    n_written : int
        Number of columns that the last of the steps writes.
    """

    def __init__(
        self, steps: Sequence[Any], columns: list[int], first: int, weight: float | None, later: Later | None = None
    ) -> None:
        self.transformer: Any = steps[0] if len(steps) == 1 else Pipeline([(str(i), s) for i, s in enumerate(steps)])
        self.columns, self.weight = columns, weight
        self._steps, self._last = list(steps), steps[-1]
        self._before = [[sliced(step, np.array([j])) for step in steps[:-1]] for j in range(len(columns))]
        self._dtypes: dict[tuple[Kind, ...], Dtype] = {}
        self.cuts = _cuts(self._last, len(columns))
        self._one_hot = type(self._last) is KBinsDiscretizer and self._last.encode != "ordinal"
        factor = 1.0 if weight is None else weight
        self.values = [factor * _written(cut, self._one_hot) for cut in self.cuts]
        self.n_written = sum(values.shape[1] for values in self.values)
        self.later = nothing_later(slice(first, first + self.n_written)) if later is None else later

    @classmethod
    def of(
        cls, steps: Sequence[Any], columns: list[int], first: int, weight: float | None, later: Later | None = None
    ) -> Self | None:
        """Read fitted transformers; None if they do something else."""
        if n_cutting(steps) != len(steps) or not columns:
            return None
        if any(getattr(step, "n_features_in_", -1) != len(columns) for step in steps):
            return None
        if any(sliced(step, np.array([j])) is None for step in steps[:-1] for j in range(len(columns))):
            return None
        if not _has_thresholds(steps[-1], len(columns)):
            return None
        made = cls(steps, columns, first, weight, later)
        return made if made._agrees() else None

    def functions(self, first: int) -> list[ColumnFunction] | None:
        """What it writes as functions of its columns, which are those from number `first` on in a sum of columns."""
        found: list[ColumnFunction] = []
        start = self.later.first
        for j, values in enumerate(self.values):
            found.append(ByState(first + j, values, start + np.arange(values.shape[1])))
            start += values.shape[1]
        return found

    def reader(
        self, source: Source, places: list[int], rows: NDArray[np.int64] | None = None
    ) -> Callable[[int], NDArray[Any] | None] | None:
        """What gives the states of the k-th column; None if it must be asked itself. Parameters as for `Tables`."""
        given = self._given_dtype(source, places)
        if given is None:
            return None
        written, column = self._written_dtype(given), number_reader(source, places, rows)

        def read(k: int) -> NDArray[Any] | None:
            found = column(k)
            if found is None:
                return None
            states = self._states(k, found, given)
            return states.astype(np.float32) if written == FLOAT32 else states  # a sum learns the precision from it

        return read

    def arrays(self, source: Source, places: list[int]) -> tuple[list[NDArray[Any]], Dtype] | None:
        """The columns that are written for rows, and their dtype as the transformers write them.

        They may be held as bytes. None if the transformers themselves must write them.
        """
        given, found = self._given_dtype(source, places), columns_of(source, places)
        if given is None or found is None:
            return None
        columns: list[NDArray[Any]] = []
        dtype = self._written_dtype(given)
        for k, cut in enumerate(self.cuts):
            states = self._states(k, found[k], given)
            if not (states < cut.n_states).all():  # the transformer itself will say what it refuses
                return None
            if self.weight is not None:
                values = _written(cut, self._one_hot).astype(dtype) * self.weight
                columns += list(values.T[:, states.astype(np.intp)])
            elif self._one_hot:
                columns += [(states == s).view(np.uint8) for s in range(cut.n_states)]
            else:
                columns.append(states)
        if self.weight is not None:
            dtype = np.result_type(*columns)
        if not self.later.steps:
            return columns, dtype
        table = self.later.transform(np.column_stack(columns).astype(dtype))
        return list(np.ascontiguousarray(table.T)), table.dtype

    def of_records(self, first: int | None = None) -> list[dict[str, Any]] | None:
        """Its columns for `_core.Record`; None if records must become a frame.

        `first`: the number of the first of as many columns, to which states are written; None: as for trees.
        """
        if self.later.steps or self._own_dtype == FLOAT32:
            return None
        found, start = list[dict[str, Any]](), self.later.first
        for k, (cut, values, name) in enumerate(zip(self.cuts, self.values, self.columns, strict=True)):
            steps: list[tuple[str, float]] = []
            for step in self._before[k]:
                operations = operations_of(step)
                if operations is None:
                    return None
                steps += [(operation, float(np.ravel(by)[0])) for operation, by in operations]
            rows = np.arange(cut.n_states, dtype=np.int64)
            described = of_number(name, 0, steps) | {
                "written": np.arange(start, start + values.shape[1]) if first is None else np.array([first + k]),
                "edges": np.array(cut.edges, dtype=np.float64),
                "reaches": cut.reaches,
                "rows": rows,
                "values": np.ascontiguousarray(values) if first is None else rows[:, None].astype(np.float64),
            }
            found.append(described)
            start += values.shape[1]
        return found

    # ---- numbers as the transformer compares them ------------------------------------------------------------------

    def _states(self, k: int, values: NDArray[Any], given: Dtype) -> NDArray[Any]:
        """The state of each number in the k-th column."""
        values = values.astype(FLOAT32 if given == FLOAT32 else FLOAT64, copy=False)
        for step in self._before[k]:
            values = np.asarray(step.transform(values[:, None]))[:, 0]
        own = self._own_dtype
        return self.cuts[k].states(values if own is None else values.astype(own, copy=False))

    @property
    def _own_dtype(self) -> Dtype | None:
        """The dtype to which the transformer itself converts; None for that of its columns."""
        own = self._last.dtype if type(self._last) is KBinsDiscretizer else None
        return None if own is None else np.dtype(own)

    def _given_dtype(self, source: Source, places: list[int]) -> Dtype | None:
        """The dtype that scikit-learn makes of these columns together; None if it is none that is known here."""
        if isinstance(source, ArraySource) and source.library is None:
            found = source.values.dtype
        else:
            kinds = kinds_of(source, places)
            if kinds is None or not isinstance(source, FrameSource):
                return None
            if kinds not in self._dtypes:
                few = source.select(places).take(slice(0, 1)).rows
                checks: Any = {"dtype": self._checked_dtypes, "ensure_all_finite": False, "ensure_min_samples": 0}
                self._dtypes[kinds] = check_array(few, **checks).dtype
            found = self._dtypes[kinds]
        if found.kind == "b" and self._before[0] and self._checked_dtypes == "numeric":  # the imputer refuses these
            return None
        return found if found.kind in "biu" or found in (FLOAT32, FLOAT64) else None

    @property
    def _checked_dtypes(self) -> Any:
        """The dtypes that the first transformer asks for; polars frames get the first of them, whatever they hold."""
        first = self._steps[0]
        keeps = isinstance(first, SimpleImputer) and first.strategy in ("most_frequent", "constant")
        return "numeric" if keeps or isinstance(first, Binarizer) else [np.float64, np.float32]

    def _written_dtype(self, given: Dtype) -> Dtype:
        """The dtype in which it writes columns that it gets in a dtype."""
        if self._own_dtype is not None:
            return self._own_dtype
        if type(self._last) is Binarizer and not self._before[0]:
            return given
        return FLOAT32 if given == FLOAT32 else FLOAT64

    def _agrees(self) -> bool:
        """Whether the transformers write for numbers at the thresholds, and beside them, what is known of them here."""
        edges = [np.array(cut.edges, dtype=np.float64) for cut in self.cuts]
        near = [np.concatenate([[0.0], e, np.nextafter(e, np.inf), np.nextafter(e, -np.inf)]) for e in edges]
        rows = np.column_stack([np.resize(each, max(map(len, near))) for each in near])
        for dtype in (FLOAT64, FLOAT32):
            own: Any = rows.astype(dtype)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # about names
                    for step in self._steps:
                        own = step.transform(own)
            except Exception:  # whatever they refuse
                return False
            states = [self._states(k, column, dtype).astype(np.intp) for k, column in enumerate(rows.astype(dtype).T)]
            found = np.hstack([_written(cut, self._one_hot)[s] for cut, s in zip(self.cuts, states, strict=True)])
            table = own.toarray() if sparse.issparse(own) else np.asarray(own)
            if table.dtype != self._written_dtype(dtype) or not np.array_equal(table, found):
                return False
        return True


def n_cutting(steps: Sequence[Any]) -> int:
    """How many of the first transformers cut numbers: scalers and imputers, and one that cuts; 0 if none cuts."""
    for i, step in enumerate(steps):
        if gives_frames(step) or overrides(step):
            return 0
        if type(step) in CUT:
            return i + 1
        if type(step) not in READ_BY_TRANSFORM:
            return 0
    return 0


def _has_thresholds(step: Any, n_columns: int) -> bool:
    """Whether the thresholds are numbers that ascend, and what is written for all states is not too much."""
    if type(step) is Binarizer:
        return type(step.threshold) in (int, float, np.float64) and bool(np.isfinite(step.threshold))
    edges = getattr(step, "bin_edges_", ())
    if len(edges) != n_columns or step.encode not in ("ordinal", "onehot", "onehot-dense"):
        return False
    for own in edges:
        inner = np.asarray(own)[1:-1]
        if inner.dtype != np.float64 or not np.isfinite(inner).all() or (inner[1:] < inner[:-1]).any():
            return False
    return sum(len(own) ** 2 for own in edges) <= MOST_VALUES


def _cuts(step: Any, n_columns: int) -> list[Cut]:
    if type(step) is Binarizer:
        return [Cut((step.threshold,), reaches=False)] * n_columns
    return [Cut(tuple(np.asarray(own, dtype=np.float64)[1:-1]), reaches=True) for own in step.bin_edges_]


def _written(cut: Cut, one_hot: bool) -> NDArray[np.float64]:
    """What is written for each state, without a weight."""
    return np.eye(cut.n_states) if one_hot else np.arange(float(cut.n_states))[:, None]
