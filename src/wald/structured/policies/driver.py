"""The one loop that all policies share: compute priorities, buy what lies above a threshold, and repeat."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ..features import ExtractionError, ExtractionTimeoutError, LazyFeatures
from ..protocol import Session, State
from .base import Policy
from .evidence import Ends, owner, parts_of


@dataclass(frozen=True, eq=False)
class Acquired:
    """What a policy bought for examples, their answers, and the seconds of features, policy and inference."""

    state: State
    codes: NDArray[np.int32]
    seconds: dict[str, float]


@dataclass(frozen=True, eq=False)
class Allowance:
    """Limit of one example's spend: ``per_part`` times its parts, on groups that cost ``costs`` (K,) a part."""

    per_part: float
    costs: NDArray[np.float64]


def acquire(
    policy: Policy,
    session: Session,
    threshold: float,
    allowance: Allowance | None = None,
    *,
    max_parts: int | None = None,
    until: float | None = None,
    decode: bool = True,
) -> Acquired:
    """Buy the groups to which a policy gives a priority above a threshold, and answer.

    Without `decode`, ``codes`` is empty. No example spends more than an `allowance`; those of more than `max_parts`
    parts get everything. `until` is a time, on the clock of `time.perf_counter`, at which to answer from what was
    bought so far.

    If an extractor of a costly group fails, the ExtractionError has the answers from before. Once one has timed out
    (`LazyFeatures.patience`) nothing more is bought; the answer uses what was bought before.
    """
    metered = MeteredSession(session)
    begin, extracted = time.perf_counter(), metered.extraction()
    state = known = metered.state() & False
    codes = np.empty(0, dtype=np.int32)
    try:
        if until is not None:
            codes = metered.decode(state)
        for bought, examples in rounds(policy, metered, threshold, allowance, max_parts, until):
            known, state = state, bought.copy()
            if until is not None:
                codes[parts_of(np.asarray(session.offsets), examples)[0]] = metered.decode(state, examples)
        if until is None and decode:
            codes = metered.decode(state)
    except ExtractionTimeoutError:
        state &= metered.bought
        codes = metered.decode(state) if decode else codes
    except Exception as error:
        if not state.any():
            raise
        raise ExtractionError(str(error), answers_of(session, session.decode(known)), known) from error
    features, total = metered.extraction() - extracted, time.perf_counter() - begin
    seconds = {"features": features, "policy": max(total - features - metered.inference, 0.0)}
    return Acquired(state, codes, {**seconds, "inference": metered.inference})


def rounds(
    policy: Policy,
    session: Any,
    threshold: float,
    allowance: Allowance | None = None,
    max_parts: int | None = None,
    until: float | None = None,
) -> Iterator[tuple[State, NDArray[np.int64]]]:
    """Yield the state after each round, with the examples for which the round bought something.

    The state is one array that every round updates. With ``until``, a round is bought in pieces, the highest priorities
    first, each of which takes a small share of the time left; the caller must decode before it continues, so that the
    time of a piece includes decoding.
    """
    offsets = np.asarray(session.offsets)
    state = np.ascontiguousarray(session.state() & False)
    active = np.arange(len(offsets) - 1)
    if max_parts is not None:
        threshold = min(threshold, np.finfo(np.float64).max)  # long examples get infinity, which is above it
    done = 0
    clock = None if until is None else _Clock(until)
    while len(active) and (policy.n_rounds is None or done < policy.n_rounds) and not (clock and clock.passed()):
        parts, ends = parts_of(offsets, active)
        done += 1
        priority = policy.priority(session, state, active)
        if max_parts is not None:
            long = (np.diff(ends) > max_parts)[owner(ends)]
            priority = np.where(long[:, None], np.inf, priority)
        lacks = ~state[parts]
        pace = 1.0 if done == policy.n_rounds else policy.pace
        chosen, buys, lacks_more = choose(priority, lacks, ends, threshold, pace, allowance)
        if not buys.any():
            return
        if clock is None:
            state[parts] |= chosen
            yield state, active[buys]
        else:
            items = np.flatnonzero(chosen.ravel())
            items = items[np.argsort(-priority.ravel()[items], kind="stable")]
            owners = active[owner(ends)]
            while len(items) and (many := clock.affords(len(items))):
                now, items = items[:many], items[many:]
                local = now // chosen.shape[1]
                state[parts[local], now % chosen.shape[1]] = True
                yield state, np.unique(owners[local])
                clock.took(many)
            if len(items):
                return
        active = active[buys & lacks_more]


