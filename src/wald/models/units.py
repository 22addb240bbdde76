"""Units: groups of terms that are evaluated together, and their costs."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..utils.reals import as_float

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: The parameters `feature_groups` and `feature_costs` of `EarlyExitClassifier`.
Groups = Mapping[str, Sequence[int | str]] | None
Costs = ArrayLike | Mapping[str, float] | None

#: The order of an engine without early stages.
NO_TERMS: Ints = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Units:
    """Units of terms, and their costs.

    Parameters
    ----------
    members : tuple of int64 ndarray
        The terms of each unit.
    costs : float64 ndarray of shape (n_units,)
        Cost of each unit alone; positive, but for a unit that buys nothing.
    buys : tuple of int64 ndarray or None, default=None
        What each unit buys, such as the features that its trees read. A row pays once for what several of its units
        buy. None: units share nothing.
    prices : float64 ndarray of shape (n_items,) or None, default=None
        Price of everything that can be bought.
    """

    members: tuple[Ints, ...]
    costs: Floats
    buys: tuple[Ints, ...] | None = None
    prices: Floats | None = None

    @classmethod
    def sharing(cls, members: tuple[Ints, ...], buys: tuple[Ints, ...], prices: Floats) -> Units:
        """Units that pay only for what no unit before them has bought."""
        return cls(members, np.array([float(prices[items].sum()) for items in buys]), buys, prices)

    @classmethod
    def single(cls, n_terms: int) -> Units:
        """One unit per term, each at cost 1."""
        return cls(tuple(np.arange(n_terms)[:, None]), np.ones(n_terms))

    @classmethod
    def runs(cls, n_terms: int, length: int) -> Units:
        """One unit per run of neighbouring terms, which share a cache line; each costs its length."""
        members = tuple(np.arange(start, min(start + length, n_terms)) for start in range(0, n_terms, length))
        return cls(members, np.array([float(len(m)) for m in members]))

    @property
    def n_terms(self) -> int:
        """Number of terms over all units."""
        return sum(len(m) for m in self.members)

    @property
    def total(self) -> float:
        """Cost of all units together."""
        if self.buys is None or self.prices is None:
            return float(self.costs.sum())
        return float(self.prices[np.unique(np.concatenate([*self.buys, np.empty(0, dtype=np.int64)]))].sum())

    def take(self, units: Sequence[int]) -> Units:
        """Some of the units, in this order."""
        some = [int(u) for u in units]
        buys = None if self.buys is None else tuple(self.buys[u] for u in some)
        return Units(tuple(self.members[u] for u in some), self.costs[some], buys, self.prices)


class Purchase:
    """The costs of units, given those that a row has evaluated.

    Parameters
    ----------
    units : Units
    """

    def __init__(self, units: Units) -> None:
        self._units, self.costs = units, units.costs.astype(np.float64)
        if units.buys is not None and units.prices is not None:
            self._left = units.prices.astype(np.float64)
            self._item = np.concatenate([*units.buys, np.empty(0, dtype=np.int64)])
            self._unit = np.repeat(np.arange(len(units.buys)), [len(items) for items in units.buys])

    def buy(self, unit: int) -> float:
        """Evaluate a unit; returns its cost, and lowers the costs of the units that share something with it."""
        cost = float(self.costs[unit])
        if self._units.buys is not None:
            self._left[self._units.buys[unit]] = 0.0
            self.costs = np.bincount(self._unit, self._left[self._item], len(self.costs)).astype(np.float64)
        return cost


def feature_units(n_features: int, names: NDArray[Any] | None, groups: Groups, costs: Costs, run: int) -> Units:
    """Units of a linear model from the user's groups and costs.

    Parameters
    ----------
    n_features : int
    names : ndarray of str or None
        Names of the features, if they have any.
    groups : mapping of str to columns, or None
        Columns (indices or names) that form one unit; every other column is a unit of its own.
    costs : array-like of shape (n_features,), mapping from feature or group name to cost, or None
        A group without a cost of its own costs the sum of its columns. A column without a cost costs 1.
    run : int
        Number of neighbouring columns in a unit, if there are neither groups nor costs.

    Raises
    ------
    ValueError
        If a column is unknown, out of range or in two groups, or a cost is missing, not finite or not positive.
    """
    if groups is None and costs is None:
        return Units.single(n_features) if run == 1 else Units.runs(n_features, run)
    position = {} if names is None else {str(name): i for i, name in enumerate(names)}
    owner: dict[int, str] = {}
    members: list[Ints] = []
    labels: list[str | None] = []
    for label, columns in _checked_groups(groups).items():
        indices = sorted(_column(c, n_features, position, label) for c in columns)
        for i in indices:
            if i in owner:
                raise ValueError(
                    f"feature_groups puts column {i} into {owner[i]!r} and {label!r}; a column has one group."
                )
            owner[i] = label
        if not indices:
            raise ValueError(f"feature_groups[{label!r}] has no columns.")
        members.append(np.array(indices, dtype=np.int64))
        labels.append(label)
    for i in range(n_features):
        if i not in owner:
            members.append(np.array([i], dtype=np.int64))
            labels.append(None)
    single, by_name = _column_costs(n_features, costs, position, set(groups or {}))
    unit_costs = [
        by_name[label] if label is not None and label in by_name else float(single[m].sum())
        for m, label in zip(members, labels, strict=True)
    ]
    return Units(tuple(members), np.array(unit_costs))


def _checked_groups(groups: Any) -> Mapping[str, Sequence[int | str]]:
    """Groups as they were given, if they are lists of columns by name."""
    if groups is None:
        return {}
    if not isinstance(groups, Mapping):
        raise TypeError(
            'feature_groups must be a dict from name to a list of columns, such as {"lab": [0, 3]}. '
            f"Got {type(groups).__name__}."
        )
    for label, columns in groups.items():
        if isinstance(columns, str | bytes) or not isinstance(columns, Iterable):
            raise TypeError(f"feature_groups[{label!r}] must be a list of columns. Got {columns!r}.")
    return groups


def _column(column: int | str, n_features: int, position: Mapping[str, int], group: str) -> int:
    if isinstance(column, str):
        if column not in position:
            raise ValueError(
                f"feature_groups[{group!r}] names {column!r}, which is no feature name of the fitted model."
            )
        return position[column]
    is_number = isinstance(column, Real) and not isinstance(column, bool)
    if not is_number or not 0 <= column < n_features or int(column) != column:
        raise ValueError(
            f"feature_groups[{group!r}] holds {column!r}; columns are indices from 0 to {n_features - 1}, or names."
        )
    return int(column)


def _column_costs(
    n_features: int, costs: Costs, position: Mapping[str, int], groups: set[str]
) -> tuple[Floats, dict[str, float]]:
    single = np.ones(n_features)
    by_group: dict[str, float] = {}
    if isinstance(costs, Mapping):
        for name, cost in costs.items():
            if name in groups:
                by_group[name] = _positive(cost, name)
            elif name in position:
                single[position[name]] = _positive(cost, name)
            else:
                raise ValueError(
                    f"feature_costs names {name!r}, which is neither a feature name nor one of feature_groups."
                )
    elif costs is not None:
        try:
            single = np.asarray(costs, dtype=np.float64)
        except OverflowError:
            raise ValueError("feature_costs must be finite and positive. Got one that is too large.") from None
        except (TypeError, ValueError):
            raise TypeError(
                "feature_costs must be numbers, one for each feature, or a dict from name to number. "
                f"Got {reprlib.repr(costs)}."
            ) from None
        if single.shape != (n_features,):
            raise ValueError(
                f"feature_costs must have shape ({n_features},), one cost per feature. Got {single.shape} instead."
            )
        if not (np.isfinite(single).all() and (single > 0).all()):
            bad = int(np.flatnonzero(~(np.isfinite(single) & (single > 0)))[0])
            raise ValueError(f"feature_costs must be finite and positive. Got {single[bad]!r} for feature {bad}.")
    return single, by_group


def _positive(cost: float, name: str) -> float:
    if not (isinstance(cost, Real) and 0 < as_float(cost) < math.inf):
        raise ValueError(f"feature_costs must be finite and positive. Got {cost!r} for {name!r}.")
    return float(cost)
