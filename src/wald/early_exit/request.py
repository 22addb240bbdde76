"""The user's request for a plan, and the engine's stages without exits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..engine import Cascade, Packed, Stages
from ..models import AdditiveModel
from ..models.protocols import Columnwise, Sharing
from ..sources import LazyRows, Source
from ..steps import RawColumns
from ..stopping import Rule
from ..stopping.core.risks import Promised
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
        lazy: Source | None = None,
    ) -> Request:
        """Read the parameters of an `EarlyExitClassifier`, for its model and the rows of `fit`.

        `lazy`: the rows as they were given, if their groups had to be fetched.
        """
        planner = planner_of(given)
        costs, groups = given.feature_costs, given.feature_groups
        shared = Sharing.of(model.terms) is not None
        if isinstance(lazy, LazyRows) and costs is None and groups is None and _takes_prices(model):
            costs, groups = lazy.costs, lazy.groups
        priced = costs is not None or groups is not None
        by_price = priced and (shared or lazy is not None) and planner.cost == "time"
        return cls(
            rule=rule,
            promised=promised,
            order=planner.order,
            cost="units" if by_price else planner.cost,
            feature_costs=costs,
            feature_groups=groups,
            names=model.schema.array,
            columnar=model.preprocessing is None and source.is_columnar,
            n_threads=n_threads,
            rng=rng,
        )


def _takes_prices(model: AdditiveModel) -> bool:
    """Whether groups of raw columns can have prices."""
    step = model.preprocessing
    if isinstance(step, RawColumns):
        return all(-1 not in part.sources for part in step.parts)  # none mixes several
    return step is None and (Sharing.of(model.terms) is not None or Columnwise.of(model.terms) is not None)


def without_exits(model: AdditiveModel, packed: Packed, stages: Stages) -> Cascade:
    """Build a cascade on packed terms from which no row exits early."""
    never = np.full(len(stages), np.inf)
    return packed.cascade(model, stages, -never, never)
