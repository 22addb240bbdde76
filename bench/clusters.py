"""Time of a prediction on Dask with one worker process and with two, of one thread each.

``python -m bench.clusters`` needs the extra ``dask``. Rows are in the workers' memory, the model has been loaded, and
only labels come back; the ratio is that of the medians over the repeats, in turns.
"""

from __future__ import annotations

import argparse
import time
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.svm import SVC

from wald import EarlyExitClassifier
from wald.dask import predict

from .models import digits

TRAIN, PARTS, PART_ROWS = 6000, 24, 20_000
COLUMNS = [f"c{c}" for c in range(784)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    repeats = parser.parse_args().repeats
    data = digits("float32")
    y = data.y == 8
    model = SVC(C=10, gamma=0.02).fit(data.X[:TRAIN], y[:TRAIN])
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0.001, random_state=0).fit(data.X[TRAIN : 5 * TRAIN])
    times: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(repeats):
        for workers, taken in times.items():
            taken.append(seconds(workers, fast, data.X_test))
    one, two = map(median, times.values())
    print(f"{PARTS * PART_ROWS} rows: {one:.3g} s with one worker, {two:.3g} s with two: {one / two:.2f} x")


def seconds(workers: int, fast: EarlyExitClassifier, X: NDArray[Any]) -> float:
    """Time of one prediction on a new cluster."""
    import dask.dataframe
    import pandas
    from dask.distributed import Client, LocalCluster, wait

    with LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
        rows = dask.dataframe.from_map(
            part, range(PARTS), X=X[:4000], meta=pandas.DataFrame(X[:1], columns=COLUMNS)
        ).persist()
        wait(rows)
        labels = predict(rows, fast, columns=COLUMNS, keep=()).rows
        labels.partitions[: 2 * workers].compute()
        begun = time.perf_counter()
        labels.compute()
        return time.perf_counter() - begun


def part(number: int, X: NDArray[Any]) -> Any:
    """One partition: rows drawn with replacement."""
    import pandas

    rng = np.random.default_rng(number)
    return pandas.DataFrame(X[rng.integers(0, len(X), PART_ROWS)], columns=COLUMNS)


if __name__ == "__main__":
    main()
