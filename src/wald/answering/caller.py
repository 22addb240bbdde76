"""What asks the model about rows, each at most once, and counts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..calls import Asked, CallError, Logged, PartialAnswer
from ..models.asked import label_check
from ..models.asking import calls_of, title_of
from ..sources import Source
from ..utils.figures import thousands
from ..utils.labels import codes_of_labels

Indices = NDArray[np.intp]

__all__ = ["Caller"]


class Caller:
    """Asks the model about each row at most once, and counts.

    Parameters
    ----------
    model : fitted classifier, or function as one
    source : Source
    max_calls : int or None
        Rows about which it may be asked.
    resume : PartialAnswer or None
    logged : Logged or None
        Answers that are paid for.

    Attributes
    ----------
    codes : int32 ndarray of shape (n_rows,)
        Places of labels among those that were met.
    known : bool ndarray of shape (n_rows,)
        Whether a row has the model's answer.
    logged : bool ndarray of shape (n_rows,)
        Whether it had it before.
    """

    def __init__(
        self, model: Any, source: Source, max_calls: int | None, resume: PartialAnswer | None, logged: Logged | None
    ) -> None:
        self._source, self._most, n = source, max_calls, source.n_rows
        self._asked = Asked(calls_of(model), n, name=title_of(model), max_rows=max_calls, check=label_check(model))
        self.codes, self.known = np.zeros(n, dtype=np.int32), np.zeros(n, dtype=bool)
        self.logged = np.zeros(n, dtype=bool)
        self._classes: NDArray[Any] = np.asarray(getattr(model, "classes_", []))
        if logged is not None and len(logged.rows):
            self._require_classes(logged)
            self._put_labels(logged.rows, logged.labels)
            self.logged[logged.rows] = True
        if resume is not None:
            if not isinstance(resume.state, Asked) or resume.state.n_rows != n:
                raise ValueError(
                    f"resume must be the partial of a CallError of answer, about the same {thousands(n)} rows. Got "
                    f"{resume!r}."
                )
            self._asked = resume.state
            self._asked.max_rows = max_calls

    @property
    def n_calls(self) -> int:
        """Rows about which the model was asked."""
        return int(np.count_nonzero(self._asked.answered))

    @property
    def left(self) -> int:
        """Rows about which it may be asked yet."""
        n = self._source.n_rows
        return (n if self._most is None else self._most) - self.n_calls

    def require(self, expected: int, about: str = "about") -> None:
        """Raise if more calls are expected than there may be: ValueError before the first call, and CallError later."""
        if self._most is None or expected <= self._most:
            return
        text = (
            f"max_calls={self._most} are too few: the promise takes {about} {thousands(expected)} of "
            f"{thousands(self._source.n_rows)} rows, and {thousands(self.n_calls)} were asked so far. Allow more "
            "calls, or a larger risk."
        )
        if self.n_calls == 0:
            raise ValueError(text)
        raise CallError(text, self._asked.name, (), self._asked.partial())

    def ask(self, rows: Indices) -> NDArray[np.int32]:
        """Codes of the model's answers for rows; it is asked about those that it has not answered yet."""
        source, new = self._source, rows[~self.known[rows]]
        if len(new):
            self._put_labels(new, self._asked.ask(new, lambda some: source.take(some).rows).values)
        return self.codes[rows]

    def finish(self) -> None:
        """Take what the model had answered before, and what nothing was asked for since."""
        self.ask(np.flatnonzero(self._asked.answered))

    def put(self, rows: Indices, codes: NDArray[np.int32]) -> None:
        """Answer those of the rows that the model has not answered."""
        left = ~self.known[rows]
        self.codes[rows[left]] = codes[left]

    @property
    def labels(self) -> NDArray[Any]:
        """Labels of all rows."""
        return self._classes.take(self.codes) if len(self._classes) else np.empty(0)

    def _put_labels(self, rows: Indices, labels: NDArray[Any]) -> None:
        new = np.setdiff1d(labels, self._classes)
        self._classes = np.concatenate([self._classes, new]) if len(self._classes) else new  # codes of before stay
        self.codes[rows], self.known[rows] = codes_of_labels(self._classes, labels), True

    def _require_classes(self, logged: Logged) -> None:
        if not len(self._classes):
            return
        other = np.flatnonzero(~np.isin(logged.labels, self._classes))
        if len(other):
            raise ValueError(
                f"answers has {logged.labels[other].tolist()[0]!r} for row {logged.rows[other[0]]}, which is none of "
                f"the classes of {self._asked.name}."
            )
