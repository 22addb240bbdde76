"""Vectorizers of the same texts whose columns a FeatureUnion puts side by side, and what begins a pipeline of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.pipeline import FeatureUnion

from .. import _core
from ..sources import Source
from .affine import gives_frames, overrides, read_step
from .known_values import flat
from .named_values import NamedValues, named_attributes, read_named_values
from .vectorizers import (
    READ_BY_VECTORIZERS,
    SELECTORS,
    Vectorizer,
    components,
    read_vectorizer,
    selected,
    vectorizer_attributes,
)


@dataclass(frozen=True, eq=False)
class UnionPart:
    """A vectorizer in a union, and the steps behind it.

    Parameters
    ----------
    vectorizer : Vectorizer
    later : tuple of transformer
    weight : float or None
        What the union multiplies the columns by, unless the vectorizer itself does.
    width : int
        Number of columns that it writes.
    """

    vectorizer: Vectorizer
    later: tuple[Any, ...]
    weight: float | None
    width: int


@dataclass(frozen=True, eq=False)
class VectorizerUnion:
    """From a text to a sparse row, as a FeatureUnion of fitted vectorizers makes it.

    Parameters
    ----------
    parts : tuple of UnionPart
        In the order of their columns.
    """

    parts: tuple[UnionPart, ...]
    dense: ClassVar[bool] = False
    row_kind: ClassVar[str] = "texts"

    @property
    def single(self) -> bool:
        """Whether some rows are float32."""
        return any(part.vectorizer.single for part in self.parts)

    @property
    def width(self) -> int:
        """Number of columns that the union writes."""
        return sum(part.width for part in self.parts)

    @property
    def n_features(self) -> int:
        """Number of columns of all vectorizers."""
        return sum(part.vectorizer.n_features for part in self.parts)

    def scorer(self, weights: dict[str, Any]) -> _core.TextUnion:
        """What scores rows, with ``coef``, ``intercept`` and ``coef_bound`` of a linear model."""
        coef, bound, parts, start = weights["coef"], weights["coef_bound"], [], 0
        if not all(part.vectorizer.single for part in self.parts):  # the rows of a union are float64 then
            coef = coef.astype(np.float64)
        for i, part in enumerate(self.parts):
            some = slice(start, start := start + part.vectorizer.n_features)
            last = i + 1 == len(self.parts)
            own = {
                "coef": np.ascontiguousarray(coef[:, some]),
                "coef_bound": None if bound is None else np.ascontiguousarray(bound[:, some]),
                "intercept": weights["intercept"] if last else np.zeros_like(weights["intercept"]),
            }
            parts.append(part.vectorizer.scorer(own))
        return _core.TextUnion(parts)

    def rows_of(self, source: Source) -> list[Any] | None:
        """Rows as a list; None if they are in no form that is known here."""
        return self.parts[0].vectorizer.rows_of(source)

    def takes(self, row: Any) -> bool:
        """Whether a row is of the type that is read here."""
        return self.parts[0].vectorizer.takes(row)

    def require(self, X: Any) -> None:
        """Raise an error for what is no column of rows."""
        self.parts[0].vectorizer.require(X)

    def made_rows(self, n_rows: int = 24) -> list[Any]:
        """Texts that are made for each of the vectorizers."""
        return [row for part in self.parts for row in part.vectorizer.made_rows(n_rows)]


def read_rows(steps: Sequence[Any]) -> tuple[Vectorizer | VectorizerUnion | NamedValues, int] | None:
    """Read the first steps of a pipeline whose rows are texts, dicts, or lists of names.

    Parameters
    ----------
    steps : sequence of transformer
        Fitted.

    Returns
    -------
    vectorizer : Vectorizer, VectorizerUnion or NamedValues
    n_steps : int
        How many steps it stands for.
        None in place of both if the first step is none that is known exactly.
    """
    if not steps:
        return None
    if type(steps[0]) is FeatureUnion:
        parts = _parts_of(steps[0], None)
        return (VectorizerUnion(tuple(parts)), 1) if parts else None
    named = read_named_values(steps[0])
    return read_vectorizer(steps) if named is None else (named, 1)


def rows_attributes(step: Any) -> list[tuple[Any, str]]:
    """Attributes of a step that `read_rows` reads, with their owners."""
    if type(step) is not FeatureUnion:
        return named_attributes(step) or vectorizer_attributes(step)
    found = [(step, "transformer_list"), (step, "transformer_weights")]
    for _, part in step.transformer_list:
        for each in flat(part):
            found += rows_attributes(each)
    return found


def _parts_of(union: Any, outer: float | None) -> list[UnionPart] | None:
    """The vectorizers of a union, and of unions in it, with the weight of the union; None if one is not known."""
    if gives_frames(union) or overrides(union):
        return None
    weights, parts = union.transformer_weights or {}, list[UnionPart]()
    for name, part in union.transformer_list:
        if isinstance(part, str) and part == "drop":
            continue
        steps = flat(part)
        if not steps or any(gives_frames(each) or overrides(each) for each in steps):
            return None
        weight = weights.get(name)
        if not (weight is None or _is_number(weight)) or (weight is not None and outer is not None):  # two roundings
            return None
        weight = outer if weight is None else float(weight)
        if len(steps) == 1 and type(steps[0]) is FeatureUnion:
            inner = _parts_of(steps[0], weight)
            if inner is None:
                return None
            parts += inner
            continue
        found = read_vectorizer(steps)
        if found is None:
            return None
        vectorizer, n_steps = found
        later = tuple(steps[n_steps:])
        width = _width(vectorizer.n_features, later)
        if width is None:
            return None
        if weight is not None and all(type(step) in SELECTORS for step in later):  # which leave values as they are
            vectorizer, weight = replace(vectorizer, weight=weight), None
        parts.append(UnionPart(vectorizer, later, weight, width))
    return parts


def _is_number(weight: Any) -> bool:
    return type(weight) in (int, float) and bool(np.isfinite(weight))


def _width(n: int, later: Sequence[Any]) -> int | None:
    """Number of columns behind some steps; None if one is not known."""
    for step in later:
        kept, matrix = selected(step), components(step)
        if kept is not None:
            if len(kept) != n:
                return None
            n = int(np.count_nonzero(kept))
        elif matrix is not None:
            n = len(matrix)
        elif type(step) in READ_BY_VECTORIZERS or type(step) is TfidfTransformer or read_step(step) is None:
            return None
    return n
