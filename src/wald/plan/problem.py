"""The input of planning, and its intermediate results."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, norm

from ..models.packing import Surrogates
from ..models.planning import Precision
from ..models.terms import Terms
from ..models.units import Units
from ..stopping import Rule, Walk
from ..stopping.core.binomial import most_disagreements
from ..stopping.core.paired import paired_p_value
from ..stopping.core.risks import Promised
from .cost import CostModel
from .moments import Floats
from .order import Ints
from .passes import PassWork
from .plan import Recipe


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The engine's scores of the validation rows at every stage of a recipe, as a walk, and their costs.

    Attributes
    ----------
    walk : Walk
    dtype : {"float32", "float64"}
    cost_model : CostModel or None
        None where passes are timed.
    pass_work : PassWork or None
        Work of passes, for families that are `Summed`.
    full_seconds, full_work : float
        Time of a row without early exits, and its work in the unit of `pass_work`.
    row_seconds : float, default=0.0
        Time of a row before its first pass, in `full_seconds`: that of preprocessing.
    """

    walk: Walk
    dtype: Precision
    cost_model: CostModel | None
    pass_work: PassWork | None = None
    full_seconds: float = 0.0
    full_work: float = 1.0
    row_seconds: float = 0.0


@dataclass(frozen=True)
class CertificateSize:
    """Number of rows on which a plan will be certified, and the confidence of the test."""

    n_rows: int
    confidence: float

    def allowed_share(self, part: float, risk: float) -> float:
        """Share of disagreements that the certificate allows among a part of its rows; 0 if it can allow none.

        It lies below the risk at usual confidences, because the rows must prove the risk.

        Examples
        --------
        >>> CertificateSize(20_000, 0.95).allowed_share(0.5, 0.001)
        0.0004
        """
        n = round(part * self.n_rows)
        return max(0, most_disagreements(n, risk, self.confidence)) / max(1, n)

    def likely_share(self, part: float, risk: float, chance: float) -> float:
        """Largest true share of disagreements at which the certificate passes with this probability.

        Examples
        --------
        >>> round(CertificateSize(20_000, 0.95).likely_share(0.5, 0.001, 0.9), 5)
        0.00024
        """
        n = round(part * self.n_rows)
        k = max(0, most_disagreements(n, risk, self.confidence))
        return 1.0 if k >= n else float(beta.ppf(1.0 - chance, k + 1, n - k))

    def allows_pairs(self, part: float, risk: float, worse: float, better: float, chance: float | None = None) -> bool:
        """Whether the certificate allows shares of rows that are worse and better than the full model's.

        Parameters
        ----------
        part : float
            Part of the rows that are counted.
        risk, worse, better : float
        chance : float, default=None
            The certificate must allow them with this probability, if they are the true ones. None: it allows the shares
            themselves.

        Examples
        --------
        >>> CertificateSize(20_000, 0.95).allows_pairs(0.5, 0.005, worse=0.012, better=0.01)
        True
        >>> CertificateSize(20_000, 0.95).allows_pairs(0.5, 0.005, worse=0.012, better=0.01, chance=0.9)
        False
        """
        n = round(part * self.n_rows)
        either, more = n * (worse + better), n * (worse - better)
        if chance is not None:
            more += float(norm.ppf(chance)) * math.sqrt(either)
        n_more = min(n, math.ceil(more - 1e-9))
        n_either = min(n, max(abs(n_more), round(either)))
        n_worse = min((n_either + n_more + 1) // 2, (n + n_more) // 2)  # of n rows, with the better ones
        return paired_p_value(n_worse, n_worse - n_more, n, risk, level=1 - self.confidence) <= 1 - self.confidence


@dataclass(frozen=True, eq=False)
class Problem:
    """The input of planning.

    Attributes
    ----------
    terms : Terms
    units : Units
    order_rows : array-like or CSR of shape (n, n_features)
        Rows on which order and readouts are fitted.
    scores : ndarray of shape (n, K)
        Their full scores.
    confidence : ndarray of shape (n,)
        Confidence of the full model's own decisions on them.
    order : {"greedy", "qwyc", "random", "sorted"} or ndarray of units
    rule : Rule
    promised : Promised
        What will be certified; without a risk, the rule is used as published.
    certificate_size : CertificateSize
        Candidates are compared at the share of disagreements that it will allow.
    block : int
        Terms that the engine evaluates at a time.
    stages_at_blocks : bool
        Whether stages come after whole blocks only.
    surrogates : callable or None
        Takes weights of the order rows, and terms from best to worst; returns surrogates and their values (n, S).
    evaluate : callable
        Takes a recipe and returns its `Evaluation`.
    rng : Generator
    threshold : float
        Binary models answer positive above it.
    races : bool
        Whether classes that are far behind may be dropped.
    by_margin : bool, default=False
        Whether rows leave by the margin of one score, for which the spread of each row counts more.
    also_ordered_by : Units or None, default=None
        The same units at other prices: their greedy order gives another candidate.
    given : tuple of Recipe, default=()
        The only candidates, where a family of models orders units and fits readouts by itself.
    """

    terms: Terms
    units: Units
    order_rows: Any
    scores: Floats
    confidence: Floats
    order: Literal["greedy", "qwyc", "random", "sorted"] | NDArray[Any]
    rule: Rule
    promised: Promised
    certificate_size: CertificateSize
    block: int
    stages_at_blocks: bool
    surrogates: Callable[[Floats, Ints], tuple[Surrogates, Floats]] | None
    evaluate: Callable[[Recipe], Evaluation]
    rng: np.random.Generator
    threshold: float = 0.0
    races: bool = False
    by_margin: bool = False
    also_ordered_by: Units | None = None
    given: tuple[Recipe, ...] = ()
