"""A `ChainClassifier` as a header and arrays, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .. import _core
from ..codec.reading import Section, require
from ..codec.room import TIMES_SPARSE, chain_bytes
from ..codec.writing import Arrays, encode_fields
from ..engine.threads import effective_threads
from ..structured import HOG, ChainClassifier, FeatureGroup
from ..structured.names import name_columns
from ..structured.restoring import ChainState, chain_state, checked_groups_of, set_chain_state
from .models import decode_labels, encode_labels
from .parameters import decode_plain, encode_plain

MOST_LABELS, MOST_SIZE = 65_536, 2**31 - 1
#: Weights, labels counted in sixteens, of a table of which a file may leave rows out: a small file must not make the
#: reader allocate without end.
MOST_LEFT_OUT = 2**28
#: Bytes of Python's and the engine's objects for the name of a feature.
NAME_OBJECTS = 400


def encode_chain(chain: ChainClassifier, arrays: Arrays) -> dict[str, Any]:
    """Describe a fitted chain, and put its weights into ``arrays``."""
    check_is_fitted(chain, "_chain")
    learned, groups = chain_state(chain), None if chain.feature_groups is None else checked_groups_of(chain)
    state: Any = learned.core.__getstate__()
    n_labels, sizes, own, table = state
    for group in groups or ():
        if group.extract is not None and type(group.extract) is not HOG:
            raise ValueError(
                f"Group {group.name!r} cannot be saved: its extractor is code, and a file holds none but wald's own "
                "HOG. Extract the features beforehand and make the group one without an extractor, or keep this model "
                "with pickle or joblib, which find functions that a module defines."
            )
    gap = getattr(chain, "duality_gap_", None)
    values = {
        "groups": groups,
        "n_labels": int(n_labels),
        "sizes": list(sizes),
        "own": bool(own),
        **_encode_table(table),
        "group_costs": np.asarray(chain.group_costs_, dtype=np.float64),
        "as_lists": learned.as_lists,
        "scale": learned.scale,
        "n_iter": int(chain.n_iter_),
        "duality_gap": None if gap is None else float(gap),
        **encode_labels(chain.classes_),
    }
    if chain.keep_names:
        values["names"] = np.frombuffer(b"".join(learned.names), dtype=np.uint8)
        values["name_lengths"] = np.array([len(name) for name in learned.names], dtype=np.int32)
    return {"parameters": encode_plain(chain, arrays, ("feature_groups",))} | encode_fields(values, arrays, "")


def decode_chain(header: Section) -> ChainClassifier:
    """Build the chain again."""
    parameters = decode_plain(header.section("parameters"), ChainClassifier, ("feature_groups",))
    groups = None
    if not header.lacks("groups"):
        raw = header.take("groups")
        require(isinstance(raw, list), "header.groups should be null or a list")
        groups = [
            header.inside(each, f"groups.{g}").made(FeatureGroup, extract=HOG | None) for g, each in enumerate(raw)
        ]
    chain = ChainClassifier(groups, **parameters)
    checked = checked_groups_of(chain)
    effective_threads(chain.n_jobs)
    chain.classes_ = decode_labels(header, header.integer("n_labels", 1, MOST_LABELS))
    sizes = header.get("sizes", list[int])
    known = all(0 <= size <= MOST_SIZE for size in sizes)
    require(known, f"header.sizes should hold whole numbers from 0 to {MOST_SIZE}")
    require(len(sizes) == len(checked), "header.sizes should have one entry for each of the groups")
    for group, size in zip(checked, sizes, strict=True):
        fits = not isinstance(group.extract, HOG) or _n_features(group.extract) == size
        require(fits, f"group {group.name!r} has another number of features than its extractor gives")
    core = _decode_weights(header, len(chain.classes_), sizes, header.get("own", bool))
    names = _decode_names(header) if chain.keep_names else {}
    scale = header.number("scale", low=0.0)
    set_chain_state(chain, ChainState(core, sizes, header.get("as_lists", bool), scale, names))
    require(core.finite(), "the weights rule out all labels that the constraints leave")
    chain.group_names_ = [group.name for group in checked]
    chain.group_costs_ = header.floats("group_costs", len(checked), low=0.0)
    chain.n_iter_ = header.integer("n_iter")
    if not header.lacks("duality_gap"):
        chain.duality_gap_ = header.number("duality_gap")
    return chain


def _n_features(hog: HOG) -> int:
    down, across = (side // hog.cell - hog.block + 1 for side in hog.shape)
    return down * across * hog.block**2 * hog.orientations


def _encode_table(table: NDArray[np.float32]) -> dict[str, Any]:
    """All weights; or the rows that have some; or the weights that are not zero, row by row with their labels.

    One of the latter if it takes less than half of the room; and the last one not where it takes so little that the
    reader of the file refuses the memory of all rows.
    """
    n_weights = _n_weights(*table.shape)
    if n_weights > MOST_LEFT_OUT:
        return {"rows": None, "table": table}
    cells = table.view(np.uint32) != 0  # bits: minus zero counts, so that the table comes back
    per_row = np.count_nonzero(cells, axis=1).astype(np.int32)
    rows = np.flatnonzero(per_row).astype(np.int32)
    few, size = 2 * len(rows) < len(table), 6 * int(per_row.sum(dtype=np.int64)) + 8 * len(rows)
    least = min(table.nbytes // 2, 4 * len(rows) * table.shape[1] if few else table.nbytes)
    if size < least and TIMES_SPARSE * size >= 10 * n_weights:
        labels = np.nonzero(cells)[1].astype(np.uint16)
        return {"rows": rows, "per_row": per_row[rows], "cells": labels, "weights": table[cells]}
    return {"rows": rows, "table": table[rows]} if few else {"rows": None, "table": table}


def _fill(table: NDArray[np.float32], rows: NDArray[np.int32], header: Section) -> None:
    """Put the weights of a file into some rows of an empty table."""
    n_labels = table.shape[1]
    if not header.holds("per_row"):
        table[rows] = header.array("table", ("float32",), len(rows), n_labels)
        return
    per_row = header.integers("per_row", ("int32",), len(rows), low=0, high=n_labels + 1)
    labels = header.integers("cells", ("uint16",), None, low=0, high=n_labels)
    require(int(per_row.sum(dtype=np.int64)) == len(labels), "the arrays 'per_row' and 'cells' do not fit together")
    cells = np.repeat(rows.astype(np.int64) * n_labels, per_row) + labels
    require((np.diff(cells) > 0).all(), "the array 'cells' should ascend in each row")
    table.reshape(-1)[cells] = header.array("weights", ("float32",), len(labels))


def _decode_names(header: Section) -> dict[bytes, tuple[int, bool]]:
    """Names of features; their columns are computed again."""
    lengths = header.integers("name_lengths", ("int32",), None, low=0, high=MOST_SIZE)
    raw = header.array("names", ("uint8",), None).tobytes()
    ends = np.cumsum(lengths, dtype=np.int64)
    require(
        (int(ends[-1]) if len(ends) else 0) == len(raw), "the arrays 'names' and 'name_lengths' do not fit together"
    )
    header.room.reserve(4 * len(raw) + NAME_OBJECTS * len(lengths), "names of features")
    return name_columns([[raw[end - n : end] for end, n in zip(ends.tolist(), lengths.tolist(), strict=True)]])


def _n_weights(n_rows: int, n_labels: int) -> int:
    return int(n_rows) * (-(-n_labels // 16) * 16)


def _decode_weights(header: Section, n_labels: int, sizes: list[int], own: bool) -> _core.Chain:
    """Weights; their number is checked before the engine makes room for them."""
    n_states = 2 ** (len(sizes) - 1)
    # With weights of its own, a state has a block for the first group, and every other group is in half of the states.
    blocks = sizes[0] * n_states + sum(sizes[1:]) * n_states // 2 if own else sum(sizes)
    n_rows = n_states + 2 + n_labels + blocks
    n_blocks = n_states * len(sizes) if own else len(sizes)
    needed = chain_bytes(n_labels, n_rows, len(sizes), n_blocks)
    what = f"{n_rows} rows of weights for {n_labels} labels"
    if header.lacks("rows"):
        table = header.array("table", ("float32",), n_rows, n_labels)
        header.room.reserve(needed, what)
    else:
        require(_n_weights(n_rows, n_labels) <= MOST_LEFT_OUT, "the table has too many rows for some to be left out")
        header.room.holds_sparse()
        header.room.reserve(needed + 4 * n_rows * n_labels, what)
        rows = header.integers("rows", ("int32",), None, low=0, high=n_rows)
        require((np.diff(rows) > 0).all(), "the array 'rows' should ascend")
        table = np.zeros((n_rows, n_labels), dtype=np.float32)
        _fill(table, rows, header)
    chain = _core.Chain(n_labels, sizes, own)
    chain.fill(table)
    return chain
