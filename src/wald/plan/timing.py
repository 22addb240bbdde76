"""Measure the costs of the engine's steps by timing short ladders."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable

from .cost import CostModel

#: The expected cost of a plan must be below this share of the full model's; doubtful plans are timed themselves.
MARGIN = 0.95
#: A clock for what one thread computes, which stands still while others use the machine; where it is fine enough.
THREAD_CLOCK = time.thread_time if time.get_clock_info("thread_time").resolution <= 1e-6 else time.perf_counter

_measured: dict[Hashable, tuple[float, ...]] = {}


def seconds(
    task: Callable[[], object],
    repeats: int = 3,
    at_least: float = 0.0,
    clock: Callable[[], float] | None = None,
) -> float:
    """Shortest time of some runs after a warm-up run, as an estimate without disturbances.

    There are at least `repeats` runs, and more until `at_least` seconds are over.
    """
    task()
    clock = clock or time.perf_counter
    best, spent, n_runs = float("inf"), 0.0, 0
    while n_runs < repeats or spent < at_least:
        start = clock()
        task()
        elapsed = clock() - start
        best, spent, n_runs = min(best, elapsed), spent + elapsed, n_runs + 1
    return best


def wait_for_rest(at_most: float = 0.25) -> None:
    """Wait until the other threads of this process are idle, for at most `at_most` seconds.

    Threads of a library may spin while they wait for more work (in OpenBLAS for 0.1 s and more), and would slow down
    the next measurement.
    """
    deadline = time.perf_counter() + at_most
    while time.perf_counter() < deadline:
        used, since = time.process_time(), time.perf_counter()
        time.sleep(0.02)
        if time.process_time() - used < 0.1 * (time.perf_counter() - since):
            return


def measure_cost_model(
    ladder: Callable[[tuple[int, ...]], Callable[[], object]],
    finish: Callable[[], object],
    n_rows: int,
    full: float,
    *,
    n_terms: int,
    n_outputs: int,
    block: int,
    step: int,
    rows_per_line: int,
    by_columns: bool,
    key: Hashable,
) -> CostModel:
    """Fit a `CostModel` to a few timings, which are made once per process and ``key``, and round it.

    Parameters
    ----------
    ladder : callable
        From the numbers of terms at the stages to a task that evaluates these stages for ``n_rows`` rows without exits.
    finish : callable
        Task that evaluates all terms of the same rows at once.
    n_rows : int
    full : float
        Seconds per row of the wrapped model.
    n_terms, n_outputs, block : int
    step : int
        Terms in one step of the timed stages.
    rows_per_line : int
    by_columns : bool
        See `CostModel`.
    key : hashable
        Everything that the engine's speed depends on.
    """
    if key not in _measured:
        few, many = min(4 * step, n_terms), min(12 * step, n_terms)
        steps = tuple(range(step, few + 1, step)) or (few,)
        ladders = [(), (few,), steps, (many,), (few, few), (many, many)]
        *times, last = (t / n_rows for t in interleaved([*(ladder(terms) for terms in ladders), finish]))
        costs = _fit(*times, few=few, many=many, n_steps=len(steps), n_outputs=n_outputs)
        _measured[key] = (last, *costs)
    last, row, unit, readout, stage = _measured[key]
    rest = max(0.0, last - row)
    return CostModel(row, unit, readout, stage, full, block, rest, MARGIN, rows_per_line, by_columns).rounded()


def interleaved(tasks: list[Callable[[], object]], rounds: int = 5) -> list[float]:
    """Shortest run of each task; tasks take turns, so that disturbances of the machine affect all of them alike."""
    best = [float("inf")] * len(tasks)
    for _ in range(rounds):
        best = [min(b, seconds(task, 1)) for b, task in zip(best, tasks, strict=True)]
    return best


def _fit(
    row: float,
    at_few: float,
    in_steps: float,
    at_many: float,
    twice_few: float,
    twice_many: float,
    *,
    few: int,
    many: int,
    n_steps: int,
    n_outputs: int,
) -> tuple[float, float, float, float]:
    """Costs of a row, of a term, of a term and output in a readout, and of a stage, from seconds per row."""
    slope = (at_many - at_few) / (many - few) if many > few else (at_few - row) / max(1, few)
    slope = max(slope, 1e-12)
    readout = 0.0
    if many > few:
        again = (twice_many - at_many) - (twice_few - at_few)
        # at most 0.3 of the slope, so that noise cannot make the cost of a term negative
        readout = min(max(0.0, again / ((many - few) * n_outputs)), 0.3 * slope / n_outputs)
    # the extra time of the same terms in single blocks, with a stage after each
    stage = (in_steps - at_few) / (n_steps - 1) if n_steps > 1 else twice_few - at_few
    return row, slope - readout * n_outputs, readout, max(0.0, stage - readout * n_outputs * few / 2)
