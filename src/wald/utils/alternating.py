"""Median times of runs that alternate."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

#: Shorter runs are repeated until the repetitions together take this many seconds.
SHORTEST_SECONDS = 0.005


def median_seconds(
    *runs: Callable[[], object], repeats: int, report: Callable[[float], object] = lambda done: None
) -> list[float]:
    """Median times of runs that alternate, so that a busy machine slows all of them equally.

    Parameters
    ----------
    *runs : callables
    repeats : int
        Number of timed rounds; one run that is not counted precedes them.
    report : callable, optional
        Called with the finished share of the rounds.

    Returns
    -------
    list of float
        Seconds, one per run.
    """
    repetitions = [_repetitions(run) for run in runs]
    times: list[list[float]] = [[] for _ in runs]
    for round in range(repeats):
        for run, number, taken in zip(runs, repetitions, times, strict=True):
            taken.append(_timed(run, number) / number)
        report((round + 1) / repeats)
    return [statistics.median(taken) for taken in times]


def _repetitions(run: Callable[[], object]) -> int:
    """Number of repetitions that take at least `SHORTEST_SECONDS`."""
    number = 1
    while (taken := _timed(run, number)) < SHORTEST_SECONDS:
        number = max(2 * number, round(number * SHORTEST_SECONDS / max(taken, 1e-7)))
    return number


def _timed(run: Callable[[], object], number: int) -> float:
    start = time.perf_counter()
    for _ in range(number):
        run()
    return time.perf_counter() - start
