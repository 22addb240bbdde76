"""
A promise for the rare class
============================

A bound on all rows can be spent on a rare class alone. A ``risk`` by stratum bounds
that of the class itself.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier

from wald import EarlyExitClassifier

X, y = make_classification(
    40_000, weights=[0.9], n_informative=10, n_features=30, random_state=0
)
model = HistGradientBoostingClassifier(
    max_iter=60, early_stopping=False, random_state=0
).fit(X[:8000], y[:8000])
reference = model.predict(X[30_000:])

# %%
# The same risk for all rows, without and with a promise of 2 % for class 1. ``fit``
# warns of the first.

lost, trees = {}, {}
for name, risk in (
    ("all rows", 0.01),
    ("all rows, and class 1", {"all": 0.01, 1: 0.02}),
):
    fast = EarlyExitClassifier(model, risk=risk, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fast.fit(X[8000:30_000])
    labels, cost = fast.predict(X[30_000:], return_cost=True)
    lost[name] = [np.mean(labels[reference == code] != code) for code in (0, 1)]
    trees[name] = cost.mean()
    print(f"{name}: {cost.mean():.0f} trees a row. {fast.certificate_}")

# %%

figure, ax = plt.subplots(layout="constrained")
for place, (name, shares) in enumerate(lost.items()):
    ax.bar(
        np.arange(2) + 0.35 * place,
        shares,
        width=0.33,
        label=f"promise for {name}: {trees[name]:.0f} trees a row",
    )
ax.set(
    xticks=[0.17, 1.17],
    xticklabels=["class 0", "class 1 (rare)"],
    ylabel="labels that differ",
)
ax.legend(loc="lower left", bbox_to_anchor=(0, 1))
plt.show()
