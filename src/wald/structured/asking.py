"""Asking an extractor about parts of which nothing is known yet, and keeping what it says."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable
from contextlib import suppress
from contextvars import ContextVar
from functools import partial
from inspect import isawaitable
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..calls import Asked, CallError, Calls, Counts
from ..calls.ending import latest
from ..calls.keys import key_of
from ..calls.running import called, is_async
from ..utils.figures import thousands
from ..utils.progress import LateBar
from .context import context_of
from .groups import FeatureGroup
from .kept import Claim, NoKeyError, Row, keyed, keys_of_places
from .rows import as_answers, kept_rows
from .sequences import Sequences

#: Whether this is code that an extractor runs, in whichever thread.
_INSIDE: ContextVar[bool] = ContextVar("inside an extractor", default=False)


class Extractor:
    """The extractor of a group at work on some sequences.

    ``shared`` are keys of all parts by their content, for all extractors; empty until one has needed them.
    """

    def __init__(self, group: FeatureGroup, sequences: Sequences, shared: list[Hashable]) -> None:
        self.group, self.sequences, self.shared = group, sequences, shared
        self.function, self.has_context = group.function, group.has_context
        #: Whether what it gives is kept by parts; plain functions of arrays take less time than keys.
        self.keeps = sequences.named is not None or isinstance(group.extract, Calls) or not group.calls.in_place
        #: Parts that the extractor was asked about here, and seconds in which another thread was waited for.
        self.asked, self.waited = 0, 0.0
        self._keys: list[Hashable] | None = None

    def parts(self, parts: NDArray[np.int64]) -> Any:
        """Parts as the user has them, by their numbers: a list, or rows of an array."""
        everything = len(parts) == self.sequences.n_parts
        if self.sequences.named is not None:
            named = self.sequences.named
            return list(named) if everything else [named[part] for part in parts.tolist()]
        return self.sequences.parts if everything else self.sequences.parts[parts]

    def given(self, parts: NDArray[np.int64]) -> tuple[Any, ...]:
        """What the function gets for parts: these, and where they stand if it asks for that."""
        return (self.parts(parts), *([context_of(self.sequences, parts)] if self.has_context else []))

    def called(self, *given: Any) -> Any:
        """What the function answers; what it returns to be awaited, as partials of coroutines do, is awaited."""
        answer = called(self.function, *given)
        return self.group.calls.awaited(answer) if isawaitable(answer) else answer

    def keys(self, parts: NDArray[np.int64]) -> list[Hashable]:
        """Keys of parts; NoKeyError has the number of the part that has none."""
        if self._keys is None and (self.has_context or len(parts) == self.sequences.n_parts):
            alone = self._alone(np.arange(self.sequences.n_parts))
            places = map(keys_of_places, self.sequences.split(alone)) if self.has_context else [alone]
            self._keys = list(chain.from_iterable(places))
        return self._alone(parts) if self._keys is None else [self._keys[part] for part in parts.tolist()]

    def _alone(self, parts: NDArray[np.int64]) -> list[Hashable]:
        key = self.group.calls.key
        if key is None and self.shared:
            return [self.shared[part] for part in parts.tolist()]
        try:
            found = keyed(self.parts(parts), key)
        except NoKeyError as error:
            error.place = int(parts[error.place])
            raise
        if key is None and len(parts) == self.sequences.n_parts:
            self.shared += found
        return found

    def rows(
        self, parts: NDArray[np.int64], seconds: float | None, waiting: float | None = None
    ) -> tuple[list[Row | None], NDArray[np.int64]]:
        """Features of parts that differ, and which of them each part has; the extractor is asked for what is not kept.

        After so many seconds, features may be None; what other threads ask is waited for up to ``waiting`` seconds,
        where one's own calls have no limit. If a call failed for good, the CallError has numbers of parts as its
        ``rows``, and what was answered before is kept.
        """
        first: dict[Hashable, int] = {}
        keys = self.keys(parts)
        places = np.array([first.setdefault(key, len(first)) for key in keys], dtype=np.int64)
        rows = [self.group.kept.get(key) for key in first]
        lacking = [place for place, row in enumerate(rows) if row is None]
        if lacking:
            starts, different = np.unique(places, return_index=True)[1], list(first)
            found = self._found({different[place]: int(parts[starts[place]]) for place in lacking}, seconds, waiting)
            for place in lacking:
                rows[place] = found.get(different[place])
        return rows, places

    def _found(self, parts: dict[Hashable, int], seconds: float | None, waiting: float | None) -> dict[Hashable, Row]:
        """Features of parts that were not kept, by their keys, as far as they are there in time.

        What another thread asks about already is waited for, and asked for here only if that thread does not get it.
        """
        if _INSIDE.get():  # an extractor that asks again must not wait for itself, nor for who waits for it
            return self._ask(parts, seconds)
        patience = waiting if seconds is None else seconds
        until = None if patience is None else time.monotonic() + patience
        found, theirs = self._claimed(parts, seconds)
        if not theirs:
            return found
        start = time.perf_counter()
        for claim in dict.fromkeys(theirs.values()):
            claim.wait(latest() if until is None else until)
        self.waited += time.perf_counter() - start
        found |= {key: claim.answers[key] for key, claim in theirs.items() if key in claim.answers}
        left = {key: part for key, part in parts.items() if key in theirs and key not in found}
        remaining = None if until is None else until - time.monotonic()
        if left and (remaining is None or remaining > 0):
            mine = None if seconds is None else remaining
            again, others = self._claimed(left, mine)
            found |= again
            if others:  # these were waited for once, and that is enough
                found |= self._ask({key: left[key] for key in others}, mine)
        return found

    def _claimed(
        self, parts: dict[Hashable, int], seconds: float | None
    ) -> tuple[dict[Hashable, Row], dict[Hashable, Claim]]:
        """Features of those parts that no other thread asks about, and the claims of other threads."""
        kept = self.group.kept
        claim, mine, theirs = kept.claims.take(parts)
        try:
            claim.answers |= {key: row for key in mine if (row := kept.get(key)) is not None}
            if lacking := {key: parts[key] for key in mine if key not in claim.answers}:
                self._ask(lacking, seconds, claim.answers)
        finally:
            kept.claims.end(claim, mine)
        return dict(claim.answers), theirs

    def _ask(
        self, numbers: dict[Hashable, int], seconds: float | None, found: dict[Hashable, Row] | None = None
    ) -> dict[Hashable, Row]:
        """Ask about parts, and put what is answered into ``found``, even if a later call fails."""
        found = {} if found is None else found
        keys, parts = list(numbers), np.fromiter(numbers.values(), dtype=np.int64, count=len(numbers))
        read = partial(as_answers, for_a_cache=self.group.calls.cache is not None)
        calls = self._calls(keys, parts, seconds)
        asked = Asked(calls, len(parts), name=self.group.name, read=read, check=kept_rows)
        start, inside = time.perf_counter(), _INSIDE.set(True)
        try:
            with LateBar() as bar:

                def fetch(rows: NDArray[np.intp]) -> Any:
                    done, spent = int(asked.answered.sum()), time.perf_counter() - start
                    so_far = f"{self.group.name}: {thousands(done)} of {thousands(len(parts))} parts, {spent:.0f} s"
                    bar(so_far, done / len(parts))
                    return rows.tolist() if self.has_context else self.parts(parts[rows])

                asked.ask(np.arange(len(parts)), fetch, seconds)
        except CallError as error:
            error.rows = parts[error.rows]
            raise
        finally:
            _INSIDE.reset(inside)
            done = np.flatnonzero(asked.answered)
            found |= zip([keys[i] for i in done.tolist()], asked.values[done], strict=True)
            self.group.kept.put(found, found.values())
            self.group.kept.spend(asked.counts, time.perf_counter() - start)
            self.asked += asked.counts.rows
        return found

    def _calls(self, keys: list[Hashable], parts: NDArray[np.int64], seconds: float | None) -> Calls:
        """How to call the function: with the context, where it asks for this, and apart, where one waits no longer."""
        calls = self.group.calls
        if self.has_context:  # rows are then numbers of parts, and what they are known by depends on the context

            def with_context(rows: list[int]) -> Any:
                return self.function(*self.given(parts[rows]))

            calls = calls.of(with_context, key=lambda row: key_of(keys[row]))
        if seconds is not None and calls.in_place:
            calls = calls.of(calls.function, key=calls.key)
            calls.timeout = max(seconds, 1e-3)
        if not (calls.in_place or is_async(calls.function)):  # in threads, which nobody can end
            calls = calls.of(self._kept_late(calls, keys, seconds), key=calls.key)
        return calls

    def _kept_late(self, calls: Calls, keys: list[Hashable], seconds: float | None) -> Callable[[Any], Any]:
        """The same function; what it answers when nobody waits for it any more is kept all the same."""
        function, longest = calls.function, math.inf if calls.timeout is None else calls.timeout
        until = math.inf if seconds is None else time.perf_counter() + seconds

        def call(batch: Any) -> Any:
            start = time.perf_counter()
            answer = called(function, batch)
            late = time.perf_counter() - min(start + longest, until)
            if late > 0 and not isawaitable(answer):
                with suppress(Exception):  # nobody would hear of it
                    rows = kept_rows(as_answers(answer, for_a_cache=False))
                    found = [keys[row] for row in batch] if self.has_context else keyed(batch, self.group.calls.key)
                    if len(rows) == len(found):
                        self.group.kept.put(found, rows)
                        self.group.kept.spend(Counts(rows=len(rows)), late)
            return answer

        return call
