"""Checks of a chain's parameters."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np


def check(chain: Any) -> None:
    """Raise ValueError for the first parameter of a `ChainClassifier` that is out of range."""
    for name, options in (("learner", ("perceptron", "svm")), ("states", ("random", "full"))):
        if getattr(chain, name) not in options:
            raise ValueError(f"{name} must be one of {options}. Got {getattr(chain, name)!r}.")
    if not isinstance(chain.max_iter, Integral) or chain.max_iter < 1:
        raise ValueError(f"max_iter must be an integer of at least 1. Got {chain.max_iter!r}.")
    for name in ("margin", "tol"):
        if not _is_finite(getattr(chain, name)) or getattr(chain, name) < 0:
            raise ValueError(f"{name} must be finite and not negative. Got {getattr(chain, name)!r}.")
    if not _is_finite(chain.C) or chain.C <= 0:
        raise ValueError(f"C must be finite and positive. Got {chain.C!r}.")


def _is_finite(value: Any) -> bool:
    return isinstance(value, Real) and bool(np.isfinite(float(value)))
