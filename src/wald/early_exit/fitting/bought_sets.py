"""Which sets of bought groups get a surrogate of their own: all of few, else those of a chain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingRegressor

#: Groups are bought for every row that cost less than this share of all, together.
CHEAP = 0.02
#: Up to this number of other groups every choice of them has a surrogate.
ALL_CHOICES = 3
#: Rows on which a chain is chosen, half of them to learn on; trees and leaves of what is learnt for that.
CHOICE_ROWS, TREES, LEAVES = 4_000, 30, 15


@dataclass(frozen=True)
class Prices:
    """Prices of groups.

    Parameters
    ----------
    of_groups : dict from name to float
    cheap : frozenset of str
        Groups that are bought for every row.
    """

    of_groups: Mapping[str, float]
    cheap: frozenset[str]

    @classmethod
    def of(cls, costs: Mapping[str, float]) -> Self | None:
        """Prices of some groups; None if there is nothing to save, since all but one cost nearly nothing or none does.

        Parameters
        ----------
        costs : dict from name to float
        """
        ordered = sorted(costs, key=lambda group: costs[group])
        so_far = np.cumsum([costs[group] for group in ordered])
        n_cheap = int(np.count_nonzero(so_far <= CHEAP * so_far[-1]))
        return None if len(ordered) < 2 else cls(dict(costs), frozenset(ordered[:n_cheap]))

    @property
    def dear(self) -> list[str]:
        """The other groups."""
        return [group for group in self.of_groups if group not in self.cheap]


def chosen_sets(
    prices: Prices,
    columns: Mapping[str, Sequence[int]],
    rows: NDArray[Any],
    told: NDArray[Any],
    rng: np.random.Generator,
) -> list[frozenset[str]]:
    """Sets of groups, each of which lacks some, that surrogates are to know.

    Parameters
    ----------
    prices : Prices
    columns : dict from name to columns
        Of each group.
    rows : ndarray of shape (n_rows, n_columns)
    told : ndarray of shape (n_rows,) or (n_rows, n_scores)
        Codes or scores of the model.
    rng : numpy.random.Generator
    """
    dear, cheap = prices.dear, prices.cheap
    if len(dear) <= ALL_CHOICES:
        sizes = range(0 if cheap else 1, len(dear))
        return [cheap | set(some) for size in sizes for some in combinations(dear, size)]
    some = rng.permutation(len(rows))[:CHOICE_ROWS]
    rows, numbers = rows[some], told[some]
    if numbers.ndim == 1:
        numbers = (numbers[:, None] == np.unique(numbers)).astype(np.float64)
    sets, left = [cheap] if cheap else [], float(numbers.var(axis=0).sum())
    bought = cheap
    while len(bought) < len(prices.of_groups) - 1:
        errors = {g: _error(rows[:, _places(columns, bought | {g})], numbers, rng) for g in dear if g not in bought}
        best = max(errors, key=lambda group: (left - errors[group]) / prices.of_groups[group])
        bought, left = bought | {best}, errors[best]
        sets.append(bought)
    return sets


def _places(columns: Mapping[str, Sequence[int]], groups: frozenset[str]) -> list[int]:
    return sorted(c for group in groups for c in columns[group])


def _error(rows: NDArray[Any], numbers: NDArray[np.float64], rng: np.random.Generator) -> float:
    """Mean squared error of numbers that are predicted by small trees, on the rows that they were not learnt on."""
    half, seed = len(rows) // 2, int(rng.integers(2**31 - 1))
    given: dict[str, Any] = {"max_iter": TREES, "max_leaf_nodes": LEAVES, "early_stopping": False, "random_state": seed}
    found = 0.0
    for column in numbers.T:
        model = HistGradientBoostingRegressor(**given).fit(rows[:half], column[:half])
        found += float(np.mean((model.predict(rows[half:]) - column[half:]) ** 2))
    return found
