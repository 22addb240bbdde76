"""D: a linear model on data frames, whose columns are pulled one by one."""

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

TITLE = "D. Digit 0 against the rest, trained, fitted and asked on frames of 784 float32 columns"
N_COLUMNS = 784
NAMES = [f"pixel_{i}" for i in range(N_COLUMNS)]


def run(how: Run) -> list[Figure]:
    """Measure setting D."""
    data = digits()
    n_rows = how.rows(200_000, 20_000)
    many = np.resize(data.X_test, (n_rows, N_COLUMNS))
    figures = []
    for library, (frame_of, at_least) in FRAMES.items():
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
                f"faster than model.predict, {library}, n_jobs={n}",
                theirs / t[f"ours {n}"].median,
                "x",
                at_least=at_least if n == 2 else None,
                note=f"{n_rows} rows, {t[f'ours {n}'].spread}; "
                f"its best, {1e3 * theirs:.4g} ms, is with {threads} threads",
            )
            for n in THREADS
        ]
        figures += [
            Figure(
                f"the same, right after model.predict, {library}, n_jobs=2", theirs / cold.median, "x", note=cold.spread
            ),
            Figure(f"test disagreement, {library}", differ, " %"),
            Figure(f"columns per row, {library}", pixels, "", note="of 784"),
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


#: How a frame is made of an array, and what is asked. pandas keeps one block of memory where a frame is made of one
#: array, and columns apart where it is read from a file of columns.
FRAMES: dict[str, tuple[Callable[[NDArray[np.float32]], Any], float]] = {
    "pandas, one block": (_pandas_block, 12),
    "pandas, columns apart": (_pandas_columns, 12),
    "polars": (_polars, 20),
}
