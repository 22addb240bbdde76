"""
Which parts were bought
=======================

A policy buys costly features for the parts of an example that deserve them. Numbers of
handwritten digits: a cheap look at every digit, all of its pixels for some, and the
answers before and after. The folder ``acquisition`` beside this script draws the
picture; it also draws words, and trees of words.
"""

import matplotlib.pyplot as plt
import numpy as np
from acquisition import AcquisitionDisplay
from sklearn.datasets import load_digits

from wald.structured import BudgetedPredictor, ChainClassifier, FeatureGroup
from wald.structured.policies import IteratedPolicy

images, digits = load_digits(return_X_y=True)
rng = np.random.default_rng(0)


def numbers(rows, n_numbers):
    """Numbers of five to nine digits that mostly count upwards, from these images."""
    drawn = []
    for _ in range(n_numbers):
        n_digits = rng.integers(5, 10)
        steps = np.where(rng.random(n_digits) < 0.7, 1, rng.integers(10, size=n_digits))
        wanted = (rng.integers(10) + np.cumsum(steps)) % 10
        drawn.append([rng.choice(rows[digits[rows] == digit]) for digit in wanted])
    return [images[chosen] for chosen in drawn], [digits[chosen] for chosen in drawn]


X, y = numbers(np.arange(900), 300)
X_new, y_new = numbers(np.arange(900, 1797), 200)

# %%

groups = [
    FeatureGroup("sums of rows", lambda parts: parts.reshape(-1, 8, 8).sum(2), cost=1),
    FeatureGroup("pixels", cost=9),
]
model = ChainClassifier(groups, max_iter=10, random_state=0).fit(X, y)
policy = IteratedPolicy(random_state=0).fit(model, X, y)
fast = BudgetedPredictor(model, policy, budget=4).fit(X_new[:100])

AcquisitionDisplay.from_estimator(
    fast, X_new[100:], y_new[100:], rows=[0, 1, 2], image_shape=(8, 8), part="digit"
)
plt.show()
