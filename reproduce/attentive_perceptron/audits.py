"""Stop errors: requested, estimated from audits, and true."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from .._common import Record
from .learners import READINGS, Watched
from .material import Task

#: The stop errors requested.
DELTAS = (0.01, 0.05, 0.1)
#: Our boundary when it is adjusted after every audit, so that its error is the one requested.
HELD = "conditional, held"


def stop_errors(task: Task, seed: int) -> list[Record]:
    """Train with every reading and delta and default parameters, and count the true stop errors."""
    records: list[Record] = []
    draws = np.random.RandomState([seed, 13, zlib.crc32(task.name.encode())])
    for reading in (*READINGS, HELD):
        for delta in DELTAS:
            own = int(draws.randint(1 << 31))  # every run has audits of its own
            model = Watched(**_parameters(reading, delta), max_iter=task.epochs, tol=None, random_state=own)
            model.fit(task.X, task.y)
            rows, stopped, needed, wrong = (int(n) for n in model.problems_[0].learner.truth.sum(axis=0))
            audited = model.stop_error_
            kind = audited.error
            among = {"joint": rows, "posterior": stopped, "conditional": needed}
            if not audited.n_trials or not among[kind]:
                continue  # nothing was stopped or audited: the error is undefined
            low, high = audited.interval
            true = {name: wrong / n if n else 0.0 for name, n in among.items()}
            records.append(
                {
                    "data": task.data,
                    "task": task.name,
                    "seed": seed,
                    "reading": reading,
                    "error": kind,
                    "requested": delta,
                    "audited": audited.rate,
                    "low": low,
                    "high": high,
                    "true": true[kind],
                    "covered": int(low <= true[kind] <= high),
                    **{f"true_{name}": value for name, value in true.items()},
                }
            )
    return records


def _parameters(reading: str, delta: float) -> dict[str, Any]:
    if reading == HELD:
        return {"delta": "auto", "max_stop_error": delta}
    if reading == "conditional":
        return {"delta": delta}
    return {"attention": "constant", "boundary": reading, "delta": delta}
