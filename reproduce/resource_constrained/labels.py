"""The budgets that pseudo-labels need, by the price of a part."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from wald.structured.policies.crossfit import Fold
from wald.structured.policies.targets import Objective, parsimonious, trajectory

from .._common import Record

#: The price of a part with costly features, in wrong parts.
TRADEOFFS = (0.0, 0.03, 0.1, 0.3, 0.6)
_SEARCHES: dict[str, Callable[[Objective], NDArray[np.bool_]]] = {
    "trajectory": lambda objective: trajectory(objective, 12).state,
    "parsimonious": lambda objective: parsimonious(objective).state,
}


def pseudo_label_shares(data: str, seed: int, folds: Sequence[Fold]) -> list[Record]:
    """Share of the parts that pseudo-labels give costly features to, in one fold, at every trade-off."""
    return [
        {
            "data": data,
            "seed": seed,
            "search": name,
            "tradeoff": tradeoff,
            "share": float(search(Objective(folds[0], tradeoff, np.ones(1))).mean()),
        }
        for name, search in _SEARCHES.items()
        for tradeoff in TRADEOFFS
    ]
