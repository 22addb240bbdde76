"""A moment at which all calls of a block of code end, whoever makes them.

Rows are asked about deep inside of what decides them. Who has a deadline says so here, once, and what lies between need
not know of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_MOMENT: ContextVar[float | None] = ContextVar("moment", default=None)


@contextmanager
def ending(moment: float) -> Iterator[None]:
    """Begin no call after a moment, and wait for none: rows without an answer then raise `TooLateError`.

    Parameters
    ----------
    moment : float
        By ``time.monotonic``.
    """
    before = _MOMENT.set(moment)
    try:
        yield
    finally:
        _MOMENT.reset(before)


def latest() -> float | None:
    """The moment at which calls end here; None if there is none."""
    return _MOMENT.get()
