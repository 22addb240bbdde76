"""An estimator whose training was interrupted, or failed, is as it was before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def all_or_nothing(estimator: object, undo: Callable[[], None] | None = None) -> Iterator[None]:
    """Leave an object as it was if the block ends with an exception.

    Parameters
    ----------
    estimator : object
        It gets its attributes back, those that the block replaced or deleted. What the block changes inside one of
        them is not known here: let the block work on copies, or give an ``undo``.
    undo : callable or None, default=None
        Called after that; it takes back what the block changed inside attributes.
    """
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        if undo is not None:
            undo()
        raise
