"""Opaque models: one costly unit, which is also the reference, with surrogates in front of it.

The columns of a row are what each surrogate says of it, and last the model's own answer. `fit` has them as an array;
rows that are served are `LazyAnswers`, which ask a surrogate, or the model, for the rows that get so far.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..calls import Asked, CallError, PartialAnswer
from ..engine import AtEnd, Decisions, Ledger, PythonTerms, Stages, Status
from ..engine.interface import Decided
from ..engine.python_engine import PythonCascade
from ..sources import LazyRows, Source
from ..steps import Chain
from .asking import answered_codes, answered_labels, one_each, title_of
from .model import AdditiveModel
from .packing import NO_SURROGATES, Packable, Surrogates
from .planning import Planning, Precision, Rest
from .protocols import Priced, refuse_prices
from .reading import Kind, of_classes
from .schema_of import schema_of
from .units import Floats, Ints, Units
from .watch import Watch

__all__ = ["LazyAnswers", "Looks", "OpaqueTerms", "Prepared", "opaque_model"]

T = TypeVar("T")


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


@dataclass(frozen=True, eq=False)
class OpaqueTerms(Packable, Priced):
    """What surrogates say, which counts for nothing, and last the model's answer, which counts once.

    With two classes the answer is one number, 1 for the second class and -1 for the first; else it is an indicator of
    each class. A unit is a surrogate, or the model; it costs what it costs as a multiple of the model.

    Parameters
    ----------
    widths : tuple of int
        Numbers that each surrogate gives.
    costs : tuple of float
        Costs of the surrogates.
    n_classes : int
    title : str
        Name of the model, in messages.
    """

    family: ClassVar[str] = ""
    unit_name: ClassVar[str] = "answers of the model"
    planning: ClassVar[Planning] = Planning(
        rest=Rest.ONE_CALL,
        certificate_share=0.8,  # few rows give readouts of few numbers; each one more in the certificate allows bolder
        most_splits=1,
    )

    widths: tuple[int, ...]
    costs: tuple[float, ...]
    n_classes: int
    title: str
    coef: Floats = field(init=False, repr=False)
    intercept: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        n = 1 if self.n_classes == 2 else self.n_classes
        object.__setattr__(self, "coef", np.hstack([np.zeros((n, sum(self.widths))), np.eye(n)]))
        object.__setattr__(self, "intercept", np.zeros(n))

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.n_terms

    @property
    def n_before(self) -> int:
        """Numbers of all surrogates together."""
        return sum(self.widths)

    @property
    def description(self) -> str:
        """Description of the model in messages."""
        return f"{self.title} behind {len(self.widths)} surrogates"

    def values(self, X: Any, which: Sequence[int] | NDArray[np.intp] | None = None) -> Floats:
        """Columns of rows; of `LazyAnswers`, what is asked for then."""
        terms = np.arange(self.n_terms) if which is None else np.asarray(which, dtype=np.int64)
        if isinstance(X, LazyAnswers):
            return X.columns(terms)
        return np.ascontiguousarray(np.asarray(X, dtype=np.float64)[:, terms])

    def units(
        self,
        names: NDArray[Any] | None,
        groups: Mapping[str, Sequence[int | str]] | None,
        costs: ArrayLike | Mapping[str, float] | None,
        run: int,
    ) -> Units:
        """The surrogates and the model."""
        refuse_prices(self, groups, costs)
        ends = np.cumsum([0, *self.widths, self.n_outputs])
        members = tuple(np.arange(a, b) for a, b in pairwise(ends.tolist()))
        alone = [self.paid([unit])[0] for unit in range(len(self.widths))]
        return Units(members, np.array([*alone, self.full_cost]))

    def pack(
        self, order: Ints, surrogates: Surrogates = NO_SURROGATES, precision: Precision = "float64"
    ) -> PythonTerms:
        """Pack for the engine in Python."""
        return _PackedOpaque(self, order)

    def packed_bytes(self, n_surrogates: int, precision: Precision) -> int:
        """Bound of the memory of the readouts, in bytes."""
        return 64 * self.coef.size + (1 << 16)

    @property
    def full_cost(self) -> float:
        """Cost of a row that the model alone answers."""
        return 1.0

    def paid(self, surrogates: Sequence[int]) -> Floats:
        """What a row has paid after each of some surrogates, in this order, and after the model."""
        costs = np.cumsum([self.costs[u] for u in surrogates])
        return np.append(costs, self.full_cost + (costs[-1] if len(costs) else 0.0))

    def answered(self, codes: NDArray[np.integer[Any]]) -> Floats:
        """The columns of answers, (n_rows, n_outputs)."""
        if self.n_outputs == 1:
            return np.where(codes == 1, 1.0, -1.0)[:, None]
        indicated: Floats = (codes[:, None] == np.arange(self.n_classes)).astype(np.float64)
        return indicated


class _PackedOpaque(PythonTerms):
    """Opaque terms in the engine in Python."""

    terms: OpaqueTerms

    def completed(self, X: Any, seen: Floats) -> Floats:
        """The answers of the model; what surrogates say counts for nothing, and is not asked."""
        terms = self.terms
        values = np.zeros((X.shape[0], terms.n_terms))
        values[:, terms.n_before :] = terms.values(X, np.arange(terms.n_before, terms.n_terms))
        return values

    def totals(self, values: Floats, working: float) -> tuple[Floats, Floats]:
        """The model's answers, which have no error."""
        return values[:, self.terms.n_before :].copy(), np.zeros(len(values))

    def cascade(
        self, model: Decided, stages: Stages, low: NDArray[Any], high: NDArray[Any], costs: Floats | None = None
    ) -> PythonCascade:
        """Put stages on the terms."""
        return _OpaqueCascade(self, model, stages, low, high, costs)


