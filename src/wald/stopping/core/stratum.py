"""Rows that a promise covers: their counts, and the test of the promise."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Literal

import numpy as np
import numpy.typing as npt

from .betting import betting_p_value
from .binomial import interval, p_value
from .p_values import hoeffding_interval
from .paired import paired_interval, paired_p_value

Failure = Literal["too few rows", "too many disagreements"]


@dataclass(frozen=True)
class Stratum:
    """Rows that a promise covers, and how many of them got another answer than the full model's.

    Attributes
    ----------
    name : str
    n_rows : int
    n_disagreements : int or float
        The sum of the losses; where these are 0 or 1, a number of rows. With true labels: the rows whose early label is
        wrong and the full model's right.
    risk : float or None
        Promised bound for these rows; None for the certificate's own bound.
    p_value : float or None
        Where losses lie between 0 and 1: the p-value against a mean loss above the bound.
    losses : float64 ndarray or None
        Losses between 0 and 1, in the order of the rows; None once `counted` has replaced them by a p-value.
    n_better : int or None
        With true labels: the rows whose early label is right and the full model's wrong.
    """

    name: str
    n_rows: int
    n_disagreements: float
    risk: float | None = None
    p_value: float | None = None
    losses: npt.NDArray[np.float64] | None = field(default=None, repr=False, compare=False)
    n_better: int | None = field(default=None, metadata={"later": True})

    def p_value_of(self, risk: float, confidence: float) -> float:
        """P-value against a loss of these rows above their own risk, or else above `risk`; 1 if their mean is above."""
        own = risk if self.risk is None else self.risk
        if not self.is_count and self.n_disagreements > own * self.n_rows:
            return 1.0
        if self.p_value is not None:
            return self.p_value
        if self.losses is not None:
            return float(betting_p_value(self.losses, own, level=1.0 - confidence))
        if self.n_better is not None:
            worse = int(self.n_disagreements)
            return paired_p_value(worse, self.n_better, self.n_rows, own, level=1.0 - confidence)
        return p_value(int(self.n_disagreements), self.n_rows, own)

    @property
    def is_count(self) -> bool:
        """Whether all losses are 0 or 1."""
        return isinstance(self.n_disagreements, Integral)

    def is_possible(self, risk: float | None) -> bool:
        """Whether rows can have these counts and, with losses between 0 and 1, this p-value.

        Parameters
        ----------
        risk : float or None
            Bound for rows without one of their own. None: nothing is promised, and there are no p-values.
        """
        if not 0 <= self.n_disagreements <= self.n_rows:
            return False
        if self.n_better is not None and not (
            self.is_count and 0 <= self.n_better <= self.n_rows - self.n_disagreements
        ):
            return False
        own = risk if self.risk is None else self.risk
        if self.is_count or own is None:
            return self.p_value is None and self.losses is None
        if self.losses is not None:
            total = float(self.losses.sum())
            return len(self.losses) == self.n_rows and math.isclose(total, self.n_disagreements, rel_tol=1e-9)
        # n losses of 0 give the smallest p-value against a mean loss of r, (1 - r)^n: that of no disagreement
        return self.p_value is not None and p_value(0, self.n_rows, own) * (1 - 1e-9) <= self.p_value <= 1.0

    def counted(self, risk: float, confidence: float) -> Stratum:
        """The same counts with a p-value in place of the losses."""
        if self.losses is None:
            return self
        return replace(self, p_value=self.p_value_of(risk, confidence), losses=None)

    def interval(self, confidence: float) -> tuple[float, float]:
        """Confidence interval of the mean loss: of Clopper and Pearson, of pairs, or of Hoeffding between 0 and 1."""
        if self.n_better is not None:
            return paired_interval(int(self.n_disagreements), self.n_better, self.n_rows, confidence)
        if isinstance(self.n_disagreements, int):
            return interval(self.n_disagreements, self.n_rows, confidence)
        return hoeffding_interval(self.n_disagreements, self.n_rows, confidence)


def passes(strata: tuple[Stratum, ...], risk: float, confidence: float) -> bool:
    """Whether every stratum rejects a disagreement of its own risk or more at level 1 - `confidence`.

    Strata without a risk of their own have `risk`. Because all strata must reject (an intersection-union test), no
    correction for their number is needed.
    """
    return all(s.p_value_of(risk, confidence) <= 1.0 - confidence for s in strata)


def _least_p_value(stratum: Stratum, risk: float, confidence: float) -> float:
    """P-value of so many rows that lose nothing."""
    if stratum.n_better is None:
        return p_value(0, stratum.n_rows, risk)
    return paired_p_value(0, 0, stratum.n_rows, risk, level=1.0 - confidence)


def failure_of(strata: tuple[Stratum, ...], risk: float, confidence: float) -> Failure:
    """Why `passes` is false: "too few rows" if they could not pass even without disagreements, else the counts."""
    scarce = any(_least_p_value(s, risk if s.risk is None else s.risk, confidence) > 1.0 - confidence for s in strata)
    return "too few rows" if scarce else "too many disagreements"
