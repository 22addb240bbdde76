"""What is promised about early answers, in numbers that can be checked and in one sentence."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

from .._figures import percent, thousands
from .binomial import interval, p_value, rows_needed, shared_confidence, upper_bound
from .boundary import Protect

Status = Literal["certified", "lossless", "measured", "full", "too few rows", "too many disagreements"]

_EVENT: dict[Protect, str] = {
    "all": "disagreement",
    "positive": "exits as negative among positives",
    "negative": "exits as positive among negatives",
    "each": "disagreement within each class",
}


@dataclass(frozen=True)
class Stratum:
    """Rows that a promise speaks of, and how many of them were answered otherwise than by the full model."""

    name: str
    n_rows: int
    n_disagreements: int


@dataclass(frozen=True)
class Certificate:
    """A promise about early answers, with the counts behind it. Printed, it is one sentence.

    Certificates come from `certify`, from `measure`, or from the two constructors below.

    Attributes
    ----------
    status : str
        "certified": the promise holds. "lossless": no row can differ, by proof. "measured": counts only, no
        promise. "full", "too few rows", "too many disagreements": every row is evaluated in full, and why.
    risk : float or None
        Promised bound of the disagreement; None if nothing was asked for.
    confidence : float
        Probability, over the draw of the certificate rows (of all rows, where they were split several times), with
        which the promise holds.
    protect : {"all", "positive", "negative", "each"}
        The rows that the promise is about.
    q : float
        The scale of the boundary to serve with; infinite if nothing may leave early.
    strata : tuple of Stratum
        The counts: one stratum, or one per class for ``protect="each"``.
    bound : float
        Upper confidence limit of the disagreement (Clopper-Pearson), of the worst stratum; 0 if none is
        possible.
    grouped : bool
        Whether the rows were one random row of each group.
    reason : str
        Why everything is evaluated, for the status "full".
    void : str or None
        Why the promise does not hold, if it does not.
    n_splits : int
        Of how many certificates this one was chosen, each on rows that its own plan has not seen (those of others may
        have). The bound and the test hold for all of them at once.

    Examples
    --------
    >>> rows = (Stratum("rows", 12_000, 6),)
    >>> bound = upper_bound(6, 12_000, 0.95)
    >>> certificate = Certificate("certified", 0.001, 0.95, q=4.2, strata=rows, bound=bound)
    >>> print(certificate)
    disagreement <= 0.1 % with 95 % confidence: 6 of 12 000 rows, bound 0.099 %
    >>> certificate.verify()
    True
    >>> print(certificate.voided("certified on training rows"))
    void: certified on training rows
    """

    status: Status
    risk: float | None
    confidence: float
    protect: Protect = "all"
    q: float = math.inf
    strata: tuple[Stratum, ...] = ()
    bound: float = 0.0
    grouped: bool = False
    reason: str = ""
    void: str | None = None
    n_splits: int = 1

    @classmethod
    def lossless(cls) -> Certificate:
        """Speak for a rule that is certified by proof."""
        return cls("lossless", risk=0.0, confidence=1.0, q=1.0)

    @classmethod
    def full_evaluation(cls, reason: str, risk: float | None = None, confidence: float = 1.0) -> Certificate:
        """Speak for a plan that evaluates every row in full, for `reason`."""
        return cls("full", risk=risk, confidence=confidence, reason=reason)

    @property
    def n_rows(self) -> int:
        """Certificate rows that the promise speaks of."""
        return sum(stratum.n_rows for stratum in self.strata)

    @property
    def n_disagreements(self) -> int:
        """Those answered otherwise than by the full model (at the most cautious q, if none passed)."""
        return sum(stratum.n_disagreements for stratum in self.strata)

    @property
    def rows_needed(self) -> int:
        """Rows (of every class, for "each") without which no promise is possible; 0 without a risk."""
        return rows_needed(self.risk, self.tested) if self.risk else 0

    @property
    def tested(self) -> float:
        """Confidence of the test: higher than that of the promise where the certificate was chosen among several."""
        return shared_confidence(self.confidence, self.n_splits)

    @property
    def worst(self) -> Stratum:
        """The stratum with the highest upper confidence limit. Raises ValueError if there is none."""
        return max(self.strata, key=lambda s: upper_bound(s.n_disagreements, s.n_rows, self.tested))

    def voided(self, reason: str) -> Certificate:
        """Keep the counts and withdraw the promise."""
        return replace(self, void=reason)

    def verify(self) -> bool:
        """Recompute status and bound from the counts; True if they agree and the certificate is not void."""
        if self.void is not None:
            return False
        if self.status in ("lossless", "full"):  # by proof: there is nothing to count
            return self.bound == 0.0
        if not self.strata:
            return False
        honest = math.isclose(self.bound, bound_of(self.strata, self.tested), rel_tol=1e-9)
        if self.status == "measured":
            return honest
        if self.risk is None:
            return False
        if passes(self.strata, self.risk, self.tested):
            return self.status == "certified" and honest and math.isfinite(self.q)
        failure = failure_of(self.strata, self.risk, self.tested)
        return self.status == failure and self.q == math.inf and self.bound == 0.0

    def __str__(self) -> str:
        if self.void is not None:
            return f"void: {self.void}"
        event = _EVENT[self.protect]
        match self.status:
            case "lossless":
                return "lossless: no row can differ"
            case "full":
                return f"no early exit: {self.reason}"
            case "certified":
                return f"{event} {self._promise()}: {self._counts()}, bound {percent(self.bound)}"
            case "measured":
                return f"measured {event} {self._estimate()}, {self._counts()}; not a promise"
            case "too few rows":
                scarce = min(self.strata, key=lambda s: s.n_rows)
                needed = f"{thousands(self.rows_needed)} certificate {scarce.name} needed"
                return f"no early exit: {needed}, {thousands(scarce.n_rows)} given{self._aside()}"
            case "too many disagreements":
                return f"no early exit: {self._counts()} differ at the most cautious q: not {self._promise()}"

    def _promise(self) -> str:
        risk, confidence = percent(self.risk or 0.0, digits=6), percent(self.confidence, digits=6)
        return f"<= {risk} with {confidence} confidence"

    def _estimate(self) -> str:
        k, n = self.worst.n_disagreements, self.worst.n_rows
        low, high = (percent(limit) for limit in interval(k, n, self.confidence))
        return f"{percent(k / max(n, 1))} ({percent(self.confidence, digits=6)} interval {low} to {high})"

    def _counts(self) -> str:
        worst = self.worst
        return f"{thousands(worst.n_disagreements)} of {thousands(worst.n_rows)} {worst.name}{self._aside()}"

    def _aside(self) -> str:
        which = {"too few rows": "in each of", "too many disagreements": "one of"}.get(self.status, "cheapest of")
        notes = ["one per group"] * self.grouped + [f"{which} {self.n_splits} splits"] * (self.n_splits > 1)
        return f" ({', '.join(notes)})" if notes else ""


def passes(strata: tuple[Stratum, ...], risk: float, confidence: float) -> bool:
    """Whether every stratum rejects a disagreement of `risk` or more at level 1 - `confidence`.

    Needing all of them (an intersection-union test) costs no correction for their number.
    """
    return all(p_value(s.n_disagreements, s.n_rows, risk) <= 1.0 - confidence for s in strata)


def failure_of(strata: tuple[Stratum, ...], risk: float, confidence: float) -> Status:
    """Why `passes` is false: rows that could not have passed with any count, or the counts."""
    scarce = any(p_value(0, s.n_rows, risk) > 1.0 - confidence for s in strata)
    return "too few rows" if scarce else "too many disagreements"


def bound_of(strata: tuple[Stratum, ...], confidence: float) -> float:
    """Return the highest upper confidence limit among the strata."""
    return max(upper_bound(s.n_disagreements, s.n_rows, confidence) for s in strata)
