"""The model in `fit`, asked about a row when its answer is needed: each row once, and none that is known from a log."""

from __future__ import annotations

import warnings
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...calls import Asked, BadAnswerError, CallError, Calls, Logged, PartialAnswer, labels_of
from ...models.asked import AskedFunction, label_check
from ...models.asking import answered_codes, answered_labels, seconds_of_calls, title_of
from ...sources import Source

Indices = NDArray[np.intp]
Codes = NDArray[np.int32]
Floats = NDArray[np.float64]

#: Most classes that a message names.
MOST_NAMED = 8
#: How far beyond 0 and 1 a probability may be.
ROUNDING = 1e-6


class LateAnswers:
    """What a costly model answers for the rows of `fit`.

    Parameters
    ----------
    model : estimator
    source : Source
        All rows of `fit`; rows are numbers among them, as the user counts them.
    logged : Logged or None
        Answers that are paid for.
    max_calls : int or None
        Most rows that may be asked about. Who asks keeps to `left`.

    Attributes
    ----------
    known : bool ndarray of shape (n_rows,)
    n_calls : int
        Rows that the model was asked about, those that it was asked about again included.
    """

    def __init__(self, model: Any, source: Source, logged: Logged | None, max_calls: int | None) -> None:
        self.model, self.max_calls, self._source = model, max_calls, source
        self.known, self._codes = np.zeros(source.n_rows, dtype=bool), np.zeros(source.n_rows, dtype=np.int32)
        self._logged = np.zeros(source.n_rows, dtype=bool)
        self._open = not hasattr(model, "classes_")
        self.classes: NDArray[Any] = np.asarray([] if self._open else model.classes_)
        self.n_calls, self._timed, self._seconds = 0, 0, 0.0
        function = model.function if isinstance(model, AskedFunction) else None
        self._asked: Asked | None = None
        if isinstance(function, Calls):
            self._asked = Asked(function, source.n_rows, name=title_of(model), check=label_check(model))
        if logged is not None and len(logged.rows):
            self._keep(logged.rows, self._logged_codes(logged))
            self._logged[logged.rows] = True

    @property
    def left(self) -> int | None:
        """Rows that may still be asked about; None: any number."""
        return None if self.max_calls is None else max(0, self.max_calls - self.n_calls)

    @property
    def codes(self) -> Codes:
        """Codes of all rows; 0 where they are not known."""
        return self._codes

    def sort_classes(self) -> None:
        """Bring the classes that were met into their order."""
        if self._open:
            order = np.argsort(self.classes, kind="stable")
            places = np.argsort(order, kind="stable").astype(np.int32)
            self._codes[self.known] = places[self._codes[self.known]]
            self.classes = self.classes[order]

    @property
    def seconds_of_row(self) -> float:
        """Seconds that a row has taken."""
        return seconds_of_calls(self.model) or self._seconds / max(1, self._timed)

    def unknown(self, rows: Indices) -> Indices:
        """Those of some rows that would be asked about."""
        return rows[~self.known[rows]]

    def likely_unknown(self, rows: Indices) -> float:
        """Share of some rows that the log is likely not to have, by the other rows."""
        others = np.ones(len(self.known), dtype=bool)
        others[rows] = False
        return 1.0 - float(self._logged[others].mean()) if others.any() else 1.0

    def ask(self, rows: Indices) -> Codes:
        """Codes of the model's labels for rows, as places in `classes`; it is asked about those that are not known.

        Raises
        ------
        CallError
            If a call fails for good. Its ``partial`` has all answers so far, also those of the log.
        ValueError
            If the model gives no labels of its classes.
        """
        missing = np.unique(self.unknown(rows))
        if len(missing):
            labels = self._labels(missing)
            self._keep(missing, self._codes_of(missing, labels))
        return self._codes[rows]

    def probabilities(self, rows: Indices) -> Floats | None:
        """Probabilities that the model gives rows, (n_rows, n_classes), which count as calls, and are not kept.

        None if it raises or warns, or gives anything else.
        """
        self.n_calls += len(rows)
        try:
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                found = np.asarray(self.model.predict_proba(self._source.take(rows).rows), dtype=np.float64)
        except Exception:  # whatever a model raises: its labels are asked instead
            return None
        if warned or found.shape != (len(rows), len(self.classes)):
            return None
        return np.clip(found, 0.0, 1.0) if (np.abs(found - 0.5) <= 0.5 + ROUNDING).all() else None

    def require_same_again(self, rows: Indices) -> None:
        """Ask about some rows that are known once more, and raise ValueError if the model answers one otherwise."""
        start = perf_counter()
        try:
            labels = answered_labels(self.model, self._source.take(rows))
        except CallError as error:
            error.renumber(rows)
            error.partial = self._partial(None)
            raise
        self._count(len(rows), perf_counter() - start)
        other = rows[self._codes_of(rows, labels) != self._codes[rows]]
        if len(other) == 0:
            return
        title, from_log = title_of(self.model), other[self._logged[other]]
        if len(from_log):
            raise ValueError(
                f"{title} answered {len(from_log)} of {np.count_nonzero(self._logged[rows])} rows otherwise than "
                f"answers says (row {from_log[0]} of them first), so that these are not its answers: leave them out."
            )
        raise ValueError(
            f"{title} answered {len(other)} of {len(rows)} rows otherwise when it was asked again "
            f"(row {other[0]} of them first), so that a promise about its answers means little. Make it repeat itself, "
            "for example with a fixed random state, or with a cache."
        )

    def _count(self, n_rows: int, seconds: float) -> None:
        self.n_calls += n_rows
        self._timed += n_rows
        self._seconds += seconds

    def _labels(self, rows: Indices) -> NDArray[Any]:
        start = perf_counter()
        if self._asked is None:
            labels = answered_labels(self.model, self._source.take(rows))
            self._count(len(rows), perf_counter() - start)
            return labels
        before = self._asked.counts.rows
        try:
            labels = self._asked.ask(rows, lambda some: self._source.take(some).rows).values
        except CallError as error:
            error.partial = self._partial(self._asked)
            raise
        finally:
            self._count(self._asked.counts.rows - before, perf_counter() - start)
        return labels

    def _keep(self, rows: Indices, codes: Codes) -> None:
        self._codes[rows], self.known[rows] = codes, True

    def _codes_of(self, rows: Indices, labels: NDArray[Any]) -> Codes:
        if self._open:  # codes of before stay
            new = np.setdiff1d(labels, self.classes)
            self.classes = np.concatenate([self.classes, new]) if len(self.classes) else new
            if self._logged.any():  # which may hold texts where these are numbers: then they differ, and that is said
                labels = labels.astype(self.classes.dtype)
        try:
            return labels_of(labels, self.classes)
        except BadAnswerError as error:
            if not error.places and not self._open:  # they are of another kind
                answered_codes(self.model, labels)
            first = error.places[0] if error.places else 0
            raise ValueError(
                f"{title_of(self.model)} gave the label {labels[first : first + 1].tolist()[0]!r} for row "
                f"{rows[first]} of {self._source.n_rows}, which is none of its classes_: {self._named()}."
            ) from None

    def _logged_codes(self, logged: Logged) -> Codes:
        if self._open:
            self.classes = np.unique(logged.labels)
        try:
            return labels_of(logged.labels, self.classes)
        except BadAnswerError as error:
            first = error.places[0] if error.places else 0
            raise ValueError(
                f"answers has {logged.labels[first : first + 1].tolist()[0]!r} for row {logged.rows[first]}, which is "
                f"none of the classes of {title_of(self.model)}: {self._named()}."
            ) from None

    def _named(self) -> str:
        more = ", ..." if len(self.classes) > MOST_NAMED else ""
        return f"{', '.join(map(repr, self.classes[:MOST_NAMED].tolist()))}{more}"

    def _partial(self, asked: Asked | None) -> PartialAnswer:
        """All answers so far; those that were asked have cost 1."""
        decided, costs = self.known.copy(), (self.known & ~self._logged).astype(np.float64)
        labels = self.classes.take(self._codes) if len(self.classes) else np.zeros(len(decided))
        if asked is not None:
            new = asked.answered & ~self.known
            if new.any():
                own = asked.values if asked.values.ndim == 1 else asked.values[:, 0]
                labels = np.where(new, own, labels) if decided.any() else own.copy()
            decided, costs = decided | new, np.maximum(costs, asked.paid)
        return PartialAnswer(labels, decided, costs, asked)
