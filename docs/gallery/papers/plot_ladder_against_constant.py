"""
The ladder and the constant boundary
====================================

*Focus of Attention for Linear Predictors* stops at a constant level, with terms in
random order and partial sums. The ladder orders the terms, regresses the score on those
seen, and measures its error at every stage.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from wald import EarlyExitClassifier, Planner
from wald.displays import StoppingPathDisplay
from wald.stopping import ConstantBoundary

X, y = load_digits(return_X_y=True)
svc = SVC(gamma=0.001, C=10).fit(X[:600], y[:600] >= 5)

paper = Planner(rule=ConstantBoundary(delta=0.05), order="random", cost="units")
ours = Planner(rule="ladder", order="greedy", cost="units")

figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for ax, name, planner in zip(
    axes, ("constant boundary", "ladder"), (paper, ours), strict=True
):
    fast = EarlyExitClassifier(svc, risk=0.02, planner=planner, random_state=0)
    fast.fit(X[600:1500])
    labels, cost = fast.predict(X[1500:], return_cost=True)
    print(f"{name}: {fast.certificate_}")
    StoppingPathDisplay.from_estimator(fast, X[1500:], ax=ax)
    ax.get_legend().set_title(
        f"{name}: {cost.mean():.0f} of {fast.plan_.full_cost:.0f} vectors a row"
    )
plt.show()
