"""One stratum of a promise: the rows that it covers, its risk, and what their audits say."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple, Self

from .evidence import log_rate_evidence, rate_interval
from .windows import Windows

State = Literal["holding", "unwatched", "doubtful", "broken"]
#: What a promise is about: each row by itself, or whole groups of rows, each of which loses between 0 and 1.
Trials = Literal["rows", "groups"]
#: From the best to the worst.
STATES: tuple[State, ...] = ("holding", "unwatched", "doubtful", "broken")

#: Probability that a kept promise is ever called broken, over a stream of any length; the strata share it.
BROKEN_LEVEL = 0.02
#: Aimed-at rate of disagreement where nothing is promised, and smallest one.
_NO_PROMISE, _SMALLEST = 0.01, 1e-9


class Stratum(NamedTuple):
    """Rows that a promise covers.

    Attributes
    ----------
    name : str
    code : int or None
        The answer that the full model gives these rows, or, if ``early``, that they got; None for all rows.
    risk : float or None
        Bound on their rate of disagreement; None if nothing is promised.
    early : bool
    """

    name: str
    code: int | None
    risk: float | None
    early: bool = False


class Line:
    """The audits of the rows of one stratum, and whether they refute its promise.

    Parameters
    ----------
    stratum : Stratum
    level : float
        Probability with which a kept promise may ever be called broken.
    trials : {"rows", "groups"}, default="rows"

    Attributes
    ----------
    state : {"holding", "broken"}
    n_audits : int
        Audited rows, or groups, of the stratum.
    n_disagreements : int or float
        The sum of their losses; where these are 0 or 1, a number of rows.
    refuted_by : (number, number) or None
        Disagreements and audits that refute the promise: those of all rows, or of the newest.
    """

    trials: Trials = "rows"  # of pickles from before there were others
    early = False

    def __init__(self, stratum: Stratum, level: float, trials: Trials = "rows") -> None:
        self.name, self.code, self.risk, self.early = stratum
        self.trials = trials
        self._limit = math.log(2.0 / level)  # half of the level is for all rows, half for the windows
        self.n_audits = 0
        self.n_disagreements: float = 0
        self.state: State = "holding"
        self.refuted_by: tuple[float, float] | None = None
        self.begin()

    def begin(self) -> None:
        """Begin the windows at the present counts."""
        self._windows = Windows([self.n_audits, self.n_disagreements])

    def add(self, audits: int, disagreements: float) -> None:
        """Count audits, and test the promise if some of them disagree."""
        self.n_audits += audits
        self.n_disagreements += disagreements
        if disagreements:
            self.test()
        for _ in self._windows.closing([self.n_audits, self.n_disagreements]):
            pass

    def test(self) -> None:
        """Break if the audits, all of them or those of a window, refute that the rate is at most the risk."""
        if self.risk is None or self.state == "broken":
            return
        totals = [self.n_audits, self.n_disagreements]
        for (n, events), price in [(totals, 0.0), *self._windows.running(totals)]:
            if events > self.risk * n and self._evidence(events, n) >= self._limit + price:
                self.state, self.refuted_by = "broken", (events, n)
                return

    def _evidence(self, events: float, n: float) -> float:
        assert self.risk is not None
        return log_rate_evidence(events, n, self.risk, aimed_at(self.risk))

    def merge(self, other: Self) -> None:
        """Add the counts of the same stratum from elsewhere; the worse state remains."""
        if other.state == "broken" and self.state != "broken":
            self.state, self.refuted_by = other.state, other.refuted_by
        self.add(other.n_audits, other.n_disagreements)

    @property
    def disagreement(self) -> tuple[float, float]:
        """Interval of the rate of disagreement, which holds at all times together with probability 0.98."""
        return rate_interval(self.n_disagreements, self.n_audits, BROKEN_LEVEL, aimed_at(self.risk))

    def as_dict(self) -> dict[str, Any]:
        """Name, risk, state, counts and interval as plain values."""
        low, high = self.disagreement
        return {
            "name": self.name,
            "risk": self.risk,
            "state": self.state,
            "audits": self.n_audits,
            "disagreements": self.n_disagreements,
            "disagreement_low": low,
            "disagreement_high": high,
        }

    def news(self, other: str) -> str:
        """What refutes the promise, in one sentence.

        Parameters
        ----------
        other : str
            What rows got instead, as "another label"; of groups, what they lost, as "of their first 10 rows".
        """
        assert self.risk is not None
        events, n = self.refuted_by or (self.n_disagreements, self.n_audits)
        which = "" if self.code is None else f" ({self.name})"
        newest = "the newest " if n < self.n_audits else ""
        seen = f"{newest}{n} audited {self.trials}{which}"
        if self.trials == "groups":
            lost = f"{seen} lost {events / n:.3g} {other} on average"
        else:
            lost = f"{events} of {seen} got {other}" if isinstance(events, int) else f"{counted(events)} in {seen}"
        return f"{lost}, and at most {self.risk:.4g} was promised"

    @property
    def lost(self) -> str:
        """What the audits show, behind their number."""
        return disagreeing(self.n_disagreements, self.trials)

    def __repr__(self) -> str:
        low, high = self.disagreement
        promised = "nothing promised" if self.risk is None else f"promised {self.risk:g}"
        return (
            f"<Line: {self.name}; {self.state}; {self.n_audits} audited, {self.lost} (rate "
            f"{low:.3g} to {high:.3g}, {promised})>"
        )


def aimed_at(risk: float | None) -> float:
    """The rate of disagreement at which evidence against a risk grows fastest: twice the risk."""
    return _NO_PROMISE if risk is None else min(max(2.0 * risk, _SMALLEST), 0.5 * (1.0 + risk))


def counted(lost: float) -> str:
    """A number of rows that got another answer, or the sum of what they lose."""
    return str(lost) if isinstance(lost, int) else f"a loss of {lost:.6g}"


def disagreeing(lost: float, trials: Trials = "rows") -> str:
    """As `counted`, behind a number of audited rows; what groups lose is no number of groups."""
    return f"{lost} disagree" if isinstance(lost, int) and trials == "rows" else counted(float(lost))


def worst(*states: State) -> State:
    """The worst of some states."""
    return max(states, key=STATES.index)
