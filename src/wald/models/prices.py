"""What terms cost, alone or in groups."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from numpy.typing import NDArray

from .terms import Terms, TermsProtocol
from .units import Costs, Groups, Units


class Priced(TermsProtocol):
    """Terms that have costs of their own, alone or in groups."""

    @abstractmethod
    def units(self, names: NDArray[Any] | None, groups: Groups, costs: Costs, run: int) -> Units:
        """Group the terms into units, and give their costs.

        Parameters
        ----------
        names : ndarray of str or None
            Names of the features.
        groups, costs
            The parameters ``feature_groups`` and ``feature_costs`` of `EarlyExitClassifier`.
        run : int
            Number of neighbouring columns in one cache line.

        Returns
        -------
        Units
            Groups and costs of `Sharing` terms become what units buy (`Units.sharing`).

        Raises
        ------
        ValueError
            If groups or costs are given, and they do not say what terms cost.
        """


class Sharing(Priced):
    """Terms of which several read the same features: their units share what the user's prices buy (`Units.buys`).

    A plan with prices minimizes them, and not time.
    """

    @abstractmethod
    def units_by_columns(self, units: Units) -> Units:
        """The same units, priced by the time that each takes for a row that is stored by columns.

        Parameters
        ----------
        units : Units
            Units that share nothing.

        Returns
        -------
        Units
            Units that share the columns that they read, with prices in any unit of time.
        """


def units_of(
    terms: Terms,
    names: NDArray[Any] | None = None,
    groups: Groups = None,
    costs: Costs = None,
    run: int = 1,
) -> Units:
    """Units of terms, see `Priced.units`; by default one for each term, at cost 1."""
    priced = Priced.of(terms)
    if priced is None:
        refuse_prices(terms, groups, costs)
        return Units.single(terms.n_terms)
    return priced.units(names, groups, costs, run)


def refuse_prices(terms: Terms, groups: Any, costs: Any) -> None:
    """Raise ValueError if features have groups or costs, which do not say what the terms cost."""
    if groups is not None or costs is not None:
        raise ValueError(
            f"feature_costs and feature_groups need a linear model or trees: the {terms.unit_name} of a "
            f"{terms.description} read every feature at once. Its cost is counted in {terms.unit_name}."
        )
