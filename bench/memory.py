"""Memory of predict on a million rows mapped from disk."""

from __future__ import annotations

import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from wald import EarlyExitClassifier

from .fresh_process import in_fresh_process
from .models import BINARY_TRAIN, binary_svc, digits, wrap
from .peers import THREADS
from .report import Figure
from .settings import Run

TITLE = "The SVC of svm-binary on rows mapped from disk: growth of anonymous memory (RssAnon), labels excluded"
SAMPLE_SECONDS = 0.001


def run(how: Run) -> list[Figure]:
    """Measure this setting."""
    n_rows = how.rows(1_000_000, 100_000)
    figures = []
    with tempfile.TemporaryDirectory(dir=how.scratch) as folder:
        for dtype in ("float32", "uint8"):
            data = digits(dtype)
            path = Path(folder) / f"{dtype}.npy"
            _write_rows(path, data.X_test, n_rows)
            fast = wrap(binary_svc(dtype), data.X[BINARY_TRAIN:])
            for n in THREADS:
                growth, seconds = in_fresh_process(growth_of, fast, path, n)
                figures.append(
                    Figure(
                        f"growth, {dtype} rows, {n} thread{'s' * (n > 1)}",
                        growth,
                        "MiB",
                        note=f"{n_rows} rows in {seconds:.3g} s, first call of a fresh process",
                    )
                )
            path.unlink()
    return figures


def growth_of(fast: EarlyExitClassifier, path: Path, threads: int) -> tuple[float, float]:
    """Return the highest growth of anonymous memory in MiB while rows are predicted, and the seconds that it took."""
    rows = np.load(path, mmap_mode="r")
    fast.n_jobs = threads
    with PeakMemory() as memory:
        start = time.perf_counter()
        labels = fast.predict(rows)
        seconds = time.perf_counter() - start
    return (memory.highest - memory.before - labels.nbytes) / 2**20, seconds


class PeakMemory:
    """Samples the anonymous memory of this process a thousand times a second, and keeps the highest value."""

    def __init__(self) -> None:
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._sample)
        self.before = self.highest = 0

    def __enter__(self) -> PeakMemory:
        self._thread.start()
        time.sleep(20 * SAMPLE_SECONDS)  # the sampling thread's own memory is not counted
        self.before = self.highest = status_bytes("RssAnon")
        return self

    def __exit__(self, *failure: Any) -> None:
        self.highest = max(self.highest, status_bytes("RssAnon"))
        self._done.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._done.wait(SAMPLE_SECONDS):
            self.highest = max(self.highest, status_bytes("RssAnon"))


def status_bytes(field: str) -> int:
    """Read a field of /proc/self/status in bytes: RssAnon (anonymous memory) or VmHWM (peak resident size)."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/self/status has no {field}: this setting needs Linux 4.5 or newer.")


def _write_rows(path: Path, X: np.ndarray, n_rows: int) -> None:
    out = np.lib.format.open_memmap(path, mode="w+", dtype=X.dtype, shape=(n_rows, X.shape[1]))
    for start in range(0, n_rows, len(X)):
        out[start : start + len(X)] = X[: n_rows - start]
    out.flush()
