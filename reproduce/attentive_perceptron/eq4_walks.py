"""Equation (4) on simulated walks: how many terms its two readings need as n grows."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy.special import ndtri

from .._common import Record
from .._walks import COST_DELTAS, LENGTHS, TERM_DRIFT, mean_terms


def level(mean: float, deviation: float, delta: float, *, centred: bool) -> float:
    """Level of equation (4) for the threshold 0, raised to the lowest level at which the formula holds.

    Parameters
    ----------
    mean, deviation : float
        Mean and standard deviation of the full sum.
    delta : float
    centred : bool
        Whether the expected path is subtracted from the walk.
    """
    tau = 0.5 * (-mean - deviation * float(ndtri(delta)))
    return max(tau, 0.0, -mean if centred else 0.0)


def simulate_eq4(seed: int, *, lengths: Iterable[int] = LENGTHS, n_walks: int = 2000) -> list[Record]:
    """Mean number of terms of rows that drift to the boundary, by reading, n and delta."""
    rng = np.random.default_rng([seed, 12])
    records: list[Record] = []
    for n in lengths:
        for reading, drift in (("printed", TERM_DRIFT), ("centred", 0.0)):  # a centred walk has no drift left
            levels = [level(n * TERM_DRIFT, np.sqrt(n), d, centred=reading == "centred") for d in COST_DELTAS]
            means = mean_terms(n, levels, drift, n_walks, rng)
            records += [
                {"regime": reading, "n": n, "delta": delta, "seed": seed, "mean_terms": mean, "level": lev}
                for delta, mean, lev in zip(COST_DELTAS, means, levels, strict=True)
            ]
    return records
