"""Figures from the tables: accuracies, gaps, and the share of costly features from which nothing is lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._common import Estimate, Record, over_seeds, select
from .contenders import CONTENDERS, Contender
from .curves import Tables
from .times import EVERYTHING


class Curve(NamedTuple):
    """Accuracy by share, all examples pooled; from nothing bought to everything."""

    shares: NDArray[np.float64]
    accuracy: NDArray[np.float64]

    @property
    def full(self) -> float:
        """With everything bought."""
        return float(self.accuracy[-1])

    def at(self, share: float) -> float:
        """The accuracy at a share, interpolated linearly between points."""
        return float(np.interp(share, self.shares, self.accuracy))

    def within(self, loss: float) -> float:
        """The share from which on no more than ``loss`` of the parts is lost against everything bought."""
        least = self.full - loss
        below = np.flatnonzero(self.accuracy < least - 1e-12)
        if not len(below):
            return float(self.shares[0])
        i = int(below[-1])
        (x0, x1), (y0, y1) = self.shares[i : i + 2], self.accuracy[i : i + 2]
        return float(x0 + (x1 - x0) * (least - y0) / (y1 - y0))


def data_sets(tables: Tables) -> list[str]:
    """Names of the data sets, in the order of the page."""
    return list(dict.fromkeys(str(r["data"]) for r in tables["curves"]))


def ran(data: str, policy: str, spend: str = "mean") -> bool:
    """Return True if a policy runs on a data set."""
    return Contender(policy, spend) in CONTENDERS[data]


def _own(tables: Tables, data: str, policy: str, spend: str) -> list[Record]:
    return select(tables["curves"], data=data, policy=policy, spend=spend)


def budgets(tables: Tables, data: str) -> list[float]:
    """The shares of costly features that are requested on a data set."""
    return sorted({float(r["requested"]) for r in select(tables["curves"], data=data)})


def pooled(tables: Tables, data: str, policy: str, spend: str = "mean") -> Curve:
    """The curve of a contender over all seeds' examples."""
    own = _own(tables, data, policy, spend)
    total = _sums(select(own, requested=budgets(tables, data)[0]))
    points = [(0.0, total["cheap"] / total["parts"])]
    for share in budgets(tables, data):
        sums = _sums(select(own, requested=share))
        points.append((sums["bought"] / sums["parts"], sums["right"] / sums["parts"]))
    points.append((1.0, total["full"] / total["parts"]))
    shares, accuracy = np.array(sorted(points)).T
    return Curve(shares, accuracy)


def _sums(records: Sequence[Record]) -> dict[str, float]:
    return {name: float(sum(float(r[name]) for r in records)) for name in ("parts", "bought", "right", "cheap", "full")}


def accuracies(
    tables: Tables, data: str, policy: str, share: float, spend: str = "mean", column: str = "right"
) -> NDArray[np.float64]:
    """Accuracy of every seed at a budget; or with the column ``"cheap"`` or ``"full"``, with nothing or everything."""
    own = sorted(select(_own(tables, data, policy, spend), requested=share), key=lambda r: int(r["seed"]))
    return np.array([float(r[column]) / float(r["parts"]) for r in own])


def above(
    tables: Tables, data: str, share: float, better: str, worse: str, spend: str = "mean", other: str | None = None
) -> Estimate:
    """By how much one policy is more accurate than another at a budget, seed by seed."""
    mine = accuracies(tables, data, better, share, spend)
    return over_seeds(mine - accuracies(tables, data, worse, share, other or spend))


def lost(tables: Tables, data: str, policy: str, share: float, spend: str = "mean") -> Estimate:
    """By how much a policy is less accurate at a budget than everything bought, seed by seed."""
    return over_seeds(
        accuracies(tables, data, policy, share, spend, "full") - accuracies(tables, data, policy, share, spend)
    )


def time_of(tables: Tables, data: str, policy: str, share: float, spend: str = "mean") -> Record:
    """Times of a policy at a budget; ``EVERYTHING`` has the budget 1."""
    (record,) = select(tables["times"], data=data, policy=policy, spend=spend, requested=share)
    return record


def full_time(tables: Tables, data: str) -> Record:
    """Times with everything bought."""
    return time_of(tables, data, EVERYTHING, 1.0)


def speed(tables: Tables, data: str, way: tuple[str, float], subset: str = "test") -> Record:
    """Speed of a way to parse."""
    (record,) = select(tables["speeds"], data=data, subset=subset, filter=way[0], margin=way[1])
    return record


def uas(tables: Tables, data: str, way: tuple[str, float], subset: str = "test") -> NDArray[np.float64]:
    """Share of the words with the right head, of every part of the sentences."""
    own = select(tables["parsed"], data=data, subset=subset, filter=way[0], margin=way[1])
    return np.array([float(r["right"]) / float(r["words"]) for r in sorted(own, key=lambda r: int(r["seed"]))])


def pooled_uas(tables: Tables, data: str, way: tuple[str, float], subset: str = "test") -> float:
    """Share of all words with the right head."""
    own = select(tables["parsed"], data=data, subset=subset, filter=way[0], margin=way[1])
    return sum(float(r["right"]) for r in own) / sum(float(r["words"]) for r in own)
