"""Memory of `predict` for a million rows: besides the answers, and their ledger of 17 bytes a row, a tile."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

pytest.importorskip("psutil")

N_ROWS, ANSWERS, TILE = 1_000_000, 17 + 8, 40 << 20

SCRIPT = textwrap.dedent(
    """
    import gc, os, sys, threading, warnings
    import numpy as np, pandas as pd, polars as pl, psutil, pyarrow as pa
    from sklearn.compose import ColumnTransformer
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
    import wald

    warnings.simplefilter("ignore")
    model, held, method, n = *sys.argv[1:4], int(sys.argv[4])
    rng = np.random.default_rng(0)
    texts, numbers = [f"c{i}" for i in range(4)], [f"x{i}" for i in range(8)]

    def frame(n):
        words = {name: rng.choice([f"value {k}" for k in range(30)], n).astype(object) for name in texts}
        F = pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in words.items()})
        F = F.assign(**{name: rng.normal(size=n) for name in numbers})
        return pl.from_pandas(F) if held == "polars" else F

    def posts(n, kind=None):
        some = [" ".join(words) for words in np.array([f"word{i}" for i in range(500)])[rng.integers(0, 500, (999, 5))]]
        made = [f"{some[i % 999]} {i}" for i in range(n)]
        return {"list": list, "polars": pl.Series, "pandas": pd.Series, "arrow": pa.array}[kind or held](made)

    if model == "texts":
        make, y = posts, np.arange(3000) % 2
        pipeline = make_pipeline(TfidfVectorizer(), LogisticRegression())
    else:
        make = frame
        encoder, last = OneHotEncoder(handle_unknown="ignore"), LogisticRegression()
        if model == "trees":
            encoder, last = OrdinalEncoder(), HistGradientBoostingClassifier(max_iter=5)
        front = ColumnTransformer([("texts", encoder, texts), ("numbers", StandardScaler(), numbers)])
        pipeline, y = make_pipeline(front, last), np.arange(3000) % 2
    small, rows = make(3000), make(n)
    fast = wald.EarlyExitClassifier(pipeline.fit(small if model != "texts" else posts(3000, "list"), y), risk=0).fit()
    call = getattr(fast, method)
    call(small)
    gc.collect()
    process, done = psutil.Process(), threading.Event()
    before = most = process.memory_info().rss

    def sample():
        global most
        while not done.wait(0.002):
            most = max(most, process.memory_info().rss)

    sampling = threading.Thread(target=sample)
    sampling.start()
    answers = call(rows)
    done.set()
    sampling.join()
    print(most - before)
    """
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "held", "method"),
    [
        ("columns", "polars", "predict"),
        ("trees", "pandas", "predict_proba"),
        ("texts", "list", "predict"),
        *(
            pytest.param(*door, marks=pytest.mark.long)
            for door in (
                ("columns", "pandas", "predict"),
                ("trees", "polars", "predict"),
                ("texts", "pandas", "predict"),
                ("texts", "polars", "predict_proba"),
                ("texts", "arrow", "predict"),
            )
        ),
    ],
)
def test_a_million_rows_need_a_tile(model: str, held: str, method: str) -> None:
    surroundings = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", SCRIPT, model, held, method, str(N_ROWS)]
    found = subprocess.run(command, capture_output=True, text=True, env=surroundings, check=False)
    assert found.returncode == 0, found.stderr[-2000:]
    assert int(found.stdout) <= N_ROWS * ANSWERS + TILE
