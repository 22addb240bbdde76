"""The counts of a monitor in a file."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..codec.reading import Section, require
from ..monitoring import Monitor
from ..monitoring.lines import State

#: How a monitor audits, and what `Monitor.restore` takes.
COUNTS: dict[str, Any] = {
    "audit_rate": float,
    "on_broken": str,
    "stages": list[int],
    "audits": int,
    "disagreements": int | float,
    "state": State,
    "unwatched": int,
    "lines": list[tuple[int, int | float, State]],
    "groups": NDArray[np.int64],
}
MOST = 2**48


def monitor_fields(monitor: Monitor) -> dict[str, Any]:
    """How a monitor audits, and its counts."""
    counts = monitor.counts()
    groups = np.array(counts["groups"], dtype=np.int64)
    watched = {"audit_rate": monitor.audit_rate, "on_broken": monitor.on_broken}
    return counts | watched | {"stages": monitor.stage_counts.tolist(), "groups": groups}


def decode_monitor(section: Section) -> dict[str, Any]:
    """Read how a monitor audits, and its counts as `Monitor.restore` takes them."""
    counts = {name: section.get(name, hint) for name, hint in COUNTS.items()}
    section.done()
    numbers = [*counts["stages"], *(counts[name] for name in ("audits", "disagreements", "unwatched"))]
    require(all(0 <= number < MOST for number in numbers), "header.monitor holds a count out of range")
    return counts | {"groups": counts["groups"].tolist()}
