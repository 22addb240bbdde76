"""The papers' law, that O(sqrt n) terms are enough, on simulated walks: the claim and its picture."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ._common import Claim, Estimate, Record, interval, number, over_seeds, select
from ._walks import COST_DELTAS, LENGTHS, exponents

#: The tolerance for an exponent of one half.
NEAR = 0.03


def law(records: Sequence[Record]) -> Claim:
    """Claim: the mean number of terms grows as the square root of n and of the caution."""
    n, caution = fitted_exponents(records, "steady")
    holds = abs(n.mean - 0.5) <= NEAR and abs(caution.mean - 0.5) <= NEAR
    bound = n.high <= 0.5 + NEAR and caution.high <= 0.5 + NEAR
    return Claim(
        "E[T] = O(√(n log 1/√δ)) for rows that drift to the boundary.",
        f"n from {number(min(LENGTHS))} to {number(max(LENGTHS))}, δ from "
        f"{number(max(COST_DELTAS))} to {number(min(COST_DELTAS))}, "
        f"terms with a mean of half their standard deviation: E[T] grows as n to the {interval(n)} and as ln(1/√δ) to "
        f"the {interval(caution)}.",
        "holds" if holds else "holds as a bound" if bound else "does not hold",
    )


def fitted_exponents(records: Sequence[Record], regime: str) -> tuple[Estimate, Estimate]:
    """Exponents of the mean number of terms in n and in the caution, over seeds."""
    chosen = select(records, regime=regime)
    seeds = sorted({int(r["seed"]) for r in chosen})
    fitted = np.array([exponents(select(chosen, seed=seed)) for seed in seeds])
    return over_seeds(fitted[:, 0]), over_seeds(fitted[:, 1])
