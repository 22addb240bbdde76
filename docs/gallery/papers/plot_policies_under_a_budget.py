"""
Policies under a budget
=======================

*Resource Constrained Structured Prediction* learns which parts of a sequence deserve
costly features. Accuracy at every budget, for a policy that learns and for one that
buys at random.
"""

import matplotlib.pyplot as plt

from wald.datasets import make_chains
from wald.displays import BudgetCurveDisplay
from wald.structured import ChainClassifier, FeatureGroup
from wald.structured.policies import IteratedPolicy, OneShotPolicy, UniformPolicy

X, y = make_chains(900, n_features=12, noise=1.6, random_state=0)
train, test = slice(0, 400), slice(600, 900)
groups = [
    FeatureGroup("sketch", lambda parts: parts[:, ::3], cost=1.0),
    FeatureGroup("detail", cost=9.0),
]
model = ChainClassifier(groups, max_iter=8, random_state=0).fit(X[train], y[train])

# %%

policies = {
    "iterated": IteratedPolicy(random_state=0).fit(model, X[train], y[train]),
    "one-shot": OneShotPolicy(random_state=0).fit(model, X[train], y[train]),
    "at random": UniformPolicy().fit(model),
}
ax = None
for name, policy in policies.items():
    ax = BudgetCurveDisplay.from_estimator(
        policy, X[test], y[test], name=name, ax=ax
    ).ax_
plt.show()
