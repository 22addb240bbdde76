"""Number of threads from ``n_jobs``, joblib and the engine's limit, which threadpoolctl can set."""

from __future__ import annotations

import os
from multiprocessing import current_process
from numbers import Integral
from typing import Any

import threadpoolctl
from joblib.parallel import get_active_backend

from .. import _core
from .compiled import INLINE_ROWS


def effective_threads(n_jobs: int | None, X: Any = None) -> int:
    """Turn ``n_jobs`` into a number of threads.

    Parameters
    ----------
    n_jobs : int or None
        As in scikit-learn: None means 1 or the value of an enclosing ``joblib.parallel_config``, -1 all processors, -2
        all but one, and so on.
    X : rows in any form, default=None
        Rows of the call: joblib, which takes microseconds, is not asked about fewer than the engine divides.

    Returns
    -------
    int
        At least 1, and at most the engine's limit, which ``threadpoolctl.threadpool_limits`` sets. Inside a joblib
        worker also at most the worker's share of threads (``inner_max_num_threads``). In a daemonic process, such as
        Dask's workers, which shares the machine with others, -1 and below mean 1.
    """
    given: Any = n_jobs  # not yet validated
    if given is not None and (isinstance(given, bool) or not isinstance(given, Integral) or given == 0):
        raise ValueError(f"n_jobs must be None or a non-zero integer (-1: all processors). Got {n_jobs!r}.")
    if n_jobs == 1 or _few(X):
        return 1
    backend, enclosing = get_active_backend()  # as in joblib.effective_n_jobs, which would call it again
    asked = n_jobs or enclosing
    if current_process().daemon and asked is not None:  # joblib warns there of processes, which wald does not start
        wanted = max(1, int(asked))
    else:
        wanted = int(backend.effective_n_jobs(n_jobs=asked))
    if backend.nesting_level:
        wanted = min(wanted, _worker_share(wanted))
    return max(1, min(wanted, _core.get_num_threads()))


def _few(X: Any) -> bool:
    """Whether X is a table of so few rows that the engine uses one thread."""
    shape = getattr(X, "shape", None)
    return type(shape) is tuple and len(shape) == 2 and isinstance(shape[0], int) and shape[0] < INLINE_ROWS


def _worker_share(default: int) -> int:
    """Return joblib's number of threads per worker, or `default` if it is not set."""
    try:
        return int(os.environ["OMP_NUM_THREADS"])  # joblib sets it in its workers
    except (KeyError, ValueError):
        return default


class _WaldController(threadpoolctl.LibController):
    """The engine's thread limit, for ``threadpoolctl``."""

    user_api = "wald"
    internal_api = "wald"
    filename_prefixes = ("_core.",)
    check_symbols = ("wald_get_num_threads", "wald_set_num_threads")

    def get_num_threads(self) -> int:
        return int(self.dynlib.wald_get_num_threads())

    def set_num_threads(self, num_threads: int) -> None:
        self.dynlib.wald_set_num_threads(max(1, num_threads))

    def get_version(self) -> str:
        import wald

        return str(wald.__version__)


threadpoolctl.register(_WaldController)
