"""`Calls`: how a costly function of rows is called."""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable, Hashable, Iterator, MutableMapping, Sequence
from copy import copy
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..utils.reals import as_float
from .counts import Counts
from .running import BusyError, Here, InLoop, Loop, Place, awaited, is_async

Rows = NDArray[np.intp]

#: Longest wait before another attempt, in seconds.
LONGEST_WAIT = 60.0
#: Draws jitter, beside NumPy's and Python's own generators, which belong to the user.
_JITTER = random.Random()


class Calls:
    """How a costly function of rows is called: in how large batches, how many at once, how often again.

    Parameters
    ----------
    function : callable
        Gets a batch of rows and returns an answer for each: an array, a list, a frame. It may be ``async def``, or
        return an awaitable. A plain function runs in the caller's thread, one call after another, unless
        ``max_concurrency`` or ``timeout`` are given: then each call has a thread of its own.
    name : str or None, default=None
        What messages call it. None: who uses it has a name for it. A cache needs one.
    batch_size : int or None, default=None
        Most rows of a call. None: all rows that are asked together in one call, or in as many as may run at once.
    max_concurrency : int, default=1
        Most calls at once.
    timeout : float or None, default=None
        Seconds after which a call counts as failed. A coroutine is cancelled; a plain function cannot be, and its
        thread is left alone until it ends.
    retries : int, default=0
        How often a call that raised or took too long is tried again. An answer that cannot be used is no reason to ask
        again.
    backoff : float, default=0.5
        Seconds before the second attempt; twice as many before each further one, at most a minute, less a random part
        of up to a half.
    cache : mutable mapping or None, default=None
        Keeps answers across uses, by ``name``, which is required, and a key of each row: a dict, or a file that behaves
        as one, such as ``shelve``. It is written after each call. Another function, or another version of it, needs
        another name.
    key : callable or None, default=None
        Function from one row, as ``function`` gets it, to its key in the cache: a text, for files, or anything else
        that can be hashed. None: a text that depends on what the row holds, for rows of numbers, texts, and lists or
        dicts of these.

    Attributes
    ----------
    total : Counts
        What all uses have cost so far.

    Raises
    ------
    TypeError, ValueError
        For parameters of another kind or out of range.

    Examples
    --------
    >>> import numpy as np
    >>> from wald.calls import Asked, Calls
    >>> async def double(rows):
    ...     return 2 * rows
    >>> asked = Asked(Calls(double, batch_size=2, max_concurrency=4), 5)
    >>> asked.ask(np.array([4, 1, 3]), fetch=lambda rows: rows).values
    array([8, 2, 6])
    >>> asked.ask(np.array([1, 0]), fetch=lambda rows: rows).values
    array([2, 0])
    >>> asked.counts.rows, asked.counts.calls
    (4, 3)
    """

    def __init__(
        self,
        function: Callable[[Any], Any],
        *,
        name: str | None = None,
        batch_size: int | None = None,
        max_concurrency: int = 1,
        timeout: float | None = None,
        retries: int = 0,
        backoff: float = 0.5,
        cache: MutableMapping[Any, Any] | None = None,
        key: Callable[[Any], Hashable] | None = None,
    ) -> None:
        for what, given in (("function", function), ("key", key)):
            if not callable(given) and not (what == "key" and given is None):
                raise TypeError(f"{what} must be a function. Got {given!r}, a {type(given).__name__}.")
        if cache is not None and not all(hasattr(cache, method) for method in ("get", "__setitem__")):
            raise TypeError(f"cache must be a mapping that can be written, such as a dict. Got {type(cache).__name__}.")
        if cache is not None and not name:
            raise ValueError(
                "A cache needs name=, a text: it keeps answers by this name and the row, and functions that share it "
                "would else take each other's answers."
            )
        self.function, self.name, self.cache, self.key = function, name, cache, key
        self.batch_size = None if batch_size is None else _whole("batch_size", batch_size, 1)
        self.max_concurrency = _whole("max_concurrency", max_concurrency, 1)
        self.timeout = None if timeout is None else _seconds("timeout", timeout, math.ulp(0.0))
        self.retries = _whole("retries", retries, 0)
        self.backoff = _seconds("backoff", backoff, 0.0)
        self.total = Counts()
        self._loop = Loop()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_loop"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._loop = Loop()

    def __repr__(self) -> str:
        called = self.name or getattr(self.function, "__name__", type(self.function).__name__)
        return f"Calls({called}: {self.total})"

    def of(self, function: Callable[[Any], Any], key: Callable[[Any], Hashable] | None) -> Calls:
        """The same calls, with their counts and their event loop, of another function."""
        same = copy(self)
        same.function, same.key, same._loop = function, key, self._loop
        return same

    def awaited(self, answer: Awaitable[Any]) -> Any:
        """What an awaitable gives, in the event loop of these calls."""
        return self._loop.run(awaited(answer, None))

    def cancel(self) -> None:
        """End the calls of another thread, but for plain functions, which nobody waits for then."""
        self._loop.cancel()

    def batches(self, rows: Rows) -> list[Rows]:
        """Rows as they are asked together."""
        size = self.batch_size or max(1, math.ceil(len(rows) / self.max_concurrency))
        return [rows[start : start + size] for start in range(0, len(rows), size)]

    @property
    def in_place(self) -> bool:
        """Whether calls run in the caller's thread, so that each is waited for."""
        return self.max_concurrency == 1 and self.timeout is None and not is_async(self.function)

    def answer(self, rows: Rows, work: Work) -> Failure | None:
        """Call the function for rows, and hand over what it answers.

        Parameters
        ----------
        rows : int64 ndarray
        work : Work

        Returns
        -------
        Failure or None
            The first call that failed for good. No call begins after it, and those that run are waited for. None if
            there is none; rows can still be without an answer, if the deadline has passed.
        """
        batches = self.batches(rows)
        plain = not is_async(self.function)
        if self.in_place:
            return Here.run(Attempts(self, work, Here(self._loop)).all(batches, 1))
        n_workers = min(self.max_concurrency, len(batches))
        if not batches:
            return None
        try:
            return self._loop.run(Attempts(self, work, InLoop(plain)).all(batches, n_workers), work.left)
        except BusyError:  # until the deadline
            return None


