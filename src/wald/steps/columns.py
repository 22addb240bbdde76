"""The columns that the first step of a pipeline reads, by name and by number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline


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
        inner = _inner(step)
        known_of = next((each.categories_ for each in inner if hasattr(each, "categories_")), ())
        filled = any(isinstance(each, SimpleImputer) and each.missing_values != each.missing_values for each in inner)
        for name, known in zip(columns, known_of, strict=False):
            if known.dtype == object:
                found[name] = math.nan if filled or any(value != value for value in known.tolist()) else None
    return found


def _inner(step: Any) -> list[Any]:
    """Steps of nested pipelines and unions, in their order."""
    if isinstance(step, FeatureUnion):
        return [each for _, inner in step.transformer_list for each in _inner(inner)]
    return [each for _, inner in step.steps for each in _inner(inner)] if isinstance(step, Pipeline) else [step]


def _parts(transformer: ColumnTransformer, names: Sequence[str]) -> list[tuple[Any, list[str]]]:
    """Steps of a fitted ColumnTransformer, and the names of their columns."""
    return [(step, names_of(columns, names)) for _, step, columns in transformer.transformers_]


def names_of(columns: Any, names: Sequence[Any]) -> list[Any]:
    """Names of the columns that a ColumnTransformer gives to one of its transformers."""
    if isinstance(columns, str):
        return [columns]
    if isinstance(columns, slice) and isinstance(columns.start or columns.stop, str):  # both ends are included
        ends = [None if end is None else list(names).index(end) for end in (columns.start, columns.stop)]
        return list(names)[ends[0] : None if ends[1] is None else ends[1] + 1 : columns.step]
    if isinstance(columns, slice) or np.isscalar(columns) or not all(isinstance(c, str) for c in columns):
        some = columns if isinstance(columns, slice) else np.atleast_1d(np.asarray(columns))
        found: list[Any] = np.asarray(names, dtype=object)[some].tolist()
        return found
    return list(columns)


def positions(columns: Any, n_columns: int, names: Sequence[Any] | None) -> list[int]:
    """Numbers of the columns that a ColumnTransformer gives to one of its transformers, in its own order."""
    if names is None:
        return [int(c) for c in names_of(columns, range(n_columns))]
    place = {name: c for c, name in enumerate(names)}
    return [place[name] for name in names_of(columns, list(names))]
