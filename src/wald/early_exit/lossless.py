"""Bounds of the contribution of unseen terms, rounding included, for lossless exits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..engine.frames import columns_of, is_frame
from ..models import AdditiveModel
from ..plan import Recipe
from ..plan.moments import Floats
from ..stopping import Lossless, Rule

#: Number of rows that are compared with ranges at a time.
CHECKED_ROWS = 4096


def remainders(model: AdditiveModel, recipe: Recipe, rule: Lossless) -> tuple[Floats, Floats, Floats]:
    """Bounds of (full score - readout) at every stage, and of rounding; with several outputs, for margins of pairs."""
    terms = model.terms
    n = terms.n_terms
    low, high = terms.ranges(*_feature_ranges(model, rule))
    order = np.concatenate([recipe.terms, np.setdiff1d(np.arange(n), recipe.terms)]).astype(np.int64)
    margins = model.decision.margins()
    weights = margins @ terms.coef
    with np.errstate(invalid="ignore"):
        ends = np.stack([np.where(weights == 0, 0.0, weights * low), np.where(weights == 0, 0.0, weights * high)])
    least, most = ends.min(axis=0)[:, order], ends.max(axis=0)[:, order]

    def sum_of_unseen(values: Floats) -> Floats:
        suffix = np.concatenate([np.cumsum(values[:, ::-1], axis=1)[:, ::-1], np.zeros((len(values), 1))], axis=1)
        return suffix[:, recipe.stage_terms]

    imputed = (
        np.stack([margins @ (r.bias - terms.intercept) for r in recipe.early.readouts], axis=1)
        if len(recipe.early)
        else np.zeros((len(margins), 0))
    )
    below = (sum_of_unseen(least) - imputed).min(axis=0)
    above = (sum_of_unseen(most) - imputed).max(axis=0)
    if model.decision.n_outputs > 1:
        below, above = np.minimum(below, -above), np.maximum(above, -below)
    rounding = terms.rounding(low, high, model.working_precision(np.float32))
    tolerance = np.full(len(recipe.stage_terms), rounding + model.tie_margin)
    return below, above, tolerance


@dataclass(frozen=True, eq=False)
class FeatureRanges:
    """The user's bounds of the features, on which lossless exits of linear models rely.

    Attributes
    ----------
    low, high : float64 ndarray of shape (n_features,)
    """

    low: Floats
    high: Floats

    @classmethod
    def of(cls, model: AdditiveModel, rule: Rule) -> FeatureRanges | None:
        """Read the ranges of a rule; None if it has none, or if the model does not use them."""
        if not isinstance(rule, Lossless) or (rule.low is None and rule.high is None):
            return None
        return cls(*_feature_ranges(model, rule)) if model.terms.needs_feature_ranges() else None

    def require(self, X: Any) -> None:
        """Raise ValueError if a value of an array or CSR matrix lies outside."""
        for start in range(0, X.shape[0], CHECKED_ROWS):
            rows = X[start : start + CHECKED_ROWS]
            values = rows.toarray() if sparse.issparse(rows) else rows
            outside = self._outside(values, slice(None))
            if outside.any():
                row, column = np.argwhere(outside)[0]
                raise ValueError(
                    f"X holds {values[row, column]:g} in row {start + row}, column {column}, but the rule says that "
                    f"this feature lies in [{self.low[column]:g}, {self.high[column]:g}]. Give Lossless(low=, high=) "
                    "ranges that hold for all rows."
                )

    def violated_by(self, X: Any, columns: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each row of an array, CSR matrix or frame has a value outside in one of the given columns."""
        if sparse.issparse(X):
            values = X.tocsr()[:, columns].toarray()
        elif is_frame(X):
            values = np.column_stack([np.asarray(v, dtype=np.float64) for v in columns_of(X, columns.tolist())])
        else:
            values = np.asarray(X)[:, columns]
        return np.asarray(self._outside(values, columns).any(axis=1))

    def _outside(self, values: NDArray[Any], columns: Any) -> NDArray[np.bool_]:
        return np.asarray((values < self.low[columns]) | (values > self.high[columns]))


def _feature_ranges(model: AdditiveModel, rule: Lossless) -> tuple[Floats, Floats]:
    """Bounds of the features from a rule, broadcast to one value per feature."""
    n = model.terms.n_features
    if (rule.low is not None or rule.high is not None) and model.preprocessing is not None:
        raise ValueError(
            "Lossless(low=, high=) refers to raw columns, which the pipeline transforms before the model reads them."
        )
    ranges = []
    for name, bound, missing in (("low", rule.low, -np.inf), ("high", rule.high, np.inf)):
        values = np.asarray(missing if bound is None else bound, dtype=np.float64)
        if values.ndim == 1 and len(values) != n:
            raise ValueError(f"Lossless({name}=) must be a number, or one for each of {n} features. Got {len(values)}.")
        ranges.append(np.broadcast_to(values, (n,)).astype(np.float64))
    return ranges[0], ranges[1]
