"""The counts of a monitor, and the rows with which it compares them, as header fields and arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..codec.arrays import Arrays, Stock, require
from ..codec.header import Section
from ..monitoring import Monitor
from ..monitoring.monitor import STATES

#: The arrays of hashes of groups that were counted, and of validation rows of which each has another group.
GROUPS, ROWS = "monitor.groups", "validation.one_per_group"
MOST = 2**48


def encode_monitor(monitor: Monitor, arrays: Arrays) -> dict[str, Any]:
    """Describe the counts of a monitor."""
    counts = monitor.counts()
    lines, groups = counts.pop("lines"), counts.pop("groups")
    if groups:
        arrays[GROUPS] = np.array(groups, dtype=np.int64)
    return {
        "stages": monitor.stage_counts.tolist(),
        **counts,
        "grouped": bool(groups),
        "line_audits": [n for n, _, _ in lines],
        "line_disagreements": [lost for _, lost, _ in lines],
        "line_broken": [int(state == "broken") for _, _, state in lines],
    }


def decode_monitor(section: Section, stock: Stock) -> dict[str, Any]:
    """Read the counts of a monitor, as `Monitor.restore` takes them."""
    counts: dict[str, Any] = {"stages": _counts(section, "stages")}
    counts |= {name: section.integer(name, 0, MOST) for name in ("audits", "unwatched")}
    counts["disagreements"] = _number(section.take("disagreements"), "disagreements")
    counts["state"] = section.choice("state", STATES)
    columns: list[Any] = [_counts(section, f"line_{name}") for name in ("audits", "broken")]
    columns.insert(1, [_number(lost, "line_disagreements") for lost in section.items("line_disagreements")])
    require(len({len(column) for column in columns}) == 1, "header.monitor has lines of different lengths")
    states = ["broken" if broken else "holding" for broken in columns[2]]
    counts["lines"] = list(zip(*columns[:2], states, strict=True))
    counts["groups"] = stock.take(GROUPS, ("int64",), None).tolist() if section.flag("grouped") else []
    section.done()
    return counts


def decode_rows(stock: Stock, n_rows: int) -> NDArray[np.intp]:
    """Read which validation rows are of different groups."""
    rows = stock.integers(ROWS, ("int64",), None, low=0, high=n_rows)
    require(np.all(rows[:-1] < rows[1:]), f"the array {ROWS!r} does not rise")
    return rows.astype(np.intp)


def _number(given: Any, name: str) -> float:
    require(type(given) in (int, float) and 0 <= given < MOST, f"header.monitor.{name} is no sum of losses")
    return float(given) if type(given) is float else int(given)


def _counts(section: Section, name: str) -> list[int]:
    given = section.take(name)
    require(
        isinstance(given, list) and all(type(n) is int and 0 <= n < MOST for n in given),
        f"header.monitor.{name} is no list of counts",
    )
    return list(given)
