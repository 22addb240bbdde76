"""Parts of some examples, and their features that policies use: from the model, and from what was bought.

Concatenated values of some examples' parts: example ``i`` has those from ``ends[i]`` to ``ends[i + 1]``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ..protocol import Session, State

Rows = NDArray[np.float32]
Ends = NDArray[np.int64]


class Known(NamedTuple):
    """Arrays from which complex features are computed."""

    evidence: Rows  # of the examples' parts
    state: State  # of all parts
    alone: Rows | None  # `Session.part_features` of all parts, where there are some
    offsets: NDArray[np.int64]
    examples: NDArray[np.int64]


def rows_of(session: Session, state: State, examples: NDArray[np.int64], features: str) -> Rows:
    """Describe the parts of some examples (n_parts of these examples, d); a part's row depends on its example alone.

    Simple features need no inference: `Session.part_features` of the part, the one before it and the one after it, the
    part's position, and the example's length. Complex ones are `Session.evidence` under the state
    (`Session.confidence`, if there is none) of the part and its neighbours, its means over the example, what was bought
    for the part, its neighbours and the example, and `Session.part_features` of the part.
    """
    if features == "complex":
        return _core.part_rows(*known_of(session, state, examples))
    if not hasattr(session, "part_features"):
        raise ValueError("features='simple' need a model whose sessions have part_features(); use 'complex'.")
    alone, nothing = _floats(session.part_features()), np.empty((len(state), 0), dtype=bool)
    return _core.part_rows(alone, nothing, None, _integers(session.offsets), _integers(examples), simple=True)


def known_of(session: Session, state: State, examples: NDArray[np.int64]) -> Known:
    """Query the model for the features of some examples."""
    found = session.evidence(state, examples) if hasattr(session, "evidence") else None
    if found is None:
        found = np.asarray(session.confidence(state, examples))[:, None]
    alone = _floats(session.part_features()) if hasattr(session, "part_features") else None
    return Known(_floats(found), np.ascontiguousarray(state), alone, _integers(session.offsets), _integers(examples))


def for_group(rows: Rows, group: int | NDArray[np.int64], n_groups: int) -> Rows:
    """Append an indicator of the group to rows, if there are several groups."""
    if n_groups == 1:
        return rows
    mark = np.zeros((len(rows), n_groups), dtype=np.float32)
    mark[np.arange(len(rows)), group] = 1
    return np.hstack([rows, mark])


def scores_by_group(score: Callable[[Rows], Any], rows: Rows, n_groups: int) -> NDArray[np.float64]:
    """Scores (n_rows, n_groups) of adding each group to each row."""
    return np.column_stack([score(for_group(rows, group, n_groups)) for group in range(n_groups)])


def parts_of(offsets: Ends, examples: NDArray[np.int64]) -> tuple[NDArray[np.int64], Ends]:
    """Indices of some examples' parts, and where each example's begin and end among them."""
    return _core.parts_of(_integers(offsets), _integers(examples))


def owner(ends: Ends) -> NDArray[np.int64]:
    """Index of the example that each value belongs to."""
    return np.repeat(np.arange(len(ends) - 1), np.diff(ends))


def ranks(values: NDArray[np.float64], ends: Ends) -> NDArray[np.int64]:
    """Place of each value within its example, 0 for the largest; of equal ones the first comes first."""
    order = np.lexsort((-values, owner(ends)))
    out = np.empty(len(values), dtype=np.int64)
    out[order] = np.arange(len(values)) - np.repeat(ends[:-1], np.diff(ends))
    return out


def counts(which: NDArray[np.bool_], ends: Ends) -> NDArray[np.int64]:
    """Count the true values within each example."""
    return np.add.reduceat(which, ends[:-1], dtype=np.int64)


def _floats(values: Any) -> Rows:
    return np.ascontiguousarray(values, dtype=np.float32)


def _integers(values: Any) -> NDArray[np.int64]:
    return np.ascontiguousarray(values, dtype=np.int64)
