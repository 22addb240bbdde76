"""Several costly functions asked about the same rows: those that wait for others at the same time."""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .asked import Asked
from .calls import Rows

Fetch = Callable[[Rows], Any]


def ask_together(asked: Sequence[Asked], rows: Rows, fetch: Fetch, deadline: float | None = None) -> NDArray[np.bool_]:
    """Ask several functions about the same rows.

    Coroutines, and functions whose calls have threads of their own, are asked at the same time. Plain functions, and
    those with a cache, whose mapping may belong to a thread, are asked in the caller's thread meanwhile, one by one.

    Parameters
    ----------
    asked : sequence of Asked
    rows : ndarray of int
    fetch, deadline
        As for `Asked.ask`.

    Returns
    -------
    bool ndarray of shape (len(rows),)
        Whether a row has the answers of all of them; all have, unless the deadline has passed.

    Raises
    ------
    CallError
        If a call failed for good: of several, that of the first function. The others have ended, and what they
        answered is kept.
    """
    until = None if deadline is None else time.monotonic() + deadline
    left = [each for each in asked if len(each.missing(rows))]
    apart = [not each.calls.in_place and each.calls.cache is None for each in left]
    if all(apart):
        apart[:1] = [False] * len(apart[:1])  # the caller's thread has nothing else to do
    errors: dict[int, Exception] = {}
    beside = {k: _Beside(left[k], rows, fetch, deadline) for k in np.flatnonzero(apart).tolist()}
    try:
        for k in np.flatnonzero(~np.array(apart, dtype=bool)).tolist():
            try:
                left[k].ask(rows, fetch, None if until is None else until - time.monotonic())
            except Exception as error:
                errors[k] = error
                break
        ends = {k: each.wait() for k, each in beside.items()}
    except BaseException:
        for each in beside.values():
            each.cancel()
        raise
    errors |= {k: failed for k, failed in ends.items() if failed is not None}
    if errors:
        raise errors[min(errors)]
    done = np.ones(len(rows), dtype=bool)
    for answers in asked:
        done &= answers.answered[rows]
    return done


class _Beside:
    """A function that is asked in a thread beside the caller's."""

    def __init__(self, asked: Asked, rows: Rows, fetch: Fetch, deadline: float | None) -> None:
        self.asked = asked
        self._error: Exception | None = None
        self._ended = threading.Event()  # not Thread.join, which an interruption breaks in Python 3.11
        context = contextvars.copy_context()

        def run() -> None:
            try:
                context.run(asked.ask, rows, fetch, deadline)
            except Exception as error:  # which the caller's thread raises
                self._error = error
            except BaseException:  # the caller's thread was interrupted, and has ended the calls
                pass
            finally:
                self._ended.set()

        threading.Thread(target=run, name="wald group", daemon=True).start()

    def wait(self) -> Exception | None:
        """Wait for its end, and give what it has raised."""
        while not self._ended.wait(0.5):  # a wait without an end cannot be interrupted on Windows
            pass
        return self._error

    def cancel(self) -> None:
        """End its calls, and wait for that."""
        while not self._ended.wait(0.1):
            self.asked.calls.cancel()
