"""A whole data set, answered as a costly model answers it, with few calls: wald and BARGAIN, counted in calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from wald import answer
from wald.datasets import fetch_flights, fetch_mnist

from .models import kept
from .peers import optional
from .report import Figure
from .settings import Run

TITLE = "All rows of a data set: 30 000 digits as neighbours answer them, 30 000 flights as boosted trees do; counts"
DIGITS_TRAIN, DIGITS = 20_000, 30_000
FLIGHTS_TRAIN, FLIGHTS, TREES = 100_000, 30_000, 300
RISKS = (0.01, 0.05)
#: Draws of the rows that are asked, of wald and of BARGAIN.
DRAWS, PEER_DRAWS = 2, 1

Labels = NDArray[np.int64]


def run(how: Run) -> list[Figure]:
    """Measure this setting."""
    return _digits(how) + _flights(how)


def _digits(how: Run) -> list[Figure]:
    """Calls for nearest neighbours on digits; BARGAIN is given a linear proxy."""
    X, y = fetch_mnist(subset="all", return_X_y=True)
    shuffled = np.random.default_rng(0).permutation(len(X))
    train = shuffled[: how.rows(DIGITS_TRAIN, 2000)]
    rows = X[shuffled[DIGITS_TRAIN : DIGITS_TRAIN + how.rows(DIGITS, 6000)]]
    own = KNeighborsClassifier(5, n_jobs=2).fit(X[train], y[train]).predict(rows)
    return _calls("digits", rows, own, LogisticRegression(max_iter=60).fit(X[train], y[train]), how)


def _flights(how: Run) -> list[Figure]:
    """Calls for boosted trees on flights; nothing is given."""
    X, y = fetch_flights(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))

    def make() -> Any:
        from lightgbm import LGBMClassifier

        chosen = order[:FLIGHTS_TRAIN]
        return LGBMClassifier(n_estimators=TREES, num_leaves=31, n_jobs=1, verbose=-1).fit(X[chosen], y[chosen])

    rows = np.asarray(X[order[FLIGHTS_TRAIN : FLIGHTS_TRAIN + how.rows(FLIGHTS, 4000)]])
    own = kept("data-sets", make, "lightgbm").predict(rows)
    return _calls("flights", rows, own, None, how)


def _calls(name: str, rows: NDArray[Any], own: NDArray[Any], proxy: Any, how: Run) -> list[Figure]:
    """Calls of wald for each risk, with nothing given, and of BARGAIN with a proxy.

    Every row that is asked counts once, also those to learn from and for the certificate. The model is a lookup.
    """
    own = np.asarray(own).astype(np.int64)
    figures = []
    for risk in RISKS:
        title = f"{name} as a whole, {100 * risk:g} %"
        ours = _ours(rows, own, risk)
        figures.append(_figure(f"{title}: rows asked", *ours))
        if proxy is None:
            continue
        theirs = _bargain(rows, own, risk, proxy, how.rows(PEER_DRAWS, 1))
        if theirs is not None:
            more = float(np.mean(theirs[0]) / np.mean(ours[0]))
            figures.append(_figure(f"{title}: rows asked, BARGAIN, the proxy is given", *theirs))
            figures.append(Figure(f"{title}: times as many rows", more, "x", "BARGAIN", "wald is given no proxy"))
    return figures


def _figure(title: str, asked: list[float], differ: list[float]) -> Figure:
    spread = f"{100 * min(asked):.3g} to {100 * max(asked):.3g} %"
    note = f"mean of {len(asked)} draws, {spread}; at most {100 * max(differ):.2g} % of labels differ"
    return Figure(title, _mean(asked), "%", note=note)


def _mean(shares: list[float]) -> float:
    return 100 * float(np.mean(shares))


def _ours(rows: NDArray[Any], own: Labels, risk: float) -> tuple[list[float], list[float]]:
    """Shares of rows that are asked, and that differ."""
    ask = _lookup(rows, own)
    asked, differ = [], []
    for seed in range(DRAWS):
        found = answer(rows, ask, risk=risk, n_jobs=2, random_state=seed)
        asked.append(found.n_calls / len(rows))
        differ.append(float(np.mean(found.labels != own)))
    return asked, differ


def _lookup(rows: NDArray[Any], own: Labels) -> Callable[[NDArray[Any]], Labels]:
    """The model: what it has answered before."""
    known = {row.tobytes(): label for row, label in zip(rows, own.tolist(), strict=True)}
    return lambda some: np.array([known[row.tobytes()] for row in some])


def _bargain(
    rows: NDArray[Any], own: Labels, risk: float, proxy: Any, n_draws: int
) -> tuple[list[float], list[float]] | None:
    """Shares of rows that BARGAIN asks, and that differ; None where it is not installed. A record is a row's number."""
    peer = optional("BARGAIN")
    if peer is None:
        return None
    said = proxy.predict_proba(rows)
    labels, sure = proxy.classes_[said.argmax(axis=1)].astype(np.int64), said.max(axis=1)

    class Proxy(peer.Proxy):  # type: ignore[name-defined]  # a module without types
        def proxy_func(self, record: Any) -> tuple[int, float]:
            return int(labels[record]), float(sure[record])

    class Oracle(peer.Oracle):  # type: ignore[name-defined]  # likewise
        def oracle_func(self, record: Any, said: Any) -> tuple[bool, int]:
            return bool(own[record] == said), int(own[record])

    asked, differ = [], []
    for seed in range(n_draws):
        oracle = Oracle(verbose=False)
        process = peer.BARGAIN_A(
            Proxy(verbose=False), oracle, target=1.0 - risk, delta=0.05, verbose=False, seed=seed
        ).process
        found = np.asarray(process(list(range(len(rows)))))
        asked.append(oracle.get_number_preds() / len(rows))
        differ.append(float(np.mean(found != own)))
    return asked, differ
