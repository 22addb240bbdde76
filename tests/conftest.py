"""Fixtures for all tests."""

from __future__ import annotations

import math
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import numpy as np
import pytest
from hypothesis import settings
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

try:
    import matplotlib
except ImportError:
    pass
else:
    matplotlib.use("agg")

ROOT = Path(__file__).parents[1]

# The same examples in every run: what is green stays green until the code changes.
settings.register_profile("wald", derandomize=True, deadline=None)
settings.load_profile("wald")

# The models of tests are small, and tests share the processors; some are trained when their module is imported.
threadpool_limits(1, user_api="openmp")

# Child processes inherit ignored signals (``nohup``, a shell's background jobs); tests send them signals.
for ignored in (getattr(signal, name, None) for name in ("SIGINT", "SIGTERM", "SIGHUP")):
    if ignored is not None and signal.getsignal(ignored) is signal.SIG_IGN:
        signal.signal(ignored, signal.default_int_handler if ignored == signal.SIGINT else signal.SIG_DFL)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that need real data, and most of many like cases, before ``-m`` selects."""
    like: dict[str, list[pytest.Item]] = {}
    for item in items:
        if "wald_data" in getattr(item, "fixturenames", ()):
            item.add_marker("data")
        if item.get_closest_marker("one_in"):
            like.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for cases in like.values():
        marker = cases[0].get_closest_marker("one_in")
        assert marker is not None
        # Names in the order of their checksums: parameters do not go together with which cases run.
        cases.sort(key=lambda item: (crc32(item.nodeid.encode()), item.nodeid))
        for item in cases[math.ceil(len(cases) / marker.args[0]) :]:
            item.add_marker("long")


@pytest.fixture(scope="session")
def wald_data() -> Iterator[Path]:
    """The folder of real data, also in the environment; the test is skipped when there is none."""
    named = os.environ.get("WALD_DATA")
    path = Path(named).expanduser() if named else ROOT.parent / "shared" / "data"
    if not path.is_dir():
        pytest.skip(f"no real data: WALD_DATA is {named!r}, which is no folder")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WALD_DATA", str(path))
        yield path


@pytest.fixture(scope="module")
def bench_package() -> Iterator[None]:
    """Let tests import ``bench``, and undo what it sets in the environment."""
    environ, path = dict(os.environ), list(sys.path)
    sys.path.insert(0, str(ROOT))
    yield
    sys.path[:] = path
    os.environ.clear()
    os.environ.update(environ)


@pytest.fixture(scope="session", autouse=True)
def _one_thread_of_openmp() -> Iterator[None]:
    """Train the models of libraries that were imported since on one thread, too."""
    with threadpool_limits(1, user_api="openmp"):
        yield


@pytest.fixture(autouse=True)
def _signal_handlers() -> Iterator[None]:
    """Restore the signal handlers, because those of the command line end the process and with it all later tests."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(autouse=True)
def _global_draws() -> None:
    """Seed the global generator that estimators without a ``random_state`` use, so that tests are reproducible."""
    np.random.seed(0)  # noqa: NPY002 - that generator is the one meant


class Digits(NamedTuple):
    """scikit-learn's digits in three disjoint parts: for a model, for ``fit``, and unseen."""

    X_train: NDArray[np.float64]
    y_train: NDArray[np.int64]
    X_fit: NDArray[np.float64]
    y_fit: NDArray[np.int64]
    X_test: NDArray[np.float64]
    y_test: NDArray[np.int64]


def _split(X: NDArray[np.float64], y: NDArray[np.int64]) -> Digits:
    train, fit, test = np.split(np.random.default_rng(0).permutation(len(X)), [600, 1400])
    return Digits(X[train], y[train], X[fit], y[fit], X[test], y[test])


@pytest.fixture(scope="session")
def digits() -> Digits:
    """Ten classes, 600 + 800 + 397 rows of 64 pixels in [0, 1]. Shared: do not write into the arrays."""
    X, y = load_digits(return_X_y=True)
    return _split(X / 16, y)


@pytest.fixture(scope="session")
def binary_digits(digits: Digits) -> Digits:
    """The same rows, labelled by whether the digit is 5 or more."""
    labels = {name: (getattr(digits, name) >= 5).astype(np.int64) for name in ("y_train", "y_fit", "y_test")}
    return digits._replace(**labels)
