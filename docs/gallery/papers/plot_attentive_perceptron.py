"""
A perceptron that reads what it must
====================================

*The Attentive Perceptron* stops reading an example that will not change the model.
Features read and test errors, epoch by epoch.
"""

import matplotlib.pyplot as plt
import numpy as np

from wald.online import AttentivePerceptron

rng = np.random.default_rng(0)
y = rng.integers(2, size=6000)
X = rng.normal(size=(6000, 512)).astype(np.float32)
X[:, :64] += np.where(y == 1, 0.3, -0.3)[:, None].astype(np.float32)

# %%

figure, (left, right) = plt.subplots(
    2, 1, figsize=(5, 5), sharex=True, layout="constrained"
)
for attention in ("full", "conditional"):
    learner = AttentivePerceptron(attention=attention, random_state=0)
    read, error, before = [], [], 0
    for _ in range(6):
        learner.partial_fit(X[:5000], y[:5000], classes=[0, 1])
        read.append((learner.features_seen_ - before) / 5000)
        error.append(1 - learner.score(X[5000:], y[5000:]))
        before = learner.features_seen_
    left.plot(range(1, 7), read, "o-", label=attention)
    right.plot(range(1, 7), error, "o-", label=attention)
left.set(ylabel="features read, of 512", ylim=(0, None))
right.set(xlabel="epoch", ylabel="test error", ylim=(0, None))
left.legend()
plt.show()
