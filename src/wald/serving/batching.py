"""Rows of requests that come together are predicted together, where a row takes long enough for it to pay."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

#: A row that takes less than this share of the window is answered at once: to wait would cost more than it saves.
CHEAP = 0.1
#: Weight of the newest time in the mean time of a row.
NEWEST = 0.05

#: Label or value, cost and stage of a row.
Answer = tuple[Any, float, int]


class Batcher:
    """Answers single rows: at once on an idle service and where rows are cheap, else with those of other requests.

    Parameters
    ----------
    one : callable
        From a row to its label, cost and stage.
    many : callable
        From a list of rows to those of all.
    window : float
        Longest time that a row waits for others, in seconds; 0 to answer each row by itself.
    most : int
        Most rows of a batch.
    count : callable
        Called after each batch of rows of several requests.
    """

    def __init__(
        self,
        one: Callable[[Any], Answer],
        many: Callable[[list[Any]], list[Answer]],
        window: float,
        most: int,
        count: Callable[[], None],
    ) -> None:
        self._one, self._many, self._window, self._most, self._count = one, many, window, most, count
        self._waiting: list[tuple[Any, asyncio.Future[Answer]]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._last = float("-inf")
        self._tasks: set[asyncio.Task[None]] = set()
        self.seconds = 0.0  # mean time of a row

    def at_once(self) -> bool:
        """Whether the next row is answered on the event loop."""
        return self.seconds <= CHEAP * self._window or self._window <= 0

    def one(self, row: Any) -> Answer:
        """Label, cost and stage of a row, now."""
        start = time.perf_counter()
        answer = self._one(row)
        self.seconds += NEWEST * (time.perf_counter() - start - self.seconds)
        return answer

    async def together(self, row: Any) -> Answer:
        """Label, cost and stage of a row, computed in a thread with the rows that come within the window."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Answer] = loop.create_future()
        now = loop.time()
        idle = not self._waiting and not self._tasks and now - self._last > self._window
        self._last = now
        self._waiting.append((row, future))
        if idle or len(self._waiting) >= self._most:
            self._flush()
        elif self._timer is None:
            self._timer = loop.call_later(self._window, self._flush)
        return await future

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            task = asyncio.get_running_loop().create_task(self._answer(waiting))
            self._tasks.add(task)  # the loop itself keeps only weak references
            task.add_done_callback(self._tasks.discard)

    async def _answer(self, waiting: list[tuple[Any, asyncio.Future[Answer]]]) -> None:
        rows, futures = [row for row, _ in waiting], [future for _, future in waiting]
        start = time.perf_counter()
        results = await asyncio.to_thread(self._results, rows)
        self.seconds += NEWEST * ((time.perf_counter() - start) / len(rows) - self.seconds)
        if len(rows) > 1:
            self._count()
        for future, result in zip(futures, results, strict=True):
            if future.done():  # its request was given up
                continue
            if isinstance(result, Exception):
                future.set_exception(result)
            else:
                future.set_result(result)

    def _results(self, rows: list[Any]) -> list[Answer | Exception]:
        """Answers of rows; a row that is refused has its own error, and does not spoil the others."""
        if len(rows) > 1:
            try:
                return list(self._many(rows))
            except Exception:  # one of the rows: each is asked by itself
                pass
        results: list[Answer | Exception] = []
        for row in rows:
            try:
                results.append(self._one(row))
            except Exception as error:
                results.append(error)
        return results
