"""Medians of interleaved runs with pinned threads.

Tasks that are compared are timed in rounds, with one turn per task, so that a slower clock affects all of them. A turn
begins when the threads of the previous task are idle. A short task runs several times in its turn, after a first run
that is not counted, because the previous task has replaced the contents of the caches. The first run of a task longer
than 5 s counts as one of its turns.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from wald.plan.timing import wait_for_rest

SLOW_SECONDS = 5.0
#: A task shorter than `TURN_SECONDS` is repeated within its turn, at most `MOST_IN_TURN` times.
TURN_SECONDS, MOST_IN_TURN = 0.1, 200


@dataclass(frozen=True)
class Task:
    """A call to time, and the number of threads that every library of the process may use."""

    call: Callable[[], object]
    threads: int = 1


@dataclass(frozen=True)
class Sample:
    """Median and quartiles of the runs of a task, in seconds."""

    median: float
    low: float
    high: float
    repeats: int

    @property
    def spread(self) -> str:
        """Median, quartiles and number of runs as text, in milliseconds."""
        return (
            f"{1e3 * self.median:.4g} ms (quartiles {1e3 * self.low:.4g} to {1e3 * self.high:.4g}, {self.repeats} runs)"
        )


def measure(tasks: Mapping[str, Task], repeats: int = 7, turn: float = TURN_SECONDS) -> dict[str, Sample]:
    """Time tasks in rounds.

    Parameters
    ----------
    tasks : mapping from name to Task
    repeats : int
        Number of rounds.
    turn : float
        Seconds of a turn. Where the machine's speed drifts, many short turns are less noisy than few long ones.

    Returns
    -------
    dict from name to Sample
    """
    first = {name: _once(task) for name, task in tasks.items()}
    runs: dict[str, list[float]] = {name: [t] if t > SLOW_SECONDS else [] for name, t in first.items()}
    for _ in range(repeats):
        for name, task in tasks.items():
            if first[name] > SLOW_SECONDS and len(runs[name]) >= repeats:
                continue
            runs[name] += _turn(task, first[name], turn)
    return {name: _sample(np.array(times)) for name, times in runs.items()}


def each_call(call: Callable[[int], object], n: int, passes: int) -> NDArray[np.float64]:
    """Seconds of ``call(i)`` for every i, in several passes: array of shape (passes, n)."""
    times = np.empty((passes, n))
    clock = time.perf_counter
    gc.disable()
    try:
        for row in times:
            for i in range(n):
                start = clock()
                call(i)
                row[i] = clock() - start
    finally:
        gc.enable()
    return times


def each_after(before: Callable[[], object], task: Task, repeats: int = 7) -> Sample:
    """Time a task. Before each run, ``before`` is called and fills the caches with its own data."""
    times = []
    for _ in range(repeats):
        with threadpool_limits(task.threads):
            before()
            wait_for_rest()
            times.append(_timed(task.call))
    return _sample(np.array(times))


def _once(task: Task) -> float:
    """Estimate the time of a task. A short one runs three times, because its first run takes longest."""
    with threadpool_limits(task.threads):
        about = _timed(task.call)
        return about if about >= TURN_SECONDS else min(about, _timed(task.call), _timed(task.call))


def _turn(task: Task, about: float, turn: float) -> list[float]:
    with threadpool_limits(task.threads):
        wait_for_rest()
        if about >= TURN_SECONDS:
            return [_timed(task.call)]
        task.call()
        return [_timed(task.call) for _ in range(min(MOST_IN_TURN, max(2, int(turn / about))))]


def _timed(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _sample(times: NDArray[np.float64]) -> Sample:
    low, median, high = np.quantile(times, [0.25, 0.5, 0.75])
    return Sample(float(median), float(low), float(high), len(times))
