"""Walks of known distribution, and the error rates of a stopping rule on them."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from wald.stopping import Walk

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
    """Draw walks whose full sums have mean `drift` and variance 1: (n_rows, n_terms), whose cumulative sums are walks.

    "correlated": Gaussian steps with a common factor that has half of the variance of the full sum, so that the bridge
    (the walk given its end) has half of the variance; "heavy-tailed": Student's t with 3 degrees of freedom.
    """
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


def walk_of(terms, theta=0.0, stage_scores=None, intercept=0.0):
    """A walk of cumulative sums after the given numbers of terms (default: after each but the last)."""
    sums = terms.cumsum(axis=1)
    n = sums.shape[1]
    stage_scores = np.arange(1, n) if stage_scores is None else np.asarray(stage_scores)
    full = sums[:, -1] + intercept
    return Walk(
        full=(full > theta).astype(np.int32),
        full_scores=full[:, None],
        margins=sums[:, stage_scores - 1] + intercept,
        stages=np.append(stage_scores, n),
        stage_costs=np.append(stage_scores, n).astype(np.float64),
        threshold=theta,
        intercept=intercept,
        imputed=np.zeros(len(stage_scores)),
    )


class Errors(NamedTuple):
    """The error rates of a rule, each as (exits as positive, exits as negative); and two of the whole rule."""

    conditional: tuple[float, float]
    joint: tuple[float, float]
    posterior: tuple[float, float]
    disagreement: float
    cost: float  # share of the terms seen


def errors_of(boundary, walk, q=1.0):
    codes, stage = walk.stage_scores.leave(*boundary.thresholds(q, np.float64))
    early = stage < walk.n_stages
    wrong = [(codes == answer) & (walk.full != answer) for answer in (1, 0)]
    return Errors(
        conditional=tuple(float(w[walk.full != a].mean()) for w, a in zip(wrong, (1, 0), strict=True)),
        joint=tuple(float(w.mean()) for w in wrong),
        posterior=tuple(
            float(w.sum() / max(1, (early & (codes == a)).sum())) for w, a in zip(wrong, (1, 0), strict=True)
        ),
        disagreement=float((codes != walk.full).mean()),
        cost=float((walk.stage_costs[stage] / walk.stage_costs[-1]).mean()),
    )


def simulated(rule, *, kind="independent", drift=1.0, theta=0.0, n_terms=100, n_rows=100_000, seed=0):
    """Fit a rule on some walks and count its errors on new ones."""
    fit, fresh = (
        walk_of(make_walks(n, n_terms, kind=kind, drift=drift, random_state=s), theta)
        for n, s in ((40_000, 2 * seed), (n_rows, 2 * seed + 1))
    )
    return errors_of(rule.boundary(fit), fresh)
