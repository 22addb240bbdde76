"""`import wald` and `wald --version` stay quick: everything else is loaded when it is used."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

#: Limits in seconds, with room for a machine that is busy with other tests.
IMPORT, VERSION = 0.06 * 3, 0.3 * 3
REPEATS = 3


def _seconds(*arguments: str) -> float:
    """The quickest of several runs of a fresh Python, in its own processor time, whatever else the machine does."""
    times = []
    for _ in range(REPEATS):
        start = os.times()
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
        end = os.times()
        times.append(end.children_user + end.children_system - start.children_user - start.children_system)
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
