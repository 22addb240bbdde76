"""Jobs of many Parquet files, end to end: boosted trees on flights, and a linear model on MNIST's columns."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from wald import EarlyExitClassifier, Planner
from wald.datasets import fetch_flights
from wald.jobs import Options
from wald.jobs import run as run_job

from .fresh_process import in_fresh_process
from .memory import status_bytes
from .models import LINEAR_TRAIN, RISK, digits, kept
from .report import Figure
from .settings import Run
from .trees_flights import FIT, TEST, TRAIN, TREES

TITLE = "Jobs of many Parquet files against batches of the model's own predict over the same files, 2 threads"
THREADS = 2
#: Rows of a file, of a row group, of a small row group, and of the peer's batches.
FILE, GROUP, SMALL_GROUP, BATCH = 1_000_000, 100_000, 20_000, 100_000


def run(how: Run) -> list[Figure]:
    """Measure this setting."""
    with tempfile.TemporaryDirectory(dir=how.scratch) as name:
        return [*_flights(how, Path(name)), *_mnist(how, Path(name))]


def _flights(how: Run, folder: Path) -> list[Figure]:
    X, y = fetch_flights(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    train, fit, test = np.split(order[: TRAIN + FIT + TEST], [TRAIN, TRAIN + FIT])

    def make() -> Any:
        from lightgbm import LGBMClassifier

        return LGBMClassifier(n_estimators=TREES, num_leaves=31, n_jobs=1, verbose=-1).fit(X[train], y[train])

    model = kept("trees-flights", make, "lightgbm")
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=RISK, n_jobs=THREADS, random_state=0).fit(X[fit])
    n_rows = how.rows(20_000_000, 100_000)
    data = _written(folder / "flights", X[test], n_rows, shuffled=True)
    return _compared("LightGBM, flights", fast, model.booster_, data, n_rows)


def _mnist(how: Run, folder: Path) -> list[Figure]:
    data = digits("float32")
    y = data.y == 0
    model = LogisticRegression(max_iter=1000).fit(data.X[:LINEAR_TRAIN], y[:LINEAR_TRAIN])
    rest = data.X[LINEAR_TRAIN:]
    fast = EarlyExitClassifier(
        FrozenEstimator(model), risk=RISK, planner=Planner(cost="units"), n_jobs=THREADS, random_state=0
    ).fit(rest)
    n_rows, figures = how.rows(2_000_000, 80_000), []
    by_score = data.X_test[np.argsort(model.decision_function(data.X_test))]
    for name, rows, group in (
        ("shuffled", data.X_test, GROUP),
        ("sorted by score", by_score, GROUP),
        (f"sorted, {SMALL_GROUP} rows a group", by_score, SMALL_GROUP),
    ):
        files = _written(folder / "mnist", rows, n_rows, name == "shuffled", group)
        figures += _compared(f"logistic regression, MNIST {name}", fast, model, files, n_rows)
        shutil.rmtree(files)
    return figures


def _written(folder: Path, rows: NDArray[Any], n_rows: int, shuffled: bool, group: int = GROUP) -> Path:
    """Rows repeated to ``n_rows`` as Parquet files: in a random order, or each row's copies beside each other."""
    import pyarrow
    from pyarrow.parquet import ParquetWriter

    folder.mkdir()
    rng = np.random.default_rng(0)
    file_rows, group = min(FILE, max(1, n_rows // 4)), min(group, max(1, n_rows // 40))
    schema = pyarrow.schema([(f"c{c}", pyarrow.from_numpy_dtype(rows.dtype)) for c in range(rows.shape[1])])
    for i, begin in enumerate(range(0, n_rows, file_rows)):
        end = min(n_rows, begin + file_rows)
        with ParquetWriter(folder / f"rows{i:05}.parquet", schema) as writer:
            for start in range(begin, end, group):
                places = np.arange(start, min(end, start + group))
                chosen = rng.integers(0, len(rows), len(places)) if shuffled else places * len(rows) // n_rows
                columns = [np.ascontiguousarray(rows[chosen, c]) for c in range(rows.shape[1])]
                writer.write_table(pyarrow.table(columns, schema=schema))
    return folder


def _compared(name: str, fast: Any, model: Any, data: Path, n_rows: int) -> list[Figure]:
    own, peer = data.parent / "own", data.parent / "peer"
    seconds, peak, (decoded, there) = in_fresh_process(measured, by_job, fast, data, own)
    batched, batched_peak, _ = in_fresh_process(measured, by_batches, model, data, peer)
    shutil.rmtree(own)
    shutil.rmtree(peer)
    who = f"{type(model).__name__}.predict in batches of {BATCH} rows"
    return [
        Figure(
            f"{name}: speed", batched / seconds, "x", who, f"{n_rows} rows in {seconds:.3g} s against {batched:.3g}"
        ),
        Figure(f"{name}: peak memory", peak, "MiB", who, f"the peer's is {batched_peak:.0f} MiB"),
        Figure(f"{name}: bytes decoded", 100 * decoded / there, "%", "", f"of {there / 1e6:.1f} MB"),
    ]


def measured(work: Callable[..., Any], *args: Any) -> tuple[float, float, Any]:
    """Seconds of a call, the highest resident memory of this process in MiB, and what the call returned."""
    begun = time.perf_counter()
    result = work(*args)
    return time.perf_counter() - begun, status_bytes("VmHWM") / 2**20, result


def by_job(fast: Any, data: Path, out: Path) -> tuple[int, int]:
    """Run a job; bytes decoded, and bytes there."""
    report = run_job(fast, [str(data)], out, model="bench", options=Options())
    return report.bytes_decoded, report.bytes_there


def by_batches(model: Any, data: Path, out: Path) -> None:
    """What a batched job of the model's own ``predict`` does, one file after another."""
    import pyarrow
    from pyarrow.parquet import ParquetFile, ParquetWriter
    from threadpoolctl import threadpool_limits

    out.mkdir()
    with threadpool_limits(THREADS):
        for path in sorted(data.iterdir()):
            writer = ParquetWriter(out / path.name, pyarrow.schema([("label", pyarrow.int64())]))
            for batch in ParquetFile(path).iter_batches(BATCH):
                rows = np.column_stack([column.to_numpy(zero_copy_only=False) for column in batch.columns])
                if hasattr(model, "num_trees"):
                    labels = model.predict(rows, num_threads=THREADS) > 0.5
                else:
                    labels = model.predict(rows)
                writer.write_table(pyarrow.table({"label": labels.astype(np.int64)}))
            writer.close()
