"""What has been seen of a promise in production, and what it says."""

from __future__ import annotations

import math
import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .coins import Coins
from .evidence import log_rate_evidence, log_shift_evidence, mean_interval, rate_interval
from .windows import SHORTEST, Windows

__all__ = ["DriftWarning", "Monitor"]

State = Literal["holding", "doubtful", "broken"]
STATES: tuple[State, ...] = ("holding", "doubtful", "broken")

#: Probabilities of a false alarm, over a stream of any length: of broken, and of doubtful.
BROKEN_LEVEL, DOUBTFUL_LEVEL = 0.02, 0.02
#: The shares of the stages are tested again after so many rows, those of all rows when these have grown by the factor.
_GROWTH, _ROWS = 1.01, 50
#: Neighbouring stages are tested together until they have this share of the rows of ``fit``.
_SHARE = 0.05
#: Aimed-at rate of disagreement where nothing is promised, and smallest one.
_NO_PROMISE, _SMALLEST = 0.01, 1e-9


class DriftWarning(UserWarning):
    """Served rows are not like those of the certificate, or its promise is broken."""


class Monitor:
    """Watch the promise of a fitted classifier on the rows that it serves.

    A random share of the rows is audited: the full model labels them, too. All counts may be read at any time, after
    any number of rows: the probability of a false alarm, over a stream of any length, is at most 2 % for "broken" and
    2 % for "doubtful", if served rows are independent draws from the source of the rows of ``fit``.

    Parameters
    ----------
    risk : float or None
        Bound on the rate of disagreement that is promised for all rows; None if nothing is promised.
    stage_costs : array-like of shape (T + 1,)
        Cost of a row that leaves at each stage; the last one is full evaluation.
    reference : array-like of int of shape (T + 1,)
        Rows of ``fit`` that left at each stage; all zero if there were none.
    audit_rate : float
        Probability that a row is audited.
    on_broken : {"warn", "full"}, default="warn"
        What the classifier does once the promise is broken: "full" evaluates every row in full.
    fingerprint : str, default=""
        What the monitors of one model have in common.
    seed : int or None, default=None
        Of the coins; None takes one from the operating system.

    Attributes
    ----------
    state : {"holding", "doubtful", "broken"}
        "broken": audits refute that the rate of disagreement is at most ``risk``. "doubtful": rows leave at other
        stages than those of ``fit`` did, so that the certificate may not speak of them. Both last until `reset`.
    n_rows, n_audits, n_disagreements : int
        Rows served under the certificate, rows audited, and audits in which the full model gave another label.

    See Also
    --------
    wald.EarlyExitClassifier : Its ``audit_rate`` makes a monitor, ``monitor_``.

    Notes
    -----
    Mathematics: section G7. The bets are Robbins' mixtures: H. Robbins, "Statistical methods related to the law of the
    iterated logarithm", Annals of Mathematical Statistics 41(5), 1970.

    Examples
    --------
    >>> import warnings
    >>> from wald.monitoring import DriftWarning, Monitor
    >>> monitor = Monitor(0.01, [1, 5, 100], [800, 150, 50], audit_rate=0.1, seed=0)
    >>> monitor.record([1600, 300, 100], audits=200, disagreements=1)
    >>> monitor.state
    'holding'
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", DriftWarning)
    ...     monitor.record([100, 300, 1600], audits=200, disagreements=2)  # other rows: more of them are hard
    >>> monitor.state
    'doubtful'
    """

    def __init__(
        self,
        risk: float | None,
        stage_costs: npt.ArrayLike,
        reference: npt.ArrayLike,
        *,
        audit_rate: float,
        on_broken: str = "warn",
        fingerprint: str = "",
        seed: int | None = None,
    ) -> None:
        require_audits(audit_rate, on_broken)
        self.risk = None if risk is None else float(risk)
        self.stage_costs = [float(cost) for cost in np.asarray(stage_costs, dtype=np.float64)]
        self.reference = [int(count) for count in np.asarray(reference)]
        if len(self.reference) != len(self.stage_costs) or min(self.reference, default=0) < 0:
            raise ValueError(
                f"reference must have {len(self.stage_costs)} counts, one for each stage. Got {self.reference}."
            )
        self.audit_rate, self.on_broken, self.fingerprint = float(audit_rate), on_broken, fingerprint
        self._group = _groups(self.reference)
        self._coins = Coins(self.audit_rate, seed)
        self._lock = threading.RLock()
        self._listeners: list[Callable[[Monitor], object]] = []
        self._clear()

    def _clear(self) -> None:
        self._stages = [0] * len(self.stage_costs)
        self.n_rows = self.n_audits = self.n_disagreements = 0
        self.state: State = "holding"
        self._begin()

    def _begin(self) -> None:
        """Begin the windows at the present counts."""
        self._next_test, self._next_whole_test = self.n_rows + _ROWS, 0.0
        self._audit_windows = Windows([self.n_audits, self.n_disagreements])
        self._stage_windows = Windows([self.n_rows, *self._stages])

    # ---- serving ---------------------------------------------------------------------------------------------------

    @property
    def answers_in_full(self) -> bool:
        """Whether rows are to be evaluated in full, because the promise is broken."""
        return self.state == "broken" and self.on_broken == "full"

    def draw(self, n: int) -> npt.NDArray[np.int64]:
        """Choose which of the next `n` rows are audited: one independent coin for each row."""
        with self._lock:
            return self._coins.heads(n)

    def record(self, stages: Sequence[int] | npt.NDArray[Any], audits: int = 0, disagreements: int = 0) -> None:
        """Count served rows, and act if the state changes.

        Parameters
        ----------
        stages : array-like of int of shape (T + 1,)
            Rows that left at each stage.
        audits, disagreements : int, default=0
            Audited rows among them, and those whose label the full model does not give.

        Raises
        ------
        ValueError
            If counts are negative or do not fit together.
        """
        counts = [int(count) for count in stages]
        self._require(counts, audits, disagreements)
        with self._lock:
            self._stages = [old + new for old, new in zip(self._stages, counts, strict=True)]
            changed = self._counted(sum(counts), audits, disagreements)
        if changed:
            self._tell()

    def _require(self, counts: Sequence[int], audits: int, disagreements: int) -> None:
        if len(counts) != len(self._stages) or min(counts) < 0 or not 0 <= disagreements <= audits <= sum(counts):
            raise ValueError(
                f"A monitor of this plan has {len(self._stages)} counts of rows by stage; some rows are audited, and "
                f"some of these disagree. Got {list(counts)}, audits={audits} and disagreements={disagreements}."
            )

    def record_one(self, stage: int) -> bool:
        """Count one served row; returns whether it is to be audited."""
        with self._lock:
            audited = self._coins.next()
            self._stages[stage] += 1
            self.n_rows += 1
            changed = self.n_rows >= self._next_test and self._counted(0, 0, 0)
        if changed:
            self._tell()
        return audited

    def record_audit(self, disagrees: bool) -> None:
        """Count the audit of a row that `record_one` has chosen."""
        with self._lock:
            changed = self._counted(0, 1, int(disagrees))
        if changed:
            self._tell()

    def _counted(self, rows: int, audits: int, disagreements: int) -> bool:
        """Add to the totals, and test where it is time; returns whether the state has changed."""
        self.n_rows += rows
        self.n_audits += audits
        self.n_disagreements += disagreements
        before = self.state
        if disagreements and self._is_refuted():
            self.state = "broken"
        for _ in self._audit_windows.closing([self.n_audits, self.n_disagreements]):
            pass
        if self.n_rows >= self._next_test:
            self._next_test = self.n_rows + (_ROWS if self.n_rows < SHORTEST else SHORTEST)
            if self._has_shifted() and self.state == "holding":
                self.state = "doubtful"
        return self.state != before

    def _is_refuted(self) -> bool:
        """Whether the audits, all of them or those of a window, refute that the rate is at most the risk."""
        if self.risk is None:
            return False
        totals, limit = [self.n_audits, self.n_disagreements], math.log(2.0 / BROKEN_LEVEL)
        return any(
            events > self.risk * n and log_rate_evidence(events, n, self.risk, self._aimed_at) >= limit + price
            for (n, events), price in [(totals, 0.0), *self._audit_windows.running(totals)]
        )

    def _has_shifted(self) -> bool:
        """Whether rows, all of them or those of a window that is full, left at other stages than those of ``fit``."""
        if not sum(self.reference):
            return False
        totals, limit = [self.n_rows, *self._stages], math.log(2.0 / DOUBTFUL_LEVEL)
        tested = list(self._stage_windows.closing(totals))
        if self.n_rows >= self._next_whole_test:
            self._next_whole_test = self.n_rows * _GROWTH
            tested.append((totals, 0.0))
        return any(self._shift(counts[1:]) >= limit + price for counts, price in tested)

    def _shift(self, stages: Sequence[int]) -> float:
        return log_shift_evidence(self._grouped(stages), self._grouped(self.reference))

    def _grouped(self, stages: Sequence[int]) -> list[int]:
        counts = [0] * (self._group[0] + 1)
        for group, count in zip(self._group, stages, strict=True):
            counts[group] += count
        return counts

    @property
    def _aimed_at(self) -> float:
        return _NO_PROMISE if self.risk is None else min(max(2.0 * self.risk, _SMALLEST), 0.5 * (1.0 + self.risk))

    def _tell(self) -> None:
        warnings.warn(self._news(), DriftWarning, stacklevel=5)
        for listener in list(self._listeners):
            listener(self)

    def _news(self) -> str:
        if self.state == "broken":
            low, _ = self.disagreement
            then = (
                "Rows are evaluated in full from now on."
                if self.on_broken == "full"
                else "Certify the plan on fresh rows (recertify, or fit)."
            )
            return (
                f"The promise is broken: {self.n_disagreements} of {self.n_audits} audited rows got another label, a "
                f"rate of at least {low:.3g}, and at most {self.risk:g} was promised. {then}"
            )
        return (
            f"Served rows are not like those of the certificate: after {self.n_rows} rows they leave at other stages "
            f"(mean cost {self._mean(self._stages):.4g}; {self._mean(self.reference):.4g} for those of fit). The "
            "promise may not hold for them: call fit on fresh rows."
        )

    def _mean(self, stages: Sequence[int]) -> float:
        """Mean cost of rows that left at these stages."""
        costs = (count * cost for count, cost in zip(stages, self.stage_costs, strict=True))
        return sum(costs) / max(1, sum(stages))

    # ---- reading ---------------------------------------------------------------------------------------------------

    @property
    def stage_counts(self) -> npt.NDArray[np.int64]:
        """Served rows that left at each stage."""
        with self._lock:
            return np.array(self._stages, dtype=np.int64)

    @property
    def disagreement(self) -> tuple[float, float]:
        """Interval of the rate of disagreement, which holds at all times together with probability 0.98."""
        with self._lock:
            events, n = self.n_disagreements, self.n_audits
        return rate_interval(events, n, BROKEN_LEVEL, self._aimed_at)

    @property
    def mean_cost(self) -> tuple[float, float]:
        """Interval of the mean cost of a row, which holds at all times together with probability 0.98.

        Rows count with the costs of whole stages: an upper bound where classes can be out of the race.
        """
        return mean_interval(self.stage_counts.tolist(), self.stage_costs, DOUBTFUL_LEVEL)

    @property
    def log_shift(self) -> float:
        """Evidence that rows leave at other stages than those of ``fit`` did; windows of rows are tested, too."""
        with self._lock:
            stages = list(self._stages)
        return self._shift(stages) if sum(self.reference) else 0.0

    def as_dict(self) -> dict[str, Any]:
        """State, counts and intervals as plain values, as for metrics."""
        with self._lock:
            low, high = self.disagreement
            cheap, dear = self.mean_cost
            return {
                "state": self.state,
                "risk": self.risk,
                "audit_rate": self.audit_rate,
                "rows": self.n_rows,
                "audits": self.n_audits,
                "disagreements": self.n_disagreements,
                "disagreement_low": low,
                "disagreement_high": high,
                "mean_cost_low": cheap,
                "mean_cost_high": dear,
                "rows_by_stage": list(self._stages),
            }

    def __repr__(self) -> str:
        facts = self.as_dict()
        promised = "nothing promised" if self.risk is None else f"promised {self.risk:g}"
        return (
            f"<Monitor: {facts['state']}; {facts['rows']} rows, {facts['audits']} audited, {facts['disagreements']} "
            f"disagree (rate {facts['disagreement_low']:.3g} to {facts['disagreement_high']:.3g}, {promised}), mean "
            f"cost {facts['mean_cost_low']:.4g} to {facts['mean_cost_high']:.4g}>"
        )

    def counts(self) -> dict[str, Any]:
        """State, audits and disagreements, as `restore` takes them."""
        with self._lock:
            return {"audits": self.n_audits, "disagreements": self.n_disagreements, "state": self.state}

    # ---- changing --------------------------------------------------------------------------------------------------

    def subscribe(self, listener: Callable[[Monitor], object]) -> None:
        """Call ``listener(monitor)`` after every change of the state, in the thread that served the row."""
        if not callable(listener):
            raise TypeError(f"listener must be callable. Got {type(listener).__name__}.")
        with self._lock:
            self._listeners.append(listener)

    def reset(self) -> None:
        """Forget all rows: the state is "holding" again."""
        with self._lock:
            self._clear()

    def restore(self, stages: Sequence[int], audits: int, disagreements: int, state: State) -> None:
        """Go on from the counts of an earlier monitor of the same model, without warnings.

        Raises
        ------
        ValueError
            If the counts do not fit together.
        """
        self._require(stages, audits, disagreements)
        with self._lock:
            self._clear()
            self._stages = [int(count) for count in stages]
            self.n_rows, self.n_audits, self.n_disagreements = sum(self._stages), audits, disagreements
            self._begin()
            self.state = state

    def merge(self, other: Monitor) -> Monitor:
        """Add the counts of another monitor of the same model, as of another thread, process or machine.

        Parameters
        ----------
        other : Monitor

        Returns
        -------
        Monitor
            This one.

        Raises
        ------
        TypeError, ValueError
            If ``other`` is no monitor, or one of another model or plan.
        """
        if not isinstance(other, Monitor):
            raise TypeError(f"merge takes a Monitor. Got {type(other).__name__}.")
        if other is self:
            raise ValueError("A monitor cannot be merged with itself: its rows would count twice.")
        if self._identity() != other._identity():
            raise ValueError("These monitors watch different models or plans, whose counts do not add up.")
        with other._lock:
            stages, audits, disagreements = list(other._stages), other.n_audits, other.n_disagreements
        self.record(stages, audits, disagreements)
        return self

    def _identity(self) -> tuple[Any, ...]:
        return self.fingerprint, self.risk, self.stage_costs, self.reference

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            state = vars(self).copy()
        for name in ("_lock", "_coins", "_listeners"):  # coins are drawn anew, and listeners belong to the process
            del state[name]
        state["_stages"] = list(self._stages)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._lock, self._coins, self._listeners = threading.RLock(), Coins(self.audit_rate), []


