"""Simulated walks: the stop error that is requested of the constant boundary, the one it makes, and the terms it needs.

A walk has independent Gaussian terms, and the full sum is compared with 0. A row of the negative class that crosses the
upper level on its way is stopped as positive: a stop error.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from wald.stopping import Boundary, StageScores
from wald.stopping.papers.levels import bridge_boundary

from ._common import Record

Floats = NDArray[np.floating]

#: Errors requested.
DELTAS = (0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005)
#: Means of the full sum, in its standard deviations.
DRIFTS = (-0.5, 0.0, 1.0, 1.5)
#: Lengths of walks, for the mean number of terms.
LENGTHS = (100, 316, 1000, 3162, 10_000, 31_623, 100_000)
COST_DELTAS = (0.2, 0.05, 0.01, 1e-3, 1e-4, 1e-6)
#: Mean of a term in its standard deviations, where the theorem's premise holds.
TERM_DRIFT = 0.5
#: Mean of the full sum in its standard deviations, where the terms' means shrink as their number grows.
THIN_DRIFT = 2.0
_BLOCK = 512
_CHUNK = 2000


def negative_walks(drift: float | None, n_terms: int, n_walks: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Partial sums (n_walks, n_terms - 1) of unit variance in all, given that the full sum is below 0.

    Parameters
    ----------
    drift : float or None
        Mean of the full sum; None: every full sum is 0, which is the edge that the paper's bound is about.
    n_terms, n_walks : int
    rng : Generator
    """
    end = np.zeros(n_walks)
    if drift is not None:
        end = drift + ndtri(rng.uniform(size=n_walks) * ndtr(-drift))
    walk = rng.standard_normal((n_walks, n_terms), dtype=np.float32)
    np.cumsum(walk, axis=1, out=walk)
    walk /= np.float32(np.sqrt(n_terms))
    clock = np.arange(1, n_terms + 1, dtype=np.float32) / n_terms
    walk += clock * (end.astype(np.float32) - walk[:, -1])[:, None]
    return walk[:, :-1]


def errors_seen(
    drift: float | None, deltas: Sequence[float], n_terms: int, n_walks: int, rng: np.random.Generator
) -> list[float]:
    """Share of negative walks that the constant boundary stops as positive, for each `delta`."""
    stopped = np.zeros(len(deltas))
    boundary = Boundary.upper(np.zeros(n_terms - 1), 1.0)
    for start in range(0, n_walks, _CHUNK):
        n = min(_CHUNK, n_walks - start)
        stage_scores = StageScores(full=np.zeros(n, dtype=np.int32), margins=negative_walks(drift, n_terms, n, rng))
        for i, delta in enumerate(deltas):
            codes, _ = stage_scores.leave(*boundary.thresholds(bridge_boundary(0.0, 1.0, delta), stage_scores.dtype))
            stopped[i] += codes.sum()
    return [float(share) for share in stopped / n_walks]


def mean_terms(
    n_terms: int, levels: Sequence[float], term_drift: float, n_walks: int, rng: np.random.Generator
) -> list[float]:
    """Mean number of terms until the sum of N(`term_drift`, 1) terms is above each level; all of them if it never is.

    Walks are drawn block by block, and a walk ends when it is above the highest level.
    """
    seen = np.full((n_walks, len(levels)), n_terms, dtype=np.int64)
    alive, at = np.arange(n_walks), np.zeros(n_walks)
    for start in range(0, n_terms - 1, _BLOCK):
        width = min(_BLOCK, n_terms - 1 - start)
        sums = rng.standard_normal((len(alive), width))
        sums += term_drift
        np.cumsum(sums, axis=1, out=sums)
        sums += at[alive][:, None]
        highest = np.maximum.accumulate(sums, axis=1)
        for i, level in enumerate(levels):
            first = (highest <= level).sum(axis=1)
            new = (first < width) & (seen[alive, i] == n_terms)
            seen[alive[new], i] = start + first[new] + 1
        at[alive] = sums[:, -1]
        alive = alive[seen[alive].max(axis=1) == n_terms]
        if not len(alive):
            break
    return [float(mean) for mean in seen.mean(axis=0)]


def simulate_errors(seed: int, *, n_terms: int = 1000, n_walks: int = 20_000) -> list[Record]:
    """Error requested against error seen, for every drift and on the edge."""
    rng = np.random.default_rng([seed, 1])
    records: list[Record] = []
    for drift in (None, *DRIFTS):
        seen = errors_seen(drift, DELTAS, n_terms, n_walks, rng)
        where = "edge" if drift is None else f"{drift:g}"
        records += [
            {"drift": where, "seed": seed, "requested": delta, "seen": share}
            for delta, share in zip(DELTAS, seen, strict=True)
        ]
    return records


def simulate_costs(seed: int, *, lengths: Iterable[int] = LENGTHS, n_walks: int = 2000) -> list[Record]:
    """Mean number of terms against their number and delta, where terms have a drift and where it thins out."""
    rng = np.random.default_rng([seed, 2])
    records: list[Record] = []
    for n in lengths:
        levels = [bridge_boundary(0.0, np.sqrt(n), delta) for delta in COST_DELTAS]
        # with a thinning drift most walks are evaluated to the end: fewer walks are drawn
        settings = (("steady", TERM_DRIFT, n_walks), ("thinning", THIN_DRIFT / np.sqrt(n), max(50, n_walks // 5)))
        for regime, term_drift, count in settings:
            means = mean_terms(n, levels, term_drift, count, rng)
            records += [
                {"regime": regime, "n": n, "delta": delta, "seed": seed, "mean_terms": mean, "level": level}
                for delta, mean, level in zip(COST_DELTAS, means, levels, strict=True)
            ]
    return records


def exponents(records: Sequence[Record]) -> tuple[float, float]:
    """Fit ``mean_terms = c n^a (ln 1/sqrt(delta))^b`` by least squares in logarithms; returns a and b."""
    n = np.array([float(r["n"]) for r in records])
    caution = np.array([0.5 * np.log(1 / float(r["delta"])) for r in records])
    design = np.column_stack([np.ones(len(records)), np.log(n), np.log(caution)])
    target = np.log([float(r["mean_terms"]) for r in records])
    solution = np.linalg.lstsq(design, target, rcond=None)[0]
    return float(solution[1]), float(solution[2])