@dataclass(frozen=True, eq=False)
class Work:
    """What is asked, and what becomes of it.

    Attributes
    ----------
    fetch : callable
        Makes of numbers of rows what the function takes.
    take : callable
        Gets the numbers of rows and what the function answered; raises ValueError if this cannot be used.
    until : float or None
        When no call is to begin any more, and none is waited for, by ``time.monotonic``.
    counts : sequence of Counts
    """

    fetch: Callable[[Rows], Any]
    take: Callable[[Rows, Any], None]
    until: float | None
    counts: Sequence[Counts]

    def add(self, name: str, value: float) -> None:
        """Add to a number of all counts."""
        for each in self.counts:
            setattr(each, name, getattr(each, name) + value)

    @property
    def left(self) -> float | None:
        """Seconds until the deadline; None if there is none."""
        return None if self.until is None else self.until - time.monotonic()

    @property
    def late(self) -> bool:
        """Whether the deadline has passed."""
        return self.until is not None and time.monotonic() >= self.until


@dataclass(frozen=True, eq=False)
class Failure:
    """A call that failed for good: its rows, what it raised, and after how many attempts."""

    rows: Rows
    error: Exception
    attempts: int


class Attempts:
    """Calls of a function, some of them again.

    Parameters
    ----------
    calls : Calls
    work : Work
    place : Place
    """

    def __init__(self, calls: Calls, work: Work, place: Place) -> None:
        self._calls, self._work, self._place = calls, work, place
        self._failures: list[Failure] = []

    async def all(self, batches: list[Rows], n_workers: int) -> Failure | None:
        """Make all calls; of those that fail for good, return the one with the first rows."""
        queue = iter(batches)
        if n_workers <= 1:
            await self._some(queue)
        else:
            await self._at_once(queue, n_workers)
        return min(self._failures, key=lambda failure: int(failure.rows[0]), default=None)

    async def _at_once(self, queue: Iterator[Rows], n_workers: int) -> None:
        """Make so many calls at once; none of them is left behind."""
        tasks = [asyncio.ensure_future(self._some(queue)) for _ in range(n_workers)]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _some(self, queue: Iterator[Rows]) -> None:
        """Make one call of the queue after another."""
        while not self._failures and not self._work.late:
            rows = next(queue, None)
            if rows is None:
                return
            failure = await self._one(rows)
            if failure is not None:
                self._failures.append(failure)

    async def _one(self, rows: Rows) -> Failure | None:
        """Make a call, until it succeeds or there are no attempts left."""
        calls, work = self._calls, self._work
        batch = work.fetch(rows)
        for attempt in range(calls.retries + 1):
            work.add("calls", 1)
            work.add("retries", int(attempt > 0))
            begun, limits = time.perf_counter(), [each for each in (calls.timeout, work.left) if each is not None]
            try:
                given = await self._place.call(calls.function, batch, min(limits, default=None))
            except Exception as error:
                work.add("failures", 1)
                if work.late:
                    return None
                failed = _explained(error, calls.timeout, time.perf_counter() - begun)
            else:
                try:
                    work.take(rows, given)
                except ValueError as error:
                    work.add("failures", 1)
                    return Failure(rows, error, attempt + 1)
                work.add("rows", len(rows))
                return None
            finally:
                work.add("seconds", time.perf_counter() - begun)
            if attempt < calls.retries:
                wait = min(LONGEST_WAIT, calls.backoff * 2.0**attempt) * _JITTER.uniform(0.5, 1.0)
                if work.left is not None and work.left <= wait:
                    await self._place.sleep(max(0.0, work.left))
                    return None
                await self._place.sleep(wait)
        return Failure(rows, failed, calls.retries + 1)


def _explained(error: Exception, timeout: float | None, seconds: float) -> Exception:
    """Say why a call has ended, where the loop has ended it."""
    if type(error) is TimeoutError and not error.args and timeout is not None and seconds >= timeout:
        return TimeoutError(f"no answer within {timeout:g} s")
    return error


def _whole(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be a whole number from {least} on. Got {value!r}.")
    return int(value)


def _seconds(name: str, value: Any, least: float) -> float:
    if isinstance(value, bool) or not isinstance(value, Real) or not least <= as_float(value) < math.inf:
        raise ValueError(f"{name} must be a {'positive ' if least else ''}number of seconds. Got {value!r}.")
    return float(value)
