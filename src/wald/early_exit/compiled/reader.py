"""Rows in any form, as the sources that a plan reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.validation import validate_data

from ...models import AdditiveModel
from ...models.column_kinds import ColumnKind, Holds, column_kinds
from ...sources import ArraySource, FrameSource, LazyRows, RawSource, RecordSource, Source, source_of
from ...sources.as_fitted import frame_of_arrow, with_missing
from ...sources.building import frame_of, library_at_hand
from ...sources.cells import objects_of
from ...sources.given import numbers_of_row, values_of_row
from ...sources.records import as_record
from ...sources.values import NATIVE, is_missing
from ...steps.categories import CategoryCodes
from ...steps.chain import Chain
from ...steps.columns import needed, text_columns
from ...steps.encoded_categories import EncodedCategories
from .odd_cells import with_place
from .record_columns import in_kind
from .rows import refuse_unlike


@dataclass(frozen=True, eq=False)
class RowReader:
    """Reads rows for a model: tables, single rows, and records.

    Parameters
    ----------
    model : AdditiveModel
    seen : ndarray of str or None
        Names of the rows of ``fit``, where these had some.
    n_columns : int or None
        Number of columns; None for texts and dicts.
    library : {"pandas", "polars", "pyarrow"} or None, default=None
        Library of the rows of ``fit``, in which frames are built; None for an installed one.
    estimator : str, default="EarlyExitClassifier"
        Whose rows they are, for messages.
    """

    model: AdditiveModel
    seen: NDArray[Any] | None
    n_columns: int | None
    library: str | None = None
    estimator: str = "EarlyExitClassifier"

    def __post_init__(self) -> None:
        own = self.model.schema.array
        if own is not None and self.seen is not None and np.array_equal(own, self.seen):
            object.__setattr__(self, "seen", own)  # the same object: sources remember which names they have

    # ---- tables ----------------------------------------------------------------------------------------------------

    def source(self, X: Any) -> Source:
        """Read rows, check names and number of columns, and give columns in the model's order."""
        schema = self.model.schema
        if self.model.texts is not None:
            self.model.texts.vectorizer.require(X)
        source = source_of(X, schema)
        if isinstance(source, RecordSource):
            return self._of_records(source)
        if schema.n_columns is None or (
            self.seen is None and source.n_columns == self.n_columns and not source.is_named
        ):
            return source
        if source.is_named:
            if isinstance(source, FrameSource) and self.seen is not None and source.has_names(self.seen):
                return source
            if source.is_lazy and schema.names is not None:  # its columns were found by name
                return source
            if schema.library == "pipeline":
                if self._needed is not None and source.library == "pyarrow" and self._refuses_arrow:
                    source = self._of_refused(source)
                if source.n_rows > 0 and not self._has_all_needed(source):
                    self.model.estimator.predict(source.take(slice(1)).rows)  # raises its own error for wrong columns
                return source
            if schema.names is not None and (
                schema.library != "scikit-learn" or any(isinstance(name, str) for name in source.names or ())
            ):
                return source
        table = source.header if source.is_named else source
        validate_data(self._as_fitted(), table, reset=False, skip_check_array=True)
        return source

    @cached_property
    def _needed(self) -> frozenset[str] | None:
        """Names that a pipeline reads which asks for no other ones; None if the model itself must be asked."""
        model, names = self.model, self.model.schema.names
        if names is None or model.preprocessing is None or type(model.estimator) is not Pipeline:
            return None
        first = model.preprocessing.first
        by_name = type(first) is ColumnTransformer and hasattr(first, "feature_names_in_")
        return frozenset(needed(first, names)) if by_name else None

    def _has_all_needed(self, source: Source) -> bool:
        """Whether a table has each column once that a pipeline reads, beside others."""
        if self._needed is None or source.names is None or source.library == "pyarrow":
            return False  # scikit-learn's transformers refuse some of Arrow's columns
        names = set(source.names)
        return len(names) == len(source.names) and self._needed <= names

    @cached_property
    def _refuses_arrow(self) -> bool:
        """Whether a ColumnTransformer passes columns through as they are, which scikit-learn does in no Arrow table."""
        assert self.model.preprocessing is not None
        return any(_passes_through(step) for _, step, _ in self.model.preprocessing.first.transformers_)

    def _of_refused(self, source: Source) -> Source:
        """The columns that are read of an Arrow table, as a frame that the pipeline takes; the table if there is none.

        It is the frame that services and clusters make of the same table.
        """
        library = library_at_hand() if self.library in (None, "pyarrow") else self.library
        table, names = source.rows, self.model.schema.names or ()
        given = set(table.column_names)
        read = [name for name in names if name in (self._needed or ())]
        if library not in ("pandas", "polars") or len(given) < table.num_columns or not given.issuperset(read):
            return source  # whose errors are the model's own
        texts = {name: missing for name, missing in self._missing_texts.items() if name in read}
        return FrameSource(frame_of_arrow(table.select(read), texts, library))

    def _as_fitted(self) -> BaseEstimator:
        """An estimator that was fitted on these columns, for scikit-learn's own checks and messages."""
        fitted = type(self.estimator, (BaseEstimator,), {})()
        for name, value in (("feature_names_in_", self.seen), ("n_features_in_", self.n_columns)):
            if value is not None:
                setattr(fitted, name, value)
        return fitted

    # ---- one row ---------------------------------------------------------------------------------------------------

    def row(self, x: Any) -> tuple[Any, Source]:
        """Read a single row.

        Returns
        -------
        row : ndarray of shape (n_columns,) or None
            What `predict_one` reads; ``x`` itself if it needs no conversion, and None for a row that it cannot read.
        source : Source
            The same row.
        """
        model = self.model
        record = as_record(x, model.schema)
        if record is not None and (record is x or model.schema.names is not None):
            source = self.records([record], lambda _: "x")
            return (source.values[0] if isinstance(source, ArraySource) else None), source
        if self._takes_raw:
            source = RawSource([x])
            unread = model.texts is not None or isinstance(x, str | bytes | list | tuple)
            return (None if unread else x), source
        values = values_of_row(x, int(model.schema.n_columns or 0))
        if model.preprocessing is not None and model.feature_names_in is not None and values is not x:
            # an array of strings and numbers would hold strings only
            given = x if isinstance(x, list | tuple) else values.tolist()
            named = dict(zip(model.schema.names or (), given, strict=True))
            return None, self.records([named], lambda _: "x")
        if model.preprocessing is None and values.dtype not in NATIVE:
            refuse_unlike(model, ArraySource(values[None]))
            values = numbers_of_row(values, x, model.terms.accepts.conversion.integers)
        return values, ArraySource(values[None]) if values is x else self._of_array(values[None])

    def one(self, x: Any) -> Source:
        """Read a single row in any form, or a table."""
        source = self.source(x) if len(getattr(x, "shape", ())) == 2 else self.row(x)[1]
        return source.whole() if isinstance(source, LazyRows) else source

    @property
    def _takes_raw(self) -> bool:
        """Whether rows are not tables but strings, or dicts for a pipeline that starts with a DictVectorizer."""
        return self.model.preprocessing is not None and self.model.schema.n_columns is None

    # ---- records ---------------------------------------------------------------------------------------------------

    def records(self, records: Sequence[Mapping[str, Any]], where: Callable[[int], str]) -> Source:
        """Read records: their numbers, or the data frame that transformers take.

        Parameters
        ----------
        records : sequence of dict
        where : callable
            From the number of a record to its name in messages.
        """
        if self._takes_raw:
            return RawSource(list(records))
        if self.model.schema.names is None:
            raise TypeError(
                f"{where(0)} is a {type(records[0]).__name__}, and neither the wrapped model nor the rows of fit had "
                "feature names: both were fitted on arrays. Pass an array of feature values, or fit on a data frame."
            )
        return self._of_records(RecordSource(records, self.model.schema, where))

    def _of_records(self, source: RecordSource) -> Source:
        model, names = self.model, list(source.names)
        if model.preprocessing is None:
            source.require(source.names, source.names)
            return self._of_array(source.numbers(model.allow_nan))
        first = model.preprocessing.first
        allowed = list(dict.fromkeys([*names, *map(str, () if self.seen is None else self.seen)]))
        source.require(needed(first, names), allowed)
        if isinstance(first, CategoryCodes):
            return ArraySource(source.numbers(model.allow_nan, first))
        try:
            frame = self._frame_of(source, first, allowed)
        except (ValueError, TypeError, OverflowError) as error:
            placed = with_place(error, source.places(allowed))
            if placed is None:
                raise
            raise (TypeError if isinstance(error, TypeError) else ValueError)(placed) from None
        return FrameSource(first.with_categories(frame) if isinstance(first, EncodedCategories) else frame)

    def _frame_of(self, source: RecordSource, first: Any, allowed: list[str]) -> Any:
        columns, library = source.columns(allowed), self.library or library_at_hand()
        for (place, _), name in zip(source.places(list(columns)), list(columns), strict=True):
            if name in self._kinds:
                columns[name] = in_kind(columns[name], self._kinds[name], library, place)
            elif name in self._missing_texts:
                texts = [self._missing_texts[name] if is_missing(value) else value for value in columns[name]]
                columns[name] = objects_of(texts) if library == "pandas" else texts
        return frame_of(columns, library)

    @cached_property
    def _kinds(self) -> dict[str, ColumnKind]:
        """What columns held in `fit`, of those of which a transformer says it."""
        chain, names = self.model.preprocessing, self.model.schema.names
        if names is None or not isinstance(chain, Chain):
            return {}
        kinds = dict(zip(names, column_kinds([step for _, step in chain.steps], names), strict=True))
        texts = self._missing_texts  # where encoders say more exactly what a missing text was
        kinds |= {name: replace(kinds[name], missing=missing) for name, missing in texts.items()}
        told = {name: kind for name, kind in kinds.items() if kind.holds not in (Holds.ANYTHING, Holds.DOCUMENTS)}
        return {name: kind for name, kind in told.items() if (kind.holds == Holds.TEXTS) or name not in texts}

    # ---- tables of clusters and of services ------------------------------------------------------------------------

    def of_arrow(self, table: Any) -> Any:
        """An Arrow table of the model's columns as a frame of the library that `fit` saw, with its missing texts.

        Encoders tell None from NaN, and a null of Arrow is the one that the rows of ``fit`` had. The table itself where
        no encoder reads it.

        Parameters
        ----------
        table : pyarrow.Table
            With the model's names, in its order.
        """
        texts = self._missing_texts
        return frame_of_arrow(table, texts, self.library or library_at_hand()) if texts else table

    def of_pandas(self, frame: Any) -> Any:
        """The same for a frame of pandas with the model's names, which clusters fill with strings of their own."""
        texts = self._missing_texts
        return with_missing(frame, texts) if texts else frame

    @property
    def _missing_texts(self) -> dict[str, float | None]:
        """The columns that encoders read as texts, and what is missing there in the rows of ``fit``."""
        model = self.model
        if model.preprocessing is None or model.schema.names is None:
            return {}
        return text_columns(model.preprocessing.first, list(model.schema.names))

    def _of_array(self, values: NDArray[Any]) -> ArraySource:
        """A source of numbers, with names if the wrapped model was fitted with some."""
        return self.named(values, None if self.model.feature_names_in is None else self.model.schema.names)

    def named(self, values: NDArray[Any], names: Sequence[str] | None) -> ArraySource:
        """A source of numbers, with names that the wrapped model knows."""
        return ArraySource(values, names, self.library or library_at_hand())


def _passes_through(step: Any) -> bool:
    """Whether a transformer gives the table that it gets, with checked names."""
    if isinstance(step, str):
        return step == "passthrough"
    if type(step) is Pipeline:
        steps = [each for _, each in step.steps if each is not None and each != "passthrough"]
        return bool(steps) and _passes_through(steps[0])
    if type(step) is FeatureUnion:
        return any(_passes_through(each) for _, each in step.transformer_list)
    if type(step) is not FunctionTransformer or step.validate:
        return False
    return step.func is None and step.feature_names_out is not None
