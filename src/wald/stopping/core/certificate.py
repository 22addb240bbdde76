"""The promise about early answers, in numbers that can be checked and in one sentence."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Literal

import numpy as np
import numpy.typing as npt

from ...utils.figures import percent, percent_up, thousands
from .betting import betting_p_value
from .binomial import interval, p_value, rows_needed, shared_confidence, smallest_risk
from .boundary import Boundary
from .label_words import counted_pairs, sentence
from .p_values import hoeffding_interval
from .paired import paired_interval, paired_p_value, paired_rows_needed, paired_smallest_risk
from .risks import Subject
from .strata import PREDICTED, is_early

Status = Literal["certified", "lossless", "measured", "full", "too few rows", "too many disagreements"]
#: What answers are compared with: the full model's, or true labels, by which both are right or wrong.
Reference = Literal["model", "labels"]

#: The answer with which rows leave wrongly, by the name of their stratum or by the class that a promise is about.
_WRONG = {"outliers": "inlier", "inliers": "outlier"}
_SIDES = {"positive": "negative", "negative": "positive"}


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
        return self._backed(min((s.n_rows for s in self._parts), default=0))

    def _backed(self, n_rows: int) -> float:
        backed = smallest_risk if self.reference == "model" else paired_smallest_risk
        return backed(n_rows, self.tested)

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
        if self.void is not None:
            return f"void: {self.void}"
        if self.reference == "labels" and self.status not in ("lossless", "full"):
            return sentence(self)
        match self.status:
            case "lossless":
                return "lossless: no row can differ"
            case "full" if self.risk == 0:
                answers = "labels" if self.event == Certificate.event else "answers"
                return f"the model's own {answers}, by proof: {self.reason}"
            case "full":
                return f"no early exit: {self.reason}"
            case "certified":
                return f"{self._event()} {self._promise()}: {self._counts()}"
            case "measured":
                return f"measured {self._event()}{self._estimate()}; not a promise"
            case "too few rows":
                return f"no early exit: {'; '.join(map(self._scarcity, self._scarce()))}"
            case "too many disagreements":
                worst = self.worst
                risk = self._limit(self.risk_of(worst))
                differ = " differ" if worst.is_count else ""
                return (
                    f"no early exit: {self._count(worst)}{self._note()}{differ} at the most cautious q: "
                    f"not {risk} with {self._level()} confidence"
                )

    def _event(self) -> str:
        event = self.event
        if self.about in ("positive", "negative"):
            rows = self.strata[0].name
            event = f"exits as {_WRONG.get(rows, _SIDES[self.about])} among {rows}"
        elif self.about == "each" and not any(stratum.risk for stratum in self.strata):
            event += f" within each {_kind(self.strata)}"
        elif self.about == "predicted" and all(s.risk is None and is_early(s.name) for s in self.strata):
            event += f" within each {PREDICTED}{_kind(self.strata)}"
        return event + " on a random row of a random group" * self.grouped

    def _promise(self) -> str:
        own = [f", {self._limit(s.risk)} within {s.name.removeprefix('rows of ')}" for s in self.strata if s.risk]
        overall = [] if self.about in ("each", "predicted") and own else [f", {self._limit(self.risk)}"]
        bounds = overall + own
        return f"{''.join(bounds)[2:]}{', all' if len(bounds) > 1 else ''} with {self._level()} confidence"

    def _level(self) -> str:
        return percent(self.confidence, digits=6)

    def _limit(self, risk: float | None) -> str:
        return f"<= {percent(risk or 0.0, digits=6)}"

    def _estimate(self) -> str:
        worst = self.worst
        low, high = (percent(limit) for limit in self.intervals[self.strata.index(worst)])
        rate = percent(worst.n_disagreements / max(worst.n_rows, 1))
        if len(self.strata) == 1:
            return f" {rate} ({self._level()} interval {low} to {high}), {self._counts()}"
        together = f"one of {len(self.strata)} intervals that hold together with {self._level()} confidence"
        return f", at worst {rate} ({low} to {high}, {together}), {self._counts()}"

    def _counts(self) -> str:
        each = self.about == "classes" or any(s.risk is not None for s in self.strata)
        counted = self.strata if each else (self.worst,)
        return f"{', '.join(map(self._count, counted))}{self._note()}"

    def _count(self, stratum: Stratum) -> str:
        lost = stratum.n_disagreements
        if stratum.n_better is not None:
            return counted_pairs(stratum)
        counted = thousands(lost) if isinstance(lost, int) else f"a loss of {lost:.6g}"
        return f"{counted} of {thousands(stratum.n_rows)} {stratum.name}"

    def _scarce(self) -> tuple[Stratum, ...]:
        """Strata whose rows are too few to back the promise even without disagreements."""
        return tuple(s for s in self.strata if s.n_rows < self.needed_by(s)) or (self.worst,)

    def _scarcity(self, stratum: Stratum) -> str:
        needed, given = thousands(self.needed_by(stratum)), thousands(stratum.n_rows)
        least = self._backed(stratum.n_rows)
        backed = f"a risk of {percent_up(least)} at best" if least < 0.99 else "no risk below 99 %"
        return f"{needed} certificate {stratum.name} needed, {given} given{self._note()}, which can back {backed}"

    def _note(self) -> str:
        which = {"too few rows": "in each of", "too many disagreements": "one of"}.get(self.status, "cheapest of")
        notes = ["one per group"] * self.grouped + [f"{which} {self.n_splits} splits"] * (self.n_splits > 1)
        return f" ({', '.join(notes)})" if notes else ""


def _kind(strata: tuple[Stratum, ...]) -> str:
    """What the rows of one answer are called: "band", of strata called "rows of band 0" and so on."""
    name = strata[0].name if strata else ""
    words = name.replace(PREDICTED, "", 1).split(" ") if is_early(name) else name.split(" ")
    if words[:2] == ["rows", "of"] and len(words) > 2:
        return words[2]
    return "label" if words[0] in _WRONG else "class"


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


def failure_of(strata: tuple[Stratum, ...], risk: float, confidence: float) -> Status:
    """Why `passes` is false: "too few rows" if they could not pass even without disagreements, else the counts."""
    scarce = any(_least_p_value(s, risk if s.risk is None else s.risk, confidence) > 1.0 - confidence for s in strata)
    return "too few rows" if scarce else "too many disagreements"
