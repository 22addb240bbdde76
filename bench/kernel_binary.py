"""A: a binary kernel machine, digit 8 against the rest."""

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

TITLE = "A. SVC(kernel='rbf', C=5, gamma=0.02), digit 8 against the rest, 2 188 support vectors, risk 0.1 %"
#: Added to every pixel for the measurement of dense rows: no pixel is zero then, and labels hardly change.
NOISE = 1e-3
ONE_ROWS = 1000


def run(how: Run) -> list[Figure]:
    """Measure setting A."""
    data, svc = digits(), binary_svc()
    start = time.perf_counter()
    fast = wrap(svc, data.X[BINARY_TRAIN:])
    fit_seconds = time.perf_counter() - start
    X = data.X_test[: how.rows(10_000, 2_000)]
    differ, cost = disagreement(fast, svc, X)
    return [
        Figure(f"fit on {len(data.X) - BINARY_TRAIN} rows", fit_seconds, " s", at_most=60, note="2 threads, once"),
        Figure("test disagreement", differ, " %", at_most=0.1, note=f"{len(X)} rows"),
        Figure("support vectors per row", cost, "", at_most=105, note=vectors_of(fast, svc)),
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
            **{f"ours, {library}": in_frame(frame_of(X)) for library, (frame_of, _) in FRAMES.items()},
        },
        how.repeats,
    )
    svc_seconds = t["svc"].median
    best = {name: min((t[f"{name} {n}"].median, n) for n in THREADS) for name in ("intelex", "product")}

    def ratio(what: str, peer_seconds: float, mine: str, at_least: float | None = None, note: str = "") -> Figure:
        return Figure(what, peer_seconds / t[mine].median, "x", at_least=at_least, note=note or t[mine].spread)

    return [
        Figure("svc.predict", svc_seconds, " s", note=f"{t['svc'].repeats} runs; libsvm has one thread"),
        ratio("faster than svc.predict, n_jobs=2", svc_seconds, "ours 2", 1000),
        ratio("faster than svc.predict, n_jobs=1", svc_seconds, "ours 1", 500),
        ratio("float64 rows, n_jobs=2", t["svc64"].median, "ours64 2", 400),
        ratio("float64 rows, n_jobs=1", t["svc64"].median, "ours64 1"),
        *(ratio(f"rows in a frame of {library}, n_jobs=2", svc_seconds, f"ours, {library}") for library in FRAMES),
        ratio(
            "faster than scikit-learn-intelex, n_jobs=2",
            best["intelex"][0],
            "ours 2",
            40,
            f"its best, {1e3 * best['intelex'][0]:.4g} ms, is with {best['intelex'][1]} threads; "
            f"trained by itself, {len(peer.support_)} support vectors",
        ),
        ratio("faster than scikit-learn-intelex, both n_jobs=1", t["intelex 1"].median, "ours 1"),
        ratio(
            "faster than a plain float32 product, n_jobs=2",
            best["product"][0],
            "ours 2",
            note=f"its best, {1e3 * best['product'][0]:.4g} ms, is with {best['product'][1]} threads",
        ),
        ratio("faster than a plain float32 product, both n_jobs=1", t["product 1"].median, "ours 1"),
    ]


def _against_machine(fast: EarlyExitClassifier, X: NDArray[np.float32], how: Run) -> list[Figure]:
    noise = np.random.default_rng(0).random(X.shape, dtype=np.float32)
    dense = X + np.float32(NOISE) * (1 - noise)  # in (0, NOISE]
    figures = []
    for n in THREADS:
        # in turns with the limits that they are held against: the clock of a shared machine moves
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
            every = 2.0 * rows.shape[1] * vectors.sum()
            lit = 2.0 * float(np.count_nonzero(rows, axis=1) @ vectors)
            seconds, moved = t[name].median, rows.nbytes + _reach(rows, vectors)
            shares = {"FMA peak": lit / seconds / top, "bandwidth": moved / seconds / peak["read"]}
            binds = max(shares, key=lambda limit: shares[limit])
            what = "rows without a zero" if name == "dense" else "digits"
            figures.append(
                Figure(
                    f"share of the {binds}, which binds, {what}, {n} thread{'s' * (n > 1)}",
                    100 * shares[binds],
                    " %",
                    at_least=75.0 if name == "digits" and n == max(THREADS) else None,
                    note=f"reads {moved / seconds / 1e9:.3g} of {peak['read'] / 1e9:.3g} GB/s; "
                    f"{lit / seconds / 1e9:.3g} Gflop/s on pixels that are not zero"
                    + (f" ({every / seconds / 1e9:.3g} counting all)" if name == "digits" else "")
                    + f", peak {top / 1e9:.3g}, NumPy's product {peak['sgemm'] / 1e9:.3g}; "
                    f"{vectors.mean():.1f} vectors a row, {1e3 * seconds:.3g} ms",
                )
            )
    return figures


def _reach(rows: NDArray[np.float32], vectors: NDArray[np.float64]) -> float:
    """Bytes of the model that have to be fetched for the rows that see the most of it, where they have no zeros."""
    longest = vectors == vectors.max()
    return 4.0 * float(vectors.max()) * float(np.count_nonzero(rows[longest].any(axis=0)))


def _one_row(fast: EarlyExitClassifier, X: NDArray[np.float32], how: Run) -> list[Figure]:
    rows = list(X[:ONE_ROWS])
    each_call(lambda i: fast.predict_one(rows[i]), len(rows), 1)
    times = 1e6 * each_call(lambda i: fast.predict_one(rows[i]), len(rows), how.repeats)
    note = f"{len(rows)} rows, median of {how.repeats} passes"

    def figure(what: str, values: NDArray[np.float64], at_most: float | None = None) -> Figure:
        return Figure(f"predict_one, {what}", float(np.median(values)), " us", at_most=at_most, note=note)

    return [
        figure("median", np.median(times, axis=1), 4),
        figure("mean", times.mean(axis=1), 8),
        figure("99th percentile", np.quantile(times, 0.99, axis=1)),
    ]
