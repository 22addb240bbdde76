"""`Asked`: what a costly function has answered in one use of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..utils.figures import thousands
from .calls import Calls, Failure, Rows, Work
from .counts import Counts
from .ending import latest
from .errors import BadAnswerError, CallError, PartialAnswer, TooLateError, named
from .keys import key_of, rows_of
from .reading import NUMBERS, as_answers

#: Number of rows whose keys are computed at a time.
KEYED_ROWS = 4096
_NOTHING = object()


class Answered(NamedTuple):
    """Answers to some rows.

    Attributes
    ----------
    values : ndarray of shape (n_rows, ...)
        Any value where there is no answer.
    done : bool ndarray of shape (n_rows,)
        Whether a row has its answer; all have, unless a deadline has passed.
    """

    values: NDArray[Any]
    done: NDArray[np.bool_]


class Asked:
    """What a costly function has answered in one use of it, such as one `predict`: no row is asked twice.

    Threads may share it; one asks at a time.

    Parameters
    ----------
    calls : Calls
    n_rows : int
        Rows are numbers from 0 to this.
    name : str or None, default=None
        What messages call the function, if it has no name of its own.
    read : callable or None, default=None
        Function from what was answered to an array with one entry for each row. None: ``numpy.asarray``.
    check : callable or None, default=None
        Function from this array to the answers as they are kept, which raises `BadAnswerError` for what cannot be used:
        `numbers_of`, `labels_of`. None: all is taken.
    max_rows : int or None, default=None
        Most rows that may be asked. A row counts once, however often its call is tried again and whether it succeeds,
        and not if it comes from the cache.

    Attributes
    ----------
    answered : bool ndarray of shape (n_rows,)
        Rows that have an answer.
    paid : bool ndarray of shape (n_rows,)
        Rows that the function has answered, and not the cache.
    counts : Counts

    Examples
    --------
    >>> import numpy as np
    >>> from wald.calls import Asked, CallError, Calls
    >>> def fails_at_three(rows):
    ...     if 3 in rows:
    ...         raise ConnectionError("no route")
    ...     return [f"row {row}" for row in rows]
    >>> asked = Asked(Calls(fails_at_three, name="server", batch_size=2), 6)
    >>> try:
    ...     asked.ask(np.arange(6), fetch=list)
    ... except CallError as error:
    ...     print(error)
    'server' failed for row 2, 3: ConnectionError: no route. 2 of 6 rows are decided, in .partial.
    >>> asked.counts.rows, asked.answered.tolist()
    (2, [True, True, False, False, False, False])
    """

    def __init__(
        self,
        calls: Calls,
        n_rows: int,
        *,
        name: str | None = None,
        read: Callable[[Any], Any] | None = None,
        check: Callable[[NDArray[Any]], NDArray[Any]] | None = None,
        max_rows: int | None = None,
    ) -> None:
        self.calls, self.n_rows, self.max_rows = calls, n_rows, max_rows
        own: str = getattr(calls.function, "__name__", type(calls.function).__name__)
        self.name = calls.name or name or own
        self.answered, self.paid = np.zeros(n_rows, dtype=bool), np.zeros(n_rows, dtype=bool)
        self.counts = Counts()
        self._sent = np.zeros(n_rows, dtype=bool)
        self._read, self._check = read, check
        self._values: NDArray[Any] | None = None
        self._lock = threading.RLock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._lock = threading.RLock()

    @property
    def values(self) -> NDArray[Any]:
        """Answers of all rows, (n_rows, ...); any value where there is none."""
        return np.zeros(self.n_rows) if self._values is None else self._values

    def missing(self, rows: ArrayLike) -> Rows:
        """Those of some rows that have no answer yet, each once, in ascending order."""
        numbers = np.asarray(rows, dtype=np.intp)
        if len(numbers) and not (numbers.min() >= 0 and numbers.max() < self.n_rows):
            raise IndexError(f"Rows of {self.name!r} are numbers from 0 to {self.n_rows - 1}.")
        return np.unique(numbers[~self.answered[numbers]])

    def ask(self, rows: ArrayLike, fetch: Callable[[Rows], Any], deadline: float | None = None) -> Answered:
        """Answers to some rows; those that have none are asked.

        Parameters
        ----------
        rows : array-like of int
            In any order, and more than once.
        fetch : callable
            Gets numbers of rows, and returns the batch that the function takes.
        deadline : float or None, default=None
            Seconds after which no call begins. Coroutines and calls in threads are not waited for any longer; a plain
            function in the caller's thread is. None: that of `ending`, if the caller has set one.

        Returns
        -------
        Answered

        Raises
        ------
        CallError
            If a call failed for good, or more rows would be asked than may be, before any of them is.
        TooLateError
            If the moment that `ending` has set came before all rows were answered.
        """
        until = latest() if deadline is None else time.monotonic() + deadline
        with self._lock:
            missing, keys = self.missing(rows), dict[int, _Key]()
            if len(missing) and self.calls.cache is not None:
                missing = self._look_up(missing, fetch, keys)
            self._require_room(missing)
            if len(missing):
                batch, take = partial(self._batch, fetch), partial(self._take, keys=keys)
                work = Work(batch, take, until, self._all_counts)
                failure = self.calls.answer(missing, work)
                if failure is not None:
                    raise self._error(failure) from failure.error
            numbers = np.asarray(rows, dtype=np.intp)
            if deadline is None and len(late := self.missing(numbers)):
                text = f"{self.name!r} has not answered in time for {named(late)}."
                raise TooLateError(text, self.name, late, self.partial())
            return Answered(self.values[numbers], self.answered[numbers])

    def _batch(self, fetch: Callable[[Rows], Any], rows: Rows) -> Any:
        """The rows of a call, which may cost even if it fails."""
        batch = fetch(rows)
        self._sent[rows] = True
        return batch

    @property
    def _all_counts(self) -> Sequence[Counts]:
        return (self.counts, self.calls.total)

    # ---- the cache -------------------------------------------------------------------------------------------------

    def _look_up(self, rows: Rows, fetch: Callable[[Rows], Any], keys: dict[int, _Key]) -> Rows:
        """Take what the cache knows; return the rows to ask, one of each key."""
        cache = self.calls.cache
        assert cache is not None
        first: dict[Any, int] = {}
        for start in range(0, len(rows), KEYED_ROWS):
            some = rows[start : start + KEYED_ROWS]
            known, found = [], []
            for row, key in zip(some.tolist(), self._keys(some, fetch), strict=True):
                value = cache.get(key, _NOTHING)
                if value is not _NOTHING:
                    known.append(row)
                    found.append(value)
                elif key in first:
                    keys[first[key]].others.append(row)
                else:
                    first[key], keys[row] = row, _Key(key, [])
            if known:
                self._take_known(np.array(known, dtype=np.intp), found)
        return np.array(sorted(first.values()), dtype=np.intp)

    def _keys(self, rows: Rows, fetch: Callable[[Rows], Any]) -> list[Any]:
        key = self.calls.key or key_of
        try:
            found = [key(row) for row in rows_of(fetch(rows))]
            set(found)
        except TypeError as error:
            raise TypeError(f"Rows of {self.name!r} cannot be kept in a cache: {error}.") from error
        if len(found) != len(rows):
            raise ValueError(f"{self.name!r} gets {len(found)} rows for {len(rows)} numbers.")
        return [f"{self.name}:{each}" if isinstance(each, str) else (self.name, each) for each in found]

    def _take_known(self, rows: Rows, found: list[Any]) -> None:
        try:
            self._keep(rows, self._checked(as_answers(found, len(rows))))
        except ValueError as error:
            text = f"What the cache of {self.name!r} holds for {named(rows)} cannot be used: {error}."
            raise CallError(text, self.name, rows, self.partial()) from error
        for counts in self._all_counts:
            counts.cached += len(rows)

    # ---- answers ---------------------------------------------------------------------------------------------------

    def _take(self, rows: Rows, given: Any, keys: dict[int, _Key]) -> None:
        """Keep what the function has answered."""
        raw = as_answers(given if self._read is None else self._read(given), len(rows))
        values = self._checked(raw)
        self._keep(rows, values)
        self.paid[rows] = True
        if self.calls.cache is None:
            return
        for i, row in enumerate(rows.tolist()):
            key, value = keys[row], raw[i]
            self.calls.cache[key.key] = value.item() if isinstance(value, np.generic) else value
            if key.others:
                self._keep(np.array(key.others, dtype=np.intp), np.repeat(values[i : i + 1], len(key.others), axis=0))
                for counts in self._all_counts:
                    counts.cached += len(key.others)

    def _checked(self, answers: NDArray[Any]) -> NDArray[Any]:
        return answers if self._check is None else self._check(answers)

    def _keep(self, rows: Rows, values: NDArray[Any]) -> None:
        if self._values is None:
            self._values = np.zeros((self.n_rows, *values.shape[1:]), dtype=values.dtype)
        held = self._values
        if values.shape[1:] != held.shape[1:]:
            raise BadAnswerError(f"its answers have the shape {values.shape[1:]}, and had {held.shape[1:]} before")
        if values.dtype != held.dtype:
            if (values.dtype.kind in NUMBERS) != (held.dtype.kind in NUMBERS):
                raise BadAnswerError(f"its answers are of dtype {values.dtype}, and were {held.dtype} before")
            self._values = held = held.astype(np.result_type(values.dtype, held.dtype))
        held[rows] = values
        self.answered[rows] = True

    # ---- errors ----------------------------------------------------------------------------------------------------

    def _require_room(self, rows: Rows) -> None:
        """Raise CallError if more rows would be asked than may be."""
        asked, new = int(np.count_nonzero(self._sent)), int(np.count_nonzero(~self._sent[rows]))
        if self.max_rows is not None and asked + new > self.max_rows:
            raise CallError(
                f"{self.name!r} may be asked for {thousands(self.max_rows)} rows, has been for {thousands(asked)}, and "
                f"would be for {thousands(new)} more.",
                self.name,
                rows,
                self.partial(),
            )

    def _error(self, failure: Failure) -> CallError:
        rows, error = failure.rows, failure.error
        attempts = f" after {failure.attempts} attempts" if failure.attempts > 1 else ""
        if isinstance(error, BadAnswerError):
            rows = rows[error.places] if error.places else rows
            why = str(error)
        else:
            why = f"{type(error).__name__}: {error}".rstrip(": .")
        text = f"{self.name!r} failed for {named(rows)}{attempts}: {why}."
        found = CallError(text, self.name, rows, self.partial())
        found.attempts = failure.attempts
        return found

    def partial(self) -> PartialAnswer:
        """What was answered so far; a row that was asked has cost 1."""
        return PartialAnswer(self.values.copy(), self.answered.copy(), self.paid.astype(np.float64), self)


class _Key(NamedTuple):
    """The key of a row that is asked, and other rows with the same."""

    key: Any
    others: list[int]
