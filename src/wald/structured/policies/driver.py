"""The one loop that all policies share: ask for priorities, buy what lies above a threshold, ask again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wald.structured.policies.base import Policy
from wald.structured.policies.metering import MeteredSession
from wald.structured.policies.segments import Ends, counts, owner, parts_of, ranks
from wald.structured.protocol import Session, State


@dataclass(frozen=True, eq=False)
class Acquired:
    """Examples with what a policy bought for them.

    Attributes
    ----------
    state : bool ndarray of shape (n_parts, K)
    codes : int32 ndarray of shape (n_parts,)
        The answers under this state.
    seconds : dict
        What went into ``"features"``, ``"policy"`` and ``"inference"``.
    n_rounds : int
        How often priorities were asked for.
    """

    state: State
    codes: NDArray[np.int32]
    seconds: dict[str, float]
    n_rounds: int


@dataclass(frozen=True, eq=False)
class Allowance:
    """What one example may spend at most: ``per_part`` times its parts, on groups that cost ``costs`` (K,) a part."""

    per_part: float
    costs: NDArray[np.float64]


def acquire(
    policy: Policy,
    session: Session,
    threshold: float,
    allowance: Allowance | None = None,
    *,
    max_parts: int | None = None,
    decode: bool = True,
) -> Acquired:
    """Let a policy buy what it gives a priority above a threshold, and answer.

    Parameters
    ----------
    policy : Policy
        Fitted.
    session : Session
        Of the policy's model.
    threshold : float
        With -inf and without an allowance, everything is bought, and the policy is not asked.
    allowance : Allowance, default=None
        No example spends more than it.
    max_parts : int, default=None
        Longer examples get everything, and the policy is not asked.
    decode : bool, default=True
        Whether to answer in the end; without, ``codes`` is empty.
    """
    metered = MeteredSession(session)
    begin, extracted = time.perf_counter(), metered.extraction()
    if threshold == -np.inf and allowance is None:
        max_parts = 0
    state, n_rounds = unasked(metered, max_parts), 0
    for bought, _ in rounds(policy, metered, threshold, allowance, max_parts):
        state, n_rounds = bought, n_rounds + 1
    codes = metered.decode(state) if decode else np.empty(0, dtype=np.int32)
    features, total = metered.extraction() - extracted, time.perf_counter() - begin
    policy_seconds = max(total - features - metered.inference, 0.0)
    return Acquired(
        state, codes, {"features": features, "policy": policy_seconds, "inference": metered.inference}, n_rounds
    )


def rounds(
    policy: Policy,
    session: Any,
    threshold: float,
    allowance: Allowance | None = None,
    max_parts: int | None = None,
) -> Iterator[tuple[State, NDArray[np.int64]]]:
    """Walk through the states, one a round, each with the examples that it bought something for.

    The state is one array, written to from round to round.
    """
    offsets = np.asarray(session.offsets)
    state = unasked(session, max_parts)
    active = np.flatnonzero(counts(np.any(~state, axis=1), offsets) > 0)
    done = 0
    while len(active) and (policy.n_rounds is None or done < policy.n_rounds):
        parts, ends = parts_of(offsets, active)
        done += 1
        priority = policy.priority(session, state, active)
        lacks = ~state[parts]
        pace = 1.0 if done == policy.n_rounds else policy.pace
        chosen = choose(priority, lacks, ends, threshold, pace)
        if allowance is not None:
            chosen = _afforded(chosen, priority, lacks, ends, allowance)
        if not chosen.any():
            return
        state[parts] |= chosen
        active = active[counts(np.any(chosen, axis=1), ends) > 0]
        yield state, active
        parts, ends = parts_of(offsets, active)
        active = active[counts(np.any(~state[parts], axis=1), ends) > 0]


def unasked(session: Any, max_parts: int | None) -> State:
    """The state to begin with: nothing, but for examples longer than `max_parts`, which have everything."""
    state: State = session.state() & False
    if max_parts is not None:
        lengths = np.diff(np.asarray(session.offsets))
        state[np.repeat(lengths > max_parts, lengths)] = True
    return state


def choose(
    priority: NDArray[np.float64], lacks: NDArray[np.bool_], ends: Ends, threshold: float, pace: float
) -> NDArray[np.bool_]:
    """What to buy: of each example the best of what lies above a threshold, a share ``pace`` of it, rounded up."""
    above = lacks & (priority > threshold)
    if pace == 1:
        return above
    items = ends * priority.shape[1]
    wanted = above.ravel()
    place = ranks(np.where(wanted, priority.ravel(), -np.inf), items)
    many = counts(wanted, items)
    keep = np.maximum(np.ceil(pace * many), 1)[owner(items)]
    return np.asarray((wanted & (place < keep)).reshape(above.shape))


def _afforded(
    chosen: NDArray[np.bool_], priority: NDArray[np.float64], lacks: NDArray[np.bool_], ends: Ends, allowance: Allowance
) -> NDArray[np.bool_]:
    """Of what was chosen, the best that each example's allowance still covers."""
    items, of = ends * priority.shape[1], owner(ends * priority.shape[1])
    costs = np.tile(allowance.costs, len(priority))
    limit = allowance.per_part * np.diff(ends)
    spent = np.bincount(of, weights=costs * ~lacks.ravel(), minlength=len(limit))
    order = np.lexsort((ranks(np.where(chosen.ravel(), priority.ravel(), -np.inf), items), of))
    price = np.where(chosen.ravel(), costs, 0.0)[order]
    running = np.empty(len(order))
    for a, b in pairwise(items.tolist()):  # each example alone, so that rounding depends on it alone
        running[a:b] = np.cumsum(price[a:b])
    fits = np.empty(len(order), dtype=bool)
    fits[order] = running <= (limit - spent)[of[order]] * (1 + 1e-12)
    return np.asarray(chosen & fits.reshape(chosen.shape))


def answers_of(session: Any, codes: NDArray[np.int32]) -> Any:
    """Codes as the model's own answers, where the session knows them; else an array of codes per example."""
    if hasattr(session, "answers"):
        return session.answers(codes)
    return np.split(codes, np.asarray(session.offsets)[1:-1])


def cost_of(state: State, offsets: Ends, costs: NDArray[np.float64]) -> NDArray[np.float64]:
    """What each example cost: (n_examples,)."""
    bought = np.add.reduceat(state, offsets[:-1], axis=0, dtype=np.int64)
    return np.asarray(costs[0] * np.diff(offsets) + (bought * costs[1:]).sum(axis=1))
