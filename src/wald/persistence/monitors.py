"""The counts of a monitor in a file."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..codec.reading import Section, require
from ..monitoring import Monitor
from ..monitoring.lines import State

#: What `Monitor.restore` takes.
COUNTS: dict[str, Any] = {
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
    """The counts of a monitor."""
    counts = monitor.counts()
    groups = np.array(counts["groups"], dtype=np.int64)
    return counts | {"stages": monitor.stage_counts.tolist(), "groups": groups}


def decode_monitor(section: Section) -> dict[str, Any]:
    """Read the counts of a monitor, as `Monitor.restore` takes them."""
    counts = {name: section.get(name, hint) for name, hint in COUNTS.items()}
    section.done()
    numbers = [*counts["stages"], *(counts[name] for name in ("audits", "disagreements", "unwatched"))]
    require(all(0 <= number < MOST for number in numbers), "header.monitor holds a count out of range")
    return counts | {"groups": counts["groups"].tolist()}
