"""Draw the README's picture: rows of MNIST on their way through the 500 trees of a LightGBM model.

Run from the checkout with the benchmarks' requirements: ``python tools/picture.py``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # after the choice of the backend
import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # the benchmarks' trained models

from bench.models import digits, wrap  # noqa: E402
from bench.trees_wide import TRAIN, digit_lightgbm  # noqa: E402
from wald.displays import StoppingPathDisplay  # noqa: E402

PICTURE = ROOT / "docs" / "images" / "early-exit.svg"
#: One row for each of these places among the rows of either label, ordered by cost.
PLACES = (0.1, 0.9, 0.99, 0.999)
STYLE = {
    "font.family": "sans-serif",
    "font.size": 10,
    "svg.fonttype": "none",
    "svg.hashsalt": "wald",
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def main() -> None:
    """Fit the plan, choose rows from easy to hard, and draw their walks."""
    data = digits()
    fast = wrap(digit_lightgbm(), data.X[TRAIN:])
    labels, costs = fast.predict(data.X_test, return_cost=True)
    rows = []
    for label in fast.classes_:
        some = np.flatnonzero(labels == label)
        ordered = some[np.argsort(costs[some], kind="stable")]
        rows += [int(ordered[int(place * (len(ordered) - 1))]) for place in PLACES]
    with plt.rc_context(STYLE):
        figure, ax = plt.subplots(figsize=(8, 3.4), layout="constrained")
        StoppingPathDisplay.from_estimator(fast, data.X_test, rows=rows, ax=ax)
        figure.patch.set_facecolor("white")
        PICTURE.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(PICTURE, metadata={"Date": None})
    print(f"{PICTURE}: mean cost {costs.mean():.3g} of {fast.plan_.full_cost:g} trees; {fast.certificate_}")


if __name__ == "__main__":
    main()
