"""Values that fitted encoders know, and one that they do not know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)

from ..sources.values import is_missing
from .affine import gives_frames, overrides
from .probing import Kind, holds

ENCODERS: tuple[type, ...] = (OneHotEncoder, OrdinalEncoder, TargetEncoder)
#: Transformers whose columns each depend on one column that they read, and on no other row.
COLUMNWISE: tuple[type, ...] = (*ENCODERS, SimpleImputer, StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler)

#: Texts of which one is known to no encoder, some of them short, for columns of a fixed width.
TEXTS = ("a value that no encoder knows", *"~^|#@`$%&!?", *map(chr, range(0x2460, 0x2474)))
#: Whole numbers from this one on are not told apart by all of scikit-learn's conversions.
INEXACT = 2**53
#: Values that an encoder knows in a column: texts, or numbers.
Known = list[str] | NDArray[Any]


def known_values(transformer: Any, n_columns: int) -> list[Known] | None:
    """Values that a transformer knows in each of its columns: texts or numbers; None if it is no encoder of these."""
    steps = flat(transformer)
    if any(type(step) not in COLUMNWISE or gives_frames(step) or overrides(step) for step in steps):
        return None
    encoders = [step for step in steps if type(step) in ENCODERS]
    if not encoders or any(getattr(step, "n_features_in_", -1) != n_columns for step in encoders[:1]):
        return None
    if len(encoders) > 1:  # the second would know what the first writes
        return None
    known: list[Known] = []
    for c, categories in enumerate(encoders[0].categories_):
        values = [value for value in categories.tolist() if not is_missing(value)]
        for step in steps[: steps.index(encoders[0])]:
            if type(step) is not SimpleImputer or step.n_features_in_ != n_columns:
                return None
            for value in (np.asarray(step.statistics_, dtype=object)[c], step.missing_values):
                if not is_missing(value) and value not in values:
                    values.append(value)
        if all(type(value) is str for value in values) and values:
            known.append(values)
        elif values and all(isinstance(value, int | float | np.number) for value in values):
            numbers = np.array(values, dtype=categories.dtype if categories.dtype.kind in "biuf" else None)
            exact = numbers.dtype.kind in "biuf" and numbers.dtype != np.uint64 and np.abs(numbers).max() < INEXACT
            if not exact or categories.dtype.kind == "O":
                return None
            known.append(numbers)
        else:
            return None
    return known


def for_keys(known: Known) -> Known:
    """Known values as `Keys` takes them."""
    return known if isinstance(known, list) else known.astype(np.float64 if known.dtype.kind == "f" else np.int64)


def unknown_value(known: Sequence[Any], kind: Kind, text: bool) -> list[Any]:
    """A value that is not known, and that a column of a kind can hold; none if there is no such value at hand."""
    candidates: list[Any] = list(TEXTS)
    if not text:
        low, high = min(known), max(known)
        candidates = [type(low)(number) for number in (high + 1, low - 1, 0, (low + high) / 2, 2 * high, 2 * low)]
    return [value for value in candidates if value not in known and holds(kind, value)][:1]


def flat(transformer: Any) -> list[Any]:
    """Transformers of nested pipelines, in their order."""
    if type(transformer) is Pipeline:
        return [each for _, step in transformer.steps if step not in (None, "passthrough") for each in flat(step)]
    return [transformer]
