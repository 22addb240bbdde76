"""Boosted trees that go on from what another model says of a row: that model is the first term."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..codec.reading import Section
from ..sources import source_of
from .members import BLOCK, blocks_of
from .packing import NO_SURROGATES, OwnSums, PackedSums, Surrogates, full_scores, pack
from .planning import Planning, Precision, Rest
from .protocols import Filed, Thresholded
from .terms import Accepts
from .trees import TreeTerms
from .units import Floats, Ints

if TYPE_CHECKING:
    from ..engine import Packed
    from .model import AdditiveModel


#: Units in the last place of float32 by which a probability may differ, for each unit of its logit.
SINGLE_STEPS = 8.0
#: The largest logit that scikit-learn makes of a probability, and one that no probability which rounds to 1 is below.
LARGEST_LOGIT, UNSURE_LOGIT = 36.1, 10.0


class Start(Protocol):
    """What the first model says."""

    @property
    def exact(self) -> bool:
        """Whether scores have the bits of the wrapped model's own, whatever the other rows of a call."""

    def scores(self, X: Any) -> Floats:
        """Scores of finite rows of float32 before the first tree, (n, n_outputs)."""

    def errors(self, scores: Floats) -> Floats:
        """How far such scores (n, n_outputs) may be from the wrapped model's own, beyond their rounding: (n,)."""


@dataclass(frozen=True, eq=False)
class OwnStart:
    """The wrapped model's own first scores, in calls of so many rows that a row's do not depend on the others.

    Parameters
    ----------
    model : GradientBoostingClassifier or GradientBoostingRegressor
    binary : bool, default=False
        Whether its only first score hangs on the logit of a probability.
    """

    model: Any
    binary: bool = False
    exact: ClassVar[bool] = False

    def scores(self, X: Any) -> Floats:
        """First scores of rows."""
        parts = [self.model._raw_predict_init(block) for block in blocks_of(X, BLOCK)]
        return np.concatenate(parts)[: X.shape[0]]

    def errors(self, scores: Floats) -> Floats:
        """How far first scores may be from those in a call with other rows.

        A probability near 1 in float32 says little of its distance to 1, on which the logit hangs. Where features lie
        far from 0, a product of float32 rows may round by more.
        """
        if not self.binary:
            return np.zeros(len(scores))
        logits = scores[:, 0]
        with np.errstate(over="ignore"):
            steps = SINGLE_STEPS * 2.0**-24 * (1.0 + np.abs(logits)) * (1.0 + np.exp(logits))
        return np.minimum(steps, LARGEST_LOGIT - UNSURE_LOGIT)


@dataclass(frozen=True, eq=False)
class ReadStart:
    """The first model evaluated by the engine of its own family.

    Parameters
    ----------
    member : AdditiveModel
    raw : callable
        From what the model answers to first scores.
    probable : bool
        Whether it answers probabilities.
    """

    member: AdditiveModel
    raw: Any
    probable: bool

    @property
    def exact(self) -> bool:
        """Whether the model is served by the engine bit for bit."""
        return self.member.serves_full

    def scores(self, X: Any) -> Floats:
        """First scores of rows."""
        member = self.member
        rows = X if member.preprocessing is None else member.preprocessing.transform(source_of(X))
        scores = full_scores(self._engine, rows)
        answers = member.links.predict_proba if self.probable else member.links.predict
        assert answers is not None
        return np.asarray(self.raw(answers(scores)), dtype=np.float64)

    def errors(self, scores: Floats) -> Floats:
        """None: rounding is allowed for where scores are added."""
        return np.zeros(len(scores))

    @cached_property
    def _engine(self) -> Packed:
        return pack(self.member.terms)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_engine"}


