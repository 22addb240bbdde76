"""Fitted transformers of scikit-learn with the same bits in less time."""

from __future__ import annotations

import copy
import warnings
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import QuantileTransformer, SplineTransformer
from sklearn.preprocessing._data import BOUNDS_THRESHOLD

from .. import _core
from .affine import overrides
from .quick_splines import QuickSplines, shared

#: Fewer numbers are left to NumPy, whose call takes less time.
LEAST_ROWS = 64
#: With fewer quantiles, NumPy interpolates in another way.
LEAST_QUANTILES = 3
#: Columns and numbers between quantiles on which bits are compared.
COMPARED_COLUMNS, COMPARED = 4, 400


class QuickQuantiles(QuantileTransformer):
    """A QuantileTransformer that finds the places of numbers among its quantiles by itself.

    It shares all attributes with the transformer from which it is made, and everything else is scikit-learn's own.
    """

    @classmethod
    def of(cls, step: Any) -> QuickQuantiles | None:
        """The same of a fitted transformer; None where bits may differ."""
        if overrides(step) or not hasattr(step, "quantiles_"):
            return None
        made = shared(cls, step)
        return made if _alike(step, made) else None

    def _transform_col(self, X_col: NDArray[Any], quantiles: NDArray[Any], inverse: bool) -> NDArray[Any]:
        few = len(X_col) < LEAST_ROWS or len(quantiles) < LEAST_QUANTILES
        if inverse or few or X_col.dtype not in (np.float32, np.float64):
            return np.asarray(super()._transform_col(X_col, quantiles, inverse))
        normal = self.output_distribution == "normal"
        known = np.ascontiguousarray(quantiles, dtype=np.float64)
        references = np.ascontiguousarray(self.references_, dtype=np.float64)
        try:
            found = _core.interpolated(X_col, known, references)
        except (ValueError, TypeError):  # of quantiles that were edited
            return np.asarray(super()._transform_col(X_col, quantiles, inverse))
        missing = np.isnan(X_col)
        if not np.array_equal(np.isnan(found), missing):
            return np.asarray(super()._transform_col(X_col, quantiles, inverse))
        with np.errstate(invalid="ignore"):
            if normal:
                low, high = X_col - BOUNDS_THRESHOLD < quantiles[0], X_col + BOUNDS_THRESHOLD > quantiles[-1]
            else:
                low, high = X_col == quantiles[0], X_col == quantiles[-1]
            np.copyto(X_col, found, where=~missing, casting="same_kind")
            X_col[high], X_col[low] = 1, 0
            if normal:
                ends = (BOUNDS_THRESHOLD - np.spacing(1), 1 - (BOUNDS_THRESHOLD - np.spacing(1)))
                X_col = np.clip(stats.norm.ppf(X_col), stats.norm.ppf(ends[0]), stats.norm.ppf(ends[1]))
        return X_col


def _alike(step: Any, made: QuickQuantiles) -> bool:
    """Whether both write the same bits at quantiles, beside them, and between and beyond them."""
    if not hasattr(QuantileTransformer, "_transform_col"):
        return False
    rng = np.random.default_rng(0)
    for own in np.asarray(step.quantiles_, dtype=np.float64).T[:COMPARED_COLUMNS]:
        some = rng.choice(own, COMPARED)
        between = some + rng.random(COMPARED) * (own[-1] - own[0]) / len(own)
        beyond = [own[0] - 1.0, own[-1] + 1.0, np.nan, 0.0, -0.0]
        values = np.concatenate([some, np.nextafter(some, np.inf), np.nextafter(some, -np.inf), between, beyond])
        for dtype in (np.float64, np.float32):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    theirs = step._transform_col(values.astype(dtype), own, False)
                    ours = made._transform_col(values.astype(dtype), own, False)
                except Exception:  # of another version of scikit-learn
                    return False
            if theirs.dtype != ours.dtype or theirs.tobytes() != ours.tobytes():
                return False
    return True


_MADE: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
#: What makes a quick transformer of one of these types, or None.
_MAKERS: dict[type, Any] = {QuantileTransformer: QuickQuantiles.of, SplineTransformer: QuickSplines.of}
#: What holds other transformers, and the attribute that lists them.
_HELD_IN = {Pipeline: "steps", FeatureUnion: "transformer_list", ColumnTransformer: "transformers_"}


def quick(step: Any) -> Any:
    """A transformer with the bits of a fitted one in less time; the same one where there is none.

    Pipelines, unions and ColumnTransformers are looked into. What is made of a transformer is kept as long as it lives.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.preprocessing import QuantileTransformer, StandardScaler
    >>> from wald.steps.quick import quick
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> step = QuantileTransformer(n_quantiles=100).fit(X)
    >>> bool((quick(step).transform(X) == step.transform(X)).all())
    True
    >>> scaler = StandardScaler().fit(X)
    >>> quick(scaler) is scaler
    True
    """
    held = _HELD_IN.get(type(step))
    if held is not None:
        parts = getattr(step, held, ())
        inner = [(part[0], quick(part[1]), *part[2:]) for part in parts]
        if all(one[1] is part[1] for one, part in zip(inner, parts, strict=True)):
            return step
        other = copy.copy(step)
        setattr(other, held, inner)
        return other
    if type(step) not in _MAKERS:
        return step
    if step not in _MADE:
        _MADE[step] = _MAKERS[type(step)](step)
    return _MADE[step] or step
