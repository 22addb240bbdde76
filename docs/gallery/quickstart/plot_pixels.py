"""
Which pixels were read
======================

A linear model reads one pixel after the other, the most telling first, and stops when
the answer is clear.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from wald import EarlyExitClassifier, Planner
from wald.displays import AttentionMapDisplay

X, y = load_digits(return_X_y=True)
model = LogisticRegression(max_iter=2000, C=0.01).fit(
    X[:600], np.where(y[:600] % 2, "odd", "even")
)
fast = EarlyExitClassifier(
    FrozenEstimator(model), risk=0.02, planner=Planner(cost="units"), random_state=0
).fit(X[600:1500])

labels, cost = fast.predict(X[1500:], return_cost=True)
print(f"{cost.mean():.0f} of 64 pixels a row")

AttentionMapDisplay.from_estimator(fast, X[1500:], image_shape=(8, 8))
plt.show()
