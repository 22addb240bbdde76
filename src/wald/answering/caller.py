"""What asks the model about rows, each at most once, and counts."""

from __future__ import annotations

from dataclasses import dataclass
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

__all__ = ["Caller", "Ordered", "Sample"]


@dataclass(frozen=True, eq=False)
class Ordered:
    """Rows that the model has not answered, the surest first.

    Attributes
    ----------
    rows : int ndarray of shape (n,)
    codes : int32 ndarray of shape (n,)
        What surrogates answer.
    sure : float64 ndarray of shape (n,)
        Probabilities of these answers, as surrogates see them.
    rates : float64 ndarray of shape (n,)
        About how likely these answers are wrong.
    titles : tuple of str
        Of the surrogates.
    """

    rows: Indices
    codes: NDArray[np.int32]
    sure: NDArray[np.float64]
    rates: NDArray[np.float64]
    titles: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Sample:
    """The sample that says where to cut.

    Attributes
    ----------
    of : Ordered
        The rows of which it is drawn.
    places : int ndarray of shape (n_sampled,)
        Its rows among them, ascending.
    classes : ndarray of shape (n_classes,)
        Labels of the codes.
    promise : (float, float)
        Risk and confidence.
    """

    of: Ordered
    places: Indices
    classes: NDArray[Any]
    promise: tuple[float, float]


class Answering(Asked):
    """What the model has answered in one `answer`, and the sample once it is drawn.

    Who goes on after an error keeps the sample. A second one, drawn because the first has shown many wrong rows, would
    be a second chance to show few.
    """

    sample: Sample | None = None


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
        self._asked = Answering(calls_of(model), n, name=title_of(model), max_rows=max_calls, check=label_check(model))
        self.codes, self.known = np.zeros(n, dtype=np.int32), np.zeros(n, dtype=bool)
        self.logged = np.zeros(n, dtype=bool)
        self._classes: NDArray[Any] = np.asarray(getattr(model, "classes_", []))
        if logged is not None and len(logged.rows):
            self._require_classes(logged)
            self._put_labels(logged.rows, logged.labels)
            self.logged[logged.rows] = True
        if resume is not None:
            if not isinstance(resume.state, Answering) or resume.state.n_rows != n:
                raise ValueError(
                    f"resume must be the partial of a CallError of answer, about the same {thousands(n)} rows. Got "
                    f"{resume!r}."
                )
            self._asked = resume.state
            self._asked.max_rows = max_calls
            if self._asked.sample is not None:
                self._take(self._asked.sample)

    @property
    def sample(self) -> Sample | None:
        """The sample, of this run or of the one that it resumes; None before it is drawn."""
        return self._asked.sample

    def keep(self, rest: Ordered, places: Indices, promise: tuple[float, float]) -> Sample:
        """Keep the sample, before any of its rows is asked."""
        self._asked.sample = Sample(rest, places, self._classes, promise)
        return self._asked.sample

    def go_on(self, log: Any, promise: tuple[float, float]) -> None:
        """Take the sample of a run that failed, whose answers are the log, if it was drawn for the same promise."""
        state = getattr(log, "state", None)
        sample = state.sample if isinstance(state, Answering) else None
        if self.sample is None and sample is not None and sample.promise == promise:
            self._take(sample)

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
            f"calls{', or a larger risk' * (self.sample is None)}."
        )
        if self.n_calls == 0:
            raise ValueError(text)
        raise CallError(text, self._asked.name, (), self._asked.partial())

    def n_new(self, rows: Indices) -> int:
        """How many of some rows it has not answered, neither in this run nor in the one that it resumes."""
        return int(np.count_nonzero(~(self.known | self._asked.answered)[rows]))

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

    def _take(self, sample: Sample) -> None:
        """Take a sample that was drawn, and its codes, which are places among its classes."""
        known = np.flatnonzero(self.known)
        labels = self._classes.take(self.codes[known]) if len(known) else None
        self._asked.sample, self._classes = sample, sample.classes
        if labels is not None:
            self._put_labels(known, labels)

    def _require_classes(self, logged: Logged) -> None:
        if not len(self._classes):
            return
        other = np.flatnonzero(~np.isin(logged.labels, self._classes))
        if len(other):
            raise ValueError(
                f"answers has {logged.labels[other].tolist()[0]!r} for row {logged.rows[other[0]]}, which is none of "
                f"the classes of {self._asked.name}."
            )
