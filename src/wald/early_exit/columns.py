"""The columns that the first step of a pipeline reads, by name."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline


def needed(first: Any, names: Sequence[str]) -> list[str]:
    """Names of the columns that a pipeline's first step reads; all names if it is no ColumnTransformer."""
    if not isinstance(first, ColumnTransformer):
        return list(names)
    read = {
        name
        for step, columns in _parts(first, names)
        if not (isinstance(step, str) and step == "drop")
        for name in columns
    }
    return [name for name in names if name in read]


def text_columns(first: Any, names: Sequence[str]) -> dict[str, float | None]:
    """Columns that a pipeline's first step encodes as texts, and what stands for a missing one: NaN or None."""
    parts = _parts(first, names) if isinstance(first, ColumnTransformer) else [(first, list(names))]
    found: dict[str, float | None] = {}
    for step, columns in parts:
        inner = [each for _, each in step.steps] if isinstance(step, Pipeline) else [step]
        known_of = next((each.categories_ for each in inner if hasattr(each, "categories_")), ())
        for name, known in zip(columns, known_of, strict=False):
            if known.dtype == object:
                found[name] = math.nan if any(value != value for value in known.tolist()) else None
    return found


def _parts(transformer: ColumnTransformer, names: Sequence[str]) -> list[tuple[Any, list[str]]]:
    """Steps of a fitted ColumnTransformer, and the names of their columns."""
    parts = []
    for _, step, columns in transformer.transformers_:
        if isinstance(columns, str):
            parts.append((step, [columns]))
        elif isinstance(columns, slice) or not all(isinstance(c, str) for c in columns):
            some = columns if isinstance(columns, slice) else np.asarray(columns)
            parts.append((step, np.asarray(names, dtype=object)[some].tolist()))
        else:
            parts.append((step, list(columns)))
    return parts
