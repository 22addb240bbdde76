"""`PlaceExplanation`: how a row of a group fared in the race for the first places, and why it left, or stayed."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..ranking import GroupPaths, RankingPlan, RowGroups
from ..ranking.measures import places
from ..utils.figures import significant
from ..utils.plain import plain

#: How the race of a row ended.
End = Literal["left", "certain", "stayed", "no race"]


class AtStage(NamedTuple):
    """What a stage of the race knew of a row.

    Attributes
    ----------
    trees : int
        Trees evaluated so far.
    racing, places : int
        Rows of the group that still race, and the places that are not certain yet.
    estimate : float
    reach : float
        The row leaves if its estimate lies more than this below the last place, and has its place for certain if it
        lies more than this above the first estimate behind it.
    last, following : float
        The estimate on the last place, and the one behind it.
    """

    trees: int
    racing: int
    places: int
    estimate: float
    reach: float
    last: float
    following: float


@dataclass(frozen=True)
class PlaceExplanation:
    """Why a row has its place in a group. Printed, it is a sentence and a table.

    Attributes
    ----------
    row, n_rows : int
        The row, and how many there are in its group.
    k : int
        How many first rows are promised.
    end : {"left", "certain", "stayed", "no race"}
        Whether the row left; or was evaluated in full because its place was certain, or because that was never clear;
        or since the group has no more than ``k`` rows.
    stages : tuple of AtStage
        The stages that the row took, in their order.
    n_stages : int
        Early stages of the plan.
    cost, full_cost : float
        Trees evaluated for the row, and trees of the model.
    score, place : float and int
        Its score, an estimate if it left, and its place in the group by scores, from 1.
    full_score, full_place : float and int
        The same by the full model.

    See Also
    --------
    wald.EarlyExitRanker.explain : Makes it.
    """

    row: int
    n_rows: int
    k: int
    end: End
    stages: tuple[AtStage, ...]
    n_stages: int
    cost: float
    full_cost: float
    score: float
    place: int
    full_score: float
    full_place: int

    def as_dict(self) -> dict[str, Any]:
        """The same as plain values, for JSON."""
        found = asdict(self) | {"stages": [stage._asdict() for stage in self.stages]}
        return dict(plain(found))

    @property
    def headline(self) -> str:
        """How the race ended for the row, in a sentence or two."""
        of_trees = f"{self.cost:g} of {self.full_cost:g} trees"
        own = (
            ", as by the full model" if self.place == self.full_place else f"; by the full model, on {self.full_place}"
        )
        where = f"It comes on place {self.place}{own}."
        begin = f"Row {self.row} of {self.n_rows}"
        if self.end == "no race":
            return f"{begin}: a group of at most {self.k} rows is evaluated in full, at {of_trees}. {where}"
        at, last = f"stage {len(self.stages)} of {self.n_stages}", self.stages[-1]
        estimate, reach = _number(last.estimate), _number(last.reach)
        if self.end == "left":
            return (
                f"{begin} left at {at}, after {of_trees}: its estimate {estimate} lies more than {reach} below "
                f"{_number(last.last)}, the last of the {last.places} places that were left. {where}"
            )
        if self.end == "certain":
            return (
                f"{begin} had its place for certain at {at}: its estimate {estimate} lies more than {reach} above "
                f"{_number(last.following)}, the first behind the {last.places} places that were left. It was "
                f"evaluated in full, at {of_trees}. {where}"
            )
        return (
            f"{begin} was evaluated in full, at {of_trees}: after {at} it was not clear whether it is among the first "
            f"{self.k}. {where}"
        )

    def __str__(self) -> str:
        if not self.stages:
            return self.headline
        head = ("stage", "trees", "rows racing", "places", "estimate", "reach", "last place", "behind it")
        lines: list[tuple[str, ...]] = [head]
        for t, stage in enumerate(self.stages):
            figures = (stage.estimate, stage.reach, stage.last, stage.following)
            counts = (t + 1, stage.trees, stage.racing, stage.places)
            lines.append((*map(str, counts), *map(_number, figures)))
        if self.end != "left":
            lines.append(("all", f"{self.full_cost:g}", "", "", _number(self.full_score), "", "", ""))
        widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
        table = ["  ".join(cell.rjust(w) for cell, w in zip(line, widths, strict=True)).rstrip() for line in lines]
        return "\n".join([self.headline, *table])


def explained_place(
    paths: GroupPaths, plan: RankingPlan, row: int, early: NDArray[np.float64], own: NDArray[np.float64]
) -> PlaceExplanation:
    """Explain the place of a row.

    Parameters
    ----------
    paths : GroupPaths
        Of all rows of the group.
    plan : RankingPlan
    row : int
    early, own : float64 ndarray of shape (n_rows,)
        Scores of the rows by the race, and by the full model.
    """
    one, stage, settled = RowGroups.one(len(early)), int(paths.stages[row]), int(paths.settled[row])
    left = stage < len(plan.usual)
    end: End = "left" if left else "certain" if paths.certain[row] else "stayed" if settled >= 0 else "no race"
    stages = tuple(
        AtStage(
            int(plan.stages.terms[t]),
            int(paths.racing[t]),
            int(paths.places[t]),
            *(float(figures[t]) for figures in (paths.estimates[row], paths.reach[row], paths.last, paths.following)),
        )
        for t in range(settled + 1)
    )
    return PlaceExplanation(
        row=row,
        n_rows=len(early),
        k=plan.k,
        end=end,
        stages=stages,
        n_stages=len(plan.usual),
        cost=float(plan.stage_costs[stage]),
        full_cost=float(plan.n_trees),
        score=float(early[row]),
        place=int(places(early, one)[row]) + 1,
        full_score=float(own[row]),
        full_place=int(places(own, one)[row]) + 1,
    )


def _number(value: float) -> str:
    return significant(value, 3) if 1e-4 <= abs(value) < 1e6 or value == 0 else f"{value:.3g}"
