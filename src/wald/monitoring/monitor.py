"""What has been seen of a promise in production, and what it says."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..utils.warn import warn_caller
from .coins import Coins, require_audits
from .counts import Counts, losses_of, number, whole_counts
from .lines import STATES, Trials
from .tally import AnyStratum, Tally
from .words import news, printed

__all__ = ["STATES", "DriftWarning", "Monitor", "require_audits"]


class DriftWarning(UserWarning):
    """Served rows are not like those of the certificate, its promise is broken, or it cannot be watched."""


class Monitor(Tally):
    """Watch the promise of a fitted estimator on the rows that it serves.

    A random share of the rows is audited: the full model answers them, too. The strata of the promise are all rows, or
    the rows of each answer that it names, and the audits of each stratum are counted by themselves. All counts may be
    read at any time, after any number of rows: the probability of a false alarm, over a stream of any length, is at
    most 2 % for "broken", which the strata share, and 2 % for "doubtful", if served rows are independent draws from the
    source of the rows of ``fit``.

    Parameters
    ----------
    risk : float or None
        Bound on the rate of disagreement that is promised; None if nothing is promised.
    stage_costs : array-like of shape (T + 1,)
        Cost of a row that leaves at each stage; the last one is full evaluation.
    reference : array-like of int of shape (T + 1,)
        Rows of ``fit`` that left at each stage, one of each group if ``grouped``; all zero if there were none.
    audit_rate : float
        Probability that a row is audited.
    on_broken : {"warn", "full"}, default="warn"
        What the estimator does once the promise is broken: "full" evaluates every row in full.
    fingerprint : str, default=""
        What the monitors of one model have in common.
    strata : sequence of (str, int or None, float or None[, bool]), default=None
        The strata of the promise: a name, the code of the answer that the full model gives the rows (None: all rows),
        the bound for these rows, and whether the answer is the one that the rows got instead. None: one stratum, all
        rows, with ``risk``.
    grouped : bool, default=False
        Whether the promise is about a random row of a random group. One row of every group is then counted, and the
        promise is not watched on rows whose group is not known.
    seed : int or None, default=None
        Of the coins; None takes one from the operating system.
    other : str, default="another label"
        What rows got where audits disagree, for messages: "another band", or "a value off by more than 0.1"; of groups,
        what they lost: "of their first 10 rows".
    trials : {"rows", "groups"}, default="rows"
        Whether the promise is about what whole groups of rows lose on average, each between 0 and 1, as that of a
        ranking. Groups are then counted in place of rows, each by the stage at which a random one of its rows left, and
        audits are of whole groups. Every group of every call is one, whatever its name.
    unwatched : str, default=""
        What is promised and cannot be watched, such as "true labels", for messages.

    Attributes
    ----------
    n_rows, n_audits, n_disagreements : int
        Rows served under the certificate, rows audited, and audits in which the full model gave another answer. With
        ``grouped``, one row of each group; with groups as trials, groups, and the sum of what they lose.
    n_unwatched : int
        Rows of which the monitor cannot tell what they say of the promise: their group is not known, or, where audits
        disagree, an answer by which a stratum counts.
    lines : tuple of Line
        What the audits say of each stratum of the promise: ``name``, ``risk``, ``state``, ``n_audits``,
        ``n_disagreements`` and ``disagreement``, an interval of the rate.

    See Also
    --------
    wald.EarlyExitClassifier : Its method ``watched`` gives an estimator with a monitor, ``monitor_``.

    Notes
    -----
    The bets are Robbins' mixtures: H. Robbins, "Statistical methods related to the law of the iterated logarithm",
    Annals of Mathematical Statistics 41(5), 1970.

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

    Promises by answer take the audits of each answer:

    >>> strata = [("rows", None, 0.01), ("rows of class fraud", 1, 0.1)]
    >>> monitor = Monitor(0.01, [1, 5, 100], [800, 150, 50], audit_rate=0.1, strata=strata)
    >>> monitor.record([1600, 300, 100], audits=[190, 10], disagreements=[0, 1])
    >>> [(line.n_audits, line.n_disagreements) for line in monitor.lines]
    [(200, 1), (10, 1)]

    Those by the answer that rows get take the audits of each such answer as well:

    >>> strata = [("rows", None, 0.01), ("rows of predicted class fraud", 1, 0.1, True)]
    >>> monitor = Monitor(0.01, [1, 5, 100], [800, 150, 50], audit_rate=0.1, strata=strata)
    >>> monitor.record([1600, 300, 100], [190, 10], [0, 1], predicted=([191, 9], [1, 0]))
    >>> [(line.n_audits, line.n_disagreements) for line in monitor.lines]
    [(200, 1), (9, 0)]
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
        strata: Sequence[AnyStratum] | None = None,
        grouped: bool = False,
        seed: int | None = None,
        other: str = "another label",
        trials: Trials = "rows",
        unwatched: str = "",
    ) -> None:
        require_audits(audit_rate, on_broken)
        super().__init__(risk, stage_costs, reference, strata, grouped, trials, seed)
        self.audit_rate, self.on_broken, self.fingerprint = float(audit_rate), on_broken, fingerprint
        self.other, self.unwatched = other, unwatched
        self._coins = Coins(self.audit_rate, seed)
        self._listeners: list[Callable[[Monitor], object]] = []

    # ---- serving ---------------------------------------------------------------------------------------------------

    @property
    def answers_in_full(self) -> bool:
        """Whether rows are to be evaluated in full, because the promise is broken."""
        return self.on_broken == "full" and self.state == "broken"

    def draw(self, n: int) -> npt.NDArray[np.int64]:
        """Choose which of the next `n` rows are audited: one independent coin for each row."""
        with self._lock:
            return self._coins.heads(n)

    def record(
        self,
        stages: Sequence[int] | npt.NDArray[Any],
        audits: Counts = 0,
        disagreements: Counts = 0,
        *,
        predicted: tuple[Counts, Counts] | None = None,
        one_per_group: bool = False,
    ) -> None:
        """Count served rows, and act if the state changes.

        Parameters
        ----------
        stages : array-like of int of shape (T + 1,)
            Rows that left at each stage.
        audits, disagreements : number or array-like of shape (n_answers,), default=0
            Audited rows among them, and those whose answer the full model does not give (where such answers lose
            between 0 and 1, the sum of their losses); or both by the answer that the full model gives. Lines for the
            rows of an answer need the latter.
        predicted : (audits, disagreements) or None, default=None
            The same rows by the answer that they got, each of shape (n_answers,). Lines for the rows that got an answer
            need them.
        one_per_group : bool, default=False
            Whether the rows are of different groups that were not counted before, as from `pick`. Where the promise is
            about groups, other rows are not counted, and the state is "unwatched" at best.

        Raises
        ------
        ValueError
            If counts are negative, not whole or not finite, or do not fit together.
        """
        counts, audited = whole_counts("stages", stages), whole_counts("audits", audits)
        lost = losses_of(disagreements)
        self._require(counts, audited, lost)
        given = None if predicted is None else (whole_counts("audits", predicted[0]), losses_of(predicted[1]))
        if given is not None:
            self._require_predicted(*given, sum(audited), sum(lost))
        with self._lock:
            before = self.state
            if self.grouped and not one_per_group:
                self.n_unwatched += sum(counts)
            else:
                self._count(counts, audited, lost, given)
            changed = self.state != before
        if changed:
            self._tell()

    def record_one(self, stage: int, *, one_per_group: bool = False) -> bool:
        """Count one served row; returns whether it is to be audited.

        Parameters
        ----------
        stage : int
            Stage at which it left.
        one_per_group : bool, default=False
            As for `record`.
        """
        with self._lock:
            if self.grouped and not one_per_group:
                before, audited = self.state, False
                self.n_unwatched += 1
                changed = self.state != before
            else:
                audited = self._coins.next()
                self._shares.add_one(stage)
                changed = self._shares.n_rows >= self._shares.next_test and self._compare_shares()
        if changed:
            self._tell()
        return audited

    def record_audit(self, disagrees: float, code: int | None = None, predicted: int | None = None) -> None:
        """Count the audit of a row that `record_one` has chosen.

        Parameters
        ----------
        disagrees : bool or float
            Whether the full model gives another answer; or what the answer loses, between 0 and 1.
        code : int or None, default=None
            The answer that the full model gives; lines for the rows of an answer need it.
        predicted : int or None, default=None
            The answer that the row got; lines for the rows that got an answer need it.

        Raises
        ------
        ValueError
            If ``disagrees`` does not lie from 0 to 1.
        """
        if not 0 <= disagrees <= 1:
            raise ValueError(f"disagrees must be True, False or a loss from 0 to 1. Got {disagrees!r}.")
        with self._lock:
            before = self.state
            lost = number(disagrees)
            self._audit({code: (1, lost)}, {predicted: (1, lost)})
            changed = self.state != before
        if changed:
            self._tell()

    def _tell(self) -> None:
        warn_caller(news(self), DriftWarning)
        for listener in list(self._listeners):
            listener(self)

    # ---- reading and changing --------------------------------------------------------------------------------------

    def as_dict(self) -> dict[str, Any]:
        """State, counts and intervals as plain values, as for metrics; ``lines`` has those of each stratum."""
        with self._lock:
            low, high = self.disagreement
            cheap, dear = self.mean_cost
            return {
                "state": self.state,
                "risk": self.risk,
                "grouped": self.grouped,
                "trials": self.trials,
                "audit_rate": self.audit_rate,
                "rows": self.n_rows,
                "unwatched": self.n_unwatched,
                "audits": self.n_audits,
                "disagreements": self.n_disagreements,
                "disagreement_low": low,
                "disagreement_high": high,
                "mean_cost_low": cheap,
                "mean_cost_high": dear,
                "rows_by_stage": list(self._shares.counts),
                "lines": [line.as_dict() for line in self.lines],
            }

    def __repr__(self) -> str:
        return printed(self)

    def subscribe(self, listener: Callable[[Monitor], object]) -> None:
        """Call ``listener(monitor)`` after every change of the state, in the thread that served the row."""
        if not callable(listener):
            raise TypeError(f"listener must be callable. Got {type(listener).__name__}.")
        with self._lock:
            self._listeners.append(listener)

    def reset(self) -> None:
        """Forget all rows and groups: the state is "holding" again."""
        with self._lock:
            self._clear()

    def merge(self, other: Monitor) -> Monitor:
        """Add the counts of another monitor of the same model, as of another thread, process or machine.

        The state becomes the worst of the two and of what the sums say; listeners hear of it if it changes. The
        probability of a false alarm is then at most the sum of those of the monitors that were merged and of this one.

        Parameters
        ----------
        other : Monitor
            Of other rows, and other groups if ``grouped``.

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
        theirs = copy.deepcopy(other)  # as it is now, whatever it counts meanwhile
        with self._lock:
            before = self.state
            self._add(theirs)
            changed = self.state != before
        if changed:
            self._tell()
        return self

    def _identity(self) -> tuple[Any, ...]:
        return self.fingerprint, self.risk, self.strata, self.grouped, self.trials, self.stage_costs, self.reference

    def __getstate__(self) -> dict[str, Any]:
        own = ("_lock", "_coins", "_listeners")  # coins are drawn anew, and listeners belong to the process
        with self._lock:
            return copy.deepcopy({name: value for name, value in vars(self).items() if name not in own})

    def __setstate__(self, state: dict[str, Any]) -> None:
        # older pickles lack some
        vars(self).update({"other": "another label", "trials": "rows", "unwatched": "", **state})
        self._lock, self._coins, self._listeners = threading.RLock(), Coins(self.audit_rate), []
