"""Measure what the engine's steps cost, by timing it on short ladders."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable

from .cost import CostModel

_measured: dict[Hashable, tuple[float, float, float, float]] = {}


def seconds(task: Callable[[], object], repeats: int = 3) -> float:
    """Shortest of some runs, after one that does not count: what the machine can do when nothing disturbs it."""
    task()
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        task()
        best = min(best, time.perf_counter() - start)
    return best


def measure_cost_model(
    run: Callable[[tuple[int, ...]], float], full: float, *, n_terms: int, n_outputs: int, block: int, key: Hashable
) -> CostModel:
    """Fit a `CostModel` to a few timings; rounded, and measured once per process and ``key``.

    Parameters
    ----------
    run : callable
        From the terms seen at each look to seconds per row, when no row leaves before the end.
    full : float
        Seconds per row of the wrapped model.
    n_terms, n_outputs, block : int
    key : hashable
        What the engine's speed depends on.
    """
    if key not in _measured:
        _measured[key] = _fit(run, n_terms, n_outputs, block)
    row, unit, readout, stage = _measured[key]
    return CostModel(row, unit, readout, stage, full, block).rounded()


def _fit(
    run: Callable[[tuple[int, ...]], float], n_terms: int, n_outputs: int, block: int
) -> tuple[float, float, float, float]:
    few, many = min(4 * block, n_terms), min(12 * block, n_terms)
    row, at_few = run(()), run((few,))
    steps = tuple(range(block, few + 1, block))
    # what it costs to go the same way in single blocks, with a look after each
    look = max(0.0, run(steps) - at_few) / (len(steps) - 1) if len(steps) > 1 else 0.0
    if many == few:
        return row, max(1e-12, at_few - row) / few, 0.0, look
    at_many = run((many,))
    twice_few, twice_many = run((few, few)), run((many, many))
    readout = max(0.0, (twice_many - at_many) - (twice_few - at_few)) / ((many - few) * n_outputs)
    unit = max(1e-12, (at_many - at_few) / (many - few) - readout * n_outputs)
    return row, unit, readout, max(0.0, look - readout * few / 2 * n_outputs)
