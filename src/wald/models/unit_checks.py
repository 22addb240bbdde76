"""Checks units of terms, for authors of families that have units of their own."""

from __future__ import annotations

import numpy as np

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
        The message says which clause fails.

    Examples
    --------
    >>> check_units(Units.runs(10, 4), 10)
    """
    n_units = len(units.members)
    assert all(len(members) for members in units.members), "members: a unit must have a term at least"
    assert all(members.dtype == np.int64 for members in units.members), "members: terms must be int64 numbers"
    terms = np.concatenate([*units.members, np.empty(0, dtype=np.int64)])
    assert np.array_equal(np.sort(terms), np.arange(n_terms)), "members: every term must belong to one unit"
    assert units.costs.shape == (n_units,), "costs: must have one for each unit"
    assert np.isfinite(units.costs).all(), "costs: must be finite"
    assert (units.buys is None) == (units.prices is None), "buys: go with prices"
    if units.buys is None or units.prices is None:
        assert (units.costs > 0).all(), "costs: must be positive"
    else:
        prices = units.prices
        assert len(units.buys) == n_units, "buys: must say of each unit what it buys"
        assert ((prices > 0) & (prices < np.inf)).all(), "prices: must be finite and positive"
        for items, cost in zip(units.buys, units.costs, strict=True):
            assert len(np.unique(items)) == len(items), "buys: a unit buys an item once"
            assert ((items >= 0) & (items < len(prices))).all(), "buys: an item must have a price"
            assert np.isclose(cost, prices[items].sum()), "costs: a unit alone must cost what its items cost"
    for order in (range(n_units), reversed(range(n_units))):
        purchase = Purchase(units)
        paid = sum(purchase.buy(unit) for unit in order)
        assert np.isclose(paid, units.total), "total: must be what all units cost one after another"
