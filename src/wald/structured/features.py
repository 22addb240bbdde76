"""Features of parts, extracted when they are needed, once each, checked and timed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .. import _core
from ..calls import BadAnswerError, CallError, Counts, TooLateError
from .asking import Extractor
from .groups import FeatureGroup
from .keeping import Extracted
from .kept import NoKeyError, keyed
from .names import HASHED_COLUMNS
from .rows import UnusableError, as_floats, joined
from .sequences import Sequences


class ExtractionError(ValueError):
    """An extractor raised, or gave features of a wrong shape or value.

    Attributes
    ----------
    answers
        If a policy was buying: the answers from what could be extracted before, one per example, as the model gives
        them. Else None.
    state : bool ndarray of shape (n_parts, K) or None
        The state under which these answers were computed.
    """

    def __init__(self, message: str, answers: Any = None, state: NDArray[np.bool_] | None = None) -> None:
        super().__init__(message)
        self.answers, self.state = answers, state


class ExtractionTimeoutError(ExtractionError):
    """An extractor took longer than it may."""


class LazyFeatures:
    """The features of some sequences that were extracted so far; those of the first group, of every part at once.

    Of each group, it counts the ``seconds`` of the extractor, the parts that have features, ``extracted``, wherever
    these came from, and the parts that the extractor was ``asked`` about here. ``patience`` may give the seconds that
    the next call of an extractor may take: one that takes longer is abandoned in a thread of its own, and
    `ExtractionTimeoutError` is raised. So it is if a call of another thread lasts beyond ``until``, a time of
    `time.perf_counter`.
    """

    def __init__(
        self, groups: Sequence[FeatureGroup], sequences: Sequences, sizes: Sequence[int] | None = None
    ) -> None:
        self.groups, self.sequences = tuple(groups), sequences
        self.seconds = np.zeros(len(self.groups))
        self.extracted, self.asked = np.zeros((2, len(self.groups)), dtype=np.int64)
        self.patience: Callable[[], float] | None = None
        self.until: float | None = None
        given = sequences.extracted  # of use if they are of these groups
        self._ready = given if given is not None and given.names == tuple(group.name for group in groups) else None
        keys: list[Hashable] = []
        self._extractors = [None if g.extract is None else Extractor(g, sequences, keys) for g in self.groups]
        self._whole: list[Any] = [None] * len(self.groups)
        self._missing = np.ones((len(self.groups), sequences.n_parts), dtype=bool)
        self.stores: list[_core.ChainGroup] = []
        for g in range(len(self.groups)):
            if sizes is not None:
                self.stores.append(_core.ChainGroup(sequences.n_parts, sizes[g]))
            if g == 0 or sizes is None:  # the first parts show the number of features
                self._extract(g, np.arange(sequences.n_parts))

    @property
    def sizes(self) -> list[int]:
        """Features of each group."""
        return [store.n_features for store in self.stores]

    @property
    def seconds_each(self) -> NDArray[np.float64]:
        """Time that the extractor of each group takes for a part, where it was seen; else 0."""
        each = self.seconds / np.maximum(self.extracted, 1)
        for g, extractor in enumerate(self._extractors):
            if self._ready is not None and self._ready.values[g] is not None:
                each[g] = self._ready.each[g]
            elif extractor is not None and extractor.keeps:  # most may have been known before
                each[g] = self.groups[g].kept.seconds_each
        return each

    def everything(self) -> Extracted:
        """Features of all groups that have an extractor; extracts those that are missing."""
        self.buy(np.ones((self.sequences.n_parts, len(self.groups) - 1), dtype=bool))
        return Extracted(tuple(group.name for group in self.groups), tuple(self._whole), self.seconds_each)

    def buy(self, state: NDArray[np.bool_]) -> None:
        """Extract the missing features that a state (n_parts, n_groups - 1) needs."""
        for g in range(1, len(self.groups)):
            parts = np.flatnonzero(state[:, g - 1] & self._missing[g])
            if len(parts):
                self._extract(g, parts)

    @property
    def bought(self) -> NDArray[np.bool_]:
        """State (n_parts, n_groups - 1) of the costly groups extracted so far."""
        return ~self._missing[1:].T

    def _extract(self, g: int, parts: NDArray[np.int64]) -> None:
        extractor, late = self._extractors[g], None
        try:
            if self._ready is not None and self._ready.values[g] is not None:
                ready = self._ready.values[g]
                values = as_floats(ready if len(parts) == self.sequences.n_parts else ready[parts], len(parts))
            elif extractor is None:
                start, rows = time.perf_counter(), self.sequences.parts
                rows = rows if len(parts) == self.sequences.n_parts else rows[parts]
                self.seconds[g] += time.perf_counter() - start
                values = as_floats(rows, len(parts))
            elif extractor.keeps:
                parts, values, late = self._known_or_asked(g, extractor, parts)
            else:
                values = self._asked(g, extractor, parts)
            if len(parts):
                self._add(g, values, parts)
        except UnusableError as error:
            raise self._error(g, str(error), parts[error.places or [0]]) from error
        if late is not None:
            raise late

    def _add(self, g: int, values: Any, parts: NDArray[np.int64]) -> None:
        if len(parts) == self.sequences.n_parts and self.groups[g].extract is not None:
            self._whole[g] = values
        if g == len(self.stores):
            self.stores.append(_core.ChainGroup(self.sequences.n_parts, values.shape[1]))
        if values.shape[1] != self.stores[g].n_features:
            before, now = self.stores[g].n_features, values.shape[1]
            raise ExtractionError(
                f"Group {self.groups[g].name!r} must have "
                f"{'names' if before == HASHED_COLUMNS else f'{before} features'}, as before. Got "
                f"{'names' if now == HASHED_COLUMNS else now} for {self._named(parts)}."
            )
        if sparse.issparse(values):
            indices, indptr = values.indices.astype(np.int32, copy=False), values.indptr.astype(np.int64, copy=False)
            bad = self.stores[g].add_csr(values.data, indices, indptr, parts)
        else:
            bad = self.stores[g].add_dense(values, parts)
        if bad >= 0:
            raise UnusableError("has NaN or infinity at {part}", [bad])
        self.extracted[g] += len(parts)
        self._missing[g, parts] = False

    def _known_or_asked(
        self, g: int, extractor: Extractor, parts: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], Any, ExtractionTimeoutError | None]:
        """Those of the parts whose features are there in time, these features, and an error if some are not."""
        before, waited, start = extractor.asked, extractor.waited, time.perf_counter()
        seconds, late = self._seconds_left(), None
        waiting = None if self.until is None else max(self.until - start, 0.0)
        try:
            rows, places = extractor.rows(parts, seconds, waiting)
        except TooLateError as error:
            raise self._late(g, str(error.args[0]), parts) from None
        except CallError as error:
            raise self._failed(g, error) from (error.__cause__ or error)
        except NoKeyError as error:
            why = (
                ": nothing tells whether {parts} is there again. Give a key, a function of one part, as in "
                f"FeatureGroup({self.groups[g].name!r}, Calls(extract, key=...))"
                if self.groups[g].calls.key is None
                else f": its key= failed on {{parts}}: {error}"
            )
            raise self._error(g, why, np.array([error.place])) from error
        finally:
            if extractor.asked > before:
                self.seconds[g] += time.perf_counter() - start - (extractor.waited - waited)
                self.asked[g] += extractor.asked - before
        known = np.array([row is not None for row in rows])
        there, values = known[places], None
        if not there.all():
            patience = waiting if seconds is None else seconds
            late = self._late(g, f"the extractor was not waited for after {patience:.3g} seconds", parts[~there])
        if there.any():
            try:
                values = joined([row for row in rows if row is not None])[(np.cumsum(known) - 1)[places[there]]]
            except UnusableError as error:
                error.places = [int(np.argmax(places == np.flatnonzero(known)[error.places[0]]))]
                raise
        return parts[there], values, late

    def _asked(self, g: int, extractor: Extractor, parts: NDArray[np.int64]) -> Any:
        """What a plain function gives for rows of an array."""
        given, start = extractor.given(parts), time.perf_counter()
        try:
            values = self._call(extractor, given)
        except ExtractionTimeoutError as error:
            self.seconds[g] += time.perf_counter() - start
            raise self._late(g, str(error), parts) from None
        except Exception as error:
            told = f"{type(error).__name__}: {error}"
            raise self._error(g, f": the extractor failed on {{parts}}: {told}", parts) from error
        spent = time.perf_counter() - start
        self.seconds[g] += spent
        self.asked[g] += len(parts)
        extractor.group.kept.spend(Counts(calls=1, rows=len(parts), seconds=spent), spent)
        try:
            return as_floats(values, len(parts))
        except UnusableError as error:
            hint = self._repeats(parts) if "must have one" in str(error) else ""
            raise UnusableError(f"{error}{hint}", error.places) from error

    def _call(self, extractor: Extractor, given: tuple[Any, ...]) -> Any:
        """Call an extractor, and wait for it as long as `patience` allows."""
        seconds, extract = self._seconds_left(), extractor.called
        if seconds is None:
            return extract(*given)
        answer: list[tuple[Any, BaseException | None]] = []

        def call() -> None:
            try:
                answer.append((extract(*given), None))
            except BaseException as error:  # SystemExit and others that would end the thread
                answer.append((None, error))

        thread = threading.Thread(target=call, name="wald extractor", daemon=True)
        thread.start()
        thread.join(min(seconds, threading.TIMEOUT_MAX))
        if not answer:
            raise ExtractionTimeoutError(f"the extractor was not waited for after {seconds:.3g} seconds")
        values, error = answer[0]
        if error is not None:
            raise error
        return values

    def _seconds_left(self) -> float | None:
        return None if self.patience is None else max(self.patience(), 0.0)

    # ---- errors ----------------------------------------------------------------------------------------------------

    def _error(self, g: int, text: str, parts: NDArray[np.int64]) -> ExtractionError:
        """An error about a group; in the text, ``{part}`` stands for the first part, and ``{parts}`` for all."""
        shown = ""
        if self.sequences.named is not None:
            shown = repr(self.sequences.named[parts[0]])
            shown = f" ({shown if len(shown) <= 80 else shown[:76] + ' ...'})"
        text = text.replace("{parts}", self._named(parts) + shown).replace("{part}", self._named(parts[:1]))
        text = text.rstrip(".")
        return ExtractionError(f"Group {self.groups[g].name!r}{text if text[0] == ':' else f' {text}'}.")

    def _named(self, parts: NDArray[np.int64]) -> str:
        """Name parts: the first one, numbered within its sequence, and the number of others."""
        offsets = self.sequences.offsets
        sequence = int(np.searchsorted(offsets, parts[0], side="right")) - 1
        others = f" and {len(parts) - 1} others" if len(parts) > 1 else ""
        return f"part {parts[0] - offsets[sequence]} of sequence {self.sequences.number(sequence)}{others}"

    def _repeats(self, parts: NDArray[np.int64]) -> str:
        """A hint for an extractor that gave another number of rows, where some parts are the same."""
        given = self.sequences.named
        try:
            keys = keyed(self.sequences.parts[parts] if given is None else [given[part] for part in parts], None)
        except NoKeyError:
            return ""
        different = len(set(keys))
        hint = f". {different} of the parts are different: one that is there again needs a row of its own, too"
        return hint if different < len(keys) else ""

    def _failed(self, g: int, error: CallError) -> ExtractionError:
        """The error of a call that failed for good; ``error.rows`` are parts."""
        cause, parts = error.__cause__, np.asarray(error.rows)
        if isinstance(cause, UnusableError):
            return self._error(g, str(cause), parts)
        if isinstance(cause, BadAnswerError):
            why = str(cause).replace(" row", " part")
            return self._error(g, f": {why}, for {{parts}}{self._repeats(parts)}", parts)
        attempts = f" after {error.attempts} attempts" if error.attempts > 1 else ""
        kept = ". What was answered before is kept" if self.groups[g].kept.counts.rows else ""
        told = f"{type(cause or error).__name__}: {cause or error}".rstrip(".")
        return self._error(g, f": the extractor failed on {{parts}}{attempts}: {told}{kept}", parts)

    def _late(self, g: int, text: str, parts: NDArray[np.int64]) -> ExtractionTimeoutError:
        return ExtractionTimeoutError(f"Group {self.groups[g].name!r}: {text} on {self._named(parts)}.")
