"""The user's request for a plan, and the engine's stages without exits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..engine import Cascade, Packed, Stages
from ..models import AdditiveModel
from ..models.protocols import Sharing
from ..sources import Source
from ..stopping import Rule
from ..stopping.core.boundary import Protect
from .parameters import Parameters


@dataclass(frozen=True, eq=False)
class Request:
    """The user's requirements of a plan; see `EarlyExitClassifier`."""

    rule: Rule
    risk: float | None
    protect: Protect  # by code
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
        protect: Protect,
        n_threads: int,
        rng: np.random.Generator,
    ) -> Request:
        """Read the parameters of an `EarlyExitClassifier`, for its model and the rows of `fit`."""
        priced = given.feature_costs is not None or given.feature_groups is not None
        by_price = priced and Sharing.of(model.terms) is not None and given.cost == "time"
        return cls(
            rule=rule,
            risk=given.risk,
            protect=protect,
            order=given.order,
            cost="units" if by_price else given.cost,
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
