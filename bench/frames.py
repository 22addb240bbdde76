"""A linear model on data frames, whose columns are read one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from .models import LINEAR_TRAIN, digits, disagreement, wrap
from .peers import THREADS, ours
from .report import Figure
from .settings import Run
from .timing import Task, each_after, measure

TITLE = "LogisticRegression, digit 0 against the rest: training, fit and predict on frames of 784 float32 columns"
N_COLUMNS = 784
NAMES = [f"pixel_{i}" for i in range(N_COLUMNS)]


def run(how: Run) -> list[Figure]:
    """Measure this setting."""
    data = digits()
    n_rows = how.rows(200_000, 20_000)
    many = np.resize(data.X_test, (n_rows, N_COLUMNS))
    figures = []
    for library, frame_of in FRAMES.items():
        model = LogisticRegression(max_iter=200).fit(frame_of(data.X[:LINEAR_TRAIN]), data.y[:LINEAR_TRAIN] == 0)
        fast = wrap(model, frame_of(data.X[LINEAR_TRAIN:]))
        rows = frame_of(many)
        differ, pixels = disagreement(fast, model, rows)
        t = measure(
            {f"model {n}": Task(lambda model=model, rows=rows: model.predict(rows), n) for n in THREADS}
            | {f"ours {n}": ours(fast, rows, n) for n in THREADS},
            how.repeats,
        )
        theirs, threads = min((t[f"model {n}"].median, n) for n in THREADS)
        cold = each_after(lambda model=model, rows=rows: model.predict(rows), ours(fast, rows, 2), how.repeats)
        figures += [
            Figure(
                f"speed, {library}, n_jobs={n}",
                theirs / t[f"ours {n}"].median,
                "x",
                "model.predict at its best",
                f"{n_rows} rows, {t[f'ours {n}'].spread}; "
                f"the peer's best is {1e3 * theirs:.4g} ms, with {threads} threads",
            )
            for n in THREADS
        ]
        figures += [
            Figure(
                f"speed right after model.predict, {library}, n_jobs=2",
                theirs / cold.median,
                "x",
                "model.predict at its best",
                cold.spread,
            ),
            Figure(f"test disagreement, {library}", differ, "%"),
            Figure(f"columns per row, {library}", pixels, note="of 784"),
        ]
    return figures


def _pandas_block(X: NDArray[np.float32]) -> Any:
    import pandas as pd

    return pd.DataFrame(X, columns=NAMES)


def _pandas_columns(X: NDArray[np.float32]) -> Any:
    import pandas as pd

    return pd.DataFrame({name: X[:, i].copy() for i, name in enumerate(NAMES)}, copy=False)


def _polars(X: NDArray[np.float32]) -> Any:
    import polars as pl

    return pl.DataFrame(X, schema=NAMES, orient="row")


#: Functions that make a frame from an array. pandas stores a frame made from one array in one block of memory,
#: and a frame read from a columnar file in separate columns.
FRAMES: dict[str, Callable[[NDArray[np.float32]], Any]] = {
    "pandas, one block": _pandas_block,
    "pandas, columns apart": _pandas_columns,
    "polars": _polars,
}
