"""
A boundary for a walk
=====================

The first paper takes a growing sum for a Brownian bridge. Of the walks that end at the
threshold, a share ``delta`` reaches the level that its formula gives.
"""

import matplotlib.pyplot as plt
import numpy as np

from wald.stopping.papers.levels import bridge_boundary

rng = np.random.default_rng(0)
n_walks, n_steps = 4000, 1000
steps = rng.normal(size=(n_walks, n_steps)) / np.sqrt(n_steps)
walks = steps.cumsum(axis=1)
# bridges: all of them end at 0
walks -= np.linspace(0, 1, n_steps + 1)[1:] * walks[:, -1:]

deltas = np.array([0.01, 0.05, 0.1, 0.2, 0.3])
levels = np.array([bridge_boundary(0.0, 1.0, delta) for delta in deltas])
reached = np.array([np.mean(walks.max(axis=1) >= level) for level in levels])

figure, (left, right) = plt.subplots(2, 1, figsize=(5, 5), layout="constrained")
left.plot(walks[:8].T, linewidth=0.8)
left.axhline(levels[1], color="black", linestyle="--")
left.set(xlabel="step", ylabel="sum", title="bridges, and the level for delta = 0.05")
right.plot(deltas, deltas, color="grey", label="as the formula says")
right.plot(deltas, reached, "o", label="simulated")
right.set(xlabel="delta", ylabel="share that reaches it")
right.legend()
plt.show()
