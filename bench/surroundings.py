"""Conditions that slow wald or a peer down by accident: environment variables, CPU affinity, other processes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

#: Prefixes of variables that control instruction sets, kernels and threads of the libraries compared.
STEERING = (
    "ACCELERATE_", "ATLAS_", "BLIS_", "DAAL_", "DNNL_", "GOMP_", "GOTO_", "KMP_", "LIBXSMM_", "MKL_",
    "NPY_DISABLE_CPU_FEATURES", "NPY_ENABLE_CPU_FEATURES", "NUMBA_", "NUMEXPR_", "OMP_", "ONEDAL_", "ONEDNN_",
    "OPENBLAS_", "POLARS_MAX_THREADS", "SKLEARNEX_", "TBB_", "VECLIB_", "WALD_SIMD",
)  # fmt: skip
#: Variables that the benchmark sets itself, before these libraries are loaded.
OURS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS"), "2")
#: Variables that scikit-learn sets when it is imported.
SET_BY_SKLEARN = ("KMP_DUPLICATE_LIB_OK", "KMP_INIT_AT_FORK")
CLEARED = "WALD_BENCH_CLEARED"
#: OpenBLAS's kernels for processors without AVX2.
OLD_KERNELS = (
    "Katmai", "Coppermine", "Northwood", "Banias", "Prescott", "Core2", "Penryn", "Dunnington", "Atom", "Nano",
    "Nehalem", "Sandybridge", "Athlon", "Opteron", "Opteron_SSE3", "Barcelona", "Bobcat", "Bulldozer", "Piledriver",
    "Steamroller", "Excavator", "Generic",
)  # fmt: skip
#: Number of processors that is needed, because two threads are timed.
FEWEST = 2
#: Number of processors that other processes may use during a run.
OTHERS_MAY_TAKE = 0.2
SAMPLE_SECONDS = 0.5


def steering(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that control the libraries compared, without those that the benchmark sets."""
    return {
        name: value
        for name, value in environ.items()
        if name.upper().startswith(STEERING) and name not in SET_BY_SKLEARN and OURS.get(name) != value and value != ""
    }


def clear() -> None:
    """Restart this program without the variables that control the libraries compared, if any are set.

    A library reads them when it is loaded, and a start-up file of Python may have loaded it already.
    """
    found = steering(os.environ)
    if not found or CLEARED in os.environ:
        return
    removed = ", ".join(f"{name}={value}" for name, value in sorted(found.items()))
    print(f"left out, so that every library is at its best: {removed}", file=sys.stderr, flush=True)
    environ = {name: value for name, value in os.environ.items() if name not in found} | {CLEARED: removed}
    command = [sys.executable, *sys.orig_argv[1:]]
    if os.name == "nt":  # on Windows, exec returns to the caller at once
        raise SystemExit(subprocess.run(command, env=environ, check=False).returncode)
    os.execve(sys.executable, command, environ)


def libraries() -> list[dict[str, Any]]:
    """Return the libraries that threadpoolctl finds once all that are compared are loaded."""
    import numpy  # noqa: F401
    import scipy.linalg  # noqa: F401
    import sklearn.svm  # noqa: F401
    from threadpoolctl import threadpool_info

    import wald  # noqa: F401

    return [dict(info) for info in threadpool_info()]


def named(info: Mapping[str, Any]) -> str:
    """Describe a library, its kernel and its threads."""
    if info["user_api"] == "wald":
        from wald import _core

        return f"wald {info['version']} (kernel {_core.simd_level()}, {info['num_threads']} threads)"
    kernel = f"kernel {info['architecture']}, " if info.get("architecture") else ""
    owner = Path(info["filepath"]).parent.name.partition(".")[0]
    version = f" {info['version']}" if info.get("version") else ""
    return f"{owner}'s {info['internal_api']}{version} ({kernel}{info['num_threads']} threads)"


def handicaps() -> list[str]:
    """Reasons, as text, why the results of this run may not be kept; empty if there are none."""
    from wald import _core

    found = [f"{name}={value} is set" for name, value in sorted(steering(os.environ).items())]
    if _core.simd_level() != _core.simd_levels()[-1]:
        found.append(f"wald computes at the level {_core.simd_level()}, this machine has {_core.simd_levels()[-1]}")
    if "avx2" in _core.simd_levels():
        found += [
            f"{named(info)} takes this processor for one without AVX2"
            for info in libraries()
            if info.get("architecture") in OLD_KERNELS
        ]
    allowed, there = allowed_processors(), os.cpu_count() or 1
    if allowed < there:
        found.append(f"this process may use {allowed:g} of {there} processors")
    elif there < FEWEST:
        found.append(f"there is {there} processor, and two threads are timed")
    return found


def allowed_processors() -> float:
    """Number of processors that this process may use, by its affinity and the quota of its control group."""
    allowed = float(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
        return allowed if quota == "max" else min(allowed, int(quota) / int(period))
    except (OSError, ValueError):
        return allowed


def other_work(seconds: float = SAMPLE_SECONDS) -> str:
    """Describe the load of other processes while this one sleeps; empty if it is small or cannot be read."""
    before = _busy_ticks()
    if before is None:
        return ""
    time.sleep(seconds)
    after = _busy_ticks()
    taken = ((after or 0.0) - before) / os.sysconf("SC_CLK_TCK") / seconds
    return f"other processes take {taken:.1f} processors" if taken > OTHERS_MAY_TAKE else ""


def _busy_ticks() -> float | None:
    """Busy ticks of all processors since the machine started; None where the system has no /proc/stat."""
    try:
        with open("/proc/stat", encoding="ascii") as stat:
            ticks = [float(t) for t in stat.readline().split()[1:9]]
    except (OSError, ValueError):
        return None
    user, nice, system, _, _, irq, softirq, steal = ticks
    return user + nice + system + irq + softirq + steal
