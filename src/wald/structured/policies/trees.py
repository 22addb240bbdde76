"""Boosted trees that predict the log odds of an event: fitted by scikit-learn, evaluated by the compiled core."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier

from ... import _core
from .evidence import Known


class BoostedTrees:
    """Log odds of an event, by ``max_iter`` trees over float32 rows.

    The sums are those of scikit-learn's `HistGradientBoostingClassifier`, bit for bit: thresholds are rounded down to
    float32, which sends float32 rows the same way, and the trees' values are added up in the same order.
    """

    def __init__(
        self, rows: NDArray[np.float32], event: NDArray[np.bool_], max_iter: int = 100, random_state: int | None = None
    ) -> None:
        self._arrays = self._fitted(rows, event, max_iter, random_state)
        self._forest = _core.Forest(**self._arrays)

    def __call__(self, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        """Log odds (n,); each depends on its row alone."""
        return self._forest(np.ascontiguousarray(rows, dtype=np.float32))

    def chances(self, known: Known) -> NDArray[np.float64]:
        """Logarithms of the probabilities of parts (n,), from their complex rows; -inf where no group is lacking."""
        return _core.part_chances(self._forest, *known)

    @staticmethod
    def _fitted(
        rows: NDArray[np.float32], event: NDArray[np.bool_], max_iter: int, random_state: int | None
    ) -> dict[str, Any]:
        if event.all() or not event.any():  # nothing to learn: constant odds, with half a row added to either side
            odds = np.log((event.sum() + 0.5) / ((~event).sum() + 0.5))
            return _arrays(float(odds), [], rows.shape[1])
        model = HistGradientBoostingClassifier(
            max_iter=max_iter,
            learning_rate=0.08,
            max_depth=6,
            max_leaf_nodes=24,
            min_samples_leaf=min(40, max(1, len(rows) // 20)),
            l2_regularization=1.0,
            early_stopping=False,
            random_state=random_state,
        ).fit(rows, event)
        trees = [predictor.nodes for (predictor,) in model._predictors]
        return _arrays(float(model._baseline_prediction.ravel()[0]), trees, rows.shape[1])

    def __getstate__(self) -> dict[str, Any]:
        return self._arrays

    def __setstate__(self, arrays: dict[str, Any]) -> None:
        self._arrays = arrays
        self._forest = _core.Forest(**arrays)


def _arrays(base: float, trees: list[NDArray[Any]], n_features: int) -> dict[str, Any]:
    """Nodes of scikit-learn's trees as `_core.Forest` takes them."""

    def column(name: str, dtype: type) -> NDArray[Any]:
        return np.concatenate([np.empty(0, dtype), *(nodes[name].astype(dtype) for nodes in trees)])

    leaf = column("is_leaf", bool)
    return {
        "base": base,
        "ends": np.cumsum([0] + [len(nodes) for nodes in trees], dtype=np.int64),
        "feature": column("feature_idx", np.int32),
        "threshold": column("num_threshold", np.float64),
        "left": np.where(leaf, 0, column("left", np.int32)).astype(np.int32),
        "right": np.where(leaf, 0, column("right", np.int32)).astype(np.int32),
        "value": column("value", np.float64),
        "n_features": n_features,
    }