def _groups(reference: Sequence[int]) -> list[int]:
    """Number of the group of each stage; the last stages are in group 0.

    Stages that few rows reach are tested together: each group that is told apart takes evidence.
    """
    least = _SHARE * sum(reference)
    groups: list[int] = []
    group, rows = 0, 0
    for count in reversed(reference):
        groups.append(group)
        rows += count
        if rows >= least > 0:
            group, rows = group + 1, 0
    if rows < least and group and groups[-1] == group:  # the first stages are too few for a group of their own
        groups = [min(g, group - 1) for g in groups]
    return groups[::-1]


def require_audits(audit_rate: Any, on_broken: Any) -> None:
    """Raise ValueError or TypeError unless the parameters of audits are valid."""
    if isinstance(audit_rate, bool) or not isinstance(audit_rate, int | float | np.floating | np.integer):
        raise TypeError(f"audit_rate must be None or a number from 0 to 1. Got {type(audit_rate).__name__}.")
    if not 0.0 <= audit_rate <= 1.0:
        raise ValueError(f"audit_rate must be from 0 to 1: the share of the rows that are audited. Got {audit_rate}.")
    if on_broken not in ("warn", "full"):
        raise ValueError(f"on_broken must be 'warn' or 'full'. Got {on_broken!r}.")
