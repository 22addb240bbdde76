"""Description of the machine, and measurements of its limits."""

from __future__ import annotations

import ctypes
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from .timing import Task

PACKAGES = (
    *("numpy", "scipy", "scikit-learn", "scikit-learn-intelex", "pandas", "polars"),
    *("lightgbm", "xgboost-cpu", "catboost", "lleaves", "onnxruntime"),
)
GEMM_ROWS, READ_BYTES, FMA_ROUNDS = 2048, 256 << 20, 10_000_000


def hardware() -> str:
    """Describe the processor, the cores and the system."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{_processor()}, {cores} cores visible, {platform.system()} {platform.machine()}"


def versions() -> list[str]:
    """List Python and the installed packages of `PACKAGES`, with their versions."""
    found = [f"Python {platform.python_version()}"]
    for name in PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return found


@dataclass(frozen=True)
class Limit:
    """A task that runs at a limit of the machine, and the amount of its work (flops or bytes)."""

    task: Task
    work: float


def limits(threads: int) -> dict[str, Limit]:
    """Tasks that run at the machine's limits, to be timed in the same rounds as the tasks compared with them.

    Returns
    -------
    dict
        ``"fma"``: fused multiply-adds in registers (missing where ``fma.c`` cannot be compiled);
        ``"sgemm"``: NumPy's float32 matrix product; ``"read"``: memory.
    """
    A = np.random.default_rng(0).random((GEMM_ROWS, GEMM_ROWS), dtype=np.float32)
    out = np.empty_like(A)
    parts = np.array_split(np.ones(READ_BYTES // 8), threads)

    def every_thread(call: Callable[[Any], object], arguments: Iterable[Any]) -> Callable[[], object]:
        pool = ThreadPoolExecutor(threads)
        return lambda: list(pool.map(call, arguments))

    found = {
        "sgemm": Limit(Task(lambda: np.matmul(A, A, out=out), threads), 2.0 * GEMM_ROWS**3),
        "read": Limit(Task(every_thread(np.max, parts), threads), float(READ_BYTES)),
    }
    chains = _fma_chains()
    if chains is not None:
        run, flops = chains
        found["fma"] = Limit(
            Task(every_thread(run, [FMA_ROUNDS] * threads), threads), float(FMA_ROUNDS * flops * threads)
        )
    return found


def _fma_chains() -> tuple[Callable[[int], float], int] | None:
    """Compile ``fma.c`` for the processor of this machine."""
    source = Path(__file__).with_name("fma.c")
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "fma.so"
        command = [
            os.environ.get("CC", "cc"),
            "-O3",
            "-march=native",
            "-ffp-contract=fast",
            "-shared",
            "-fPIC",
        ]
        try:
            subprocess.run([*command, str(source), "-o", str(library)], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"fma.c cannot be compiled: the matrix product is used as the peak ({error})", file=sys.stderr)
            return None
        loaded = ctypes.CDLL(str(library))  # stays loaded after its file is deleted
    loaded.fma_chains.argtypes, loaded.fma_chains.restype = [ctypes.c_long], ctypes.c_float
    return loaded.fma_chains, ctypes.c_long.in_dll(loaded, "flops_per_round").value


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
