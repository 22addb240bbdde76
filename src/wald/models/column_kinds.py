"""What the columns of a data frame held in `fit`, as the fitted transformers that read them say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import FunctionTransformer

from ..sources.values import is_missing
from ..steps.columns import positions

VECTORIZERS = (CountVectorizer, HashingVectorizer)
#: Packages whose transformers take numbers, but for the encoders and imputers that are asked first.
OF_NUMBERS = (
    *("sklearn.preprocessing.", "sklearn.impute.", "sklearn.decomposition.", "sklearn.feature_selection."),
    *("sklearn.kernel_approximation", "sklearn.random_projection", "sklearn.cluster.", "sklearn.manifold."),
)


class Holds(IntEnum):
    """What a column holds; where several transformers read it, the largest of their answers is right."""

    ANYTHING = 0
    NUMBERS = 1
    BOOLEANS = 2
    DOCUMENTS = 3
    TEXTS = 4


@dataclass(frozen=True)
class ColumnKind:
    """What a column held in `fit`.

    Parameters
    ----------
    holds : Holds
    missing : None, nan or pandas.NA, default=nan
        What stands for a missing value.
    knows_missing : bool, default=False
        Whether a transformer knows missing values.
    known : frozenset of str, default=frozenset()
        Texts that an encoder knows.
    whole : bool, default=False
        Whether numbers are integers.
    objects : bool, default=False
        Whether the column was one of Python's objects, though it holds no texts.
    """

    holds: Holds
    missing: Any = math.nan
    knows_missing: bool = False
    known: frozenset[str] = frozenset()
    whole: bool = False
    objects: bool = False

    def joined(self, other: ColumnKind) -> ColumnKind:
        """What a column held that two transformers read."""
        kind, more = (self, other) if self.holds >= other.holds else (other, self)
        missing = kind.missing if kind.knows_missing or not more.knows_missing else more.missing
        return replace(
            kind,
            missing=missing,
            knows_missing=kind.knows_missing or more.knows_missing,
            known=kind.known | more.known,
            whole=kind.whole or more.whole,
            objects=kind.objects or more.objects,
        )


def column_kinds(steps: Sequence[Any], names: Sequence[str]) -> list[ColumnKind]:
    """What each column held.

    Parameters
    ----------
    steps : sequence of transformer
        Fitted; the first one meets the columns.
    names : sequence of str
    """
    found, _ = _of(steps[0], len(names), list(names))
    later = ColumnKind(Holds.NUMBERS if all(map(_takes_numbers, steps[1:])) else Holds.ANYTHING)
    return [later if kind is None else kind for kind in found]


def vectorizes(step: Any) -> bool:
    """Whether a transformer reads texts, one a row."""
    if isinstance(step, Pipeline):
        return vectorizes(step.steps[0][1])
    if isinstance(step, FeatureUnion):
        return any(vectorizes(each) for _, each in step.transformer_list)
    return isinstance(step, VECTORIZERS)


#: For each column what it held, or None if the transformer says nothing; and whether columns are written as they are.
_Found = tuple[list[ColumnKind | None], bool]


def _of(step: Any, n: int, names: list[str] | None) -> _Found:
    """What a fitted transformer says of its columns."""
    if isinstance(step, str):
        return [None] * n, step == "passthrough"
    if isinstance(step, Pipeline):
        return _of_pipeline(step, n, names)
    if isinstance(step, FeatureUnion):
        parts = [_of(each, n, names)[0] for _, each in step.transformer_list]
        return [_joined([part[c] for part in parts]) for c in range(n)], False
    if isinstance(step, ColumnTransformer):
        return _of_columns(step, n, names), False
    if hasattr(step, "categories_"):
        return [_of_categories(held) for held in step.categories_], False
    if isinstance(step, VECTORIZERS):
        return [ColumnKind(Holds.DOCUMENTS)] * n, False
    if isinstance(step, SimpleImputer):
        return _of_imputer(step)
    if isinstance(step, FunctionTransformer) and step.func is None:
        return [None] * n, True
    return [ColumnKind(Holds.NUMBERS if _takes_numbers(step) else Holds.ANYTHING)] * n, False


def _of_pipeline(pipeline: Pipeline, n: int, names: list[str] | None) -> _Found:
    found: list[ColumnKind | None] = [None] * n
    keeps = True
    for _, step in pipeline.steps:
        more, keeps = _of("passthrough" if step is None else step, n, names)
        found = [_joined(each) for each in zip(found, more, strict=True)]
        if not keeps:
            break
        names = names if isinstance(step, str) else None
    return found, keeps


def _of_columns(step: ColumnTransformer, n: int, names: list[str] | None) -> list[ColumnKind | None]:
    found: list[list[ColumnKind | None]] = [[] for _ in range(n)]
    for _, each, columns in step.transformers_:
        if isinstance(each, str) and each == "drop":
            continue
        places = positions(columns, n, names)
        inner, _ = _of(each, len(places), None if names is None else [names[c] for c in places])
        for c, kind in zip(places, inner, strict=True):
            found[c].append(kind)
    return [_joined(kinds) for kinds in found]


def _joined(kinds: Sequence[ColumnKind | None]) -> ColumnKind | None:
    """What a column held that several transformers read; None if none of them says anything."""
    found: ColumnKind | None = None
    for kind in kinds:
        if kind is not None:
            found = kind if found is None else found.joined(kind)
    return found


def _of_categories(held: Any) -> ColumnKind:
    """What a column held of which an encoder knows these categories."""
    values = held.tolist()
    missing = [value for value in values if is_missing(value)]
    given = [value for value in values if not is_missing(value)]
    about: dict[str, Any] = {"missing": missing[0] if missing else math.nan, "knows_missing": bool(missing)}
    texts = [isinstance(value, str) for value in given]
    if all(texts) and (given or held.dtype.kind in "OU"):
        return ColumnKind(Holds.TEXTS, **about, known=frozenset(given))
    if all(isinstance(value, bool | int | float) for value in given):
        booleans = bool(given) and all(isinstance(value, bool) for value in given)
        whole = all(isinstance(value, int) for value in given)
        objects = held.dtype.kind == "O"
        return ColumnKind(Holds.BOOLEANS if booleans else Holds.NUMBERS, **about, whole=whole, objects=objects)
    return ColumnKind(Holds.ANYTHING, **about)


def _of_imputer(step: SimpleImputer) -> _Found:
    """An imputer, which fills in a value of the kind that its column holds."""
    replaced = step.missing_values
    about: dict[str, Any] = {"missing": replaced, "knows_missing": True} if is_missing(replaced) else {}
    known = frozenset([replaced] if isinstance(replaced, str) else [])
    filled = np.asarray(step.statistics_, dtype=object).tolist()
    found: list[ColumnKind | None] = []
    for value in filled:
        if isinstance(value, str):
            found.append(ColumnKind(Holds.TEXTS, **about, known=known))
        elif isinstance(value, bool):
            found.append(ColumnKind(Holds.BOOLEANS, **about, objects=True))
        else:
            found.append(ColumnKind(Holds.ANYTHING if is_missing(value) else Holds.NUMBERS, **about))
    return found, not step.add_indicator and not any(map(is_missing, filled))


def _takes_numbers(step: Any) -> bool:
    """Whether a transformer takes numbers alone."""
    if isinstance(step, str):
        return True
    if isinstance(step, FunctionTransformer):
        return step.func is None or isinstance(step.func, np.ufunc)
    return type(step).__module__.startswith(OF_NUMBERS) and not hasattr(step, "categories_")
