"""A race on the trees of a made-up ranker, for tests of the engine."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from wald import _core
from wald.engine import Readout, RunningSums, Stages
from wald.models import decompose

from .lists import ranker

STAGES = (3, 8, 20, 40)


def race_of(n_stages=4, spread=True, **changes):
    """A race on the trees in their own order, whose estimates are scaled partial sums."""
    terms = decompose(ranker()).terms
    m = STAGES[n_stages - 1]
    readouts, rng = [], np.random.default_rng(0)
    for t in range(n_stages):
        weights = np.array([[60 / STAGES[t] * 0.6, 0.0]])
        readouts.append(Readout(weights, np.array([0.1]), np.array([0.0, 1.0]) if spread else None, 0.5))
    n_leaves = int(np.diff(terms.trees.first_leaf)[:m].sum())
    variance = rng.uniform(-0.01, 0.3, n_leaves).astype(np.float32)
    sums = RunningSums(np.array([m, m]), np.vstack([np.ones(m), np.zeros(m)]), (None, variance if spread else None))
    stages = Stages(np.array(STAGES[:n_stages]), tuple(readouts), sums)
    described = {name: getattr(stages, name) for name in ("terms", "readouts", "sums", "least_variance")}
    usual = changes.pop("usual", np.linspace(0.4, 0.1, n_stages))
    core = terms.pack(np.arange(60)).core
    return core, _core.GroupRace(core, SimpleNamespace(**described | changes), usual)
