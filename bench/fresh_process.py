"""Calls in a fresh process, whose memory does not include the benchmark's own."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any


def in_fresh_process(work: Callable[..., Any], *args: Any) -> Any:
    """Return ``work(*args)``; work must be a function of a module, and its result must be picklable."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(work, *args).result()