@dataclass(frozen=True, eq=False)
class StartedTrees(OwnSums, Thresholded, Filed):
    """The scores of a first model, and leaves that are added to them in the order of the trees.

    Terms are one score of the first model for each output, and then the trees.

    Parameters
    ----------
    trees : TreeTerms
        Without a score of their own before the first tree; rows are rounded to float32.
    start : Start or None
        None for terms without values, those of a file whose estimator is beside them.
    """

    family: ClassVar[str] = "trees after a model"
    unit_name: ClassVar[str] = "parts"
    planning: ClassVar[Planning] = Planning(rest=Rest.ENGINE, own_weights=True)
    whole_in_files: ClassVar[bool] = True

    trees: TreeTerms
    start: Start | None
    coef: Floats = field(init=False, repr=False)
    intercept: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        n_outputs = self.trees.n_outputs
        object.__setattr__(self, "coef", np.hstack([np.eye(n_outputs), self.trees.coef]))
        object.__setattr__(self, "intercept", np.zeros(n_outputs))

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.trees.n_features

    @property
    def accepts(self) -> Accepts:
        """What the trees accept."""
        return self.trees.accepts

    @property
    def description(self) -> str:
        """Description of the model in messages."""
        return f"tree ensemble after a first model, {self.trees.n_terms} trees"

    @property
    def exact(self) -> bool:
        """Whether the scores have the bits of the wrapped model's own."""
        return self.start is not None and self.start.exact

    @property
    def least_precision(self) -> float:
        """That of float32: the first model gets rows of this dtype, in which it may compute."""
        return 0.0 if self.exact else 2.0**-24

    def values(self, X: Any, which: Sequence[int] | NDArray[np.intp] | None = None) -> Floats:
        """First scores, and leaves; NaN for rows that are not finite in float32."""
        terms = np.arange(self.n_terms) if which is None else np.asarray(which, dtype=np.int64)
        n, n_outputs = X.shape[0], self.n_outputs
        values, first = np.empty((n, len(terms))), terms < n_outputs
        if n and not first.all():
            values[:, ~first] = self.trees.values(X, terms[~first] - n_outputs)
        if n and first.any():
            values[:, first] = self._first(X)[:, terms[first]]
        return values

    def _first(self, X: Any) -> Floats:
        assert self.start is not None
        with np.errstate(over="ignore"):
            rows = X.astype(np.float32)
        if sparse.issparse(rows):
            bad = np.add.reduceat(np.append(~np.isfinite(rows.data), False), rows.indptr[:-1]) > 0
            bad &= np.diff(rows.indptr) > 0
        else:
            rows = np.ascontiguousarray(rows)
            bad = ~np.isfinite(rows).all(axis=1)
        if not bad.any():
            return self.start.scores(rows)
        found = np.full((len(bad), self.n_outputs), np.nan)
        if not bad.all():
            found[~bad] = self.start.scores(rows[~bad])
        return found

    def at_thresholds(self, n_rows: int, rng: np.random.Generator) -> Floats | None:
        """Rows next to thresholds of the trees."""
        return self.trees.at_thresholds(n_rows, rng)

    def totals(self, values: Floats) -> Floats:
        """Full scores from all values, added in the order of the trees."""
        n_outputs = self.n_outputs
        sums = values[:, :n_outputs].copy()
        for tree, output in enumerate(self.trees.trees.output.tolist()):
            sums[:, output] += values[:, n_outputs + tree]
        return sums

    def pack(self, order: Ints, surrogates: Surrogates = NO_SURROGATES, precision: Precision = "float64") -> Packed:
        """Pack for the engine in Python, which allows for the errors of the first scores."""
        return _PackedStart(self, order, self.accepts.conversion)

    # ---- files -----------------------------------------------------------------------------------------------------

    def encode(self) -> dict[str, Any]:
        """Describe the trees without the first model, which is in the archive of the estimator."""
        return self.trees.encode()

    @classmethod
    def decode(cls, section: Section, n_outputs: int) -> Self:
        """Build terms without values from what `encode` returned."""
        return cls(TreeTerms.decode(section, n_outputs), None)

    def packed_bytes(self, n_surrogates: int, precision: Precision) -> int:
        """Bound of the memory of the trees, in bytes."""
        return 64 * int(self.coef.size) + self.trees.packed_bytes(n_surrogates, precision)


class _PackedStart(PackedSums):
    """Terms after a first model in the engine in Python."""

    terms: StartedTrees

    def totals(self, values: Floats, working: float) -> tuple[Floats, Floats]:
        """Full scores, and bounds of their distance to the wrapped model's own."""
        scores, errors = super().totals(values, working)
        start = self.terms.start
        assert start is not None  # else there are no values
        return scores, errors + start.errors(values[:, : self.terms.n_outputs])