class _Clock:
    """Estimates how many parts can still be bought before a deadline."""

    #: A piece may take this share of the time left, so that a slow one hardly overruns the deadline.
    SHARE = 0.25

    def __init__(self, until: float) -> None:
        self.until = until
        self.started = 0.0
        self.each: float | None = None  # seconds a part in the previous piece

    def passed(self) -> bool:
        return time.perf_counter() >= self.until

    def affords(self, most: int) -> int:
        self.started = time.perf_counter()
        left = self.until - self.started
        if self.each is None:
            return int(left > 0)
        if left <= self.each:
            return 0
        return int(np.clip(self.SHARE * left / max(self.each, 1e-9), 1, most))

    def took(self, many: int) -> None:
        self.each = (time.perf_counter() - self.started) / many


def choose(
    priority: NDArray[np.float64],
    lacks: NDArray[np.bool_],
    ends: Ends,
    threshold: float,
    pace: float,
    allowance: Allowance | None = None,
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """Choose, for each example, the best share ``pace``, rounded up, of the pairs above a threshold that it can pay.

    Returns what is chosen (n_parts, K), which examples buy something, and which lack something then.
    """
    limit = Allowance(np.inf, np.zeros(lacks.shape[1])) if allowance is None else allowance
    costs = np.ascontiguousarray(limit.costs, dtype=np.float64)
    each = np.ascontiguousarray(priority, dtype=np.float64)
    return _core.choose(each, lacks, ends, threshold, pace, float(limit.per_part), costs)


def limit_extractors(model: Any, session: Any, timeout: float, until: float | None) -> None:
    """Make a session wait for an extractor for ``timeout`` seconds at most, and not beyond ``until``."""
    features = getattr(session, "features", None)
    if not isinstance(features, LazyFeatures):
        raise TypeError(
            f"timeout needs a model that can abandon an extractor, a ChainClassifier. Got {type(model).__name__}; use "
            "deadline= alone."
        )
    end = np.inf if until is None else until
    features.patience = lambda: min(timeout, end - time.perf_counter())


class MeteredSession:
    """A session that measures the seconds of ``inference``: how long the model takes to answer, without extraction.

    All other attributes are those of the session.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.inference = 0.0
        for name in ("decode", "confidence", "evidence"):
            if hasattr(session, name):
                setattr(self, name, self._timed(getattr(session, name)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["session"], name)

    def extraction(self) -> float:
        """Seconds that extraction took so far, all groups together."""
        return float(sum(np.asarray(self.session.seconds).tolist()))

    def _timed(self, method: Any) -> Any:
        def answer(state: State, examples: NDArray[np.int64] | None = None) -> Any:
            start, before = time.perf_counter(), self.extraction()
            found = method(state) if examples is None else method(state, examples)
            self.inference += time.perf_counter() - start - (self.extraction() - before)
            return found

        return answer


def answers_of(session: Any, codes: NDArray[np.int32]) -> Any:
    """Return the model's own answers if the session gives them; else an array of codes per example."""
    return session.answers(codes) if hasattr(session, "answers") else np.split(codes, np.asarray(session.offsets)[1:-1])


def cost_of(state: State, offsets: Ends, costs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cost of each example: (n_examples,)."""
    bought = np.add.reduceat(state, offsets[:-1], axis=0, dtype=np.int64)
    return np.asarray(costs[0] * np.diff(offsets) + (bought * costs[1:]).sum(axis=1))
