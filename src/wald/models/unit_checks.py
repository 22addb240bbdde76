"""Checks units of terms, for authors of families that have units of their own."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..utils.clauses import require_clauses
from .units import Purchase, Units

__all__ = ["check_units"]


def check_units(units: Units, n_terms: int) -> None:
    """Check that units keep what `Units` says.

    * Every term belongs to one unit, and no unit is empty.
    * Costs are finite and positive, but for units that buy nothing.
    * Units that share purchases name items that have prices, each once, and cost alone what these cost.
    * Bought one after another in any order, all units cost what `Units.total` says.

    Parameters
    ----------
    units : Units
    n_terms : int
        Number of terms of the model.

    Raises
    ------
    AssertionError
        The message has the clause that fails in brackets.

    Examples
    --------
    >>> check_units(Units.runs(10, 4), 10)
    """
    clauses = {"members": _members, "costs": _costs, "buys": _buys, "total": _total}
    require_clauses(clauses, "Units", units, n_terms)


def _members(units: Units, n_terms: int) -> Iterator[str]:
    if not all(len(members) for members in units.members):
        yield "a unit must have a term at least"
    if any(members.dtype != np.int64 for members in units.members):
        yield "terms must be int64 numbers"
    terms = np.concatenate([*units.members, np.empty(0, dtype=np.int64)])
    if not np.array_equal(np.sort(terms), np.arange(n_terms)):
        yield "every term must belong to one unit"


def _costs(units: Units, n_terms: int) -> Iterator[str]:
    if units.costs.shape != (len(units.members),):
        yield "there must be one for each unit"
    if not np.isfinite(units.costs).all():
        yield "must be finite"
    if units.buys is None and not (units.costs > 0).all():
        yield "must be positive"


def _buys(units: Units, n_terms: int) -> Iterator[str]:
    if (units.buys is None) != (units.prices is None):
        yield "buys go with prices"
    if units.buys is None or units.prices is None:
        return
    prices = units.prices
    if len(units.buys) != len(units.members):
        yield "must say of each unit what it buys"
    if not ((prices > 0) & (prices < np.inf)).all():
        yield "prices must be finite and positive"
    for items, cost in zip(units.buys, units.costs, strict=True):
        if len(np.unique(items)) != len(items):
            yield "a unit buys an item once"
        if not ((items >= 0) & (items < len(prices))).all():
            yield "an item must have a price"
        if not np.isclose(cost, prices[items].sum()):
            yield "a unit alone must cost what its items cost"


def _total(units: Units, n_terms: int) -> Iterator[str]:
    for order in (range(len(units.members)), reversed(range(len(units.members)))):
        purchase = Purchase(units)
        paid = sum(purchase.buy(unit) for unit in order)
        if not np.isclose(paid, units.total):
            yield "must be what all units cost one after another"
