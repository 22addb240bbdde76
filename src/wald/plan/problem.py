"""The input of planning, and its intermediate results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..models.terms import Precision, Surrogates, Terms
from ..models.units import Units
from ..stopping import Rule, Walk
from ..stopping.core.boundary import Protect
from .cost import CostModel
from .moments import Floats
from .order import Ints
from .readout import Readout


@dataclass(frozen=True, eq=False)
class Recipe:
    """A candidate order with its readouts, and every stage that a ladder may have."""

    order: Ints
    terms: Ints
    stages: Ints
    stage_terms: Ints
    stage_costs: Floats
    readouts: tuple[Readout, ...]
    surrogates: Surrogates

    def subset(self, keep: Sequence[int]) -> Recipe:
        """Keep some of the early stages."""
        last = [len(self.stage_terms)]
        return Recipe(
            self.order,
            self.terms,
            self.stages[[*keep, *last]],
            self.stage_terms[list(keep)],
            self.stage_costs[[*keep, *last]],
            tuple(self.readouts[t] for t in keep),
            self.surrogates,
        )


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The engine's scores of the validation rows at every stage of a recipe, as a walk, and their costs."""

    walk: Walk
    dtype: Precision
    cost_model: CostModel


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
    readout : {"regressed", "partial"}
    rule : Rule
    risk : float or None
        The risk at which candidates are compared; None: the rule is used as published.
    protect : {"all", "positive", "negative", "each"} or dict from class code to risk
    block : int
        Terms that the engine evaluates at a time.
    stages_at_blocks : bool
        Whether stages come after whole blocks only.
    surrogates : callable or None
        Takes weights of the order rows, and terms from best to worst; returns surrogates and their values (n, S).
    evaluate : callable
        Takes a recipe and returns its `Evaluation`.
    rng : Generator
    extra_stages : tuple of int
        Additional numbers of units after which a ladder may have a stage.
    threshold : float
        Binary models answer positive above it.
    """

    terms: Terms
    units: Units
    order_rows: Any
    scores: Floats
    confidence: Floats
    order: Literal["greedy", "qwyc", "random", "sorted"] | NDArray[Any]
    readout: Literal["regressed", "partial"]
    rule: Rule
    risk: float | None
    protect: Protect
    block: int
    stages_at_blocks: bool
    surrogates: Callable[[Floats, Ints], tuple[Surrogates, Floats]] | None
    evaluate: Callable[[Recipe], Evaluation]
    rng: np.random.Generator
    extra_stages: tuple[int, ...] = field(default=())
    threshold: float = 0.0
