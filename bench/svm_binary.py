"""A binary RBF machine, digit 8 against the rest, compared with its peers and with the machine's limits."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC

from wald import EarlyExitClassifier

from .frames import FRAMES
from .machine import limits
from .models import BINARY_TRAIN, binary_svc, digits, disagreement, intelex_svc, vectors_of, wrap
from .peers import THREADS, intelex, ours, plain_product, with_threads
from .report import Figure
from .settings import Run
from .timing import Task, each_call, measure

TITLE = "SVC(kernel='rbf', C=5, gamma=0.02), digit 8 against the rest, 2 188 support vectors, risk 0.1 %"
#: Largest value that is added to pixels, so that none is zero; labels hardly change.
NOISE = 1e-3
ONE_ROWS = 1000


def run(how: Run) -> list[Figure]:
    """Measure this setting."""
    data, svc = digits(), binary_svc()
    start = time.perf_counter()
    fast = wrap(svc, data.X[BINARY_TRAIN:])
    fit_seconds = time.perf_counter() - start
    X = data.X_test[: how.rows(10_000, 2_000)]
    differ, cost = disagreement(fast, svc, X)
    return [
        Figure(f"fit on {len(data.X) - BINARY_TRAIN} rows", fit_seconds, "s", note="2 threads, once"),
        Figure("test disagreement", differ, "%", note=f"{len(X)} rows"),
        Figure("support vectors per row", cost, note=vectors_of(fast, svc)),
        *_against_peers(fast, svc, X, how),
        *_against_machine(fast, X, how),
        *_one_row(fast, X, how),
    ]


def _against_peers(fast: EarlyExitClassifier, svc: SVC, X: NDArray[np.float32], how: Run) -> list[Figure]:
    peer, product, X64 = intelex_svc("binary"), plain_product(svc), X.astype(np.float64)
    two = with_threads(fast, 2)

    def in_frame(rows: Any) -> Task:  # the model was trained without names
        return Task(lambda: two.predict(rows, check_input=False), 2)

    t = measure(
        {
            "svc": Task(lambda: svc.predict(X), max(THREADS)),
            "svc64": Task(lambda: svc.predict(X64), max(THREADS)),
            **{f"intelex {n}": intelex(peer, X, n) for n in THREADS},
            **{f"product {n}": Task(lambda: product(X), n) for n in THREADS},
            **{f"ours {n}": ours(fast, X, n) for n in THREADS},
            **{f"ours64 {n}": ours(fast, X64, n) for n in THREADS},
            **{f"ours, {library}": in_frame(frame_of(X)) for library, frame_of in FRAMES.items()},
        },
        how.repeats,
    )
    svc_seconds = t["svc"].median
    best = {name: min((t[f"{name} {n}"].median, n) for n in THREADS) for name in ("intelex", "product")}

    def speed(mine: str, peer: str, peer_seconds: float, rows: str = "", note: str = "") -> Figure:
        threads = 1 if mine.endswith("1") else 2
        return Figure(
            f"speed{rows}, n_jobs={threads}", peer_seconds / t[mine].median, "x", peer, note or t[mine].spread
        )

    def at_best(name: str) -> str:
        seconds, threads = best[name]
        return f"the peer's best is {1e3 * seconds:.4g} ms, with {threads} threads"

    own_model = f"; it trains a model of its own, {len(peer.support_)} support vectors"
    return [
        Figure("time of svc.predict", svc_seconds, "s", note=f"{t['svc'].repeats} runs; libsvm has one thread"),
        speed("ours 2", "svc.predict", svc_seconds),
        speed("ours 1", "svc.predict", svc_seconds),
        speed("ours64 2", "svc.predict", t["svc64"].median, " on float64 rows"),
        speed("ours64 1", "svc.predict", t["svc64"].median, " on float64 rows"),
        *(
            speed(f"ours, {library}", "svc.predict on an array", svc_seconds, f" on a data frame ({library})")
            for library in FRAMES
        ),
        speed("ours 2", "scikit-learn-intelex at its best", best["intelex"][0], note=at_best("intelex") + own_model),
        speed("ours 1", "scikit-learn-intelex, n_jobs=1", t["intelex 1"].median),
        speed("ours 2", "a plain float32 product at its best", best["product"][0], note=at_best("product")),
        speed("ours 1", "a plain float32 product, 1 thread", t["product 1"].median),
    ]


def _against_machine(fast: EarlyExitClassifier, X: NDArray[np.float32], how: Run) -> list[Figure]:
    noise = np.random.default_rng(0).random(X.shape, dtype=np.float32)
    dense = X + np.float32(NOISE) * (1 - noise)  # in (0, NOISE]
    figures = []
    for n in THREADS:
        # The limits are timed in the same rounds: the clock of a shared machine is not constant.
        at_best = limits(n)
        t = measure(
            {"dense": ours(fast, dense, n), "digits": ours(fast, X, n)}
            | {name: limit.task for name, limit in at_best.items()},
            how.repeats,
        )
        peak = {name: limit.work / t[name].median for name, limit in at_best.items()}
        top = peak.get("fma", peak["sgemm"])
        for name, rows in (("dense", dense), ("digits", X)):
            vectors = fast.predict(rows, return_cost=True)[1]
            dense_flops = 2.0 * rows.shape[1] * vectors.sum()
            flops = 2.0 * float(np.count_nonzero(rows, axis=1) @ vectors)  # zero pixels are skipped
            seconds, moved = t[name].median, rows.nbytes + _bytes_read(rows, vectors)
            shares = {"FMA peak": flops / seconds / top, "bandwidth": moved / seconds / peak["read"]}
            nearer = max(shares, key=lambda limit: shares[limit])
            what = "rows without a zero" if name == "dense" else "digits"
            figures.append(
                Figure(
                    f"share of the {nearer}, {what}, {n} thread{'s' * (n > 1)}",
                    100 * shares[nearer],
                    "%",
                    "this machine's limit",
                    f"reads {moved / seconds / 1e9:.3g} of {peak['read'] / 1e9:.3g} GB/s; "
                    f"{flops / seconds / 1e9:.3g} Gflop/s on pixels that are not zero"
                    + (f" ({dense_flops / seconds / 1e9:.3g} counting all)" if name == "digits" else "")
                    + f", peak {top / 1e9:.3g}, NumPy's product {peak['sgemm'] / 1e9:.3g}; "
                    f"{vectors.mean():.1f} vectors a row, {1e3 * seconds:.3g} ms",
                )
            )
    return figures


def _bytes_read(rows: NDArray[np.float32], vectors: NDArray[np.float64]) -> float:
    """Bytes of the model that the most expensive rows read: at each pixel that is non-zero in one of these rows."""
    longest = vectors == vectors.max()
    return 4.0 * float(vectors.max()) * float(np.count_nonzero(rows[longest].any(axis=0)))


def _one_row(fast: EarlyExitClassifier, X: NDArray[np.float32], how: Run) -> list[Figure]:
    rows = list(X[:ONE_ROWS])
    each_call(lambda i: fast.predict_one(rows[i]), len(rows), 1)
    times = 1e6 * each_call(lambda i: fast.predict_one(rows[i]), len(rows), how.repeats)
    note = f"{len(rows)} rows, median of {how.repeats} passes"

    def figure(what: str, values: NDArray[np.float64]) -> Figure:
        return Figure(f"predict_one, {what}", float(np.median(values)), "us", note=note)

    return [
        figure("median", np.median(times, axis=1)),
        figure("mean", times.mean(axis=1)),
        figure("99th percentile", np.quantile(times, 0.99, axis=1)),
    ]
