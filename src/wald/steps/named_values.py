"""Fitted DictVectorizer and FeatureHasher, read as what they do with a row of names and values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction import DictVectorizer, FeatureHasher
from sklearn.utils.validation import check_is_fitted

from .. import _core
from ..sources import RawSource, Source
from .affine import gives_frames, overrides
from .vectorizers import MOST_HASHED

#: Attributes that transform reads, by type of step.
READ_BY_NAMED: dict[type, tuple[str, ...]] = {
    DictVectorizer: ("dtype", "separator", "sparse", "vocabulary_", "feature_names_"),
    FeatureHasher: ("dtype", "n_features", "input_type", "alternate_sign"),
}
#: Types of rows, by what a vectorizer takes.
FORMS: dict[str, tuple[type, ...]] = {"dict": (dict,), "pair": (list, tuple), "string": (list, tuple)}


class _Scorer:
    """The extension's part, with the signature that those of texts have."""

    def __init__(self, core: _core.NamedValues) -> None:
        self._core, self.same_bits = core, core.same_bits

    def scores(self, rows: list[Any], n_threads: int = 1, /) -> tuple[NDArray[Any], NDArray[Any]]:
        """Scores and bounds of their errors, by one thread: rows are Python's objects."""
        return self._core.scores(rows)


@dataclass(frozen=True, eq=False)
class NamedValues:
    """From a row of named values to a sparse row, as the fitted vectorizer makes it.

    Parameters
    ----------
    form : {"dict", "pair", "string"}
        Whether a row is a dict, a list of pairs, or a list of names of the value 1.
    separator : str
        Between a name and a value that is a string.
    n_features : int
    names : tuple of str or None
        None: names are hashed.
    ids : int64 ndarray or None
        The column of each name.
    alternate_sign : bool, default=False
        Whether the hash decides a sign, too.
    single : bool, default=False
        Whether rows are float32.
    dense : bool, default=False
        Whether the vectorizer itself writes arrays, whose products have no fixed order.
    """

    form: str
    separator: str
    n_features: int
    names: tuple[str, ...] | None
    ids: NDArray[np.int64] | None
    alternate_sign: bool = False
    single: bool = False
    dense: bool = False

    @property
    def row_kind(self) -> str:
        """What rows are, for messages."""
        return {"dict": "dicts", "pair": "lists of pairs", "string": "lists of names"}[self.form]

    def scorer(self, weights: dict[str, Any]) -> _Scorer:
        """What scores rows, with ``coef``, ``intercept`` and ``coef_bound`` of a linear model."""
        hashed = self.names is None
        described = {
            "form": self.form,
            "separator": self.separator,
            "names": [] if self.names is None else list(self.names),
            "ids": np.empty(0, dtype=np.int64) if self.ids is None else self.ids,
            "hashing": {"n_features": self.n_features, "alternate_sign": self.alternate_sign} if hashed else None,
            "single": self.single,
        }
        return _Scorer(_core.NamedValues(described | weights))

    def rows_of(self, source: Source) -> list[Any] | None:
        """Rows as a list; None if they are in no form that is known here."""
        rows: Any = source.rows if isinstance(source, RawSource) and source.n_columns is None else None
        if isinstance(rows, np.ndarray) and rows.ndim == 1 and rows.dtype == object:
            return list(rows)
        return list(rows) if isinstance(rows, list | tuple) else None

    def takes(self, row: Any) -> bool:
        """Whether a row is of the type that is read here."""
        return type(row) in FORMS[self.form]

    def require(self, X: Any) -> None:
        """Raise an error for what is no list of rows."""
        if isinstance(X, Mapping):
            raise ValueError(f"X must hold {self.row_kind}, as a list. Got one {type(X).__name__}: use predict_one.")

    def made_rows(self, n_rows: int = 24) -> list[Any]:
        """Rows of known names and of a new one, in random order."""
        rng, made = np.random.default_rng(0), list[Any]()
        known = [f"name{i}" for i in range(64)] if self.names is None else list(self.names)
        for n in range(n_rows):
            some = [*(known[i] for i in rng.permutation(len(known))[:n]), "a name that nobody knows"]
            if self.form == "string":
                made.append(some)
                continue
            entries = dict(zip(some, rng.normal(size=len(some)).tolist(), strict=True))
            made.append(entries if self.form == "dict" else list(entries.items()))
        return made


def read_named_values(step: Any) -> NamedValues | None:
    """Read a fitted DictVectorizer or FeatureHasher; None for other steps, and for names that are no strings."""
    if type(step) not in READ_BY_NAMED or gives_frames(step) or overrides(step):
        return None
    dtype = np.dtype(step.dtype)
    if dtype not in (np.float32, np.float64):
        return None
    single = dtype == np.float32
    if type(step) is FeatureHasher:
        whole = isinstance(step.n_features, int | np.integer) and not isinstance(step.n_features, bool)
        if not whole or not 1 <= step.n_features <= MOST_HASHED or step.input_type not in FORMS:
            return None
        return NamedValues(
            step.input_type, "=", int(step.n_features), None, None, bool(step.alternate_sign), single=single
        )
    check_is_fitted(step, "vocabulary_")
    own = step.vocabulary_
    if type(own) is not dict or not own or not all(type(name) is str for name in own) or step.dtype not in _CALLED:
        return None
    ids = np.array(list(own.values()))
    if ids.dtype.kind not in "iu" or ids.min() < 0 or ids.max() >= len(own) or type(step.separator) is not str:
        return None
    return NamedValues(
        "dict", step.separator, len(own), tuple(own), ids.astype(np.int64), single=single, dense=not step.sparse
    )


#: What a DictVectorizer calls to convert a value, where it can be known what becomes of it.
_CALLED = (np.float64, np.float32, float)


def named_attributes(step: Any) -> list[tuple[Any, str]]:
    """Attributes of such a step that decide its rows, with their owners."""
    return [(step, name) for name in READ_BY_NAMED.get(type(step), ())]
