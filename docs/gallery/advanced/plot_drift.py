"""
When the data drift
===================

A certificate speaks of rows like those of ``fit``. Audits show when the rows that are
served are others: the interval around the rate of disagreement leaves the risk behind.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier

from wald import EarlyExitClassifier
from wald.monitoring import DriftWarning

X, y = make_classification(40_000, n_informative=10, class_sep=1.5, random_state=0)
model = HistGradientBoostingClassifier(max_iter=100, early_stopping=False)
model.fit(X[:5000], y[:5000])
fast = EarlyExitClassifier(model, risk=0.02, random_state=0).fit(X[5000:15_000])
fast = fast.watched(0.2)

# %%
# Batches of a thousand rows. From the eleventh on, the rows lie nearer to each other,
# where the model is less sure.

low, high, states = [], [], []
for batch in range(25):
    rows = X[15_000 + 1000 * batch :][:1000]
    if batch >= 10:
        rows = 0.35 * rows
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DriftWarning)
        fast.predict(rows)
    interval = fast.monitor_.disagreement
    low.append(interval[0])
    high.append(interval[1])
    states.append(fast.monitor_.state)

# %%

batches = np.arange(1, 26)
figure, ax = plt.subplots(layout="constrained")
ax.fill_between(batches, low, high, alpha=0.3, label="rate of disagreement, 98 %")
ax.axhline(0.02, color="C1", label="promised")
changed = [n for n in range(1, 25) if states[n] != states[n - 1]]
for k, n in enumerate(changed):
    ax.axvline(batches[n], color="0.6", linestyle=":")
    place = (batches[n], 0.11 - 0.01 * k)
    ax.annotate(states[n], place, (3, 0), textcoords="offset points")
ax.set(xlabel="thousands of rows served", ylabel="labels that differ", ylim=(0, 0.12))
ax.legend(loc="upper left")
plt.show()
