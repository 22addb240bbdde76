"""Answers before a deadline: calls end then, and what they have not decided is answered by what is known.

Only calls are limited: a model behind surrogates, and groups of columns that are fetched. What wald computes itself is
not. So surrogates, which ask nobody, always speak first; the model is then asked about the rows that they leave, in
pieces where nobody else says how many rows a call takes. Of columns, those that were fetched in time answer a row, up
to the last stage that they reach.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...calls import CallError, Calls, TooLateError, ending
from ...calls.errors import named
from ...engine import Decisions, Status
from ...models.asked import AskedFunction
from ...sources import LazyRows, Source
from .bought import undecided
from .predictor import Predictor

Indices = NDArray[np.intp]

#: A piece of the rows may take so much of the time that is left, and have so many times the rows of the one before.
SHARE, GROWTH = 0.5, 16


def in_time(predictor: Predictor, source: Source, n_threads: int, budget: float | None, seconds: float) -> Decisions:
    """Decide rows within some seconds; rows that are not decided have the status `OUT_OF_BUDGET`.

    Parameters
    ----------
    predictor : Predictor
    source : Source
    n_threads : int
    budget : float or None
    seconds : float

    Raises
    ------
    ValueError
        If nothing is called for these rows.
    CallError
        If a call fails for good, or the time is over before anything is known of some rows.
    """
    if not (source.is_lazy or predictor.asks):
        raise ValueError(
            "deadline limits the time of calls, and none is made here: the model is no function or classifier behind "
            "surrogates, and X is no LazyRows. Leave it out; budget limits what a row costs."
        )
    moment = time.monotonic() + seconds
    with ending(moment):
        try:
            if predictor.asks:
                decided = _surrogates_first(predictor, source, n_threads, budget, moment)
            else:
                decided = predictor.predict(source, n_threads, budget)
        except TooLateError as error:
            decided, heard = _heard(error)
            decided.ledger.status[~heard] = Status.PENDING
        _by_what_is_there(predictor, source, decided, n_threads, budget)
    unknown = np.flatnonzero(decided.ledger.status > Status.HANDED_OVER)
    if len(unknown):
        rows = source.numbers[unknown] if isinstance(source, LazyRows) else unknown
        raise CallError(
            f"The deadline of {seconds:g} s has passed, and nothing is known yet for {named(rows)}.",
            rows=rows,
            partial=predictor.carried(decided, final(decided)),
        )
    return decided


def final(decided: Decisions) -> NDArray[np.bool_]:
    """Whether rows have answers that more time, or a larger budget, would not change."""
    status = decided.ledger.status
    found: NDArray[np.bool_] = (status <= Status.HANDED_OVER) & (status != Status.OUT_OF_BUDGET)
    return found


def _surrogates_first(
    predictor: Predictor, source: Source, n_threads: int, budget: float | None, moment: float
) -> Decisions:
    """Decide rows by surrogates, and then by the model as long as there is time."""
    if predictor.deepest(budget) is not None:
        return predictor.predict(source, n_threads, budget)
    depth, decided = predictor.plan.n_stages, undecided(source.n_rows)
    if depth:
        decided = predictor.predict(source, n_threads, None, stages=depth)
    left = np.flatnonzero(~final(decided))
    if isinstance(source, LazyRows):  # whose groups come together, in batches of their own
        try:
            left = left[source.take(left).fetch(deadline=moment - time.monotonic())]
        except CallError as error:
            error.partial = predictor.carried(decided, final(decided))
            raise
    for some in _pieces(predictor.model.estimator, len(left), moment):
        rows = left[some]
        try:
            found = predictor.predict(source.take(rows), n_threads, None, full=True)
        except CallError as error:
            found, heard = _heard(error)
            decided.put(rows[heard], found.taken(heard))
            if isinstance(error, TooLateError):
                break
            if not source.is_lazy:
                error.renumber(rows)
            error.partial = predictor.carried(decided, final(decided))
            raise
        decided.put(rows, found)
    return decided


def _heard(error: CallError) -> tuple[Decisions, NDArray[np.bool_]]:
    """The decisions that an error of a predictor carries, and which of them are made."""
    partial = error.partial
    if partial is None or not isinstance(partial.state, Decisions):  # every error of a predictor has them
        raise error
    return partial.state, partial.decided


def _pieces(model: Any, n_rows: int, moment: float) -> Iterator[slice]:
    """Rows that are asked about together: all, where `Calls` divide them or end in time; else as many as time allows.

    How long a call takes is known from the one before.
    """
    calls = model.function if isinstance(model, AskedFunction) else None
    if isinstance(calls, Calls) and (calls.batch_size is not None or not calls.in_place):
        yield slice(0, n_rows)
        return
    start, size = 0, 1
    while start < n_rows:
        begun = time.monotonic()
        if begun >= moment:
            return
        stop = min(n_rows, start + size)
        yield slice(start, stop)
        now = time.monotonic()
        per_row = max((now - begun) / (stop - start), 1e-9)
        size = min(GROWTH * (stop - start), int(SHARE * (moment - now) / per_row))
        if size < 1:
            return
        start = stop


def _by_what_is_there(
    predictor: Predictor, source: Source, decided: Decisions, n_threads: int, budget: float | None
) -> None:
    """Answer rows that have no answer by the columns that were fetched for them: in full, or else by early stages."""
    left = np.flatnonzero(decided.ledger.status > Status.HANDED_OVER)
    if not (len(left) and source.is_lazy):
        return
    limited = predictor.deepest(budget)
    deepest = predictor.plan.n_stages if limited is None else limited - 1
    in_full = () if predictor.asks else (None,)  # who is asked as it is has no time left
    for stages in (*in_full, *range(deepest, 0, -1)):
        lacking = []
        while len(left):
            rows = source.take(left)
            assert isinstance(rows, LazyRows)
            try:
                decided.put(left, predictor.predict(rows, n_threads, budget, stages=stages))
                break
            except TooLateError as error:
                apart = np.isin(rows.numbers, error.rows)
                if not apart.any():
                    apart[:] = True
                lacking.append(left[apart])
                left = left[~apart]
        left = np.sort(np.concatenate([*lacking, left[:0]]))
        if len(left) == 0:
            return
