"""What slows a peer down, or wald, without anybody meaning it: variables, a narrow mask of processors, other work."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

#: Variables that steer the libraries compared, by how their names begin: instruction sets, kernels, threads.
STEERING = (
    "ACCELERATE_", "ATLAS_", "BLIS_", "DAAL_", "DNNL_", "GOMP_", "GOTO_", "KMP_", "LIBXSMM_", "MKL_",
    "NPY_DISABLE_CPU_FEATURES", "NPY_ENABLE_CPU_FEATURES", "NUMBA_", "NUMEXPR_", "OMP_", "ONEDAL_", "ONEDNN_",
    "OPENBLAS_", "POLARS_MAX_THREADS", "SKLEARNEX_", "TBB_", "VECLIB_", "WALD_SIMD",
)  # fmt: skip
#: What the benchmark sets itself, before anything loads these libraries.
OURS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS"), "2")
#: What scikit-learn sets itself when it is imported.
NOT_MEANT = ("KMP_DUPLICATE_LIB_OK", "KMP_INIT_AT_FORK")
CLEARED = "WALD_BENCH_CLEARED"
#: OpenBLAS's kernels for processors without AVX2.
OLD_KERNELS = (
    "Katmai", "Coppermine", "Northwood", "Banias", "Prescott", "Core2", "Penryn", "Dunnington", "Atom", "Nano",
    "Nehalem", "Sandybridge", "Athlon", "Opteron", "Opteron_SSE3", "Barcelona", "Bobcat", "Bulldozer", "Piledriver",
    "Steamroller", "Excavator", "Generic",
)  # fmt: skip
#: Fewer processors than this cannot show what two threads do.
FEWEST = 2
#: Processors that others may take while it is measured.
OTHERS_MAY_TAKE = 0.2
LOOK_SECONDS = 0.5


def steering(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that steer what is compared, without those that the benchmark sets."""
    return {
        name: value
        for name, value in environ.items()
        if name.upper().startswith(STEERING) and name not in NOT_MEANT and OURS.get(name) != value and value != ""
    }


def clear() -> None:
    """Start this program anew without the variables that steer what is compared, where there are some.

    Libraries read them when they are loaded, and programs that have run before this one may have loaded them.
    """
    found = steering(os.environ)
    if not found or CLEARED in os.environ:
        return
    told = ", ".join(f"{name}={value}" for name, value in sorted(found.items()))
    print(f"left out, so that every library is at its best: {told}", file=sys.stderr, flush=True)
    environ = {name: value for name, value in os.environ.items() if name not in found} | {CLEARED: told}
    command = [sys.executable, *sys.orig_argv[1:]]
    if os.name == "nt":  # there, exec would let the caller go on
        raise SystemExit(subprocess.run(command, env=environ, check=False).returncode)
    os.execve(sys.executable, command, environ)


def libraries() -> list[dict[str, Any]]:
    """What threadpoolctl sees, once all that is compared is loaded."""
    import numpy  # noqa: F401
    import scipy.linalg  # noqa: F401
    import sklearn.svm  # noqa: F401
    from threadpoolctl import threadpool_info

    import wald  # noqa: F401

    return [dict(info) for info in threadpool_info()]


def named(info: Mapping[str, Any]) -> str:
    """A library, its kernel and its threads, in words."""
    if info["user_api"] == "wald":
        from wald import _core

        return f"wald {info['version']} (kernel {_core.simd_level()}, {info['num_threads']} threads)"
    kernel = f"kernel {info['architecture']}, " if info.get("architecture") else ""
    owner = Path(info["filepath"]).parent.name.partition(".")[0]
    version = f" {info['version']}" if info.get("version") else ""
    return f"{owner}'s {info['internal_api']}{version} ({kernel}{info['num_threads']} threads)"


def handicaps() -> list[str]:
    """What keeps this run from being one whose results may be kept, in words; empty if nothing does."""
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
    """How many processors this process may use, by its affinity and its control group's quota."""
    allowed = float(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
        return allowed if quota == "max" else min(allowed, int(quota) / int(period))
    except (OSError, ValueError):
        return allowed


def other_work(seconds: float = LOOK_SECONDS) -> str:
    """What others take of this machine while this process sleeps, in words; empty if little, or not to be seen."""
    before = _busy_ticks()
    if before is None:
        return ""
    time.sleep(seconds)
    after = _busy_ticks()
    taken = ((after or 0.0) - before) / os.sysconf("SC_CLK_TCK") / seconds
    return f"other processes take {taken:.1f} processors" if taken > OTHERS_MAY_TAKE else ""


def _busy_ticks() -> float | None:
    """What all processors have worked since the machine started, in ticks; None where that is not told."""
    try:
        with open("/proc/stat", encoding="ascii") as stat:
            ticks = [float(t) for t in stat.readline().split()[1:9]]
    except (OSError, ValueError):
        return None
    user, nice, system, _, _, irq, softirq, steal = ticks
    return user + nice + system + irq + softirq + steal
