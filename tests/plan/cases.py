"""Rows, moments and planning problems that the tests of `wald.plan` share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from wald.engine import Readout, Stages
from wald.models import NO_SURROGATES, LinearTerms, Terms, Units
from wald.plan import CertificateSize, CostModel, Evaluation, Problem, Recipe
from wald.plan.moments import Moments, gather_moments
from wald.stopping import Ladder, Walk
from wald.stopping.core.risks import Promised


def correlated(n: int, d: int, seed: int = 0) -> np.ndarray:
    """Gaussian rows with correlated columns of different spread and mean."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 3 * rng.normal(size=d)


def moments_of(terms: Any, outputs: Any, weights: Any = None) -> Moments:
    """Moments of rows in one chunk, with weights of 1 by default."""
    weights = np.ones(len(terms)) if weights is None else weights
    return gather_moments(iter([(terms, outputs, weights[None])]), terms.shape[1], outputs.shape[1], 1)[0]


def one_each(n: int) -> list[np.ndarray]:
    """Units of one term each."""
    return list(np.arange(n)[:, None])


@dataclass(frozen=True, eq=False)
class PlainTerms(Terms):
    """Feature values as terms of a model that gives no weights of its own, to test orders without them."""

    unit_name: ClassVar[str] = "features"
    coef: np.ndarray
    intercept: np.ndarray

    @property
    def n_features(self) -> int:
        return self.n_terms

    def values(self, X: Any, indices: Any = None) -> np.ndarray:
        return np.asarray(X, dtype=np.float64) if indices is None else np.asarray(X, dtype=np.float64)[:, indices]


def problem(
    X: np.ndarray, coef: np.ndarray, costs: CostModel, *, own: bool = True, units: Units | None = None, **changes: Any
) -> Problem:
    """Plan a binary linear model; even rows give the order, odd rows choose the stages."""
    coef = np.atleast_2d(coef)
    terms = (LinearTerms if own else PlainTerms)(coef, np.zeros(len(coef)))
    order_rows, validation = X[::2], X[1::2]
    full = validation @ coef.T

    def evaluate(recipe: Recipe) -> Evaluation:
        seen = validation[:, recipe.terms]
        stages = zip(recipe.stage_terms, recipe.early.readouts, strict=True)
        scores = [seen[:, :m] @ r.weights[0] + r.bias[0] for m, r in stages]
        walk = Walk(
            full=(full[:, 0] > 0).astype(np.int32),
            full_scores=full,
            stages=recipe.stages,
            stage_costs=recipe.stage_costs,
            margins=np.stack(scores, axis=1) if scores else np.empty((len(full), 0)),
        )
        return Evaluation(walk, "float64", costs)

    scores = order_rows @ coef.T
    units = Units.single(X.shape[1]) if units is None else units
    chosen: dict[str, Any] = {
        "terms": terms,
        "units": units,
        "order_rows": order_rows,
        "scores": scores,
        "confidence": np.abs(scores[:, 0]),
        "order": "greedy",
        "rule": Ladder(),
        "promised": Promised(0.01),
        "certificate_size": CertificateSize(len(validation), 0.5),  # allows about the risk itself
        "block": 1,
        "stages_at_blocks": False,
        "surrogates": None,
        "evaluate": evaluate,
        "rng": np.random.default_rng(0),
    }
    return Problem(**chosen | changes)


def recipe(n_stages: int = 3, size: int = 2) -> Recipe:
    """Stages after every `size` terms, whose readouts are distinguished by their bias."""
    stages = size * np.arange(1, n_stages + 2)
    return Recipe(
        order=np.arange(stages[-1]),
        terms=np.arange(stages[-1]),
        stages=stages,
        stage_costs=10.0 * stages,
        early=Stages(stages[:-1], tuple(Readout(np.ones((1, m)), np.array([float(m)])) for m in stages[:-1])),
        surrogates=NO_SURROGATES,
    )
