"""A lock that is free in a fork."""

from __future__ import annotations

import os
import threading
import weakref


class ForkLock:
    """A lock that a fork begins anew, because the thread that holds it is not there.

    Examples
    --------
    >>> lock = ForkLock()
    >>> with lock:
    ...     pass
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        _ALL.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *error: object) -> None:
        self._lock.release()

    def renew(self) -> None:
        """Free it."""
        self._lock = threading.Lock()


_ALL: weakref.WeakSet[ForkLock] = weakref.WeakSet()


def _renew() -> None:
    for lock in _ALL:
        lock.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
