"""Terms that are packed for an engine, with surrogates in front of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..engine import CompiledTerms, PythonTerms
from ..engine.threads import effective_threads
from ..utils.bytes import padded
from .planning import Precision
from .terms import Terms, TermsProtocol, least_precision
from .units import NO_TERMS, Floats, Ints

if TYPE_CHECKING:
    from ..engine import Packed


@dataclass(frozen=True, eq=False)
class Surrogates:
    """Cheap functions of a row that predict much of the model's score without being terms of it.

    Parameters
    ----------
    vectors : float64 ndarray of shape (n_surrogates, n_features)
        Vectors that replace the family's own (such as support vectors) in its terms, or that rows are multiplied by.
    linear : bool, default=False
        Whether each surrogate is the dot product of a row with its vector.
    """

    vectors: Floats
    linear: bool = False


NO_SURROGATES = Surrogates(np.empty((0, 0)))


class Packable(TermsProtocol):
    """Terms that an engine evaluates faster than one that calls `values`."""

    @abstractmethod
    def pack(self, order: Ints, surrogates: Surrogates = NO_SURROGATES, precision: Precision = "float64") -> Packed:
        """Hand the terms to an engine.

        Parameters
        ----------
        order : int64 ndarray
            Indices of the early stages' terms in their order; surrogate j has the index ``n_terms + j``.
        surrogates : Surrogates
        precision : {"float32", "float64"}
            Precision of the early stages.
        """

    def scores(self, X: Any) -> Floats:
        """Full scores in float64, as the engine computes them."""
        return full_scores(self.pack(NO_TERMS), X)

    @property
    def speed_key(self) -> Hashable:
        """What the time of a term depends on, in addition to the numbers of columns and outputs."""
        return self.description

    @property
    def packed_size(self) -> str:
        """Description of what `pack` holds."""
        return f"{self.n_terms} {self.unit_name}"

    @abstractmethod
    def packed_bytes(self, n_surrogates: int, precision: Precision) -> int:
        """Bound of the memory that `pack` takes, in bytes."""

    def stages_bytes(self, stage_terms: Sequence[int]) -> int:
        """Bound of the memory of the stages on packed terms, in bytes."""
        return _stages_bytes(self, stage_terms)


class Compiled(Packable):
    """Terms that the compiled engine evaluates, one by one as well."""

    @abstractmethod
    def pack(
        self, order: Ints, surrogates: Surrogates = NO_SURROGATES, precision: Precision = "float64"
    ) -> CompiledTerms:
        """Hand the terms to the compiled engine; see `Packable.pack`."""

    def values(self, X: Any, which: Sequence[int] | NDArray[np.intp] | None = None) -> Floats:
        """Values of the terms; see `Terms.values`."""
        order = np.arange(self.n_terms) if which is None else np.asarray(which)
        return self.pack(order).values(X, effective_threads(-1))


class InPython(Packable):
    """Terms that the engine in Python evaluates, which computes some of what it needs in a way of their own."""

    def packed_bytes(self, n_surrogates: int, precision: Precision) -> int:
        """Bound of the memory of the weights, in bytes."""
        return 64 * int(self.coef.size) + (1 << 16)


class OwnSums(InPython):
    """Terms whose sums are those of the wrapped model, in its own arithmetic."""

    @property
    @abstractmethod
    def exact(self) -> bool:
        """Whether the sums have the bits of the wrapped model's own."""

    @abstractmethod
    def totals(self, values: Floats) -> Floats:
        """Full scores from the values of all terms."""

    def pack(self, order: Ints, surrogates: Surrogates = NO_SURROGATES, precision: Precision = "float64") -> Packed:
        """Pack for the engine in Python, with these sums."""
        return PackedSums(self, order, self.accepts.conversion)


class PackedSums(PythonTerms):
    """Terms in the engine in Python, with sums of their own."""

    terms: OwnSums

    def totals(self, values: Floats, working: float) -> tuple[Floats, Floats]:
        """Full scores (n, n_outputs), and bounds of their distance to the wrapped model's own (n,)."""
        if self.terms.exact:
            return self.terms.totals(values), np.zeros(len(values))
        working = max(working, least_precision(self.terms))
        return self.terms.totals(values), super().totals(values, working)[1]


def full_scores(packed: Packed, X: Any) -> Floats:
    """Full scores of rows, without bounds of their errors."""
    return packed.scores(X, lambda dtype: 0.0, effective_threads(-1))[0]


def pack(
    terms: Terms, order: Ints = NO_TERMS, surrogates: Surrogates = NO_SURROGATES, precision: Precision = "float64"
) -> Packed:
    """Hand terms to their engine; by default, to the one that calls `values`."""
    packable = Packable.of(terms)
    if packable is None:
        return PythonTerms(terms, order, terms.accepts.conversion)
    return packable.pack(order, surrogates, precision)


def speed_key(terms: Terms) -> Hashable:
    """What the time of a term depends on, in addition to the numbers of columns and outputs."""
    packable = Packable.of(terms)
    return terms.description if packable is None else packable.speed_key


def memory(terms: Terms, n_surrogates: int, precision: Precision, stage_terms: Sequence[int]) -> list[tuple[int, str]]:
    """Bounds of the memory of packed terms and of stages on them, in bytes, each with what it is for."""
    packable, stages = Packable.of(terms), f"{len(stage_terms)} stages"
    if packable is None:
        n_bytes = 8 * (terms.n_outputs + 8) * padded(terms.n_terms + n_surrogates, 8)
        return [(n_bytes, f"{terms.n_terms} {terms.unit_name}"), (_stages_bytes(terms, stage_terms), stages)]
    n_bytes = packable.packed_bytes(n_surrogates, precision)
    return [(n_bytes, packable.packed_size), (packable.stages_bytes(stage_terms), stages)]


def _stages_bytes(terms: Terms, stage_terms: Sequence[int]) -> int:
    return 64 * terms.n_outputs * (sum(stage_terms) + len(stage_terms))
