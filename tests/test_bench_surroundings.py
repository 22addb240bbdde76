"""The benchmarks run every library without handicaps, and report handicaps that they cannot remove."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from conftest import ROOT

PROGRAM = """
import sys
sys.argv = ["bench"]
from bench import surroundings
surroundings.clear()
print(surroundings.handicaps())
print(sorted({info["architecture"] for info in surroundings.libraries() if info.get("architecture")}))
"""


def _run(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environ = {
        name: value for name, value in os.environ.items() if not name.startswith(("OPENBLAS_", "OMP_", "WALD_S"))
    }
    return subprocess.run(
        [sys.executable, *words],
        cwd=ROOT,
        env=environ | variables,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def _blas_is_openblas() -> bool:
    import threadpoolctl

    return any(
        "OpenBLAS" in str(info) or info["internal_api"] == "openblas" for info in threadpoolctl.threadpool_info()
    )


@pytest.mark.slow
@pytest.mark.skipif(not _blas_is_openblas(), reason="reads OpenBLAS's variables")
def test_variables_that_control_a_library_are_cleared():
    plain = _run("-c", PROGRAM)
    assert plain.stderr == ""
    slowed = _run(
        "-c",
        PROGRAM,
        OPENBLAS_CORETYPE="Prescott",
        OPENBLAS_NUM_THREADS="1",
        NPY_DISABLE_CPU_FEATURES="AVX2",
        WALD_SIMD="baseline",
    )
    assert slowed.returncode == 0
    for variable in (
        "OPENBLAS_CORETYPE=Prescott",
        "OPENBLAS_NUM_THREADS=1",
        "NPY_DISABLE_CPU_FEATURES=AVX2",
        "WALD_SIMD=baseline",
    ):
        assert variable in slowed.stderr
    assert slowed.stdout == plain.stdout  # the same kernels, and no handicap that was not there before
    assert "Prescott" not in slowed.stdout


STUBBORN = """
import os, sys
os.environ["OPENBLAS_CORETYPE"] = "Prescott"  # as a start-up file of the machine may do
sys.argv = ["bench", "frames", "--write"]
import runpy
runpy.run_module("bench", run_name="__main__")
"""


@pytest.mark.slow
@pytest.mark.skipif(not _blas_is_openblas(), reason="reads OpenBLAS's variables")
def test_nothing_is_kept_of_a_run_with_a_handicap_that_stays():
    kept = [ROOT / "bench" / "README.md", ROOT / "bench" / "results" / "frames.json"]
    before = [path.read_bytes() for path in kept]
    done = _run("-c", STUBBORN)
    assert done.returncode == 2
    assert "OPENBLAS_CORETYPE=Prescott is set" in done.stderr
    assert done.stderr.count("left out, so that") == 1  # it restarts once only
    assert [path.read_bytes() for path in kept] == before


HANDICAPS = """
import os, sys
from bench import surroundings
if sys.argv[1:] == ["few"]:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
print(*surroundings.handicaps(), sep="\\n")
"""


@pytest.fixture(scope="module")
def handicapped() -> str:
    """What a process says that has one processor, where that can be, and computes at the lowest level."""
    few = ["few"] if hasattr(os, "sched_setaffinity") else []
    return str(_run("-c", HANDICAPS, *few, WALD_SIMD="baseline").stdout)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity") or os.cpu_count() == 1, reason="needs several processors")
def test_a_narrow_mask_is_a_handicap(handicapped):
    assert f"this process may use 1 of {os.cpu_count()} processors" in handicapped


def test_a_lower_level_is_a_handicap(handicapped):
    from wald import _core

    if len(_core.simd_levels()) == 1:
        pytest.skip("this machine has one level")
    assert "WALD_SIMD=baseline is set" in handicapped
    assert f"wald computes at the level baseline, this machine has {_core.simd_levels()[-1]}" in handicapped


OTHERS = """
import os, subprocess, sys
from bench import surroundings
surroundings.OTHERS_MAY_TAKE = 0.5
child = subprocess.Popen([sys.executable, "-c", "while True: pass"])
try:
    print(surroundings.other_work(1.0))
finally:
    child.kill()
"""


@pytest.mark.skipif(not os.path.exists("/proc/stat"), reason="other processes are counted on Linux only")
def test_other_work_is_reported():
    assert "other processes take" in _run("-c", OTHERS).stdout
