"""An estimator whose training was interrupted, or failed, is as it was before."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def all_or_nothing(estimator: object) -> Iterator[None]:
    """Give an object its attributes back if the block ends with an exception.

    Parameters
    ----------
    estimator : object
        Attributes that the block replaces come back. What the block changes inside an attribute stays changed.
    """
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
