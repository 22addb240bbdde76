"""Helpers of the tests of bad arguments: a valid model of each kind, and the errors that count as refusals."""

from __future__ import annotations

import numpy as np
from engine import cases

BAD = (ValueError, TypeError)
U = 2.0**-53
RNG = np.random.default_rng(0)
MACHINE = cases.machine(RNG, d=6, n=10)
LINEAR = cases.linear(RNG, 6)
X = cases.rows(RNG, 8, 6)

ints, longs, floats = (lambda *v, t=t: np.array(v, dtype=t) for t in (np.int32, np.int64, np.float64))


def named(change):
    """Name a test after its bad argument."""
    return "-".join(f"{k}={v if not isinstance(v, np.ndarray) or v.size <= 4 else v.shape}" for k, v in change.items())


def kind_of(x):
    return f"{x.dtype.str}{x.shape}" if isinstance(x, np.ndarray) else type(x).__name__
