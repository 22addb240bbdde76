"""Median times of runs that alternate."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

#: Shorter runs are repeated until the repetitions together take this many seconds.
SHORTEST_SECONDS = 0.005


class Timing(NamedTuple):
    """Seconds of one call with ``n_rows`` rows, of the wrapped model and of wald."""

    name: str
    n_rows: int
    model_seconds: float
    wald_seconds: float


def in_turns(
    name: str,
    n_rows: int,
    model: Callable[[Any], object],
    model_batches: Sequence[Any],
    wald: Callable[[Any], object],
    wald_batches: Sequence[Any],
    *,
    repeats: int,
    report: Callable[[float], object] = lambda done: None,
) -> Timing:
    """Time the wrapped model and wald on the same batches, each in the form that it takes.

    Parameters
    ----------
    name : str
        Of the case.
    n_rows : int
        Rows of each batch.
    model : callable
        From a batch to labels.
    model_batches : sequence of batches
    wald : callable
        From a batch to labels.
    wald_batches : sequence of batches
    repeats, report
        As for `median_seconds`.

    Returns
    -------
    Timing
    """
    model_seconds, wald_seconds = median_seconds(
        lambda: [model(batch) for batch in model_batches],
        lambda: [wald(batch) for batch in wald_batches],
        repeats=repeats,
        report=report,
    )
    return Timing(name, n_rows, model_seconds / len(model_batches), wald_seconds / len(wald_batches))


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
