"""
Trees: how many a row needs
===========================

A boosted ensemble of 150 trees, at four risks. With ``risk=0`` all labels are the
model's own.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator

from wald import EarlyExitClassifier

X, y = make_classification(24_000, n_informative=10, class_sep=1.2, random_state=0)
model = HistGradientBoostingClassifier(
    max_iter=150, early_stopping=False, random_state=0
).fit(X[:6000], y[:6000])
reference = model.predict(X[18_000:])

# %%
# Every risk is certified on the same rows, which the model has not seen. Nothing is
# chosen among them.

risks = [0.005, 0.01, 0.02, 0.05]
trees, differ = [], []
for risk in risks:
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=risk, random_state=0).fit(
        X[6000:18_000]
    )
    labels, cost = fast.predict(X[18_000:], return_cost=True)
    trees.append(cost.mean())
    differ.append(np.mean(labels != reference))
    print(fast.certificate_)

# %%
# The labels that differ on new rows stay below the line.

figure, (left, right) = plt.subplots(2, 1, figsize=(5, 5), layout="constrained")
left.bar([f"{risk:.1%}" for risk in risks], trees)
left.set(xlabel="risk", ylabel="trees per row, of 150")
right.plot(risks, risks, color="grey", label="promised")
right.plot(risks, differ, "o-", label="seen on new rows")
right.set(xlabel="risk", ylabel="labels that differ")
right.legend()
plt.show()
