"""Models that mix groups of columns which are bought: surrogates on some of the groups, and the model on all.

As in opaque.py the model is the last unit, and its own answer is the reference. What a row pays is the price of the
groups that it needs and has not bought, and nothing else: neither surrogates nor the model cost anything once their
columns are there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from .opaque import OpaqueTerms
from .units import Floats

__all__ = ["BoughtTerms"]

#: Up to this number of surrogates all chains of them are candidates; of more, the longest, and those that lack one or
#: end earlier.
FEW = 7


@dataclass(frozen=True, eq=False)
class BoughtTerms(OpaqueTerms):
    """What surrogates say that each read some groups, and last the answer of the model, which reads all.

    Parameters
    ----------
    reads : tuple of frozenset of str
        The groups that each surrogate reads.
    prices : dict from name to float
        Of all groups.
    """

    reads: tuple[frozenset[str], ...] = ()
    prices: Mapping[str, float] = field(default_factory=dict)

    @property
    def description(self) -> str:
        """Description of the model in messages."""
        return f"{self.title} behind {len(self.widths)} surrogates on some of its groups"

    @property
    def full_cost(self) -> float:
        """Price of all groups."""
        return sum(self.prices.values())

    def paid(self, surrogates: Sequence[int]) -> Floats:
        """What a row has paid after each of some surrogates, in this order, and after the model."""
        bought, costs = frozenset[str](), []
        for unit in surrogates:
            bought |= self.reads[unit]
            costs.append(sum(self.prices[group] for group in self.prices if group in bought))
        return np.array([*costs, self.full_cost])

    def chains(self) -> list[list[int]]:
        """Surrogates that may follow one another, each of which reads more groups than the one before."""
        order = sorted(range(len(self.reads)), key=lambda unit: len(self.reads[unit]))
        if len(order) > FEW:  # they are one chain
            shorter = [order[: k + 1] for k in range(len(order))]
            return [*shorter, *([u for u in order if u != left] for left in order[:-1])]
        chains = [[unit] for unit in order]
        for chain in chains:  # which grows
            chains += [[*chain, unit] for unit in order if self.reads[chain[-1]] < self.reads[unit]]
        return chains
