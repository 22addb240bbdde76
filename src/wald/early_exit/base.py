"""How every early-exit estimator answers rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

from ..calls import CallError, PartialAnswer
from ..engine.threads import effective_threads
from ..models import fitted_for_good
from .compiled.answers import Answers
from .compiled.parameters import with_input_tags
from .fitted_plan import FittedPlan


class EarlyExitEstimator(FittedPlan, MetaEstimatorMixin, BaseEstimator):
    """The methods of an estimator with a compiled plan. A subclass adds ``fit``, and says what is asked of scores."""

    classes_: NDArray[Any]

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
