"""The promise of a ranking, certified by groups."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..stopping.core.betting import betting_p_value, betting_upper_bound
from ..stopping.core.fixed_sequence import fixed_sequence
from ..utils.figures import number, percent, significant, thousands
from .measures import Floats


@dataclass(frozen=True)
class RankingCertificate:
    """What is promised about the first rows of a group. Printed, it is a few sentences.

    The promise is about the mean over groups, not about each of them: if groups are independent draws from one source,
    at most the share ``risk`` of the first k rows of the model's own order is missing in a new group, in expectation
    over new groups. Every group counts alike, whatever its size; of fewer than k rows all are the first ones. The
    groups that certify are draws, too, so that a certificate can be wrong: of many calls of ``fit``, at most the share
    ``1 - confidence`` breaks the promise. It does not cover calls with a budget or a deadline.

    Attributes
    ----------
    k : int
    risk, confidence : float
    n_groups : int
        Groups that served the certificate alone.
    missing : float
        Mean share of the first k rows that was missing in these groups.
    limit : float
        Upper confidence limit of its expected value, for these exits by themselves. They were chosen among others by
        the same groups, so that the confidence in ``risk`` is proven, and that in a smaller number is not.
    trees : float
        Trees evaluated for a row of these groups, on average.
    n_trees : int
        Trees of the model.
    ndcg_lost : float or None, default=None
        NDCG of the first k rows lost in these groups, on average, where ``fit`` was given relevance. It was measured;
        nothing is promised about it.
    in_full : bool, default=False
        Whether every row is evaluated in full.
    reason : str, default=""
        Why it is.
    failed : bool, default=False
        Whether it is because the groups given to ``fit`` could not back the promise, and not because it is faster.
    left : tuple of int, default=()
        These groups by the stage at which a random row of each left; the last number is of rows that stayed. A monitor
        compares served groups with them.
    """

    k: int
    risk: float
    confidence: float
    n_groups: int
    missing: float
    limit: float
    trees: float
    n_trees: int
    ndcg_lost: float | None = None
    in_full: bool = False
    reason: str = ""
    failed: bool = False
    left: tuple[int, ...] = ()

    def verify(self) -> bool:
        """Whether the limit keeps the risk, or nothing can be missing."""
        return self.in_full or self.limit <= self.risk

    def __str__(self) -> str:
        if self.in_full:
            return (
                f"Every row is evaluated in full, so that nothing is missing{': ' if self.reason else ''}{self.reason}."
            )
        text = (
            f"Of the first {self.k} rows of new groups like those of fit, at most {percent(self.risk)} are missing, on "
            f"average over groups, with {100 * self.confidence:g} % confidence. In the {thousands(self.n_groups)} "
            f"groups that certify this, {percent(self.missing)} were, for {number(self.trees)} of "
            f"{thousands(self.n_trees)} trees a row"
        )
        if self.ndcg_lost is None:
            return f"{text}."
        how = "rose" if self.ndcg_lost < 0 else "fell"
        return f"{text}, and NDCG@{self.k} {how} by {significant(abs(self.ndcg_lost), 2)}."


def proves(losses: Floats, risk: float, confidence: float) -> bool:
    """Whether losses in [0, 1] of independent groups prove that their mean is at most ``risk``."""
    return bool(betting_p_value(losses, risk, level=1.0 - confidence) <= 1.0 - confidence)


def boldest(sequence: Floats, losses_at: Callable[[float], Floats], risk: float, confidence: float) -> float | None:
    """The last number of a fixed sequence, from careful to bold, at which losses prove the risk; None if there is none.

    Examples
    --------
    >>> losses = {3.0: np.zeros(400), 2.0: np.full(400, 0.005), 1.0: np.full(400, 0.1)}
    >>> boldest(np.array([3.0, 2.0, 1.0]), losses.__getitem__, 0.02, 0.95)
    2.0
    """
    return fixed_sequence(sequence.tolist(), lambda q: proves(losses_at(q), risk, confidence)).passed


def upper_limit(losses: Floats, confidence: float) -> float:
    """Upper confidence limit of the mean of losses in [0, 1]."""
    return betting_upper_bound(losses, confidence)


def groups_needed(risk: float, confidence: float) -> int:
    """Number of groups without a loss that prove a risk."""
    n = 8
    while not proves(np.zeros(n), risk, confidence):
        n = n + max(1, n // 16)
    return n
