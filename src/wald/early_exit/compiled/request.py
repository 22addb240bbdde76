"""The user's request for a plan, and the engine's stages without exits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...engine import Cascade, Packed, Stages
from ...models import AdditiveModel
from ...models.planning import Rest
from ...models.protocols import Sharing
from ...sources import Source
from ...stopping import Rule
from ...stopping.core.risks import Promised
from .parameters import Parameters
from .planner import planner_of


@dataclass(frozen=True, eq=False)
class Request:
    """The user's requirements of a plan; see `EarlyExitClassifier`."""

    rule: Rule
    promised: Promised
    order: Any
    cost: Any
    feature_costs: ArrayLike | Mapping[str, float] | None
    feature_groups: Mapping[str, Sequence[int | str]] | None
    names: NDArray[Any] | None
    columnar: bool
    n_threads: int
    rng: np.random.Generator

    @classmethod
    def of(
        cls,
        given: Parameters,
        model: AdditiveModel,
        source: Source,
        rule: Rule,
        promised: Promised,
        n_threads: int,
        rng: np.random.Generator,
    ) -> Request:
        """Read the parameters of an `EarlyExitClassifier`, for its model and the rows of `fit`."""
        planner = planner_of(given)
        priced = given.feature_costs is not None or given.feature_groups is not None
        counted = model.terms.planning.rest is Rest.ONE_CALL and planner.cost == "time"  # its units have times as costs
        by_price = priced and Sharing.of(model.terms) is not None and planner.cost == "time"
        return cls(
            rule=rule,
            promised=promised,
            order=planner.order,
            cost="units" if by_price or counted else planner.cost,
            feature_costs=given.feature_costs,
            feature_groups=given.feature_groups,
            names=model.schema.array,
            columnar=model.preprocessing is None and source.is_columnar,
            n_threads=n_threads,
            rng=rng,
        )


def without_exits(model: AdditiveModel, packed: Packed, stages: Stages) -> Cascade:
    """Build a cascade on packed terms from which no row exits early."""
    never = np.full(len(stages), np.inf)
    return packed.cascade(model, stages, -never, never)
