"""Work in a process of its own, where memory can be told from what the benchmark itself holds."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any


def apart(work: Callable[..., Any], *args: Any) -> Any:
    """``work(*args)`` in a fresh process; work is a function of a module, and its result can be pickled."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(work, *args).result()
