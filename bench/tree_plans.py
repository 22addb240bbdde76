"""What is measured of every tree ensemble: plans at some risks beside the libraries' own predictions."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from wald import EarlyExitClassifier

from .models import disagreement, wrap
from .peers import ours
from .report import Figure
from .settings import Run
from .timing import Task, each_call, measure

#: Rows that are predicted one by one: by wald, and by the libraries, of which some take milliseconds.
ONE_ROWS, THEIR_ONE_ROWS = 1000, 20

Rows = NDArray[np.float32]
#: Predicts one row, given as an array of shape (1, n_features).
OneRow = Callable[[Rows], object]


def figures_of(
    name: str,
    model: Any,
    peers: dict[str, Task],
    X: Rows,
    X_fit: Rows,
    risks: tuple[float, ...],
    how: Run,
    own_row: OneRow | None = None,
) -> list[Figure]:
    """Measure a model at some risks: fit, disagreement, trees, time beside the peers, and one row.

    With ``own_row``, the library's own prediction, one row is compared with it.
    """
    plans: dict[float, EarlyExitClassifier] = {}
    figures: list[Figure] = []
    for risk in risks:
        start = time.perf_counter()
        plans[risk] = wrap(model, X_fit, risk=risk)
        seconds = time.perf_counter() - start
        differ, cost = disagreement(plans[risk], model, X)
        at = f"{name}, risk {100 * risk:g} %"
        figures += [
            Figure(f"{at}: fit on {len(X_fit)} rows", seconds, "s", note="once"),
            Figure(f"{at}: test disagreement", differ, "%", note=f"{len(X)} rows"),
            Figure(f"{at}: trees per row", cost, note=f"of {plans[risk].plan_.full_cost:g}"),
        ]
    threads = sorted({peer.threads for peer in peers.values()})
    tasks = {f"ours {risk} {n}": ours(plans[risk], X, n) for risk in risks for n in threads}
    t = measure({**tasks, **peers}, how.repeats)
    for risk in risks:
        for peer in peers:
            mine = t[f"ours {risk} {peers[peer].threads}"]
            figures.append(
                Figure(
                    f"{name}, risk {100 * risk:g} %: speed, {peers[peer].threads} thread(s)",
                    t[peer].median / mine.median,
                    "x",
                    peer,
                    f"{mine.spread}; peer {1e3 * t[peer].median:.4g} ms",
                )
            )
        figures += _one_row(f"{name}, risk {100 * risk:g} %", plans[risk], X, how, own_row)
    return figures


def _one_row(name: str, fast: EarlyExitClassifier, X: Rows, how: Run, own_row: OneRow | None) -> list[Figure]:
    rows = list(X[:ONE_ROWS])
    each_call(lambda i: fast.predict_one(rows[i]), len(rows), 1)
    median = 1e6 * float(np.median(each_call(lambda i: fast.predict_one(rows[i]), len(rows), how.repeats)))
    figures = [Figure(f"{name}: predict_one, median", median, "us", note=f"{len(rows)} rows")]
    if own_row is not None:
        with threadpool_limits(1):
            times = each_call(lambda i: own_row(X[i : i + 1]), THEIR_ONE_ROWS, how.repeats + 1)[1:]
        theirs = 1e6 * float(np.median(times))
        figures.append(
            Figure(f"{name}: predict_one, speed", theirs / median, "x", "its own predict", f"peer {theirs:.4g} us")
        )
    return figures
