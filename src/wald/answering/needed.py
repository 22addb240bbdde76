"""How many calls `answer` makes at least, and what it can promise."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

from ..utils.reals import as_float
from .cuts import fewest_sampled
from .learning import FEWEST


def calls_needed(n_rows: int, risk: float = 0.01, confidence: float = 0.95) -> int:
    """How many calls `answer` makes at least, known before the first: the least that ``max_calls`` may be.

    So many are made if surrogates answer every row as the model does. How many more it takes depends on the rows; with
    ``max_calls``, `answer` says what it expects before it asks for the last sample.

    Parameters
    ----------
    n_rows : int
    risk, confidence : float
        As for `answer`.

    Returns
    -------
    int
        ``n_rows`` if there are too few rows for a sample to tell anything.

    Examples
    --------
    >>> from wald.answering import calls_needed
    >>> calls_needed(30_000, risk=0.01), calls_needed(30_000, risk=0.05), calls_needed(500)
    (593, 358, 500)
    """
    require_promise(risk, confidence, None)
    if isinstance(n_rows, bool) or not isinstance(n_rows, Integral) or n_rows < 0:
        raise ValueError(f"n_rows must be a whole number of at least 0. Got {n_rows!r} instead.")
    return least_calls(int(n_rows), most_wrong(int(n_rows), risk), confidence)


def least_calls(n_unknown: int, allowed: int, confidence: float) -> int:
    """Least number of calls for rows of which so many may be wrong."""
    if n_unknown <= 2 * FEWEST:
        return n_unknown
    return FEWEST + fewest_sampled(n_unknown - FEWEST, allowed, confidence)


def most_wrong(n_rows: int, risk: float) -> int:
    """Largest number of rows that is no larger a share than the risk."""
    n = int(risk * n_rows)
    return n + 1 if n + 1 <= n_rows and (n + 1) / n_rows <= risk else n


def require_promise(risk: Any, confidence: Any, max_calls: Any) -> None:
    """Raise ValueError for a promise, or a limit of calls, that `answer` cannot keep."""
    if isinstance(risk, Mapping):
        raise ValueError(
            "answer promises one risk for all rows: risk must be a number above 0 and below 1. For promises by class, "
            f"put the model into an EarlyExitClassifier. Got {risk!r} instead."
        )
    for name, value in (("risk", risk), ("confidence", confidence)):
        if isinstance(value, bool) or not isinstance(value, Real) or not 0 < as_float(value) < 1:
            raise ValueError(f"{name} must be a number above 0 and below 1. Got {value!r} instead.")
    if max_calls is not None and (isinstance(max_calls, bool) or not isinstance(max_calls, Integral) or max_calls < 1):
        raise ValueError(f"max_calls must be a whole number of at least 1, or None. Got {max_calls!r} instead.")
