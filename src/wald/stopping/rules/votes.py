"""The stopping rule of equal votes on two classes that costs least for the disagreement allowed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..core.boundary import SIDES, Boundary, Sides
from ..core.validation import require_fraction, require_option
from ..core.walk import Float64Array, Walk
from ..papers.vote_counts import VoteCounts
from .rules import Needs, Readout
from .sides import Columns, Side, table

#: Largest number of members; the work grows with its square at every stage.
MOST_MEMBERS = 200
#: Largest distance of a count from a whole number, by rounding.
WHOLE = 1e-3


@dataclass(frozen=True)
class VoteBoundary:
    """Stop a vote where the expected cost is smallest, among all rules that disagree with probability `alpha`.

    For ensembles that count equal votes on two classes: a `VotingClassifier` with ``voting="hard"``, or a
    `BaggingClassifier` of estimators without ``predict_proba``. If members are asked in a random order, the votes seen
    are a draw without replacement from all votes, whose counts the plan rows show. Dynamic programming over the counts
    then gives the cheapest policy, with exact hypergeometric probabilities.

    Parameters
    ----------
    alpha : float, default=0.001
        Allowed probability that an early answer differs from that of all votes, over plan rows and random orders.
    sides : {"both", "negative", "positive"}, default="both"
        The answers that may be given early.

    Raises
    ------
    ValueError
        For parameters out of range, and from `boundary` for walks that are no equal votes of at most 200 members on two
        classes.

    Notes
    -----
    A plan asks members in one order for all rows, for which `alpha` promises nothing: ``risk=None`` measures the
    disagreement, and a ``risk`` scales the boundary until a promise holds. ``order="random"`` comes closest to what the
    rule assumes; ``"greedy"`` asks the members first whose votes say most.

    References
    ----------
    A. Kalman and A. Moscovich, arXiv 2606.15237, 2026: the same problem as a linear programme. Its optimum may mix two
    policies at random; this rule is a policy without randomness that costs at most as much as any policy of its own
    disagreement.

    Examples
    --------
    >>> from wald.stopping.rules.checks import example_votes
    >>> boundary = VoteBoundary(alpha=0.01).boundary(example_votes())
    >>> boundary.n_stages
    4
    """

    alpha: float = 0.001
    sides: Sides = "both"
    readout: ClassVar[Readout] = "partial"
    needs: ClassVar[Needs] = Needs()

    def __post_init__(self) -> None:
        require_fraction("VoteBoundary", "alpha", self.alpha)
        require_option("VoteBoundary", "sides", self.sides, SIDES)

    def boundary(self, walk: Walk) -> Boundary:
        """Centres in the middle of the scores that go on, scales of half their width."""
        if not walk.two_sided:
            raise ValueError("VoteBoundary is for votes on two classes; for several classes use Ladder().")
        n_members, stages = int(walk.stages[-1]), walk.stages[:-1]
        counts = _counts(walk, n_members)
        weighed = np.bincount(counts, minlength=n_members + 1) + 1.0 / (n_members + 1)
        policy = VoteCounts(weighed / weighed.sum(), stages, walk.stage_costs).best(
            self.alpha, negative=self.sides != "positive", positive=self.sides != "negative"
        )

        def upper(side: Side) -> Columns:
            middle = (policy.high + policy.low - stages) / n_members
            half = (policy.high - policy.low - 1) / n_members
            is_open = policy.high <= stages if side.positive else policy.low >= 0
            return side.sign * middle, np.where(is_open, half, np.inf)

        return table(walk, self.sides, "VoteBoundary", upper)


def _counts(walk: Walk, n_members: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Number of votes for the second class of each row; raises ValueError if scores are no means of equal votes."""
    if n_members > MOST_MEMBERS:
        raise ValueError(
            f"VoteBoundary is for at most {MOST_MEMBERS} members. Got {n_members}: use Ladder(), which needs no table."
        )
    sums = np.column_stack([walk.partial_sums(), walk.full_scores[:, 0]]) * n_members
    seen = np.broadcast_to(walk.stages, sums.shape)
    counts: Float64Array = (sums + seen) / 2
    whole = np.abs(counts - np.round(counts)) <= WHOLE
    if walk.threshold != 0.0 or not (whole & (np.abs(sums) <= seen + WHOLE)).all():
        raise ValueError(
            "VoteBoundary counts equal votes on two classes, and these scores are no means of votes. Use it with a "
            "VotingClassifier(voting='hard') without weights, or with a BaggingClassifier of estimators without "
            "predict_proba; use Ladder() for other models."
        )
    return np.round(counts[:, -1]).astype(np.int64)
