"""What a policy knows of a part: what the model says of it and of its neighbours, and what was bought."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wald.structured.policies.segments import owner, parts_of
from wald.structured.protocol import Session, State

Rows = NDArray[np.float32]


def rows_of(session: Session, state: State, examples: NDArray[np.int64], features: str) -> Rows:
    """Describe the parts of some examples.

    Parameters
    ----------
    session : Session
    state : bool ndarray of shape (n_parts, K)
    examples : int64 ndarray
    features : {"simple", "complex"}
        Simple ones need no inference: what `Session.part_features` says of the part, of the one before it and of the
        one after it, where the part is, and how long the example is. Complex ones look at `Session.evidence` under the
        state (`Session.confidence`, if there is none), of the part and its neighbours, at its means over the example,
        and at what was bought for the part, its neighbours and the example; and at `Session.part_features` of the part.

    Returns
    -------
    float32 ndarray of shape (n_parts of these examples, d)
        A part's row depends on its example alone.
    """
    parts, ends = parts_of(np.asarray(session.offsets), examples)
    if features == "simple":
        if not hasattr(session, "part_features"):
            raise ValueError("features='simple' need a model whose sessions have part_features(); use 'complex'.")
        return np.hstack([_with_neighbours(session.part_features()[parts], ends), _places(ends)])
    known = session.evidence(state, examples) if hasattr(session, "evidence") else None
    if known is None:
        known = np.asarray(session.confidence(state, examples), dtype=np.float32)[:, None]
    bought = state[parts].astype(np.float32)
    both = np.hstack([known, bought])
    blocks = [_with_neighbours(both, ends), _means(both, ends)[owner(ends)], _places(ends)]
    if hasattr(session, "part_features"):
        blocks.append(session.part_features()[parts])
    return np.hstack(blocks)


def for_group(rows: Rows, group: int | NDArray[np.int64], n_groups: int) -> Rows:
    """Rows that say which group they ask for, where there is a choice."""
    if n_groups == 1:
        return rows
    mark = np.zeros((len(rows), n_groups), dtype=np.float32)
    mark[np.arange(len(rows)), group] = 1
    return np.hstack([rows, mark])


def _with_neighbours(values: Rows, ends: NDArray[np.int64]) -> Rows:
    """A part's values, those of the part before it and of the part after it; 0 where there is none."""
    before, after = np.zeros_like(values), np.zeros_like(values)
    before[1:], after[:-1] = values[:-1], values[1:]
    before[ends[:-1]] = 0
    after[ends[1:] - 1] = 0
    return np.hstack([values, before, after])


def _means(values: Rows, ends: NDArray[np.int64]) -> Rows:
    lengths = np.diff(ends)[:, None]
    return np.asarray(np.add.reduceat(values, ends[:-1], axis=0) / lengths, dtype=np.float32)


def _places(ends: NDArray[np.int64]) -> Rows:
    """Place from the begin, place from the end, and length."""
    lengths = np.diff(ends)
    place = np.arange(ends[-1]) - np.repeat(ends[:-1], lengths)
    length = np.repeat(lengths, lengths)
    return np.column_stack([place, length - 1 - place, length]).astype(np.float32)
