"""Surrogates that are learnt in rounds, from rows that are asked anyway: those of which they are the least sure."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..sources import Source
from ..surrogates import Surrogate
from .caller import Caller, Ordered
from .stacked import Stacked

Indices = NDArray[np.intp]

#: Share of the rows of which the first are learnt, drawn from all, and the smallest and largest number.
LEARN_SHARE, FEWEST, MOST = 0.02, 300, 20_000
#: Most rounds after the first. Each asks about this share of the rows that are expected to be asked in the end, and
#: about no more than are known; one that would add a smaller share of those known is left out.
ROUNDS, OF_LATE, LEAST_GROWTH = 5, 0.5, 0.1
#: Largest share of the calls that are allowed for the first rows.
OF_ALLOWED = 1 / 3


def n_first(n_rows: int, max_calls: int | None) -> int:
    """Number of rows that are drawn and asked first."""
    wanted = min(MOST, max(FEWEST, round(LEARN_SHARE * n_rows)))
    return wanted if max_calls is None else max(FEWEST, min(wanted, round(OF_ALLOWED * max_calls)))


def learn_in_rounds(
    caller: Caller,
    source: Source,
    first: Indices,
    given: list[Surrogate],
    allowed: int,
    reserve: int,
    rng: np.random.Generator,
    n_threads: int,
) -> Ordered | None:
    """Ask about some rows and learn from them, then about those of which the surrogates are not sure, and learn again.

    Rows behind the cut are asked in any case. To ask about them before costs nothing, and tells surrogates most.

    Parameters
    ----------
    caller : Caller
    source : Source
    first : int ndarray
        Rows that were drawn from those that the model has not answered.
    given : list of Surrogate
        From elsewhere.
    allowed : int
        Number of rows that may be wrong in the end.
    reserve : int
        Calls that are left for what follows, if they are limited.
    rng : numpy.random.Generator
    n_threads : int

    Returns
    -------
    Ordered or None
        None if nothing can be learnt, and nothing is given.
    """
    caller.ask(first)
    uniform = np.zeros(source.n_rows, dtype=bool)
    uniform[first] = True
    said = np.empty((source.n_rows, 0))
    if given:
        said = np.column_stack([each.numbers(source, n_threads) for each in given])
    for i in range(ROUNDS + 1):
        known, rest = np.flatnonzero(caller.known), np.flatnonzero(~caller.known)
        look = Stacked.learnt(
            source.take(known), caller.codes[known], uniform[known], (given, said[known]), rng, n_threads
        )
        if look is None:
            return None
        codes, margins, sure = look.at(source.take(rest), said[rest], n_threads)
        order = np.argsort(-margins, kind="stable")
        found = Ordered(rest[order], codes[order], sure[order], look.rates(margins[order]), look.titles)
        late = len(rest) - int(np.searchsorted(np.cumsum(found.rates), allowed))
        most = min(len(known), MOST - len(known), caller.left - reserve)
        batch = min(round(OF_LATE * late), most)
        if i == ROUNDS or batch < LEAST_GROWTH * len(known) or np.ptp(margins) == 0:
            return found
        caller.ask(found.rows[len(rest) - batch :])
    return None
