"""What is asked about rows: surrogates, which may share a first step, and last the model that they stand before."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..calls import Asked, CallError
from ..sources import Source
from ..steps import Chain
from .asking import answered_codes, answered_labels, one_each
from .units import Floats, Ints

if TYPE_CHECKING:
    from .opaque import OpaqueTerms

__all__ = ["Look", "Looks", "Prepared", "where_finite"]


class InSteps(Protocol):
    """Numbers of rows in two steps; see `wald.surrogates.scores.Scores`."""

    @property
    def shared(self) -> Hashable | None:
        """The first step."""

    def prepared(self, source: Source, n_threads: int) -> Floats:
        """What the first step makes of rows."""

    def of_prepared(self, prepared: Floats, n_threads: int) -> Floats:
        """What the second makes of that, (n_rows, m)."""


class Look(Protocol):
    """What is asked before the model; see `wald.Surrogate`."""

    @property
    def title(self) -> str:
        """What it is called."""

    @property
    def cost(self) -> float | None:
        """Cost of a row, as a multiple of the model's."""

    @property
    def shared(self) -> InSteps | None:
        """What it asks in two steps, of which others may have the first in common."""

    def numbers(self, source: Source, n_threads: int) -> Floats:
        """What it says of rows, (n_rows, m)."""


class Prepared:
    """Rows, and what surrogates that have their first step in common make of them: once for all of these.

    Parameters
    ----------
    source : Source
    rows : ndarray of int or None, default=None
        Some of them, which are taken when they are needed. None: all.
    known : dict, optional
        What was made of all rows.
    """

    def __init__(
        self, source: Source, rows: NDArray[np.intp] | None = None, known: dict[Hashable, Floats] | None = None
    ) -> None:
        self._whole, self._rows, self._known = source, rows, {} if known is None else known
        self.n_rows = source.n_rows if rows is None else len(rows)

    @cached_property
    def source(self) -> Source:
        """The rows themselves."""
        return self._whole if self._rows is None else self._whole.take(self._rows)

    def take(self, rows: NDArray[np.intp]) -> Prepared:
        """Some of them."""
        return Prepared(self._whole, self.numbers[rows], self._known)

    @property
    def numbers(self) -> NDArray[np.intp]:
        """Their places among all."""
        return np.arange(self.n_rows) if self._rows is None else self._rows

    def by(self, steps: InSteps, at_once: int, n_threads: int) -> Floats:
        """What the first of two steps makes of them."""
        found = self._known.get(steps.shared)
        if found is not None:
            return found if self._rows is None else found[self._rows]
        found = _together([steps.prepared(part, n_threads) for part in self.source.parts(at_once)])
        if self._rows is None:
            self._known[steps.shared] = found
        return found


def _together(parts: Sequence[Floats]) -> Floats:
    """Numbers of all rows."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


class Looks(Chain):
    """The step from raw rows to what surrogates and the model say of them.

    Parameters
    ----------
    surrogates : sequence of Look
    model : estimator
        Has `predict` and `classes_`.
    terms : OpaqueTerms
    complete : bool, default=False
        Whether rows are numbers, and those of `fit` were all finite: of rows with others only the model says anything.
    """

    def __init__(self, surrogates: Sequence[Look], model: Any, terms: OpaqueTerms, complete: bool = False) -> None:
        super().__init__([("model", model)])
        self.surrogates, self.model, self.terms, self.complete = tuple(surrogates), model, terms, complete

    @property
    def asks(self) -> bool:
        """Whether the model itself answers rows, and not wald, which has read it."""
        return True

    @property
    def width(self) -> int:
        """Number of columns."""
        return self.terms.n_terms

    @property
    def spans(self) -> list[tuple[int, int, str]]:
        """First and last column (excluded) of each surrogate and of the model, and what it is called."""
        ends = np.cumsum([0, *self.terms.widths, self.terms.n_outputs]).tolist()
        titles = [*(each.title for each in self.surrogates), self.terms.title]
        return [(first, end, title) for (first, end), title in zip(pairwise(ends), titles, strict=True)]

    @property
    def identity(self) -> Any:
        """What decides what is written, for fingerprints."""
        return [each.title for each in self.surrogates], type(self.model).__name__

    def transform(self, source: Source, n_threads: int = 1) -> Floats:
        """Ask all surrogates, and the model."""
        return self.columns(source, np.arange(self.width), n_threads)

    def columns(self, source: Source, terms: Ints, n_threads: int) -> Floats:
        """Ask those surrogates, and the model, that some columns need."""
        return self.of_prepared(Prepared(source), terms, n_threads)

    def of_prepared(self, rows: Prepared, terms: Ints, n_threads: int) -> Floats:
        """The same for rows of which some is known."""
        if rows.n_rows == 0:
            return np.empty((0, len(terms)))
        found = []
        for unit, (first, end, _) in enumerate(self.spans):
            wanted = np.flatnonzero((terms >= first) & (terms < end))
            if len(wanted):
                found.append((wanted, self._asked(unit, rows, n_threads)[:, terms[wanted] - first]))
        if len(found) == 1:
            return found[0][1]
        every = np.empty((rows.n_rows, len(terms)))
        for wanted, numbers in found:
            every[:, wanted] = numbers
        return every

    def answered(self, error: CallError) -> tuple[NDArray[np.intp], NDArray[np.int32]] | None:
        """Rows of a failed call that the model has answered, and its codes; None if something else has failed."""
        partial = error.partial
        if partial is None or not isinstance(partial.state, Asked):
            return None
        if partial.state.calls is not getattr(self.model, "function", None):
            return None
        rows = np.flatnonzero(partial.decided)
        if len(rows) == 0:
            return rows, np.empty(0, dtype=np.int32)
        return rows, answered_codes(self.model, one_each(self.model, partial.labels[rows], len(rows)))

    def _asked(self, unit: int, rows: Prepared, n_threads: int) -> Floats:
        if unit == len(self.surrogates):
            return self.terms.answered(self.codes(rows.source, n_threads))
        surrogate = self.surrogates[unit]
        steps = surrogate.shared
        if steps is None:
            numbers = _together([surrogate.numbers(part, n_threads) for part in rows.source.parts(self.rows_at_once)])
        else:
            numbers = steps.of_prepared(rows.by(steps, self.rows_at_once, n_threads), n_threads)
        if numbers.shape[1] != self.terms.widths[unit]:
            raise ValueError(
                f"The surrogate {surrogate.title!r} gave {self.terms.widths[unit]} numbers a row in fit, and now "
                f"{numbers.shape[1]}."
            )
        return where_finite(numbers, rows.source) if self.complete else numbers

    def codes(self, source: Source, n_threads: int = 1) -> NDArray[np.int32]:
        """Codes of the model's own labels."""
        return answered_codes(self.model, answered_labels(self.model, source))


def where_finite(numbers: Floats, source: Source) -> Floats:
    """What was said of rows of numbers, and NaN, with which no row leaves early, where some are not finite."""
    try:
        rows = np.empty((0, 0)) if source.is_lazy or source.is_sparse else source.array()
        finite: NDArray[np.bool_] = np.isfinite(rows)
    except (TypeError, ValueError):  # who else reads these rows says what is wrong
        return numbers
    if finite.all():
        return numbers
    whole = np.asarray(finite.all(axis=1))
    return np.where(whole[:, None], numbers, np.nan)
