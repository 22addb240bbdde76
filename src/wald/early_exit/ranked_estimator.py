"""What a ranker does with the groups that it is given: scores, lists, a monitor, and paths to follow."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..engine import Decisions
from ..engine.threads import effective_threads
from ..monitoring.monitor import require_audits
from ..ranking import GroupPaths, Limits, Race, RankingCertificate, RowGroups, followed
from ..sources import Source, source_of
from .compiled.answers import Answers
from .compiled.compiled_plan import CompiledPlan
from .compiled.locating import located
from .compiled.rows import preprocessed
from .exact import ExactEstimator
from .explaining_places import PlaceExplanation, explained_place
from .held_plan import WatchedPlan
from .ranked import counted, in_full, monitor_of, ranked


class RankedEstimator(WatchedPlan, ExactEstimator):
    """The methods of an estimator that ranks the rows of groups. A subclass adds ``fit``, which may plan a race."""

    _race: Race | None = None
    certificate_: RankingCertificate

    # ---- scores ----------------------------------------------------------------------------------------------------

    def predict(
        self,
        X: Any,
        *,
        groups: ArrayLike | None = None,
        budget: float | None = None,
        deadline: float | None = None,
        details: bool = False,
        check_input: bool = True,
    ) -> Any:
        """Scores of rows: the wrapped model's own or, with a risk and groups, of the rows that stay in the race.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features)
        groups : array-like of shape (n_rows,), default=None
            The key of each row's group; rows of a group may lie apart. None: every row is evaluated in full.
        budget : float, default=None
            Largest cost of a row, in trees, on average over the rows of its group: a group of 200 rows with
            ``budget=30`` takes at most 6000 trees. When it is spent, the best rows by their estimates have been
            evaluated in full; the other undecided ones keep their estimates. The certificate does not cover such calls.
        deadline : float, default=None
            The same in seconds of each group, from when its turn comes. The clock is read between stages, and between
            every few rows that are evaluated in full; the first stage is always taken. What is answered by then differs
            from machine to machine.
        details : bool, default=False
            Whether to return `Answers`: scores, the stage at which each row left, and the trees evaluated for it. Rows
            that a budget or a deadline leaves undecided have the status ``OUT_OF_BUDGET``, and the last stage that they
            took.
        check_input : bool, default=True
            Whether feature names and their number are checked.

        Returns
        -------
        ndarray of shape (n_rows,)
            The wrapped model's own scores of rows that stay; for the others estimates, below the scores of all rows of
            their group that stay. So the largest scores of a group are its first rows, in the model's own order.
            Undecided rows lie between both, in the order of their estimates.
        answers : Answers
            Instead, with ``details``.

        Raises
        ------
        ValueError, TypeError
            If rows do not fit the model, it was fitted again since ``fit``, or a key is missing; for a budget below the
            first stage, or below all trees where no row can leave; for a budget or a deadline without groups.
        """
        compiled = self._compiled()
        if groups is None:
            if budget is not None or deadline is not None:
                raise ValueError(
                    "budget and deadline are about groups of rows: pass groups, the key of each row's group."
                )
            return super().predict(X, details=details, check_input=check_input)
        limits = Limits.of(budget, deadline, self._stage_costs())
        compiled.require_unchanged()
        source = source_in_order(compiled, X) if check_input else source_of(X)
        decided = self._ranked(source, RowGroups.of(groups, source.n_rows), limits, budget is None and deadline is None)
        answers = Answers(compiled._predictor, decided)
        return answers if details else answers.labels

    def rank(
        self, X: Any, k: int | None = None, *, budget: float | None = None, deadline: float | None = None
    ) -> NDArray[np.intp]:
        """The rows of one group, the best first; rows of equal scores stay in their order.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features)
            The rows of one group, such as the documents of a query.
        k : int or None, default=None
            How many of the best rows; None: all. With a risk, the promise is about the first ``k`` of the estimator:
            behind them, None orders rows by estimates, and a larger number has all rows evaluated in full.
        budget, deadline : float, default=None
            As for `predict`: trees of a row on average, and seconds of the group.

        Returns
        -------
        intp ndarray of shape (min(k, n_rows),)
            Numbers of the rows.

        Raises
        ------
        ValueError, TypeError
            If ``k`` is not positive; for a budget or a deadline with a ``k`` beyond the promise; and as `predict`.
        """
        if k is not None and not is_whole(k):
            raise ValueError(f"k must be a positive whole number or None. Got {k!r} instead.")
        limits, race = Limits.of(budget, deadline, self._stage_costs()), self._race
        limited = budget is not None or deadline is not None
        if race is not None and k is not None and k > race.plan.k:
            if limited:
                raise ValueError(
                    f"k={k} is more than the {race.plan.k} rows of the promise, for which all rows are evaluated in "
                    "full: leave budget and deadline out."
                )
            return np.argsort(-self.predict(X), kind="stable")[:k]
        compiled = self._compiled()
        compiled.require_unchanged()
        source = source_in_order(compiled, X)
        decided = self._ranked(source, RowGroups.one(source.n_rows), limits, not limited)
        return np.argsort(-compiled._predictor.labels(decided.codes), kind="stable")[:k]

    def _stage_costs(self) -> NDArray[np.float64]:
        """Trees up to each stage, and last all of them."""
        if self._race is not None:
            return self._race.plan.stage_costs
        return np.array([float(self._compiled().model.terms.n_terms)])

    def _ranked(self, source: Source, groups: RowGroups, limits: Limits | None, promised: bool) -> Decisions:
        """Scores of groups; those that the promise is about are counted by the monitor."""
        compiled, n_threads = self._compiled(), effective_threads(self.n_jobs, source)
        monitor = compiled.monitor
        if monitor is None or not promised:
            return ranked(compiled, self._race, source, groups, n_threads, limits)
        if monitor.answers_in_full:
            with located(source, compiled.model):
                return in_full(compiled, self._race, source, n_threads)
        decided = ranked(compiled, self._race, source, groups, n_threads)
        counted(compiled, monitor, source, groups, decided, int(self.certificate_.k), n_threads)
        return decided

    # ---- watching --------------------------------------------------------------------------------------------------

    def watched(self, audit_rate: float | None, *, on_broken: str = "warn") -> Self:
        """Watch the promise while groups are served.

        Parameters
        ----------
        audit_rate : float or None
            Probability with which a group of a call with ``groups``, or of `rank`, is audited: all its rows are
            evaluated in full, too, and ``monitor_`` counts the share of its first ``k`` rows that is missing. Calls
            without groups, which are answered in full, and calls with a budget or a deadline are not counted. 0: no
            group is audited, and only the stages at which rows leave are watched. None: nothing is watched.
        on_broken : {"warn", "full"}, default="warn"
            What happens once audits refute the promise: a `wald.monitoring.DriftWarning` is given. With "full", every
            row is also evaluated in full from then on, until ``monitor_.reset()``.

        Returns
        -------
        EarlyExitRanker
            A new object; this one is unchanged.

        Raises
        ------
        ValueError, TypeError
            For parameters out of range; without a risk, since nothing is promised then.

        Examples
        --------
        >>> import numpy as np
        >>> from lightgbm import LGBMRanker
        >>> from wald import EarlyExitRanker
        >>> X = np.random.default_rng(0).normal(size=(40_000, 4))
        >>> y, group = (X[:, 0] > 0).astype(int), np.repeat(np.arange(400), 100)
        >>> ranker = LGBMRanker(n_estimators=50, n_jobs=1, verbose=-1).fit(X[:5000], y[:5000], group=[100] * 50)
        >>> fast = EarlyExitRanker(ranker, k=5, risk=0.05, random_state=0).fit(X[5000:], groups=group[5000:])
        >>> watched = fast.watched(0.1)
        >>> scores = watched.predict(X[5000:], groups=group[5000:])
        >>> watched.monitor_.n_rows, watched.monitor_.state
        (350, 'holding')
        """
        require_audits(0.0 if audit_rate is None else audit_rate, on_broken)
        compiled, monitor = self._compiled(), None
        compiled.require_unchanged()
        if audit_rate is not None:
            if not hasattr(self, "certificate_"):
                raise ValueError(
                    f"This {type(self).__name__} evaluates every row in full, so that there is nothing to audit: leave "
                    "the audit rate out, or give the ranker a risk."
                )
            monitor = monitor_of(compiled, self._race, self.certificate_, audit_rate, on_broken)
        return self._with(compiled.with_monitor(monitor))

    def _with(self, compiled: CompiledPlan) -> Self:
        """The same ranker with another compiled plan of the same model; the engine is shared."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, compiled_plan_=compiled)
        return other

    # ---- study -----------------------------------------------------------------------------------------------------

    def paths(self, X: Any) -> GroupPaths:
        """Follow the rows of one group through all stages of the race.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features)
            The rows of one group.

        Returns
        -------
        GroupPaths

        Raises
        ------
        ValueError
            If rows do not race, since every row is evaluated in full; and as `predict`.
        """
        compiled, race = self._compiled(), self._race
        if race is None:
            promise = getattr(self, "certificate_", None)
            why = (
                ": this ranker has no risk, so that every row is evaluated in full."
                if promise is None
                else f". {promise}"
            )
            raise ValueError(f"There are no paths of rows to follow{why}")
        compiled.require_unchanged()
        source, n_threads = source_in_order(compiled, X), effective_threads(self.n_jobs, X)
        with located(source, compiled.model):
            rows = source if compiled.model.preprocessing is None else preprocessed(compiled.model, source, n_threads)
            if source.n_rows == 0:
                raise ValueError("There are no paths of rows to follow: the group has no rows.")
            return followed(*race.trace(rows, n_threads), race.plan.k, race.plan.q)

    def explain(self, X: Any, row: int) -> PlaceExplanation:
        """Explain the place of one row in its group: how it fared at every stage, and why it left, or stayed.

        Every row of the group is evaluated in full for it.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features)
            The rows of one group.
        row : int
            The number of the row in ``X``.

        Returns
        -------
        PlaceExplanation
            Printed, it is a sentence and a table of the stages.

        Raises
        ------
        ValueError
            If there is no such row, or rows do not race.

        Examples
        --------
        >>> import numpy as np
        >>> from lightgbm import LGBMRanker
        >>> from wald import EarlyExitRanker
        >>> X = np.random.default_rng(0).normal(size=(40_000, 8))
        >>> y, group = (X[:, 0] + X[:, 1] * X[:, 2] > 1).astype(int), np.repeat(np.arange(400), 100)
        >>> ranker = LGBMRanker(n_estimators=90, n_jobs=1, verbose=-1).fit(X[:5000], y[:5000], group=[100] * 50)
        >>> fast = EarlyExitRanker(ranker, k=5, risk=0.05, random_state=0).fit(X[5000:], groups=group[5000:])
        >>> last = int(fast.rank(X[:100])[-1])
        >>> fast.explain(X[:100], last).end
        'left'
        """
        n_rows = source_in_order(self._compiled(), X).n_rows
        if isinstance(row, bool) or not isinstance(row, Integral) or not 0 <= row < n_rows:
            raise ValueError(f"row must be the number of a row of the group, from 0 to {n_rows - 1}. Got {row!r}.")
        paths, race = self.paths(X), self._race
        assert race is not None  # else there are no paths
        plain = self.unwatched()
        own = np.asarray(plain.predict(X), dtype=np.float64)
        early = np.asarray(plain.predict(X, groups=np.zeros(n_rows, dtype=np.int8)), dtype=np.float64)
        return explained_place(paths, race.plan, int(row), early, own)


def source_in_order(compiled: CompiledPlan, X: Any) -> Source:
    """Rows with columns in the model's order."""
    with located(X, compiled.model):
        return compiled.reader.source(X)


def is_whole(k: Any) -> bool:
    """Whether a number is whole and positive."""
    return type(k) is not bool and isinstance(k, Integral) and int(k) >= 1
