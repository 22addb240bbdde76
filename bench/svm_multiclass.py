"""An RBF machine of ten classes, one against one."""

from __future__ import annotations

import time

from wald import EarlyExitClassifier

from .fresh_process import in_fresh_process
from .memory import status_bytes
from .models import MULTICLASS_TRAIN, digits, disagreement, intelex_svc, multiclass_svc, vectors_of, wrap
from .peers import THREADS, intelex, ours
from .report import Figure
from .settings import Run
from .timing import Task, measure

TITLE = "SVC(kernel='rbf', C=5, gamma=0.02), ten digits, 5 515 support vectors, risk 0.1 %"


def run(how: Run) -> list[Figure]:
    """Measure this setting."""
    data, svc = digits(), multiclass_svc()
    fast, fit_seconds, peak_gib = in_fresh_process(measure_fit)
    X = data.X_test[: how.rows(10_000, 1_000)]
    peer = intelex_svc("multiclass")
    differ, cost = disagreement(fast, svc, X)
    t = measure(
        {
            "svc": Task(lambda: svc.predict(X), max(THREADS)),
            **{f"intelex {n}": intelex(peer, X, n) for n in THREADS},
            **{f"ours {n}": ours(fast, X, n) for n in THREADS},
        },
        how.repeats,
    )
    intelex_seconds, threads = min((t[f"intelex {n}"].median, n) for n in THREADS)
    return [
        Figure(
            f"fit on {len(data.X) - MULTICLASS_TRAIN} rows",
            fit_seconds,
            "s",
            note="2 threads, once, in a process of its own",
        ),
        Figure("peak memory of that process", peak_gib, "GiB", note="resident, rows and libraries included"),
        Figure("test disagreement", differ, "%", note=f"{len(X)} rows"),
        Figure("support vectors per row", cost, note=vectors_of(fast, svc)),
        Figure("time of svc.predict", t["svc"].median, "s", note=f"{t['svc'].repeats} runs; libsvm has one thread"),
        Figure("speed, n_jobs=2", t["svc"].median / t["ours 2"].median, "x", "svc.predict", t["ours 2"].spread),
        Figure("speed, n_jobs=1", t["svc"].median / t["ours 1"].median, "x", "svc.predict", t["ours 1"].spread),
        Figure(
            "speed, n_jobs=2",
            intelex_seconds / t["ours 2"].median,
            "x",
            "scikit-learn-intelex at its best",
            f"the peer's best is {1e3 * intelex_seconds:.4g} ms, with {threads} threads; it trains a model of its own, "
            f"{len(peer.support_)} support vectors",
        ),
    ]


def measure_fit() -> tuple[EarlyExitClassifier, float, float]:
    """Return the fitted classifier, the seconds that fit took, and the peak memory of this process in GiB."""
    data, svc = digits(), multiclass_svc()
    start = time.perf_counter()
    fast = wrap(svc, data.X[MULTICLASS_TRAIN:])
    seconds = time.perf_counter() - start
    return fast, seconds, status_bytes("VmHWM") / 2**30  # getrusage would include the memory of the parent
