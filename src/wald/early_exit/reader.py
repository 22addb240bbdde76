"""Rows in any form, as the tables and lines of numbers that a plan reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from ..engine.frames import NATIVE, has_names, is_frame, is_missing
from ..engine.rows import n_rows_of, take
from ..models import AdditiveModel
from ..models.categories import CategoryCodes
from ..models.encoded_categories import EncodedCategories
from ..models.schema import names_in
from .records import (
    as_record,
    check_names,
    codes_of_records,
    column_of,
    named_rows,
    needed,
    numbers_of_records,
    numbers_of_row,
    spelled,
    text_columns,
    values_of_row,
)
from .rows import refuse_half_precision
from .validation import as_array, readable

#: Libraries in which frames are built, the usual one first.
LIBRARIES = ("pandas", "polars", "pyarrow")


def library_of(X: Any) -> str | None:
    """Name of the library that a frame is from; None for rows of another kind."""
    if isinstance(X, np.ndarray):
        return None
    if nw.dependencies.is_pandas_dataframe(X):
        return "pandas"
    if nw.dependencies.is_polars_dataframe(X):
        return "polars"
    return "pyarrow" if nw.dependencies.is_pyarrow_table(X) else None


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

    # ---- tables ----------------------------------------------------------------------------------------------------

    def table(self, X: Any) -> Any:
        """Check names and number of columns, and give columns in the model's order."""
        schema = self.model.schema
        if schema.n_columns is None:
            return readable(X)
        if type(X) is np.ndarray and X.ndim == 2 and X.shape[1] == self.n_columns and self.seen is None:
            return X
        if self.seen is not None and has_names(X, self.seen):
            return X
        if schema.names is not None and (records := named_rows(X, schema)) is not None:
            return self.frame(self.records(records, "X[{}]".format))
        if sparse.issparse(X):
            X = X.tocsr()
        elif not hasattr(X, "shape"):
            X = as_array(X, dtype="numeric", ensure_min_samples=0)
        elif len(X.shape) != 2:
            X = as_array(X)  # raises
        if is_frame(X):
            if schema.library == "pipeline":
                if n_rows_of(X) > 0:
                    self.model.estimator.predict(take(X, np.arange(1)))  # raises its own error for wrong columns
                return X
            if schema.names is not None:
                X = schema.table(X)
                if schema.library != "scikit-learn" or any(isinstance(name, str) for name in names_in(X)):
                    return X
        validate_data(self._as_fitted(), X, reset=False, skip_check_array=True)
        return X

    def _as_fitted(self) -> BaseEstimator:
        """An estimator that was fitted on these columns, for scikit-learn's own checks and messages."""
        fitted = type(self.estimator, (BaseEstimator,), {})()
        for name, value in (("feature_names_in_", self.seen), ("n_features_in_", self.n_columns)):
            if value is not None:
                setattr(fitted, name, value)
        return fitted

    # ---- one row ---------------------------------------------------------------------------------------------------

    def row(self, x: Any) -> tuple[Any, bool]:
        """Convert a single row to the form that `predict_one` or `predict` reads.

        Returns
        -------
        row : ndarray of shape (n_columns,), or a container of one row
            ``x`` itself if it needs no conversion.
        is_table : bool
            Whether the row is a container for `predict`.
        """
        model = self.model
        record = as_record(x, model.schema)
        if record is not None and (record is x or model.schema.names is not None):
            if self._takes_raw:
                return [x], True
            rows = self.records([record], lambda _: "x")
            return (rows[0], False) if isinstance(rows, np.ndarray) else (rows, True)
        if self._takes_raw:
            return ([x], True) if isinstance(x, str | bytes | list | tuple) else (x, False)
        values = values_of_row(x, int(model.schema.n_columns or 0))
        if model.preprocessing is not None and model.feature_names_in is not None and values is not x:
            # an array of strings and numbers would hold strings only
            given = x if isinstance(x, list | tuple) else values.tolist()
            named = dict(zip(model.schema.names or (), given, strict=True))
            return self.records([named], lambda _: "x"), True
        if model.preprocessing is None and values.dtype not in NATIVE:
            refuse_half_precision(model, values)
            values = numbers_of_row(values, x, model.terms.accepts.conversion.integers)
        return values, False

    def one(self, x: Any) -> Any:
        """Give a single row in any form as a table of one row; tables are returned unchanged."""
        if len(getattr(x, "shape", ())) == 2:
            return x
        row, is_table = self.row(x)
        if is_table:
            return row
        return row[None] if row is x else self.frame(row[None])

    @property
    def _takes_raw(self) -> bool:
        """Whether rows are not tables but strings, or dicts for a pipeline that starts with a DictVectorizer."""
        return self.model.preprocessing is not None and self.model.schema.n_columns is None

    # ---- records ---------------------------------------------------------------------------------------------------

    def records(self, records: Sequence[Mapping[str, Any]], where: Callable[[int], str]) -> Any:
        """Convert records to rows of the wrapped model: an array, or a frame if transformers come first.

        Parameters
        ----------
        records : sequence of dict
        where : callable
            From the number of a record to its name in messages.
        """
        if self._takes_raw:
            return list(records)
        model = self.model
        names = model.schema.names
        if names is None:
            raise TypeError(
                f"{where(0)} is a {type(records[0]).__name__}, and neither the wrapped model nor the rows of fit had "
                "feature names: both were fitted on arrays. Pass an array of feature values, or fit on a data frame."
            )
        records = [spelled(record, model.schema) for record in records]
        if model.preprocessing is None:
            check_names(records, names, names, where)
            return numbers_of_records(records, names, model.allow_nan, where)
        allowed = list(dict.fromkeys([*names, *map(str, () if self.seen is None else self.seen)]))
        first = model.preprocessing.steps[0][1]
        check_names(records, needed(first, names), allowed, where)
        if isinstance(first, CategoryCodes):
            return codes_of_records(first, records, names, model.allow_nan, where)
        columns: dict[str, Any] = {
            name: column_of([record[name] for record in records])
            for name in allowed
            if all(name in record for record in records)
        }
        for name, missing in text_columns(first, names).items():
            if name in columns:
                texts = [missing if is_missing(value) else value for value in columns[name]]
                columns[name] = np.array(texts, dtype=object) if self._frames_of == "pandas" else texts
        frame = self._frame(columns)
        return first.with_categories(frame) if isinstance(first, EncodedCategories) else frame

    def frame(self, rows: Any) -> Any:
        """Convert an array from `records` to a frame if the wrapped model was fitted with names; codes stay."""
        model = self.model
        holds_codes = model.preprocessing is not None and isinstance(model.preprocessing.steps[0][1], CategoryCodes)
        if not isinstance(rows, np.ndarray) or model.feature_names_in is None or holds_codes:
            return rows
        return self.named(rows, model.schema.names or ())

    def named(self, rows: NDArray[Any], names: Sequence[str]) -> Any:
        """Convert an array to a frame with these names; the array itself where no library of frames is installed."""
        return rows if self._frames_of is None else self._frame(dict(zip(names, rows.T, strict=True)))

    @property
    def _frames_of(self) -> str | None:
        """Library in which frames are built."""
        return self.library or next((name for name in LIBRARIES if find_spec(name) is not None), None)

    def _frame(self, columns: Mapping[str, Any]) -> Any:
        library = self._frames_of
        if library is None:
            raise ImportError(
                f"The pipeline reads columns by name, which needs one of {', '.join(LIBRARIES)}: install one."
            )
        return nw.from_dict(dict(columns), backend=library).to_native()  # type: ignore[arg-type]  # one of LIBRARIES
