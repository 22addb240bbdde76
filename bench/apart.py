"""Calls in a process of their own, whose memory holds nothing of the benchmark itself."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any


def apart(work: Callable[..., Any], *args: Any) -> Any:
    """``work(*args)`` in a fresh process; work must be a function of a module, and its result must be picklable."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(work, *args).result()
