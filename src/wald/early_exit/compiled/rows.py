"""Rows of ``fit`` before and after preprocessing, as one value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import assert_all_finite

from ...models import AdditiveModel, fitted_for_good
from ...models.documents import DocumentSteps
from ...models.tree_classifier import STORED_NAN
from ...sources import LazyRows, Source, source_of
from ...steps import RawColumns
from .parameters import SHELLS


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows before and after preprocessing.

    Parameters
    ----------
    raw : Source
        Rows for the wrapped estimator.
    preprocessed : array or CSR of shape (n_rows, n_features)
        Rows for the terms, after the steps of a pipeline that are not folded into the terms.
    groups : ndarray of shape (n_rows,) or None, default=None
    truth : int32 ndarray of shape (n_rows,) or None, default=None
        Codes of true labels, where these are promised; -1 for labels that the model does not know.
    """

    raw: Source
    preprocessed: Any
    groups: NDArray[Any] | None = None
    truth: NDArray[np.int32] | None = None

    @classmethod
    def of(cls, model: AdditiveModel, source: Source, groups: ArrayLike | None = None, n_threads: int = 1) -> Rows:
        """Preprocess rows for a model; raises ValueError if a preprocessed value is not finite."""
        Z = preprocessed(model, source, n_threads).array(model.terms.accepts.conversion)
        _require_read(model, source, source_of(Z))
        return cls(source, Z, None if groups is None else np.asarray(groups))

    def __len__(self) -> int:
        return int(self.preprocessed.shape[0])

    def take(self, indices: NDArray[np.intp]) -> Rows:
        """Some rows, in this order."""
        groups = None if self.groups is None else self.groups[indices]
        truth = None if self.truth is None else self.truth[indices]
        return Rows(self.raw.take(indices), self.preprocessed[indices], groups, truth)

    def first(self, n: int) -> Rows:
        """The first n rows."""
        return self if n >= len(self) else self.take(np.arange(n))

    def pieces(self, size: int) -> Iterator[Rows]:
        """All rows in pieces of at most `size` rows; one empty piece if there are none."""
        if len(self) <= size:
            yield self
            return
        for start in range(0, len(self), size):
            yield self.take(np.arange(start, min(len(self), start + size)))


def preprocessed(model: AdditiveModel, source: Source, n_threads: int = 1) -> Source:
    """Apply the steps of a pipeline that are not folded into the terms.

    Raises
    ------
    ValueError
        If rows are sparse and the terms include a step that maps zeros to other values, or if rows are float16 and the
        terms include a step.
    """
    step = model.preprocessing
    if isinstance(step, RawColumns):
        source = step.transform(source, n_threads)
    elif isinstance(step, DocumentSteps):
        source = source_of(step.transform(source, n_threads))
    elif step is not None:
        source = source_of(step.transform(source))
    refuse_unlike(model, source)
    _refuse_stored_nan(model, source)
    if source.becomes_sparse and model.centres:
        raise ValueError(
            "X is sparse, but the plan was made on dense rows, and a step of the pipeline centres columns. Give "
            "dense rows here, or call fit on sparse rows."
        )
    return source


def readable(model: AdditiveModel, source: Source) -> Source:
    """Rows as transformers read them: fetched first, since they take any error for one about values."""
    if isinstance(source, LazyRows) and model.preprocessing is not None:
        return source.whole()
    return source


def own_of_sparse(model: AdditiveModel, method: str, source: Source) -> NDArray[Any] | None:
    """What a method of the wrapped estimator returns for sparse rows that it reads otherwise than the terms.

    A scaler centres dense rows only. A NaN that sparse rows store is not missing for trees of scikit-learn.

    Returns
    -------
    ndarray or None
        None for rows that the terms read as the estimator does.

    Raises
    ------
    ValueError
        If the estimator refuses them, or was left out of the file from which the model comes.
    """
    if not source.becomes_sparse or not (model.centres or _stores_other_nan(model, source)):
        return None
    if model.leaf is None or fitted_for_good(model.leaf) is not None:
        _refuse_stored_nan(model, source)
        raise ValueError("X is sparse, and a step of the pipeline centres columns. Give X.toarray().")
    return np.asarray(getattr(model.estimator, method)(source.rows))


def _stores_other_nan(model: AdditiveModel, source: Source) -> bool:
    return source.becomes_sparse and not model.terms.accepts.stored_nan and source.stores_nan()


def _refuse_stored_nan(model: AdditiveModel, source: Source) -> None:
    if _stores_other_nan(model, source):
        raise ValueError(STORED_NAN)


def refuse_unlike(model: AdditiveModel, source: Source) -> None:
    """Refuse rows of a kind that the terms would read, and the wrapped model does not, or not with the same numbers.

    These are sparse rows for a model that takes dense ones only, and float16 rows for a model whose terms include a
    scaler or an imputer: such steps compute in float16 then, with errors of a thousandth, and the terms do not.
    """
    if model.dense_only and source.becomes_sparse and not model.centres:  # whose scaler says it better
        name = "the model" if model.leaf is None else type(model.leaf).__name__
        raise ValueError(
            f"X is sparse, and {name} takes dense rows only, or was trained on such. Give X.toarray(), or a "
            "frame of dense columns."
        )
    if model.folded is not None and source.is_half:
        raise ValueError(
            "X is of dtype float16, in which the pipeline's scaler or imputer would compute, with errors of a "
            "thousandth. Give X.astype(numpy.float32)."
        )


def leaves_to_the_model(model: AdditiveModel) -> bool:
    """Whether what stands for a value that is not understood is not finite, so that the wrapped model gets the row."""
    return isinstance(model.preprocessing, RawColumns)


def check_read(model: AdditiveModel, source: Source) -> None:
    """Raise as `check_finite` does, unless the wrapped model gets rows that are not finite."""
    if not leaves_to_the_model(model):
        check_finite(model, source)


def with_nan(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scores with NaN for those that are not finite."""
    return np.where(np.isfinite(scores), scores, np.nan)


def _require_read(model: AdditiveModel, source: Source, Z: Source) -> None:
    """Raise as `check_finite` does, and say it where a value is one that raw columns leave to the wrapped model."""
    try:
        check_finite(model, Z)
    except ValueError:
        step = model.preprocessing
        if not isinstance(step, RawColumns) or model.leaf is None:
            raise
        values = Z.array()
        unread = np.isinf(values) | (np.isnan(values) & (not model.allow_nan))
        row, *_ = np.flatnonzero(unread.any(axis=1))
        model.estimator.predict(step.given(source.take(np.array([row]))))  # raises its own error, if it refuses the row
        raw = dict.fromkeys(step.source_columns[unread[row]].tolist())
        names, n = model.schema.names, len(raw)
        columns = ", ".join(f"{c}" if names is None else f"{names[c]!r} ({c})" for c in raw)
        raise ValueError(
            f"X cannot be taken apart: the model answers row {row}, but only the model itself reads what is there in "
            f"column{'s' * (n > 1)} {columns}. Give columns of the types that fit saw, or call fit on rows like these."
        ) from None


def check_finite(model: AdditiveModel, source: Source) -> None:
    """Raise scikit-learn's own error for infinity and NaN, for what of them the model does not take."""
    if model.terms.accepts.infinity and model.allow_nan:
        return
    rows = source.array()
    assert_all_finite(
        rows.data if source.is_sparse else rows,
        allow_nan=model.allow_nan,
        estimator_name=SHELLS[model.kind],
        input_name="X",
    )
