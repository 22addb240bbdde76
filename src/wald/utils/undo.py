"""Restores an estimator whose training failed or was interrupted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def all_or_nothing(estimator: object, undo: Callable[[], None] | None = None) -> Iterator[None]:
    """Leave an object as it was if the block ends with an exception.

    Parameters
    ----------
    estimator : object
        Attributes that the block replaced or deleted are restored. Changes inside an attribute are not: let the block
        work on copies, or give an ``undo``.
    undo : callable or None, default=None
        Called afterwards, to revert changes inside attributes.
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
