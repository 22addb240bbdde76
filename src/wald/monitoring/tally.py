"""Counts of served rows and of audits, and what they say of a promise."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from .counts import ByAnswer, whole_counts
from .evidence import mean_interval, rate_interval
from .lines import BROKEN_LEVEL, Line, State, Stratum, Trials, aimed_at, worst
from .picks import Picks
from .shares import DOUBTFUL_LEVEL, Shares

#: A stratum as `Stratum` is made of it.
AnyStratum = tuple[str, int | None, float | None] | tuple[str, int | None, float | None, bool]


class Tally:
    """What a `Monitor` knows of its promise; the parameters are those of the monitor."""

    def __init__(
        self,
        risk: float | None,
        stage_costs: npt.ArrayLike,
        reference: npt.ArrayLike,
        strata: Sequence[AnyStratum] | None,
        grouped: bool,
        trials: Trials,
        seed: int | None,
    ) -> None:
        if trials not in ("rows", "groups"):
            raise ValueError(f"trials must be 'rows' or 'groups'. Got {trials!r}.")
        bound: Any = risk
        if bound is not None and not (isinstance(bound, Real) and 0.0 <= float(bound) <= 1.0):
            raise ValueError(f"risk must be None or a number from 0 to 1. Got {risk!r}.")
        self.risk = None if risk is None else float(risk)
        costs = np.asarray(stage_costs, dtype=np.float64)
        if costs.ndim != 1 or len(costs) == 0 or not np.isfinite(costs).all():
            raise ValueError(f"stage_costs must be a list of finite numbers, one for each stage. Got {stage_costs!r}.")
        self.stage_costs: list[float] = costs.tolist()
        self.reference = whole_counts("reference", reference)
        if len(self.reference) != len(self.stage_costs) or min(self.reference, default=0) < 0:
            raise ValueError(
                f"reference must have {len(self.stage_costs)} counts, one for each stage. Got {self.reference}."
            )
        given = [(str(trials), None, self.risk)] if strata is None else strata
        self.strata = tuple(Stratum(*stratum) for stratum in given)
        if not self.strata:
            raise ValueError("strata must have a line at least. Leave it out for a promise about all rows.")
        self.grouped, self.trials = bool(grouped), trials
        self._picks = Picks(seed)
        self._lock = threading.RLock()
        self._clear()

    def _clear(self) -> None:
        self._shares = Shares(self.reference)
        self.n_audits = self.n_unwatched = 0
        self.n_disagreements: float = 0
        level = BROKEN_LEVEL / len(self.strata)
        self.lines = tuple(Line(stratum, level, self.trials) for stratum in self.strata)
        self._of_lines: State = "holding"  # the worst of the lines
        self._beside: State = "holding"  # what the lines do not say
        self._picks.forget()

    @property
    def state(self) -> State:
        """The worst of what is known; it lasts until `reset`.

        "broken": audits refute the promise about a stratum. "doubtful": rows leave at other stages than those of
        ``fit`` did, so that the certificate may not speak of them. "unwatched": neither, but there were rows of which
        the monitor cannot tell what they say of the promise. "holding": nothing speaks against the promise.
        """
        unwatched: State = "unwatched" if self.n_unwatched else "holding"
        return worst(self._beside, unwatched, self._of_lines)

    @property
    def n_rows(self) -> int:
        """Rows that were counted."""
        return self._shares.n_rows

    @property
    def stage_counts(self) -> npt.NDArray[np.int64]:
        """Counted rows that left at each stage."""
        with self._lock:
            return np.array(self._shares.counts, dtype=np.int64)

    @property
    def disagreement(self) -> tuple[float, float]:
        """Interval of the rate of disagreement of all rows, which holds at all times together with probability 0.98."""
        with self._lock:
            events, n = self.n_disagreements, self.n_audits
        return rate_interval(events, n, BROKEN_LEVEL, aimed_at(self.risk))

    @property
    def mean_cost(self) -> tuple[float, float]:
        """Interval of the mean cost of a row, which holds at all times together with probability 0.98.

        Rows count with the costs of whole stages: an upper bound where classes can be dropped early.
        """
        return mean_interval(self.stage_counts.tolist(), self.stage_costs, DOUBTFUL_LEVEL)

    @property
    def log_shift(self) -> float:
        """Evidence that rows leave at other stages than those of ``fit`` did; windows of rows are tested, too."""
        with self._lock:
            return self._shares.evidence(self._shares.counts)

    def counts(self) -> dict[str, Any]:
        """State and counts, as `restore` takes them beside those of the stages."""
        with self._lock:
            return {
                "audits": self.n_audits,
                "disagreements": self.n_disagreements,
                "state": self.state,
                "unwatched": self.n_unwatched,
                "lines": [(line.n_audits, line.n_disagreements, line.state) for line in self.lines],
                "groups": sorted(self._picks.seen),
            }

    # ---- rows of groups --------------------------------------------------------------------------------------------

    def pick(self, groups: npt.ArrayLike, n_rows: int) -> npt.NDArray[np.intp]:
        """Choose a random row of every group that is new to this monitor, for `record` with ``one_per_group``.

        Parameters
        ----------
        groups : array-like of shape (n_rows,)
            Group of each row, as in `EarlyExitClassifier.fit`. A group is known again by how its name is written: 7,
            7.0 and "7" are one.
        n_rows : int

        Returns
        -------
        ndarray of int
            Indices of the rows, in increasing order.

        Raises
        ------
        ValueError
            If ``groups`` does not name the group of each row.
        """
        with self._lock:
            return self._picks.pick(groups, n_rows)

    def put_back(self, groups: npt.ArrayLike) -> None:
        """Take groups for new again, whose rows were picked and could not be counted.

        Parameters
        ----------
        groups : array-like of shape (n_groups,)
            As they were given to `pick`.
        """
        with self._lock:
            self._picks.put_back(groups)

    def one_of_each(self, sizes: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Choose a random row of every group, whether or not there was one of its name before.

        Parameters
        ----------
        sizes : array-like of int of shape (n_groups,)
            Numbers of rows, at least 1 each, of groups that stand side by side.

        Returns
        -------
        int64 ndarray of shape (n_groups,)
            Places of the rows.
        """
        given = np.asarray(sizes, dtype=np.int64)
        with self._lock:
            return np.cumsum(given) - given + self._picks.below(given)

    # ---- counting --------------------------------------------------------------------------------------------------

    def _require(self, counts: Sequence[int], audits: Sequence[int], disagreements: Sequence[float]) -> None:
        by_class = self._n_codes(early=False)
        fit = len(audits) == len(disagreements) and (len(audits) == 1 or len(audits) >= by_class)
        fit = fit and all(0 <= lost <= n for n, lost in zip(audits, disagreements, strict=True))
        if not fit or len(counts) != len(self.stage_costs) or min(counts) < 0 or sum(audits) > sum(counts):
            shown = [a[0] if len(a) == 1 else list(a) for a in (audits, disagreements)]
            raise ValueError(
                f"A monitor of this plan has {len(self.stage_costs)} counts of rows by stage; some rows are audited, "
                f"and some of these disagree. Got {list(counts)}, audits={shown[0]} and disagreements={shown[1]}."
            )

    def _require_predicted(
        self, audits: Sequence[int], disagreements: Sequence[float], n_audits: int, n_disagreements: float
    ) -> None:
        fit = len(audits) == len(disagreements) >= self._n_codes(early=True) and sum(audits) == n_audits
        fit = fit and math.isclose(sum(disagreements), n_disagreements, rel_tol=1e-6)
        if not fit or not all(0 <= lost <= n for n, lost in zip(audits, disagreements, strict=True)):
            raise ValueError(
                f"predicted holds the {n_audits} audits and the disagreements, {n_disagreements} in all, by the answer "
                f"that rows got. Got audits={list(audits)} and disagreements={list(disagreements)}."
            )

    def _n_codes(self, early: bool) -> int:
        """Least number of answers by which audits are counted for the lines."""
        return max((line.code for line in self.strata if line.code is not None and line.early == early), default=-1) + 1

    def _count(
        self,
        counts: Sequence[int],
        audits: Sequence[int],
        disagreements: Sequence[float],
        predicted: tuple[Sequence[int], Sequence[float]] | None,
    ) -> None:
        """Add to all counts, and test where it is time."""
        self._shares.add(counts)
        known = len(audits) > 1
        pairs = enumerate(zip(audits, disagreements, strict=True))
        by_class = {code if known else None: pair for code, pair in pairs}
        by_answer: ByAnswer = {None: (sum(audits), sum(disagreements))}
        if predicted is not None:
            by_answer = dict(enumerate(zip(*predicted, strict=True)))
        self._audit(by_class, by_answer)
        self._compare_shares()

    def _audit(self, by_class: ByAnswer, by_answer: ByAnswer) -> None:
        """Add audits and disagreements by the full model's answer, and by the early one; None is not known."""
        audits, lost = sum(n for n, _ in by_class.values()), sum(lost for _, lost in by_class.values())
        self.n_audits += audits
        self.n_disagreements += lost
        for line in self.lines:
            counts = by_answer if line.early else by_class
            own = (audits, lost) if line.code is None else counts.get(line.code, (0, 0))
            if own[0]:
                line.add(*own)
                self._of_lines = worst(self._of_lines, line.state)
        promised = {line.early for line in self.lines if line.code is not None and line.risk is not None}
        unknown = [(by_answer if early else by_class).get(None, (0, 0)) for early in promised]
        self.n_unwatched += max((n for n, lost in unknown if lost), default=0)

    def _compare_shares(self) -> bool:
        """Compare the shares of the stages if it is time; whether this changes the state."""
        before = self.state
        if self._shares.shifted():
            self._beside = worst(self._beside, "doubtful")
        return self.state != before

    def restore(
        self,
        stages: Sequence[int],
        audits: int,
        disagreements: float,
        state: State,
        *,
        unwatched: int,
        lines: Sequence[tuple[int, int, State]],
        groups: Iterable[int] = (),
    ) -> None:
        """Go on from the counts of an earlier monitor of the same model, without warnings.

        Parameters
        ----------
        stages : sequence of int of length T + 1
        audits, disagreements, state, unwatched, lines, groups
            From `counts`.

        Raises
        ------
        ValueError
            If the counts do not fit together.
        """
        self._require(stages, [audits], [disagreements])
        fit = len(lines) == len(self.lines) and all(0 <= lost <= n <= audits for n, lost, _ in lines)
        if not fit or any(lost > disagreements or own not in ("holding", "broken") for _, lost, own in lines):
            raise ValueError(f"A monitor of this promise has {len(self.lines)} lines of audits. Got {lines}.")
        with self._lock:
            self._clear()
            self._shares.add([int(count) for count in stages])
            self._shares.begin()
            self.n_audits, self.n_disagreements, self.n_unwatched = audits, disagreements, unwatched
            self._picks.forget(groups)
            for line, (n, lost, own) in zip(self.lines, lines, strict=True):
                line.n_audits, line.n_disagreements, line.state = n, lost, own
                line.begin()
            self._of_lines = worst(*(line.state for line in self.lines))
            if self.state != state:  # known beside the lines
                self._beside = worst(self._beside, state)

    def _add(self, theirs: Tally) -> None:
        """Add the counts of another tally, which does not change meanwhile."""
        self._shares.add(theirs._shares.counts)
        self.n_audits += theirs.n_audits
        self.n_disagreements += theirs.n_disagreements
        self.n_unwatched += theirs.n_unwatched
        self._beside = worst(self._beside, theirs._beside)
        self._picks.seen |= theirs._picks.seen
        for mine, line in zip(self.lines, theirs.lines, strict=True):
            mine.merge(line)
        self._of_lines = worst(*(line.state for line in self.lines))
        self._compare_shares()
