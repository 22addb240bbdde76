"""Bounds of the contribution of unseen terms, rounding included, for lossless exits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ... import _core
from ...models import AdditiveModel
from ...models.protocols import Bounded, bounds
from ...plan import Recipe
from ...plan.moments import Floats
from ...sources import Conversion, Source, source_of
from ...stopping import Rule


def remainders(model: AdditiveModel, recipe: Recipe, rule: Rule) -> tuple[Floats, Floats, Floats]:
    """Bounds of (full score - readout) at every stage, and of rounding; with several outputs, for margins of pairs."""
    terms = model.terms
    n = terms.n_terms
    low, high, rounding = bounds(terms, *_feature_ranges(model, rule), model.working_precision(np.float32))
    order = np.concatenate([recipe.terms, np.setdiff1d(np.arange(n), recipe.terms)]).astype(np.int64)
    margins = model.decision.linear_margins()
    if margins is None:
        raise ValueError(f"{type(rule).__name__} needs margins that are linear in the scores; this output has none.")
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
    if not model.decision.two_sided:
        below, above = np.minimum(below, -above), np.maximum(above, -below)
    tolerance = np.full(len(recipe.stage_terms), rounding + model.tie_margin)
    return below, above, tolerance


class FeatureRanges:
    """The user's bounds of the features, on which lossless exits of linear models rely.

    They bound the terms that were not evaluated, so a row may leave only if all of its columns lie inside, read or not.

    Parameters
    ----------
    low, high : float64 ndarray of shape (n_features,)
    allow_nan : bool
        Whether NaN counts as inside, because the model fills it.
    conversion : Conversion
        Conversion of rows that are not compared in place.
    """

    def __init__(self, low: Floats, high: Floats, allow_nan: bool, conversion: Conversion) -> None:
        self._low, self._high, self._given = low, high, (low, high, allow_nan, conversion)
        self._ranges, self._conversion = _core.Ranges(low, high, allow_nan), conversion

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._given  # the extension's object is made anew

    @classmethod
    def of(cls, model: AdditiveModel, rule: Rule) -> FeatureRanges | None:
        """Read the ranges of a rule; None if it has none, or if the model does not use them."""
        bounded, given = Bounded.of(model.terms), rule.needs.low is not None or rule.needs.high is not None
        if bounded is None or not bounded.needs_feature_ranges or not given:
            return None
        return cls(*_feature_ranges(model, rule), model.allow_nan, model.terms.accepts.conversion)

    def require(self, X: Any) -> None:
        """Raise ValueError if a value of an array or CSR matrix lies outside."""
        outside = np.flatnonzero(self.violated_by(source_of(X), np.arange(X.shape[0]), 1))
        if len(outside):
            row = X[outside[:1]]
            values = np.ravel(row.toarray() if sparse.issparse(row) else row)
            column = np.flatnonzero((values < self._low) | (values > self._high))[0]
            raise ValueError(
                f"X holds {values[column]:g} in row {outside[0]}, column {column}, but the rule says that this feature "
                f"lies in [{self._low[column]:g}, {self._high[column]:g}]. Give Lossless(low=, high=) ranges that hold "
                "for all rows."
            )

    def violated_by(self, source: Source, rows: NDArray[np.int64], n_threads: int) -> NDArray[np.bool_]:
        """Whether each of some rows holds a value outside; infinity is outside, and NaN where it is not filled.

        Parameters
        ----------
        source : Source
        rows : int64 ndarray
            Numbers of the rows, ascending.
        n_threads : int
        """
        found = []
        for block in source.blocks(self._conversion):
            here = slice(*np.searchsorted(rows, (block.start, block.start + len(block))))
            found.append(self._ranges.outside(block.rows, rows[here] - block.start, n_threads))
        return found[0] if len(found) == 1 else np.concatenate(found)


def _feature_ranges(model: AdditiveModel, rule: Rule) -> tuple[Floats, Floats]:
    """Bounds of the features from a rule, broadcast to one value per feature."""
    n, needs, name = model.terms.n_features, rule.needs, type(rule).__name__
    if (needs.low is not None or needs.high is not None) and model.preprocessing is not None:
        raise ValueError(
            f"{name}(low=, high=) refers to raw columns, which the pipeline transforms before the model reads them."
        )
    ranges = []
    for end, bound, missing in (("low", needs.low, -np.inf), ("high", needs.high, np.inf)):
        values = np.asarray(missing if bound is None else bound, dtype=np.float64)
        if values.ndim == 1 and len(values) != n:
            raise ValueError(f"{name}({end}=) must be a number, or one for each of {n} features. Got {len(values)}.")
        ranges.append(np.broadcast_to(values, (n,)).astype(np.float64))
    return ranges[0], ranges[1]
