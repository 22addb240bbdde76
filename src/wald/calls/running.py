"""Where functions run: in the caller's thread, in threads of their own, or in an event loop."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import os
import threading
import time
import weakref
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from contextvars import ContextVar
from functools import partial
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Place(Protocol):
    """Where a function runs."""

    async def call(self, function: Callable[[Any], Any], rows: Any, seconds: float | None) -> Any:
        """Call a function, and raise TimeoutError if it takes longer, where it can be left alone."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""


class BusyError(TimeoutError):
    """Another thread has an event loop for longer than one may wait."""


#: The loops, by their place in memory, that run this code, in whichever thread.
_RUNNING: ContextVar[frozenset[int]] = ContextVar("running", default=frozenset())


class Loop:
    """An event loop that stays the same, since clients which hold connections belong to one loop.

    It runs only while something is asked, and one thread has it at a time.
    """

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._runner: asyncio.Runner | None = None
        self._process = os.getpid()

    def run(self, work: Coroutine[Any, Any, T], seconds: float | None = None) -> T:
        """Run a coroutine to its end; in a thread beside this one, if this one is inside of a running loop.

        Raises
        ------
        BusyError
            If another thread has the loop for so many seconds.
        """
        if self._process != os.getpid():  # a fork has neither the lock's owner nor the loop
            self._begin()
        if id(self) in _RUNNING.get():  # what runs in this loop would wait for itself
            return Loop().run(work)
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            beside = False
        else:
            beside = True
        if not self._lock.acquire(timeout=-1.0 if seconds is None else min(max(seconds, 0.0), threading.TIMEOUT_MAX)):
            work.close()
            raise BusyError("another thread has the event loop")
        try:
            if self._runner is None:
                self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
                weakref.finalize(self, _close, self._runner.get_loop())
            context = contextvars.copy_context()  # a runner's own is that of its first call
            context.run(_RUNNING.set, _RUNNING.get() | {id(self)})
            return (_beside if beside else asyncio.Runner.run)(self._runner, work, context=context)
        finally:
            self._lock.release()

    def cancel(self) -> None:
        """End what another thread runs."""
        with suppress(AttributeError, RuntimeError):  # nothing runs yet, or not any more
            loop = self._runner.get_loop()  # type: ignore[union-attr]  # None: nothing runs yet
            loop.call_soon_threadsafe(_cancel_all, loop)


def _close(loop: asyncio.AbstractEventLoop) -> None:
    """Close a loop that is not needed any more."""
    if not loop.is_running():
        loop.close()


def _beside(runner: asyncio.Runner, work: Coroutine[Any, Any, T], *, context: contextvars.Context) -> T:
    """Run a coroutine in a thread, and wait for it."""
    loop, found = runner.get_loop(), list[tuple[Any, BaseException | None]]()

    def run() -> None:
        try:
            found.append((runner.run(work, context=context), None))
        except BaseException as error:  # which the waiting thread raises
            found.append((None, error))
        finally:
            ended.set()

    # not by join: an interruption there makes Python 3.11 believe that the thread has ended
    ended = threading.Event()
    thread = threading.Thread(target=run, name="wald calls", daemon=True)
    thread.start()
    try:
        while not ended.wait(0.5):  # a wait without an end cannot be interrupted on Windows
            pass
    except BaseException:
        while not ended.wait(0.1):
            loop.call_soon_threadsafe(_cancel_all, loop)
        raise
    finally:
        thread.join()
    value, error = found[0]
    if error is not None:
        raise error
    return value  # type: ignore[no-any-return]  # what the coroutine returned


def _cancel_all(loop: asyncio.AbstractEventLoop) -> None:
    for task in asyncio.all_tasks(loop):
        task.cancel()


class Here:
    """The caller's thread; what is awaitable is awaited in the loop.

    Parameters
    ----------
    loop : Loop
    """

    def __init__(self, loop: Loop) -> None:
        self._loop = loop

    async def call(self, function: Callable[[Any], Any], rows: Any, seconds: float | None) -> Any:
        """See `Place`; a plain function is waited for as long as it takes."""
        answer = called(function, rows)
        return self._loop.run(awaited(answer, seconds), seconds) if inspect.isawaitable(answer) else answer

    async def sleep(self, seconds: float) -> None:
        """See `Place`."""
        time.sleep(seconds)

    @staticmethod
    def run(work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine that waits for nothing but this place."""
        try:
            work.send(None)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]  # what the coroutine returned
        work.close()
        raise AssertionError("a coroutine waits for an event loop, and there is none")


class InLoop:
    """An event loop for coroutines; plain functions run in threads, which end with their call.

    Parameters
    ----------
    plain : bool
        Whether the function is a plain one.
    """

    def __init__(self, plain: bool) -> None:
        self._plain = plain

    async def call(self, function: Callable[[Any], Any], rows: Any, seconds: float | None) -> Any:
        """See `Place`; a thread that takes longer is left alone, and nobody waits for its answer."""
        async with asyncio.timeout(seconds):
            answer = await (_in_thread(function, rows) if self._plain else function(rows))
            return whole(await answer if inspect.isawaitable(answer) else answer)

    async def sleep(self, seconds: float) -> None:
        """See `Place`."""
        await asyncio.sleep(seconds)


async def awaited(answer: Any, seconds: float | None) -> Any:
    """What an awaitable gives; raises TimeoutError if it takes longer."""
    async with asyncio.timeout(seconds):
        return whole(await answer)


def called(function: Callable[..., Any], *given: Any) -> Any:
    """What a function answers; a generator runs here, so that what it raises and takes is the call's."""
    return whole(function(*given))


def whole(answer: Any) -> Any:
    """An answer; one that can be read only once as a list."""
    return list(answer) if isinstance(answer, Iterator) and not inspect.isawaitable(answer) else answer


async def _in_thread(function: Callable[[Any], Any], rows: Any) -> Any:
    """Call a function in a daemon thread: those of an executor would keep a process from ending."""
    loop, context = asyncio.get_running_loop(), contextvars.copy_context()
    future: asyncio.Future[Any] = loop.create_future()

    def run() -> None:
        answer: Any = None
        failed: BaseException | None = None
        try:
            answer = context.run(called, function, rows)
        except StopIteration as error:  # which a future would take for its own
            failed = RuntimeError(f"StopIteration: {error}")
        except BaseException as error:
            failed = error
        with suppress(RuntimeError):  # the loop was closed, since nobody waits any more
            loop.call_soon_threadsafe(_settle, future, answer, failed)

    threading.Thread(target=run, name="wald call", daemon=True).start()
    return await future


def _settle(future: asyncio.Future[Any], answer: Any, failed: BaseException | None) -> None:
    if future.done():
        return
    if failed is None:
        future.set_result(answer)
    else:
        future.set_exception(failed)


def is_async(function: Any) -> bool:
    """Whether a function is known to return a coroutine."""
    while isinstance(function, partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004  # not whether it can be called
