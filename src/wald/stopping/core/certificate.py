"""The promise about early answers, in numbers that can be checked and in one sentence."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Literal

from .binomial import rows_needed, shared_confidence, smallest_risk
from .boundary import Boundary
from .certificate_words import sentence
from .paired import paired_rows_needed, paired_smallest_risk
from .risks import Subject
from .strata import is_early
from .stratum import Failure, Stratum, failure_of, passes

Status = Literal["certified", "lossless", "measured", "full", Failure]
#: What answers are compared with: the full model's, or true labels, by which both are right or wrong.
Reference = Literal["model", "labels"]


@dataclass(frozen=True)
class Certificate:
    """A promise about early answers, with the counts behind it. Printed, it is one sentence.

    Certificates come from `certify`, from `measure`, or from the two constructors below. The printed promise holds with
    the stated confidence whatever `q` was chosen, because the risk was fixed before. A confidence interval from the
    counts would not be valid, because they are the counts at the chosen `q`.

    Attributes
    ----------
    status : str
        "certified": the promise holds. "lossless": no row can differ, by proof. "measured": counts only, no
        promise. "full", "too few rows", "too many disagreements": every row is evaluated in full, for this reason.
    risk : float or None
        Promised bound of the probability of another answer than the full model's; None without a promise.
    confidence : float
        Probability with which the promise holds, over independent draws of the certificate rows (of all rows, if they
        were split several times).
    about : {"all", "positive", "negative", "each", "classes", "predicted"}
        The rows that the promise is about; "each": every class for itself; "classes": all rows, and at once some
        classes; "predicted": the rows that get an answer, early or in full, and perhaps some classes.
    q : float
        The scale of the boundary for predictions; infinite if no row may leave early.
    strata : tuple of Stratum
        The counts: one stratum; one per class for "each"; or one of all rows and one for each class that is
        named.
    grouped : bool
        Whether one random row of each group was counted. The promise is then about a random row of a random group, and
        large groups count no more than small ones.
    reason : str
        Why everything is evaluated, for the status "full".
    void : str or None
        Why the promise does not hold; None if it holds.
    n_splits : int
        Number of certificates from which this one was chosen. Each is on rows that its own plan has not seen, though
        the plans of others may have. The test holds for all of them at once.
    event : str
        Noun for an early answer that loses.
    reference : {"model", "labels"}
        What answers are compared with. "labels": true ones; the promise is that the share of wrong labels is at most
        `risk` above the full model's, and classes are those to which rows truly belong.

    Examples
    --------
    >>> certificate = Certificate("certified", 0.001, 0.95, q=4.2, strata=(Stratum("rows", 12_000, 6),))
    >>> print(certificate)
    disagreement <= 0.1 % with 95 % confidence: 6 of 12 000 rows
    >>> certificate.verify()
    True
    >>> print(certificate.voided("certified on training rows"))
    void: certified on training rows
    """

    status: Status
    risk: float | None
    confidence: float
    about: Subject = "all"
    q: float = math.inf
    strata: tuple[Stratum, ...] = ()
    grouped: bool = False
    reason: str = ""
    void: str | None = None
    n_splits: int = 1
    event: str = "disagreement"
    reference: Reference = field(default="model", metadata={"later": True})

    @classmethod
    def lossless(cls) -> Certificate:
        """Build the certificate of a rule that is certified by proof."""
        return cls("lossless", risk=0.0, confidence=1.0, q=1.0)

    @classmethod
    def full_evaluation(
        cls, reason: str, risk: float | None = None, confidence: float = 1.0, event: str = "disagreement"
    ) -> Certificate:
        """Build the certificate of a plan that evaluates every row in full, for `reason`.

        At the risk 0, `reason` says who evaluates: the labels are the model's own, by proof.
        """
        return cls("full", risk=risk, confidence=confidence, reason=reason, event=event)

    @property
    def n_rows(self) -> int:
        """Number of certificate rows that the promise covers; for "predicted", of those that get its answers."""
        return sum(stratum.n_rows for stratum in self._parts)

    @property
    def n_disagreements(self) -> float:
        """Number of disagreements, or sum of losses, of the certificate rows; at the most cautious q if none passed."""
        return sum(stratum.n_disagreements for stratum in self._parts)

    @property
    def _parts(self) -> tuple[Stratum, ...]:
        """Strata without common rows."""
        if self.about == "predicted":
            return tuple(s for s in self.strata if is_early(s.name))
        return self.strata[:1] if self.about == "classes" else self.strata

    @property
    def rows_needed(self) -> int:
        """Rows (of every class, for "each") without which no promise is possible; 0 without a risk.

        Classes with a risk of their own need as many as `needed_by` says.
        """
        return self._needed(self.risk)

    def _needed(self, risk: float | None) -> int:
        needed = rows_needed if self.reference == "model" else paired_rows_needed
        return needed(risk, self.tested) if risk else 0

    def needed_by(self, stratum: Stratum) -> int:
        """Rows of a stratum without which no promise about it is possible; 0 without a risk."""
        return self._needed(self.risk_of(stratum))

    def risk_of(self, stratum: Stratum) -> float | None:
        """Promised bound for the rows of a stratum."""
        return self.risk if stratum.risk is None else stratum.risk

    @property
    def smallest_risk(self) -> float:
        """Smallest risk that so many rows can back at this confidence, if none disagrees; 1 without rows.

        For "each", the class with the fewest rows counts.
        """
        backed = smallest_risk if self.reference == "model" else paired_smallest_risk
        return backed(min((s.n_rows for s in self._parts), default=0), self.tested)

    @property
    def tested(self) -> float:
        """Confidence of the test: higher than that of the promise where the certificate was chosen among several."""
        return shared_confidence(self.confidence, self.n_splits)

    @property
    def worst(self) -> Stratum:
        """The stratum with the largest upper bound relative to its risk. Raises ValueError if there is none."""
        return max(
            self.strata,
            key=lambda s: s.interval(2 * self.tested - 1)[1] / (self.risk_of(s) or 1.0),
        )

    @property
    def intervals(self) -> tuple[tuple[float, float], ...]:
        """Confidence intervals of the measured rates, one for each stratum; all of them hold at once.

        They are those of `Stratum.interval` at ``1 - (1 - confidence) / n`` for n strata. Only a "measured" certificate
        has them, because counts at a `q` that was chosen by these counts give no interval.
        """
        if self.status != "measured":
            return ()
        shared = shared_confidence(self.confidence, max(1, len(self.strata)))
        return tuple(s.interval(shared) for s in self.strata)

    def voided(self, reason: str) -> Certificate:
        """Keep the counts and withdraw the promise."""
        return replace(self, void=reason)

    def verify(self, boundary: Boundary | None = None) -> bool:
        """Recompute the status from the counts; True if they agree and the certificate is not void.

        Parameters
        ----------
        boundary : Boundary, optional
            The plan's boundary. A lossless rule has thresholds that no `q` moves, so a "lossless" certificate for any
            other boundary is false.
        """
        if self.void is not None:
            return False
        if self.status in ("lossless", "full"):  # without counts
            if self.strata:
                return False
            if self.status == "full":
                return self.q == math.inf
            return self.risk == 0.0 and self.q == 1.0 and (boundary is None or boundary.fixed)
        if not self.strata or not self._well_formed():
            return False
        if not all(s.is_possible(self.risk) for s in self.strata):
            return False
        if self.status == "measured":
            return self.risk is None
        if self.risk is None:
            return False
        if passes(self.strata, self.risk, self.tested):
            return self.status == "certified" and math.isfinite(self.q)
        failure = failure_of(self.strata, self.risk, self.tested)
        return self.status == failure and self.q == math.inf

    def _well_formed(self) -> bool:
        """Whether strata have risks of their own where the printed sentence says so."""
        if any((s.n_better is None) != (self.reference == "model") for s in self.strata):
            return False
        own = [s.risk is not None for s in self.strata]
        if self.about == "classes":
            return not own[0] and len(own) > 1 and all(promised == (self.risk is not None) for promised in own[1:])
        if (self.about == "predicted") != any(is_early(s.name) for s in self.strata):
            return False
        worst = max(s.risk or 0.0 for s in self.strata)
        return not any(own) or (self.about in ("each", "predicted") and all(own) and self.risk == worst)

    def __str__(self) -> str:
        return sentence(self)
