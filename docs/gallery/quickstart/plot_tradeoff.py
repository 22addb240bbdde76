"""
Which risk costs what
=====================

One fitted plan, at every scale of its thresholds: the further right, the more support
vectors a row costs; the lower, the fewer labels differ. The point is the setting in
use.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.svm import SVC

from wald import EarlyExitClassifier, Planner
from wald.displays import TradeoffDisplay

X, y = make_classification(9000, n_informative=8, class_sep=1.5, random_state=0)
svc = SVC().fit(X[:1000], y[:1000])
fast = EarlyExitClassifier(
    FrozenEstimator(svc), risk=0.01, planner=Planner(cost="units"), random_state=0
).fit(X[1000:7000])

# %%
# The other curve is a budget: the same number of support vectors for every row.

display = TradeoffDisplay.from_estimator(fast, X[7000:], name="early exit")
TradeoffDisplay.from_estimator(
    fast, X[7000:], budgeted=True, name="budget", ax=display.ax_
)
plt.show()
