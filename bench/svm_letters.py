"""An RBF machine of 26 letters, one against one: 325 scores a row."""

from __future__ import annotations

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.svm import SVC

from wald import EarlyExitClassifier
from wald.datasets import fetch_ocr

from .models import disagreement, kept, vectors_of
from .peers import THREADS, ours
from .report import Figure
from .settings import Run
from .timing import Task, measure

TITLE = "SVC(kernel='rbf', C=10, gamma=0.03), letters of the OCR words (26 classes, 325 scores), risk 1 %"
TRAIN, FIT, TEST = slice(5_000), slice(5_000, 40_000), slice(-10_000, None)


def run(how: Run) -> list[Figure]:
    """Measure this setting."""
    ocr = fetch_ocr()
    X, y = np.concatenate(ocr.data).astype(np.float32), np.concatenate(ocr.target)
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X[order], y[order]
    svc = kept("letters-svc", lambda: SVC(C=10, gamma=0.03, cache_size=2000).fit(X[TRAIN], y[TRAIN]))
    fast = EarlyExitClassifier(FrozenEstimator(svc), risk=0.01, random_state=0).fit(X[FIT])
    rows = X[TEST][: how.rows(10_000, 1_000)]
    differ, cost = disagreement(fast, svc, rows)
    t = measure(
        {"svc": Task(lambda: svc.predict(rows), max(THREADS)), **{f"ours {n}": ours(fast, rows, n) for n in THREADS}},
        how.repeats,
    )
    return [
        Figure("test disagreement", differ, "%", note=f"{len(rows)} rows"),
        Figure("support vectors per row", cost, note=vectors_of(fast, svc)),
        Figure("time of svc.predict", t["svc"].median, "s", note=f"{t['svc'].repeats} runs; libsvm has one thread"),
        *(
            Figure(
                f"speed, n_jobs={n}", t["svc"].median / t[f"ours {n}"].median, "x", "svc.predict", t[f"ours {n}"].spread
            )
            for n in THREADS
        ),
    ]
