"""
Features with prices
====================

Two groups of features are expensive. The plan reads the cheap features first, and most
rows never buy the others.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from wald import EarlyExitClassifier, Planner

# %%
# A third of the rows trains the model. The others are few, so new ones are drawn near
# them: each is one of them plus a little noise.

X, y = load_breast_cancer(return_X_y=True)
rng = np.random.default_rng(0)
unseen = X[200:]
rows = unseen[rng.integers(len(unseen), size=6000)] + 0.3 * X.std(axis=0) * rng.normal(
    size=(6000, X.shape[1])
)

# %%
# A model on all 30 features. Means cost 1 each; "errors" and "worst" come from two
# examinations.

model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[:200], y[:200])
fast = EarlyExitClassifier(
    FrozenEstimator(model),
    risk=0.03,
    planner=Planner(cost="units"),
    feature_groups={"errors": range(10, 20), "worst": range(20, 30)},
    feature_costs={"errors": 30.0, "worst": 60.0},
    random_state=0,
).fit(rows[:4000])
print(fast.certificate_)

labels, cost = fast.predict(rows[4000:], return_cost=True)
print(f"{cost.mean():.0f} of {fast.plan_.full_cost:.0f} a row")

# %%

# Most rows buy neither group. The steps are the prices of the two.

spent = np.sort(cost)
share = np.arange(1, len(spent) + 1) / len(spent)
figure, ax = plt.subplots(layout="constrained")
ax.plot(spent, share, drawstyle="steps-post")
ax.fill_between(spent, share, step="post", alpha=0.15)
for price, words in ((40, "errors bought"), (100, "worst bought")):
    ax.axvline(price, color="0.6", linestyle=":")
    ax.annotate(words, (price, 0.05), (-4, 0), textcoords="offset points", ha="right")
ax.axvline(cost.mean(), color="C1")
ax.annotate(
    f"mean {cost.mean():.0f}", (cost.mean(), 0.3), (4, 0), textcoords="offset points"
)
ax.set(xlabel="cost of a row, at most", ylabel="share of the rows", ylim=(0, 1.02))
plt.show()
