"""
Easy rows leave early
=====================

A kernel machine adds one term per support vector. The estimate of the final score walks
from stage to stage; a row leaves when it is further from the decision than the
boundary.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.frozen import FrozenEstimator
from sklearn.svm import SVC

from wald import EarlyExitClassifier, Planner
from wald.displays import StoppingPathDisplay

# %%
# A model that tells digits of 5 and more from smaller ones, and rows that it was not
# trained on.

X, y = load_digits(return_X_y=True)
kind = np.where(y >= 5, "large", "small")
svc = SVC(gamma=0.001, C=10).fit(X[:600], kind[:600])

fast = EarlyExitClassifier(
    FrozenEstimator(svc), risk=0.02, planner=Planner(cost="units"), random_state=0
).fit(X[600:1500])
print(fast.certificate_)

# %%
# Walks of rows that were cheap, typical and expensive, and the boundary between them.

display = StoppingPathDisplay.from_estimator(fast, X[1500:], name="5 to 9, or 0 to 4")
plt.show()

# %%
# What rows cost, in support vectors.

labels, cost = fast.predict(X[1500:], return_cost=True)
full = fast.plan_.full_cost
print(f"mean {cost.mean():.0f}, median {np.median(cost):.0f}, of {full:.0f}")
