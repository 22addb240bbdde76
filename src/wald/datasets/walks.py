"""Synthetic random walks with known distributions, for tests of stopping rules."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import numpy.typing as npt

_KINDS = ("independent", "correlated", "heavy-tailed")

# Degrees of freedom of the heavy-tailed steps; their third moment does not exist.
_FREEDOM = 3.0


def make_walks(
    n_rows: int,
    n_terms: int,
    *,
    kind: Literal["independent", "correlated", "heavy-tailed"] = "independent",
    drift: float = 0.0,
    random_state: int | np.random.Generator | None = None,
) -> npt.NDArray[np.float64]:
    """Draw walks whose full sums have mean `drift` and variance 1.

    Parameters
    ----------
    n_rows, n_terms : int
        Number of walks, and of steps per walk; at least 1.
    kind : {"independent", "correlated", "heavy-tailed"}, default="independent"
        "independent": Gaussian steps, so that a walk is Brownian motion at `n_terms` times; "correlated": Gaussian
        steps with a common factor that has half of the variance of the full sum, so that the bridge (the walk given
        its end) has half of the variance; "heavy-tailed": independent steps from Student's t with 3 degrees of freedom.
    drift : float, default=0.0
        Mean of the full sum.
    random_state : int, Generator or None, default=None

    Returns
    -------
    float64 array of shape (n_rows, n_terms)
        The terms; their cumulative sums are the walks.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Examples
    --------
    >>> terms = make_walks(10_000, 50, kind="correlated", drift=1.0, random_state=0)
    >>> ends = terms.sum(axis=1)
    >>> f"{ends.mean():.1f} {ends.std():.1f}"
    '1.0 1.0'
    """
    for name, number in (("n_rows", n_rows), ("n_terms", n_terms)):
        if number < 1:
            raise ValueError(f"The {name!r} parameter of make_walks must be at least 1. Got {number!r} instead.")
    if kind not in _KINDS:
        raise ValueError(f"The 'kind' parameter of make_walks must be one of {_KINDS!r}. Got {kind!r} instead.")
    if not math.isfinite(drift):
        raise ValueError(f"The 'drift' parameter of make_walks must be finite. Got {drift!r} instead.")
    rng = np.random.default_rng(random_state)
    shape = n_rows, n_terms
    if kind == "heavy-tailed":
        steps = rng.standard_t(_FREEDOM, size=shape) * math.sqrt((_FREEDOM - 2.0) / _FREEDOM / n_terms)
    else:
        steps = rng.normal(0.0, math.sqrt(1.0 / n_terms), size=shape)
        if kind == "correlated":
            factor = rng.normal(0.0, 1.0, size=(n_rows, 1)) / n_terms
            steps = math.sqrt(0.5) * (steps + factor)
    return np.asarray(steps + drift / n_terms, dtype=np.float64)
