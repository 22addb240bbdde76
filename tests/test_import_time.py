"""`import wald` and `wald --version` stay quick: everything else is loaded when it is used."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

#: Limits in seconds, with room for a machine that is busy with other tests.
IMPORT, VERSION = 0.06 * 3, 0.3 * 3
REPEATS = 3


def _seconds(*arguments: str) -> float:
    """The quickest of several runs of a fresh Python."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
        times.append(time.perf_counter() - start)
    return min(times)


@pytest.mark.slow
def test_import_wald_takes_little_longer_than_import_sklearn():
    assert _seconds("-c", "import sklearn, wald") < _seconds("-c", "import sklearn") + IMPORT


def test_version_is_told_without_loading_the_library():
    assert _seconds("-m", "wald", "--version") < _seconds("-c", "pass") + VERSION
    code = (
        "import sys, wald; wald.__version__; print([m for m in ('numpy', 'sklearn', 'wald._core') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
