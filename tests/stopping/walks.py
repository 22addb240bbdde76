"""Walks of known distribution, and the error rates of a stopping rule on them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from wald.datasets import make_walks
from wald.stopping import Walk


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
