"""How often certificates are broken: a plan is certified on draws from rows whose true losses are known."""

import numpy as np
from scipy.stats import binom

N_DRAWS = 200


def require_kept(fast, population, risk, n_rows, seed=0, n_draws=N_DRAWS):
    """The true loss of a certified plan exceeds the risk in no more draws than the confidence of 95 % allows."""
    rng = np.random.default_rng(seed)
    everyone = fast.looks(population)
    n_certified = n_broken = 0
    for _ in range(n_draws):
        drawn = fast.recertify(population[rng.integers(len(population), size=n_rows)])
        if drawn.certificate_.status != "certified":
            continue
        n_certified += 1
        lost = everyone.lost(*everyone.leave(*drawn.plan_.thresholds()))
        n_broken += lost.mean() > risk
    assert n_certified > n_draws // 2
    assert n_broken <= binom.ppf(0.999, n_draws, 0.05), f"{n_broken} of {n_draws} certificates are broken"
