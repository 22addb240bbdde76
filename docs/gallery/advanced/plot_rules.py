"""
Stopping rules on one model
===========================

Rules differ in how far from the decision an estimate must be at each stage. All of them
keep the same promise; they differ in cost.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.svm import SVC

from wald import EarlyExitClassifier, Planner
from wald.displays import TradeoffDisplay
from wald.stopping import CurvedBoundary, Margin

X, y = make_classification(9000, n_informative=8, class_sep=1.5, random_state=0)
svc = SVC().fit(X[:1000], y[:1000])

ax = None
for name, rule in (
    ("ladder", "ladder"),
    ("curved", CurvedBoundary(delta=0.01)),
    ("margin", Margin(1.0)),
):
    fast = EarlyExitClassifier(
        FrozenEstimator(svc),
        risk=0.01,
        planner=Planner(rule=rule, cost="units"),
        random_state=0,
    )
    fast.fit(X[1000:7000])
    print(name, fast.certificate_)
    ax = TradeoffDisplay.from_estimator(fast, X[7000:], name=name, ax=ax).ax_
plt.show()
