"""Rows of requests, answered by a classifier."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..early_exit import EarlyExitClassifier
from ..engine.threads import effective_threads
from .bodies import Body, RequestError, numbers, table_of_numbers

#: Labels, costs and stages of rows.
Answers = tuple[NDArray[Any], NDArray[np.float64], NDArray[np.int32]]
#: What `predict_one` calls its row, at the beginning of a message.
_X = re.compile(r"x(?!\w)")


class Rows:
    """Reads the rows of requests and answers them by one classifier.

    Parameters
    ----------
    model : EarlyExitClassifier
    """

    def __init__(self, model: EarlyExitClassifier) -> None:
        if not isinstance(model, EarlyExitClassifier):
            raise TypeError(
                "model must be a fitted EarlyExitClassifier, its path, or a function that loads it. Got "
                f"{type(model).__name__}."
            )
        check_is_fitted(model, "compiled_plan_")
        self._model = model
        self._compiled = compiled = model.compiled_plan_
        self._threads = effective_threads(model.n_jobs)
        self._raw = compiled.model.preprocessing is not None  # whether rows may hold more than numbers
        # a vectorizer asks each row for methods of texts
        asks = compiled.model.texts is not None
        self._refusals = (ValueError, TypeError, AttributeError) if asks else (ValueError, TypeError)
        self._n_features = getattr(model, "n_features_in_", None)
        self._schema = compiled.schema
        self.classes: list[Any] = model.classes_.tolist()
        self.probability_names = [f"proba_{label}" for label in self.classes]  # as `wald predict` names them

    def read(self, row: Any) -> Any:
        """A JSON row in the form that `one` takes."""
        return row if self._raw else numbers(row, self._n_features)

    def one(self, row: Any) -> tuple[Any, float, int]:
        """Label, cost and stage of a row."""
        found = self._answered(row, "row", None)
        return found.labels[0], float(found.costs[0]), int(found.stages[0])

    def many(self, rows: list[Any]) -> list[tuple[Any, float, int]]:
        """Labels, costs and stages of rows from `read`."""
        if self._raw and not self._are_texts(rows):
            return [self.one(row) for row in rows]
        labels, costs, stages = self._predict(rows if self._raw else np.stack(rows), None)
        return list(zip(labels, costs.tolist(), stages.tolist(), strict=True))

    def answer(self, body: Body, budget: float | None, proba: bool) -> tuple[Any, ...]:
        """Labels, costs and stages of the rows of a body, and their probabilities, which are None unless requested."""
        if not proba:
            return (*self._labels(body, budget), None)
        if not hasattr(self._model, "predict_proba"):
            name = type(self._model.estimator_).__name__
            raise RequestError(400, "query", f"proba: the wrapped {name} has no probabilities. Leave it out.")
        return (*self._labels(body, budget), self._probabilities(body))

    def _probabilities(self, body: Body) -> NDArray[Any]:
        """Probabilities of rows that have labels."""
        rows, model = body.rows, self._model
        if body.kind in ("row", "record"):
            found: NDArray[Any] = model.predict_proba_one(self.read(rows) if body.kind == "row" else rows)[None]
            return found
        if body.n_rows == 0:
            return np.empty((0, len(self.classes)))
        if body.kind == "records":
            return np.asarray(model.predict_proba_records(rows))
        if body.kind == "table":
            rows = self._read_table(rows)
        elif self._raw and not self._are_texts(rows):
            return np.array([model.predict_proba_one(row) for row in rows])
        elif not self._raw:
            rows = table_of_numbers(rows, self._n_features)
        if isinstance(rows, np.ndarray) and self._schema.names is not None:
            rows = self._compiled.reader.named(rows, list(self._schema.names))
        return np.asarray(model.predict_proba(rows))

    def _labels(self, body: Body, budget: float | None) -> Answers:
        """Labels, costs and stages of the rows of a body."""
        rows = body.rows
        if body.kind in ("row", "record"):
            if body.kind == "record" and not isinstance(rows, dict):
                raise RequestError(400, "rows", '"record" must be an object from feature name to value.')
            given = self.read(rows) if body.kind == "row" else rows
            found = self._answered(given, body.kind, budget)
            return found.labels, found.costs, found.stages
        if body.kind == "records":
            found = self._compiled.predict_records(rows, budget=budget, n_threads=self._threads)
            return found.labels, found.costs, found.stages
        if body.kind == "table":
            return self._predict(self._read_table(rows), budget)
        if self._raw and not self._are_texts(rows):
            return self._in_turn(rows, budget)
        if self._raw:
            return self._predict(rows, budget)
        return self._predict(table_of_numbers(rows, self._n_features), budget)

    def _are_texts(self, rows: list[Any]) -> bool:
        """Whether all rows are texts that the engine reads together; others are answered one by one."""
        return (
            self._compiled.model.texts is not None
            and self._compiled.model.texts.vectorizer.row_kind == "texts"
            and all(type(row) is str for row in rows)
        )

    def _predict(self, rows: Any, budget: float | None) -> Answers:
        if not len(rows):
            return self._model.classes_[:0], np.empty(0), np.empty(0, dtype=np.int32)
        check = self._schema.names is None
        found = self._compiled.predict(rows, budget=budget, n_threads=self._threads, check_input=check)
        return found.labels, found.costs, found.stages

    def _answered(self, row: Any, name: str, budget: float | None, otherwise: str = "") -> Any:
        """Answer one row; errors of `predict_one` get the request's own name for it, or ``otherwise`` before them."""
        try:
            return self._compiled.predict_one(row, budget=budget)
        except self._refusals as error:
            words = str(error)
            raise RequestError(
                400, "rows", _X.sub(name, words, count=1) if _X.match(words) else otherwise + words
            ) from None

    def _in_turn(self, rows: list[Any], budget: float | None) -> Answers:
        answers = [self._answered(row, f"row {r}", budget, f"row {r}: ") for r, row in enumerate(rows)]
        labels = np.concatenate([self._model.classes_[:0], *(found.labels for found in answers)])
        costs = np.concatenate([np.empty(0), *(found.costs for found in answers)])
        return labels, costs, np.concatenate([np.empty(0, dtype=np.int32), *(found.stages for found in answers)])

    def _read_table(self, table: Any) -> Any:
        """The columns of an Arrow table that the model reads; as an array of numbers if it needs no more."""
        import pyarrow as pa

        given = list(table.column_names)
        if len(set(given)) < len(given):
            raise RequestError(400, "rows", "Two columns of the table have the same name.")
        try:
            table = table.select(self._schema.columns(given, what="The table"))
        except ValueError as error:
            raise RequestError(400, "rows", str(error)) from None
        if self._schema.names is not None:
            table = table.rename_columns(list(self._schema.names))
        if self._raw:
            return table
        for field in table.schema:
            kind = field.type
            if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
                raise RequestError(400, "rows", f"column {field.name!r} must hold numbers. Got the type {kind}.")
        columns = [np.asarray(column.cast(pa.float64()).to_numpy(), dtype=np.float64) for column in table.columns]
        return np.column_stack(columns)
