"""Median times of runs that alternate."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

#: A run is repeated within itself until it takes this many seconds.
SHORTEST = 0.005


def median_seconds(
    *runs: Callable[[], object], repeats: int, report: Callable[[float], object] = lambda done: None
) -> list[float]:
    """Median times; the runs alternate, so that a busy machine disturbs them alike.

    Parameters
    ----------
    *runs : callables
    repeats : int
        Times of each run that the median is of, after one that does not count.
    report : callable, optional
        Called with the share that is done.

    Returns
    -------
    list of float
        Seconds, one per run.
    """
    numbers = [_enough(run) for run in runs]
    times: list[list[float]] = [[] for _ in runs]
    for round in range(repeats):
        for run, number, taken in zip(runs, numbers, times, strict=True):
            taken.append(_timed(run, number) / number)
        report((round + 1) / repeats)
    return [statistics.median(taken) for taken in times]


def _enough(run: Callable[[], object]) -> int:
    """How often to repeat a run to make it long enough to be timed."""
    number = 1
    while (taken := _timed(run, number)) < SHORTEST:
        number = max(2 * number, round(number * SHORTEST / max(taken, 1e-7)))
    return number


def _timed(run: Callable[[], object], number: int) -> float:
    start = time.perf_counter()
    for _ in range(number):
        run()
    return time.perf_counter() - start
