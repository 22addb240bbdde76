"""Rows of requests, answered by an early-exit estimator."""

from __future__ import annotations

import re
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from ..early_exit import EarlyExitClassifier
from ..early_exit.compiled.answer_columns import AnswerColumns
from ..early_exit.estimators import EarlyExit, require_early_exit
from ..early_exit.group_answers import answered, ranks, require_groups
from ..engine.threads import effective_threads
from ..utils.figures import first_of
from .bodies import Body, RequestError, numbers, shown, table_of_numbers

#: Labels or values, costs and stages of rows.
Answers = tuple[NDArray[Any], NDArray[np.float64], NDArray[np.int32]]


class Limits(TypedDict, total=False):
    """What a request may take: a cost of each row, and seconds."""

    budget: float
    deadline: float


#: What `predict_one` calls its row, at the beginning of a message, and what others call a row.
_X, _RECORD = re.compile(r"x(?!\w)"), re.compile(r"\brecords\[(\d+)\]|\brecord (\d+)")
#: Most columns that a message names.
MOST_NAMED = 8


class Rows:
    """Reads the rows of requests and answers them by one estimator.

    Parameters
    ----------
    model : EarlyExitClassifier, EarlyExitRegressor, EarlyExitRanker or EarlyExitOutlierDetector

    Attributes
    ----------
    columns : AnswerColumns
        What answers are called.
    """

    def __init__(self, model: EarlyExit) -> None:
        require_early_exit(model, "model must be", ", its path, or a function that loads it")
        self._model = model
        self._compiled = compiled = model.compiled_plan_
        self.columns = AnswerColumns.of(compiled)
        self._threads = effective_threads(model.n_jobs)
        self._raw = compiled.model.preprocessing is not None  # whether rows may hold more than numbers
        self._n_features = getattr(model, "n_features_in_", None)
        self._schema = compiled.schema
        #: What a row is where it has no columns: "texts", "dicts" or another word, or "" where that is not known.
        self._kind = "" if compiled.model.texts is None else compiled.model.texts.vectorizer.row_kind
        # a vectorizer asks each row for methods of texts or dicts
        asks = self._raw and self._schema.n_columns is None
        self._refusals: tuple[type[Exception], ...] = (ValueError, TypeError, OverflowError)
        self._refusals += (AttributeError,) if asks else ()
        if hasattr(model, "predict_proba"):
            compiled.proba_one  # noqa: B018  # made now, so that no request waits for it
        self.classes: list[Any] = compiled.model.classes.tolist()
        self.probability_names = [f"proba_{label}" for label in self.classes]  # as `wald predict` names them

    def read(self, row: Any, name: str = "row") -> Any:
        """A JSON row in the form that `one` takes: with its names where the columns have some."""
        if not self._raw:
            return numbers(row, self._n_features, name)
        names = self._schema.names
        if names is not None and isinstance(row, list):
            if len(row) != len(names):
                raise RequestError(
                    400,
                    "rows",
                    f"{name} must be one row of {len(names)} features. Got {len(row)}: the columns are "
                    f"{first_of([repr(each) for each in names], MOST_NAMED)}.",
                )
            return dict(zip(names, row, strict=True))
        self._require_kind(row, name)
        return row

    def _require_kind(self, row: Any, name: str) -> None:
        """Refuse what is no row of a vectorizer."""
        if self._kind == "texts" and not isinstance(row, str):
            raise RequestError(400, "rows", f"{name} must be a text, a JSON string. Got {shown(row)}.")
        if self._kind == "dicts" and not isinstance(row, dict):
            raise RequestError(400, "rows", f"{name} must be a JSON object. Got {shown(row)}.")

    def one(self, row: Any) -> tuple[Any, float, int]:
        """Answer, cost and stage of a row."""
        found = self._answered(row, "row", {})
        return found.labels[0], float(found.costs[0]), int(found.stages[0])

    def many(self, rows: list[Any]) -> list[tuple[Any, float, int]]:
        """Answers, costs and stages of rows from `read`."""
        together = rows if self._raw else np.stack(rows)
        if self._raw and self._kind != "texts":
            together = self._together(rows)
            if together is None:
                return [self.one(row) for row in rows]
        labels, costs, stages = self._predict(together, {})
        return list(zip(labels, costs.tolist(), stages.tolist(), strict=True))

    def answer(self, body: Body, limits: Limits, proba: bool) -> tuple[Any, ...]:
        """Answers, costs and stages of the rows of a body, and their probabilities, which are None unless requested."""
        if not proba:
            return (*self._labels(body, limits), None)
        if not hasattr(self._model, "predict_proba"):
            name = type(self._model.estimator_).__name__
            raise RequestError(400, "query", f"proba: the wrapped {name} has no probabilities. Leave it out.")
        answers = self._labels(body, limits)
        return (*answers, answers[0] if self.columns.are_probabilities else self._probabilities(body))

    def ranked(self, body: Body, limits: Limits) -> tuple[Any, ...]:
        """Values, costs and stages of rows that race in groups, and the place of each in its group, from 1 on."""
        require_groups(self._model)
        if not body.n_rows:
            if body.groups:
                raise RequestError(400, "rows", f"groups has {len(body.groups)} keys, and there are no rows.")
            return self.columns.none, np.empty(0), np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int64)
        check = self._schema.names is None and self._kind != "texts"
        found = answered(self._model, self._table(body), body.groups, **limits, check_input=check)
        return found.labels, found.costs, found.stages, ranks(found.labels, body.groups)

    def _table(self, body: Body) -> Any:
        """The rows of a body together, as `predict` takes them."""
        rows = body.rows
        if body.kind == "table":
            return self._read_table(rows)
        if body.kind == "records":
            self._require_records(rows, "records[{}]")
            return self._compiled.reader.records(rows, "records[{}]".format)
        if not self._raw:
            return table_of_numbers(rows, self._n_features)
        rows = self._read_rows(rows)
        named = self._schema.names is not None and isinstance(rows[0], dict)
        return self._compiled.reader.records(rows, "row {}".format) if named else rows

    def _probabilities(self, body: Body) -> NDArray[Any]:
        """Probabilities of rows that have labels."""
        rows, model = body.rows, self._model
        assert isinstance(model, EarlyExitClassifier)
        if body.kind in ("row", "record"):
            found: NDArray[Any] = model.predict_proba_one(self.read(rows) if body.kind == "row" else rows)[None]
            return found
        if body.n_rows == 0:
            return np.empty((0, len(self.classes)))
        if body.kind == "records":
            return np.asarray(model.predict_proba_records(rows))
        if body.kind == "table":
            rows = self._read_table(rows)
        elif self._raw:
            rows = self._read_rows(rows)
            if self._schema.names is not None and isinstance(rows[0], dict):
                return np.asarray(model.predict_proba_records(rows))
            if self._kind != "texts":
                return np.array([model.predict_proba_one(row) for row in rows])
        else:
            rows = table_of_numbers(rows, self._n_features)
        if isinstance(rows, np.ndarray) and self._schema.names is not None:
            rows = self._compiled.reader.named(rows, list(self._schema.names))
        return np.asarray(model.predict_proba(rows))

    def _labels(self, body: Body, limits: Limits) -> Answers:
        """Answers, costs and stages of the rows of a body."""
        rows = body.rows
        if body.kind in ("row", "record"):
            if body.kind == "record":
                self._require_records([rows], '"record"')
            given = self.read(rows) if body.kind == "row" else rows
            found = self._answered(given, body.kind, limits)
            return found.labels, found.costs, found.stages
        if body.kind == "records":
            self._require_records(rows, "records[{}]")
            return self._of_records(rows, limits)
        if body.kind == "table":
            return self._predict(self._read_table(rows), limits)
        if not self._raw:
            return self._predict(table_of_numbers(rows, self._n_features), limits)
        rows = self._read_rows(rows)
        if rows and self._schema.names is not None and isinstance(rows[0], dict):
            return self._of_records(rows, limits, "row {}")
        together = rows if self._kind == "texts" else self._together(rows)
        return self._in_turn(rows, limits) if together is None else self._predict(together, limits)

    def _together(self, rows: list[Any]) -> Any:
        """Rows as a model takes them that is asked about many at once; None for other models, and rows of names."""
        if not self._compiled.has_surrogates or not rows or self._schema.names is not None:
            return None
        try:
            return rows if self._n_features is None else table_of_numbers(rows, self._n_features)
        except RequestError:
            return None

    def _read_rows(self, rows: list[Any]) -> list[Any]:
        return [self.read(row, f"row {r}") for r, row in enumerate(rows)]

    def _require_records(self, rows: list[Any], where: str) -> None:
        if self._kind == "texts":
            raise RequestError(
                400, "rows", 'The model reads texts: send "row", a string, or "rows", a list of strings.'
            )
        for r, row in enumerate(rows):
            if not isinstance(row, dict):
                what = "an object from feature name to value"
                raise RequestError(400, "rows", f"{where.format(r)} must be {what}. Got {shown(row)}.")

    def _of_records(self, rows: list[Any], limits: Limits, name: str = "") -> Answers:
        """Answer objects together; errors call them by another name than ``records[i]`` if there is one."""
        try:
            found = self._compiled.predict_records(rows, **limits, n_threads=self._threads)
        except self._refusals as error:
            words = str(error)
            raise RequestError(
                400, "rows", _RECORD.sub(name.replace("{}", r"\1\2"), words) if name else words
            ) from None
        return found.labels, found.costs, found.stages

    def _predict(self, rows: Any, limits: Limits) -> Answers:
        if not len(rows):
            return self.columns.none, np.empty(0), np.empty(0, dtype=np.int32)
        check = self._schema.names is None and self._kind != "texts"
        found = self._compiled.predict(rows, **limits, n_threads=self._threads, check_input=check)
        return found.labels, found.costs, found.stages

    def _answered(self, row: Any, name: str, limits: Limits, otherwise: str = "") -> Any:
        """Answer one row; errors of `predict_one` get the request's own name for it, or ``otherwise`` before them."""
        try:
            return self._compiled.predict_one(row, **limits)
        except self._refusals as error:
            words = str(error)
            raise RequestError(
                400, "rows", _X.sub(name, words, count=1) if _X.match(words) else otherwise + words
            ) from None

    def _in_turn(self, rows: list[Any], limits: Limits) -> Answers:
        answers = [self._answered(row, f"row {r}", limits, f"row {r}: ") for r, row in enumerate(rows)]
        labels = np.concatenate([self.columns.none, *(found.labels for found in answers)])
        costs = np.concatenate([np.empty(0), *(found.costs for found in answers)])
        return labels, costs, np.concatenate([np.empty(0, dtype=np.int32), *(found.stages for found in answers)])

    def _read_table(self, table: Any) -> Any:
        """The columns of an Arrow table that the model reads; as an array of numbers if it needs no more."""
        import pyarrow as pa

        given = list(table.column_names)
        if len(set(given)) < len(given):
            raise RequestError(400, "rows", "Two columns of the table have the same name.")
        if self._raw and self._schema.n_columns is None:
            return self._read_column(table)
        try:
            table = table.select(self._schema.columns(given, what="The table"))
        except ValueError as error:
            raise RequestError(400, "rows", str(error)) from None
        if self._schema.names is not None:
            table = table.rename_columns(list(self._schema.names))
        if self._raw:
            return self._compiled.reader.of_arrow(table)
        types = pa.types
        of_numbers = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
        for field in table.schema:
            kind = field.type
            if not any(fits(kind) for fits in of_numbers):
                raise RequestError(400, "rows", f"column {field.name!r} must hold numbers. Got the type {kind}.")
        columns = [np.asarray(column.cast(pa.float64()).to_numpy(), dtype=np.float64) for column in table.columns]
        return np.column_stack(columns)

    def _read_column(self, table: Any) -> Any:
        """The rows of a vectorizer: the texts of the only column, or objects from the names of the columns."""
        import pyarrow as pa

        if self._kind == "dicts":  # a null is a name that the row does not have
            return [{name: value for name, value in row.items() if value is not None} for row in table.to_pylist()]
        if table.num_columns != 1:
            names = first_of([repr(name) for name in table.column_names], MOST_NAMED)
            raise RequestError(400, "rows", f"The model reads one column of texts. The table has {names or 'none'}.")
        name, column = table.column_names[0], table.column(0)
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if self._kind == "texts":
            if str(kind) not in ("string", "large_string", "string_view"):
                raise RequestError(400, "rows", f"column {name!r} must hold texts. Got the type {column.type}.")
            if column.null_count:
                row = column.is_null().index(True).as_py()
                raise RequestError(400, "rows", f"column {name!r} must hold texts. Row {row} is null.")
        return column.to_pylist()
