"""
Which rows are expensive
========================

Rows of some classes are decided sooner than those of others: here digits of 5
and more, and smaller ones.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.frozen import FrozenEstimator
from sklearn.svm import SVC

from wald import EarlyExitClassifier, Planner
from wald.displays import CostHistogramDisplay

X, y = load_digits(return_X_y=True)
kind = np.where(y >= 5, "large", "small")
svc = SVC(gamma=0.001, C=10).fit(X[:600], kind[:600])
fast = EarlyExitClassifier(
    FrozenEstimator(svc), risk=0.02, planner=Planner(cost="units"), random_state=0
).fit(X[600:1500])

CostHistogramDisplay.from_estimator(fast, X[600:], kind[600:])
plt.show()
