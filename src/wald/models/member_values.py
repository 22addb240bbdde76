"""Means of fitted regressors: terms are what each member says of a row, evaluated by the engine of its own family."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..codec.reading import Section, require
from ..codec.writing import text_array
from ..sources import PLAIN, ArraySource, source_of
from ..sources.building import library_at_hand
from .encoding import decode_columns, encode_columns
from .members import kinds_of
from .packing import OwnSums, full_scores, pack
from .plain import whole_terms
from .planning import Planning, Rest
from .protocols import Filed, Thresholded
from .terms import Accepts, Terms
from .units import Floats, Ints

if TYPE_CHECKING:
    from ..engine import Packed
    from .model import AdditiveModel

#: The largest numbers of columns and values in files.
MOST = 2**31 - 1


@dataclass(frozen=True, eq=False)
class MemberValues(OwnSums, Thresholded, Filed):
    """Values of an ensemble's members as terms.

    Output k is the sum of value k of the members, each times the member's weight, in the order of the members, divided
    by ``divisor``: the arithmetic of the ensemble. Where the values of members have the bits of their own, as those of
    trees, so have the sums.

    Parameters
    ----------
    members : tuple of AdditiveModel
        Whose answers are values, with functions from scores to these.
    columns : tuple of (int64 ndarray or None)
        Columns that each member gets; None: all.
    weights : float64 ndarray of shape (n_members,) or None
        None: they are not multiplied.
    divisor : float
    n_values : int
        Number of values of a row.
    width : int
        Number of columns.
    single : bool, default=False
        Whether the ensemble adds in float32.
    names : tuple of str or None, default=None
        Names of the columns, which steps in front of members are given; None: they get arrays.
    """

    family: ClassVar[str] = "member values"
    unit_name: ClassVar[str] = "members"
    planning: ClassVar[Planning] = Planning(rest=Rest.ENGINE)
    members_in_files: ClassVar[bool] = True

    members: tuple[AdditiveModel, ...]
    columns: tuple[Ints | None, ...]
    weights: Floats | None
    divisor: float
    n_values: int
    width: int
    single: bool = False
    names: tuple[str, ...] | None = None
    coef: Floats = field(init=False, repr=False)
    intercept: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        weights = np.ones(len(self.members)) if self.weights is None else self.weights
        object.__setattr__(self, "coef", np.kron(weights / self.divisor, np.eye(self.n_values)))
        object.__setattr__(self, "intercept", np.zeros(self.n_values))

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.width

    @cached_property
    def accepts(self) -> Accepts:
        """What all members accept."""
        each = [member.terms.accepts for member in self.members]
        alone = len({accepts.conversion for accepts in each}) == 1
        return Accepts(
            nan=all(member.allow_nan for member in self.members),
            infinity=all(accepts.infinity for accepts in each),
            sparse=all(a.sparse and not m.dense_only for a, m in zip(each, self.members, strict=True)),
            conversion=each[0].conversion if alone else PLAIN,
            stored_nan=all(accepts.stored_nan for accepts in each),
        )

    @property
    def description(self) -> str:
        """Description of the model in messages."""
        leaves = (member.leaf for member in filter(None, self.members))
        return f"mean of {len(self.members)} members ({kinds_of(leaves)})"

    @property
    def exact(self) -> bool:
        """Whether the values of all members have the bits of their own."""
        return all(member.serves_full for member in self.members)

    @property
    def least_precision(self) -> float:
        """The least precise of the members, unless they have the bits of their own."""
        return 0.0 if self.exact else max(member.working_precision(np.float64) for member in self.members)

    def values(self, X: Any, which: Sequence[int] | NDArray[np.intp] | None = None) -> Floats:
        """What members say; each of them is asked once."""
        terms = np.arange(self.n_terms) if which is None else np.asarray(which, dtype=np.int64)
        values, owner = np.empty((X.shape[0], len(terms))), terms // self.n_values
        for m in np.unique(owner) if len(values) else ():
            own = np.flatnonzero(owner == m)
            values[:, own] = self._of_member(int(m), X)[:, terms[own] % self.n_values]
        return values

    def _of_member(self, m: int, X: Any) -> Floats:
        member, columns = self.members[m], self.columns[m]
        rows = X if columns is None else X[:, columns]
        if member.preprocessing is not None:
            named = self.names is not None and isinstance(rows, np.ndarray)
            source = ArraySource(rows, self.names, library_at_hand()) if named else source_of(rows)
            rows = member.preprocessing.transform(source)
        scores = full_scores(self._engines[m], rows)
        assert member.links.predict is not None
        values = np.full((len(scores), self.n_values), np.nan)
        known = ~np.isnan(scores).any(axis=1)  # others have no values, and functions that refuse NaN
        found = np.asarray(member.links.predict(scores if known.all() else scores[known]), dtype=np.float64)
        values[known] = found.reshape(-1, self.n_values)
        return values

    def at_thresholds(self, n_rows: int, rng: np.random.Generator) -> Floats | None:
        """Rows next to thresholds of the first member that has such."""
        for member, columns in zip(self.members, self.columns, strict=True):
            inner = None if member.preprocessing is not None else Thresholded.of(member.terms)
            made = None if inner is None else inner.at_thresholds(n_rows, rng)
            if made is not None:
                made = made if self.accepts.nan else np.where(np.isnan(made), 0.0, made)
                rows = np.zeros((n_rows, self.width))
                rows[:, slice(None) if columns is None else columns] = made
                return rows
        return None

    def totals(self, values: Floats) -> Floats:
        """Full scores from all values, with the ensemble's own arithmetic."""
        dtype = np.float32 if self.single else np.float64
        known, sums = values.astype(dtype, copy=False), np.zeros((len(values), self.n_values), dtype=dtype)
        for m in range(len(self.members)):
            some = known[:, m * self.n_values : (m + 1) * self.n_values]
            sums += some if self.weights is None else some * self.weights[m]
        return np.asarray(sums / dtype(self.divisor), dtype=np.float64)

    @cached_property
    def _engines(self) -> list[Packed]:
        return [pack(member.terms) for member in self.members]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_engines"}

    # ---- files -----------------------------------------------------------------------------------------------------

    def encode(self) -> dict[str, Any]:
        """Describe the mean without its members, which are in the description of the estimator."""
        return {
            "n_members": len(self.members),
            "weights": self.weights,
            "divisor": self.divisor,
            "n_values": self.n_values,
            "width": self.width,
            "single": bool(self.single),
            "names": None if self.names is None else text_array(self.names, "feature_names_in_"),
            **encode_columns(self.columns),
        }

    @classmethod
    def decode(cls, section: Section, n_outputs: int) -> Self:
        """Build terms without values from what `encode` returned."""
        n_members, width = section.integer("n_members", 1, MOST), section.integer("width", 1, MOST)
        n_values, divisor = section.integer("n_values", 1, MOST), section.number("divisor")
        section.room.reserve(64 * n_members * n_outputs**2, f"{n_members} members")
        require(n_values == n_outputs and divisor != 0, "the terms do not fit together")
        weights = None if section.lacks("weights") else section.floats("weights", n_members)
        names = None if section.lacks("names") else tuple(section.labels("names", (), width).tolist())
        columns = decode_columns(section, n_members, width)
        single = section.get("single", bool)
        members: Any = (None,) * n_members
        return cls(members, columns, weights, divisor, n_values, width, single, names)


def models_inside(terms: Terms) -> tuple[AdditiveModel, ...]:
    """The models of which terms consist; none for other terms, and for those of a file, which came without."""
    inner = whole_terms(terms)
    return inner.members if isinstance(inner, MemberValues) and inner.members[0] is not None else ()
