"""What every early-exit estimator does with its compiled plan: answer rows, watch the promise, and show its stages."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted

from ..calls import CallError, PartialAnswer
from ..engine.threads import effective_threads
from ..models import fitted_for_good
from ..monitoring import Monitor
from ..plan import Plan
from ..sources import Schema
from ..stopping import Certificate, StageScores
from .answers import Answers
from .compiled_plan import CompiledPlan
from .explaining import Explanation
from .parameters import Parameters, with_input_tags
from .predictor import Trace


class EarlyExitEstimator(Parameters, MetaEstimatorMixin, BaseEstimator):
    """The methods of an estimator with a compiled plan. A subclass adds ``fit``, and says what is asked of scores."""

    classes_: NDArray[Any]
    compiled_plan_: CompiledPlan

    # ---- prediction ------------------------------------------------------------------------------------------------

    def predict(
        self,
        X: Any,
        *,
        budget: float | None = None,
        deadline: float | None = None,
        return_cost: bool = False,
        details: bool = False,
        check_input: bool = True,
        groups: ArrayLike | None = None,
        resume: PartialAnswer | Answers | None = None,
    ) -> Any:
        """Predict labels, numbers of bands, or values, with early exits.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features), or texts
            Texts, for a pipeline that reads them, are a list or a column: an array, a Series, an Arrow array.
        budget : float, default=None
            Largest cost of a row, in the unit of the costs. Rows that are still undecided get the answer of the last
            stage within the budget. The certificate does not cover such calls. A row with values so large that an early
            estimate overflows is evaluated in full, even if that costs more than the budget.
        deadline : float, default=None
            Seconds, for what is called: a model behind surrogates, and groups of `LazyRows`. No call begins after them,
            and none is waited for, but for a plain function that runs in this thread. Rows that are still undecided get
            the answer of the last stage that they have reached, and the status ``OUT_OF_BUDGET``. Surrogates are always
            asked. The certificate does not cover such calls.
        return_cost : bool, default=False
            Whether to return the cost of each row.
        details : bool, default=False
            Whether to return `Answers`: predictions, costs, stages, and who answered.
        check_input : bool, default=True
            Whether feature names and their number are checked.
        groups : array-like of shape (n_rows,), default=None
            Group of each row, for a watched promise about groups: ``monitor_`` counts one row of each.
        resume : PartialAnswer or Answers, default=None
            The ``partial`` of the `CallError` that an earlier call for the same rows has raised, or the `Answers` of
            one with a deadline: rows that it has decided keep their answers.

        Returns
        -------
        predicted : ndarray of shape (n_rows,)
        cost : float64 ndarray of shape (n_rows,)
            Only with ``return_cost``: units evaluated, or the user's feature costs.
        answers : Answers
            Instead, with ``details``.

        Raises
        ------
        ValueError
            If rows do not fit the model, a value that is read or compared with ranges is NaN or infinite, the budget is
            below the first stage, or the model has changed since ``fit``; for ``groups`` where no promise about groups
            is watched; for a ``deadline`` where nothing is called.
        CallError
            If a call that fetches columns of `LazyRows`, or that asks the model behind surrogates, fails for good; or
            the deadline passes before anything is known of some rows.
        """
        compiled = self._compiled()
        n_threads = effective_threads(self.n_jobs, X)
        limited = budget is not None or deadline is not None or groups is not None or resume is not None
        if not (limited or return_cost or details):
            labels = compiled.labels_of(X, n_threads)
            if labels is not None:
                return labels
        try:
            answers = compiled.predict(
                X,
                budget=budget,
                deadline=deadline,
                n_threads=n_threads,
                check_input=check_input,
                groups=groups,
                resume=resume,
            )
        except CallError as error:
            if error.partial is not None:
                error.partial = replace(error.partial, labels=self._told_one(error.partial.labels))
            raise
        return _wanted(self._told(answers), return_cost, details)

    def predict_one(
        self,
        x: Any,
        *,
        budget: float | None = None,
        deadline: float | None = None,
        return_cost: bool = False,
        details: bool = False,
        group: Any = None,
    ) -> Any:
        """Label, band or value of one row, in microseconds.

        Parameters
        ----------
        x : array-like of shape (n_features,), dict from feature name to value, or text
            A float32 or float64 array is read in place, and only its length and dtype are checked; NaN is an error
            only where it is read, or compared with ``Lossless(low=, high=)``. Other numbers are converted to float64.
            If the wrapped model or the rows of ``fit`` have feature names, a dict, a named tuple or a Series with these
            names is read by name.
        budget, deadline, return_cost, details
            As in `predict`.
        group : object, default=None
            Group of the row, as ``groups`` of `predict`.

        Returns
        -------
        predicted, or (predicted, cost), or with ``details`` the `Answers` of one row

        Raises
        ------
        ValueError, TypeError
            If ``x`` is not one row of the model's features.

        Examples
        --------
        >>> import pandas as pd
        >>> from sklearn.frozen import FrozenEstimator
        >>> from sklearn.datasets import make_classification
        >>> from sklearn.svm import SVC
        >>> from wald import EarlyExitClassifier
        >>> X, y = make_classification(3000, 4, random_state=0)
        >>> frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
        >>> svc = SVC().fit(frame[:500], y[:500])
        >>> fast = EarlyExitClassifier(FrozenEstimator(svc), risk=0.05, random_state=0).fit(frame[500:])
        >>> row = {"d": X[0, 3], "a": X[0, 0], "b": X[0, 1], "c": X[0, 2]}
        >>> bool(fast.predict_one(row) == fast.predict_one(X[0]))
        True
        """
        compiled = self._compiled()
        if deadline is not None:
            answers = self._told(compiled.predict_one(x, budget=budget, deadline=deadline, group=group))
            if details:
                return answers
            return (answers.labels[0], float(answers.costs[0])) if return_cost else answers.labels[0]
        if compiled.monitor is None and budget is None and group is None and not details:
            answer = compiled.label_one(x, return_cost)
            if answer is not None:
                return (self._told_one(answer[0]), answer[1]) if return_cost else self._told_one(answer)
        if details:
            return self._told(compiled.predict_one(x, budget=budget, group=group))
        code, _, cost, _ = compiled.decide_one(x, budget, group)
        label = self._told_one(code) if compiled.model.decision.valued else compiled.model.classes[code]
        return (label, cost) if return_cost else label

    def _told(self, answers: Answers) -> Answers:
        """What callers are told of the answers of the compiled plan."""
        return answers

    def _told_one(self, answer: Any) -> Any:
        """What callers are told of one answer that is a value, or several."""
        return answer

    def predict_records(
        self,
        records: Sequence[Mapping[str, Any]],
        *,
        budget: float | None = None,
        deadline: float | None = None,
        return_cost: bool = False,
        details: bool = False,
        groups: ArrayLike | None = None,
    ) -> Any:
        """Predict labels, bands or values of rows that are given as dicts.

        Parameters
        ----------
        records : sequence of dict
            From feature name to value, in any order. Values must be numbers, unless the model is a pipeline that begins
            with a ColumnTransformer; it receives a data frame of the library that ``fit`` received. Features that no
            transformer reads may be left out.
        budget, deadline, return_cost, details, groups
            As in `predict`.

        Returns
        -------
        predicted : ndarray of shape (n_records,)
        cost : float64 ndarray of shape (n_records,)
            Only with ``return_cost``.
        answers : Answers
            Instead, with ``details``.

        Raises
        ------
        ValueError, TypeError
            If a record lacks a feature, has an unknown one, or a value that the model does not take; the message names
            record and feature. If there are no feature names.

        Examples
        --------
        >>> import pandas as pd
        >>> from sklearn.frozen import FrozenEstimator
        >>> from sklearn.datasets import make_classification
        >>> from sklearn.svm import SVC
        >>> from wald import EarlyExitClassifier
        >>> X, y = make_classification(3000, 4, random_state=0)
        >>> frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
        >>> svc = SVC().fit(frame[:500], y[:500])
        >>> fast = EarlyExitClassifier(FrozenEstimator(svc), risk=0.05, random_state=0).fit(frame[500:])
        >>> records = frame[:3].to_dict("records")
        >>> bool((fast.predict_records(records) == fast.predict(frame[:3])).all())
        True
        """
        compiled, n_threads = self._compiled(), effective_threads(self.n_jobs)
        answers = compiled.predict_records(
            records, budget=budget, deadline=deadline, n_threads=n_threads, groups=groups
        )
        return _wanted(self._told(answers), return_cost, details)

    # ---- what was fitted -------------------------------------------------------------------------------------------

    def _compiled(self) -> CompiledPlan:
        """The compiled plan; raise if there is none."""
        try:
            return self.compiled_plan_
        except AttributeError:
            check_is_fitted(self, "compiled_plan_")
            raise

    @property
    def plan_(self) -> Plan:
        """Order, stages, readouts, thresholds and costs."""
        return self._compiled().plan

    @property
    def certificate_(self) -> Certificate:
        """The promise; printed, it is one sentence. It does not cover calls of ``predict`` with a ``budget``."""
        return self._compiled().certificate

    @property
    def monitor_(self) -> Monitor:
        """Counts of served rows and what they say of the promise; only after `watched`."""
        monitor = self._compiled().monitor
        if monitor is None:
            raise AttributeError("There is no monitor_: watched(...) gives an estimator that has one.")
        return monitor

    @property
    def schema_(self) -> Schema:
        """The columns that `predict` reads."""
        return self._compiled().schema

    # ---- watching --------------------------------------------------------------------------------------------------

    def watched(self, audit_rate: float | None, *, on_broken: str = "warn") -> Self:
        """Watch the promise while rows are served.

        Parameters
        ----------
        audit_rate : float or None
            Probability with which a row of a call without ``budget`` and ``deadline`` is audited: the full model
            answers it, too, and the plan still gives the answer. ``monitor_`` says what the audits show. 0: no row is
            audited, and only the stages at which rows leave are watched. None: nothing is watched.
        on_broken : {"warn", "full"}, default="warn"
            What happens once audits refute the promise: a `wald.monitoring.DriftWarning` is given. With "full", every
            row of such calls is also evaluated in full from then on, until ``monitor_.reset()``.

        Returns
        -------
        An estimator of this class
            A new object; this one is unchanged.

        Raises
        ------
        ValueError, TypeError
            For parameters out of range; for values in full, of which there is nothing to watch.

        Examples
        --------
        >>> from sklearn.datasets import make_classification
        >>> from sklearn.ensemble import HistGradientBoostingClassifier
        >>> from sklearn.frozen import FrozenEstimator
        >>> from wald import EarlyExitClassifier
        >>> X, y = make_classification(3000, random_state=0)
        >>> model = HistGradientBoostingClassifier(max_iter=20).fit(X[:1000], y[:1000])
        >>> fast = EarlyExitClassifier(FrozenEstimator(model), risk=0.05, random_state=0).fit(X[1000:])
        >>> watched = fast.watched(0.1)
        >>> labels = watched.predict(X)
        >>> watched.monitor_.n_rows
        3000
        """
        other = copy.copy(self)
        other.compiled_plan_ = self._compiled().watched(audit_rate, on_broken)
        return other

    def unwatched(self) -> Self:
        """Give the same plan without its monitor, for rows that are not served.

        If the promise is broken and every row is evaluated in full, the monitor stays, and counts no more rows.

        Returns
        -------
        An estimator of this class
            This object, if it has no monitor that counts rows.
        """
        monitor = self._compiled().monitor
        if monitor is None or monitor.answers_in_full:
            return self
        return self.watched(None)

    # ---- study -----------------------------------------------------------------------------------------------------

    def stage_scores(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """Estimates of rows at every stage of the plan, and the stages at which the rows exit.

        Returns
        -------
        scores : float64 ndarray of shape (n_rows, T + 1)
            The estimate at each of the T early stages and the full score; with several outputs, their margins.
            Where the leaves of trees say how uncertain an estimate is, it is standardized, as in `Trace`.
        stage : int32 ndarray of shape (n_rows,)
            The stage at which the row exits; T stands for full evaluation.
        """
        return self._compiled().stage_scores(X, effective_threads(self.n_jobs))

    def looks(self, X: Any) -> StageScores:
        """Scores of rows at every stage of the plan, with the full model's answers.

        They are the input of the calibrations of `wald.stopping`, together with ``plan_.boundary``.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features)

        Returns
        -------
        StageScores

        Examples
        --------
        >>> from sklearn.datasets import make_classification
        >>> from sklearn.frozen import FrozenEstimator
        >>> from sklearn.svm import SVC
        >>> from wald import EarlyExitClassifier
        >>> from wald.stopping import calibrate
        >>> X, y = make_classification(6000, random_state=0)
        >>> fast = EarlyExitClassifier(FrozenEstimator(SVC().fit(X[:500], y[:500])), risk=0.05, random_state=0)
        >>> stage_scores = fast.fit(X[500:4000]).looks(X[4000:])
        >>> calibrate(stage_scores, fast.plan_.boundary, delta=0.05, method="pac").q < 10
        True
        """
        return self._compiled().looks(X, effective_threads(self.n_jobs))

    def trace(self, x: Any) -> Trace:
        """Trace one row: score, thresholds and cost at every stage.

        Parameters
        ----------
        x : array-like of shape (n_features,) or (1, n_features), or dict from feature name to value

        Returns
        -------
        Trace
        """
        return self._compiled().trace(x, effective_threads(self.n_jobs))

    def explain(self, x: Any) -> Explanation:
        """Explain the answer to one row: what was read, what each part added to the score, and when that was clear.

        Every part of the row is evaluated for it, also those that `predict` does not read.

        Parameters
        ----------
        x : array-like of shape (n_features,) or (1, n_features), dict from feature name to value, or text

        Returns
        -------
        Explanation
            Its parts are raw columns, tokens of a text, members of a vote, or the trees or support vectors of each
            stage. Printed, it is a table.

        Raises
        ------
        ValueError, TypeError
            If ``x`` is not one row of the model's features; the wrapped model's own for a value that it refuses.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.linear_model import LogisticRegression
        >>> from wald import EarlyExitClassifier
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(6000, 3))
        >>> model = LogisticRegression().fit(X[:1000], X[:1000] @ [5.0, 1.0, 0.1] > 0)
        >>> fast = EarlyExitClassifier(model, risk=0.02, random_state=0)
        >>> explained = fast.fit(X[1000:]).explain([2.0, 0.5, -1.0])
        >>> bool(explained.label), explained.parts[0].name
        (True, 'column 0')
        """
        found = self._compiled().explain(x, effective_threads(self.n_jobs))
        return found if self.feature_costs is None else replace(found, cost_unit="feature cost")

    # ---- housekeeping ----------------------------------------------------------------------------------------------

    def get_metadata_routing(self) -> MetadataRouter:
        """Route the parameters of ``fit`` to the wrapped estimator's."""
        return MetadataRouter(owner=self.__class__.__name__).add(
            estimator=self.estimator, method_mapping=MethodMapping().add(caller="fit", callee="fit")
        )

    def __sklearn_clone__(self) -> Self:
        """Copy the parameters; a booster is shared, since it cannot be fitted again."""
        if fitted_for_good(self.estimator) is None:
            return super().__sklearn_clone__()  # type: ignore[no-any-return]  # scikit-learn has no types
        given = self.get_params(deep=False)
        return type(self)(**{name: v if name == "estimator" else clone(v, safe=False) for name, v in given.items()})

    def __sklearn_tags__(self) -> Any:
        return with_input_tags(super().__sklearn_tags__(), self.estimator)


def _wanted(answers: Answers, return_cost: bool, details: bool) -> Any:
    """What a caller of `predict` gets."""
    if details:
        return answers
    return (answers.labels, answers.costs) if return_cost else answers.labels
