"""Opaque models: one costly unit, which is also the reference, with surrogates in front of it.

The columns of a row are what each surrogate says of it, and last the model's own answer. `fit` has them as an array;
rows that are served are `LazyAnswers`, which ask a surrogate, or the model, for the rows that get so far.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..calls import CallError
from ..engine import AtEnd, Decisions, Ledger, PythonTerms, Stages, Status
from ..engine.interface import Decided
from ..engine.python_engine import PythonCascade
from .asking import title_of
from .lazy_answers import LazyAnswers
from .looks import Look, Looks, Prepared
from .model import AdditiveModel
from .packing import NO_SURROGATES, InPython, Surrogates
from .planning import Planning, Precision, Rest
from .protocols import Priced, refuse_prices
from .reading import Kind, of_classes
from .schema_of import schema_of
from .units import Costs, Floats, Groups, Ints, Units
from .watch import Watch

__all__ = ["LazyAnswers", "Look", "Looks", "OpaqueTerms", "Prepared", "opaque_model"]


@dataclass(frozen=True, eq=False)
class OpaqueTerms(InPython, Priced):
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

    def units(self, names: NDArray[Any] | None, groups: Groups, costs: Costs, run: int) -> Units:
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
            error.partial = X.carried(Decisions(codes, Ledger(stages, self._costs.take(stages), status)))
            raise
        return Decisions(codes, Ledger(stages, self._costs.take(stages), status))


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