class _OpaqueCascade(PythonCascade):
    """Stages of surrogates before a model."""

    def predict(self, X: Any, n_stages: int, at_end: AtEnd, n_threads: int) -> Decisions:
        """Decide rows; those of `LazyAnswers` in one piece, so that each is asked once for many rows."""
        if not isinstance(X, LazyAnswers):
            return super().predict(X, n_stages, at_end, n_threads)
        n = X.shape[0]
        codes, stages = np.zeros(n, dtype=np.int32), np.full(n, len(self._stage_terms), dtype=np.int32)
        status = np.full(n, Status.PENDING, dtype=np.uint8)
        try:
            self._answer(X, n_stages, "pending" if at_end == "full" else at_end, codes, stages, status)
            if at_end == "full":  # rows of which nothing was said are asked about with the others
                unsaid = status == Status.NOT_FINITE
                status[unsaid], stages[unsaid] = Status.PENDING, len(self._stage_terms)
            left = np.flatnonzero(status == Status.PENDING) if n_stages else np.arange(n)
            if at_end == "full" and len(left):
                codes[left], status[left] = X[left].codes(), Status.FULL
        except CallError as error:
            X.put_answers(codes, status)
            decided = Decisions(codes, Ledger(stages, self._costs.take(stages), status))
            error.partial = X.carried(decided)
            raise
        return Decisions(codes, Ledger(stages, self._costs.take(stages), status))


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
        found = together([steps.prepared(part, n_threads) for part in self.source.parts(at_once)])
        if self._rows is None:
            self._known[steps.shared] = found
        return found


def together(parts: Sequence[Floats]) -> Floats:
    """Numbers of all rows."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


class LazyAnswers:
    """Rows of `OpaqueTerms` whose columns are asked for when they are needed.

    Parameters
    ----------
    looks : Looks
    rows : Prepared
        The raw rows.
    n_threads : int
    heard : list, optional
        Rows that the model had answered when a later call failed, and its answers.
    """

    dtype = np.dtype(np.float64)

    def __init__(
        self,
        looks: Looks,
        rows: Prepared,
        n_threads: int,
        heard: list[tuple[NDArray[np.intp], NDArray[np.int32]]] | None = None,
    ) -> None:
        self._looks, self._raw, self._threads, self._heard = looks, rows, n_threads, [] if heard is None else heard
        self.shape = rows.n_rows, looks.width

    def __getitem__(self, rows: Any) -> LazyAnswers:
        if isinstance(rows, np.ndarray) and len(rows) == self.shape[0]:
            return self  # rows come in their order, and all of them are asked for
        return LazyAnswers(self._looks, self._raw.take(rows), self._threads, self._heard)

    def columns(self, terms: Ints) -> Floats:
        """Some columns of all rows. An error about a call names rows of all; what the model has answered is kept."""
        return self._asked(lambda: self._looks.of_prepared(self._raw, terms, self._threads))

    def codes(self) -> NDArray[np.int32]:
        """The model's answers to all rows, with the same errors."""
        return self._asked(lambda: self._looks.codes(self._raw.source))

    def _asked(self, ask: Callable[[], T]) -> T:
        try:
            return ask()
        except CallError as error:
            own, source, rows = self._looks.answered(error), self._raw.source, self._raw.numbers
            if own is not None:
                self._heard.append((rows[own[0]], own[1]))
            if not isinstance(source, LazyRows):
                error.renumber(rows)
            elif own is not None:
                error.renumber(source.numbers)
            raise

    def put_answers(self, codes: NDArray[np.int32], status: NDArray[np.uint8]) -> None:
        """Write what the model had answered before it failed."""
        for rows, answers in self._heard:
            codes[rows], status[rows] = answers, Status.FULL

    def carried(self, decided: Decisions) -> PartialAnswer:
        """What an error carries of decisions."""
        settled, labels = decided.ledger.settled, np.asarray(self._looks.model.classes_).take(decided.codes)
        return PartialAnswer(labels, settled, np.where(settled, decided.ledger.paid, 0.0), decided)


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
            numbers = together([surrogate.numbers(part, n_threads) for part in rows.source.parts(self.rows_at_once)])
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


def opaque_model(
    model: Any,
    surrogates: Sequence[Look],
    widths: Sequence[int],
    n_columns: int | None,
    kind: Kind = "classifier",
    *,
    complete: bool = False,
) -> AdditiveModel:
    """A model behind surrogates, as one that the engine in Python evaluates.

    Parameters
    ----------
    model : estimator
        Has `predict` and `classes_`.
    surrogates : sequence of Look
        With costs.
    widths : sequence of int
        Numbers that each of them gives.
    n_columns : int or None
        Of the raw rows; None where they have none.
    kind : {"classifier"}
    complete : bool, default=False
        As for `Looks`.
    """
    classes = np.asarray(model.classes_)
    costs = tuple(float(each.cost or 0.0) for each in surrogates)
    terms = OpaqueTerms(tuple(widths), costs, len(classes), title_of(model))
    return AdditiveModel(
        estimator=model,
        terms=terms,
        decision=of_classes(len(classes)),
        preprocessing=Looks(surrogates, model, terms, complete),
        classes=classes,
        schema=schema_of(model, model, n_columns),
        allow_nan=False,
        watch=Watch(
            [(model, name) for name in vars(model) if name.endswith("_")] if hasattr(model, "__dict__") else []
        ),
        kind=kind,
    )
