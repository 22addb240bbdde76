"""The estimator that wraps a fitted classifier and stops each prediction as soon as the label is clear."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_random_state

from ..engine.threads import effective_threads
from ..models import decompose, fitted_for_good
from ..sources import Source
from ..steps import RawColumns
from ..stopping.core.certifying import one_row_per_group
from ..stopping.core.risks import Risk, largest
from ..stopping.core.row_groups import group_numbers
from ..utils.progress import LateBar
from ..utils.warn import warn_caller
from .base import EarlyExitEstimator
from .certification import Promise, require_proof
from .compiled_plan import CompiledPlan, ValidationRows
from .data_split import fitted_estimator, split_rows, warn_of_training_rows
from .documents import reading_in_parts
from .in_front import warn_of_time
from .locating import locate, located
from .lossless import FeatureRanges
from .parameters import checked_rule, require_counted, require_estimator
from .planner import planner_of
from .reader import RowReader
from .request import Request
from .rows import Rows
from .selection import certificate_share, plan_and_certify
from .training_rows import warn_of_leaf_counts
from .validation import require_accepted, validate_fit_rows
from .without_rows import compiled_without_rows


def _wrapped_has(method: str) -> Any:
    def check(self: EarlyExitClassifier) -> bool:
        wrapped = getattr(self, "estimator_", self.estimator)
        getattr(wrapped, method)  # raises the wrapped estimator's own AttributeError
        return True

    return check


class EarlyExitClassifier(ClassifierMixin, EarlyExitEstimator):
    """Answer like a trained classifier, and stop evaluating each row as soon as its answer is clear.

    A linear model or kernel machine is a sum of terms. On rows that need no labels, ``fit`` decides in which order to
    evaluate the terms, after which of them a row may leave, and with which estimates. On other rows it certifies how
    often the early labels differ from those of full evaluation. ``predict`` then evaluates a small part of the terms
    for most rows.

    Parameters
    ----------
    estimator : estimator
        Without ``y``, ``fit`` takes a fitted model as it is. With ``y``, it trains a clone of the estimator on a
        stratified half of the rows, and plans and certifies on the rest. It never trains a ``FrozenEstimator(model)``,
        a ``lightgbm.Booster``, ``xgboost.Booster`` or ``catboost.CatBoost``, or what `wald.read_model` returns.
    risk : float, None or dict from stratum to float, default=0.001
        Bound on the probability that a row's label differs from the wrapped model's. 0: no label may differ, by proof;
        rows without a proof go to the wrapped model itself. None: promise nothing, use the rule as published, and
        report the measured rate. A dict promises several bounds, which hold at once with ``confidence``:
        ``{"all": 0.001, "fraud": 0.01}`` says that P(another label) <= 0.001 over all rows, and that
        P(another label | the full model says fraud) <= 0.01. Strata are class labels, "all", and "each" for each class
        that is not named; "positive" and "negative" may stand for ``classes_[1]`` and ``classes_[0]`` of two. Without
        "all", every class needs a bound. Of two classes, one may have the bound 0: rows then leave early as this class
        only.
    confidence : float, default=0.95
        Probability with which the bound holds, over independent draws of the certificate rows (of all rows given to
        ``fit``, if these are split several times).
    feature_costs : array-like of shape (n_features,) or dict from feature or group name to cost, default=None
        Positive costs, for linear models and trees. Costs are then reported, and budgets given, in their unit. A row
        pays once for a feature that several trees read, when the first of them is evaluated. Plans of trees minimize
        these costs, also with ``cost="time"``.
    feature_groups : dict from name to columns, default=None
        Columns (indices or names) that are evaluated, or bought, together, for linear models and trees.
    planner : Planner or None, default=None
        How `fit` plans: stopping rule, order, what is minimized, and how rows are split; None: ``Planner()``.
    n_jobs : int or None, default=None
        Threads of ``predict`` and ``fit``, as in joblib.
    random_state : int, RandomState instance or None, default=None
        Splits the rows and draws random orders. With ``cost="time"``, the plan also depends on measured times.

    Attributes
    ----------
    compiled_plan_ : CompiledPlan
        Answers rows with their labels, costs and stages at once.
    plan_ : Plan
        Order, stages, readouts, thresholds and costs.
    certificate_ : Certificate
        The promise; printed, it is one sentence. It does not cover calls of ``predict`` with a ``budget``.
    monitor_ : wald.monitoring.Monitor
        Counts of served rows and what they say of the promise; only after `watched`.
    estimator_ : estimator
        The fitted estimator, whose labels are the reference of the promise.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Names of the columns, if the rows given to ``fit`` have names.
    schema_ : wald.sources.Schema
        The columns that `predict` reads: their names as the wrapped model knows them, or else as ``fit`` saw them, and
        how given names are matched with them.

    Notes
    -----
    The promise holds when the rows given to ``fit`` and those to be served are independent draws from one source, and
    when the model was not trained on these rows. If rows depend on each other, as those of one user do, ``groups``
    makes a promise about a random row of a random group. A column is checked only for the rows that read it; with
    ``Lossless(low=, high=)``, whose proof needs all columns, for all rows.

    References
    ----------
    R. Pelossof and Z. Ying, "Focus of Attention for Linear Predictors", arXiv 1212.6659. A. Angelopoulos, S. Bates, E.
    Candes, M. Jordan and L. Lei, "Learn then Test", Annals of Applied Statistics 19(2), 2025.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.svm import SVC
    >>> from wald import EarlyExitClassifier, Planner
    >>> X, y = make_classification(6000, n_informative=8, class_sep=1.5, random_state=0)
    >>> svc = SVC().fit(X[:1000], y[:1000])
    >>> fast = EarlyExitClassifier(svc, risk=0.01, planner=Planner(cost="units"), random_state=0)
    >>> labels, cost = fast.fit(X[1000:5000]).predict(X[5000:], return_cost=True)
    >>> bool((labels != svc.predict(X[5000:])).mean() <= 0.01), bool(cost.mean() < len(svc.support_) / 2)
    (True, True)
    """

    # ---- fitting ---------------------------------------------------------------------------------------------------

    def fit(self, X: Any = None, y: Any = None, *, groups: ArrayLike | None = None, **params: Any) -> Self:
        """Plan and certify on rows that the model was not trained on.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features)
            With a fitted estimator: unlabelled rows from the distribution that `predict` will serve, without training
            rows. With ``y``, half of them train the estimator. None, for fitted tree ensembles and linear models of
            texts with ``risk=0``: wald evaluates every row in full, so that there is nothing to plan.
        y : array-like of shape (n_rows,), default=None
            Labels that train the estimator. A `FrozenEstimator` or a booster is not trained, and does not use them.
        groups : array-like of shape (n_rows,), default=None
            Group of each row, such as its user, document or day. Rows of a group stay together in every split, and one
            random row of each is certified. The promise is then about a random row of a random group, if groups are
            independent draws; large groups count no more than small ones.
        **params : dict
            Routed to the estimator's ``fit``.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            For parameters out of range, and for unsupported models or rows; the message lists what is supported. Also
            if full evaluation by wald answers one of the rows that are compared otherwise than the wrapped object does.

        Warns
        -----
        UserWarning
            If the rows cannot back the promise, so that everything is evaluated; if rows seem to be training rows; if a
            large part of a rare class disagrees, or may under a promise about all rows; if transformers that are not
            taken apart leave nothing to save; and if ``y`` is given with an estimator that is fitted already, because
            a clone is trained instead.
        """
        rule = checked_rule(self)
        planner = planner_of(self)
        require_counted(planner.n_splits, rule, largest(self.risk))
        require_estimator(self.estimator)
        if X is None:
            promise = Promise.of(self, grouped=False)
            compiled, inner = compiled_without_rows(self.estimator, promise, {"y": y, "groups": groups, **params})
            self._set_columns(compiled.schema.n_columns, None)
            self._install(compiled, inner)
            return self
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        try:
            source = validate_fit_rows(self, X)
        except (ValueError, TypeError) as error:
            if not hasattr(self.estimator, "steps"):  # the transformers of a pipeline may accept such values
                locate(error, X, None, getattr(self, "feature_names_in_", None))
            raise
        groups = None if groups is None else group_numbers(groups, source.n_rows)
        inner, untrained = fitted_estimator(self, source, y, groups, params, rng)
        model = decompose(inner)
        if model.texts is not None:
            model.texts.vectorizer.require(source)
        if source.is_sparse and model.centres:  # such steps transform sparse rows differently, or refuse them
            model = decompose(inner, fold=False)
        if isinstance(model.preprocessing, RawColumns) and model.preprocessing.unanswered(source).any():
            model = decompose(inner, raw_columns=False)  # the transformers know better what to make of these rows
        model = reading_in_parts(model, self, rule)
        model = replace(model, schema=model.schema.seen(source))
        matched = model.schema.matched(source)
        if matched is not source:  # its columns were found by name
            source = matched
            self._set_columns(source.n_columns, model.schema.array)
        promise = Promise.of(self, groups is not None)
        promised = promise.about(model)  # raises for strata that are no classes
        with located(source, model):
            require_accepted(model, source)
            rows = Rows.of(model, source, groups)
        ranges = FeatureRanges.of(model, rule)
        if ranges is not None:
            ranges.require(rows.preprocessed)
        warn_of_training_rows(model, rows.preprocessed[untrained])
        if not rule.needs.lossless:  # a proof does not depend on the rows
            warn_of_leaf_counts(model, rows.preprocessed[untrained])
        request = Request.of(self, model, source, rule, promised, effective_threads(self.n_jobs), rng)
        draw = partial(split_rows, untrained, groups, certificate_share(planner.certificate_fraction, model), rng)
        with LateBar() as progress:
            outcome = plan_and_certify(model, rows, draw, planner.n_splits, request, promise, progress)
        one_each = None if groups is None else one_row_per_group(np.asarray(groups)[outcome.split.validation], rng)
        seen, n_columns = (getattr(self, name, None) for name in ("feature_names_in_", "n_features_in_"))
        reader = RowReader(model, seen, n_columns, source.library, type(self).__name__)
        validation = ValidationRows(outcome.validation, one_each)
        compiled = CompiledPlan(model, outcome.plan, outcome.certificate, promise, validation, reader)
        self._install(compiled, inner, outcome.split.use_of(source.n_rows), source)
        if request.cost == "time":
            compiled.measure_in_front(source)
            warn_of_time(compiled.in_front, outcome.plan.evaluate_all)
        return self

    def _set_columns(self, n_columns: int | None, names: NDArray[Any] | None) -> None:
        """Set scikit-learn's attributes of the columns, or delete those without a value."""
        for name, value in (("n_features_in_", n_columns), ("feature_names_in_", names)):
            if value is not None:
                setattr(self, name, value)
            elif hasattr(self, name):
                delattr(self, name)

    def recertify(
        self, X: Any, *, risk: Risk = None, confidence: float | None = None, groups: ArrayLike | None = None
    ) -> EarlyExitClassifier:
        """Certify the same plan on other rows.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features)
            Fresh rows; all of them are used for the certificate.
        risk, confidence : default=None
            Parameters of the new promise; by default those of this object.
        groups : array-like of shape (n_rows,), default=None
            One random row of each group is certified, as in `fit`.

        Returns
        -------
        EarlyExitClassifier
            A new object; this one is unchanged.

        Raises
        ------
        ValueError
            For ``risk=0`` if this plan's exits were not placed by a lossless rule; and as in `fit`.
        """
        compiled = self._compiled()
        other = copy.copy(self)
        other.risk = self.risk if risk is None else risk
        other.confidence = self.confidence if confidence is None else confidence
        other.planner = copy.copy(planner_of(self)).set_params(rule=compiled.promise.given_rule)  # it placed the exits
        promise = Promise.of(other, groups is not None)
        require_proof(compiled.promise, compiled.plan, promise)
        promise.about(compiled.model)
        rows = compiled.read(X)
        groups = None if groups is None else group_numbers(groups, len(rows))
        warn_of_training_rows(compiled.model, rows.preprocessed)
        if not promise.rule.needs.lossless:
            warn_of_leaf_counts(compiled.model, rows.preprocessed)
        certified = compiled.recertified(rows, groups, promise, effective_threads(self.n_jobs))
        if compiled.monitor is not None:
            other._watch = compiled.monitor.audit_rate, compiled.monitor.on_broken
        other._install(certified, self.estimator_, source=rows.raw)
        return other

    def _install(
        self, compiled: CompiledPlan, estimator: Any, use_of_rows: str = "", source: Source | None = None
    ) -> None:
        """Compare some answers with the model's own, set the fitted attributes, and warn if no row may leave."""
        compiled.require_own_answers(source)
        self.estimator_, self.classes_ = estimator, compiled.model.classes
        self.compiled_plan_ = compiled if self._watch is None else compiled.watched(*self._watch)
        certificate = compiled.certificate
        if certificate.status in ("too few rows", "too many disagreements"):
            warn_caller(f"{certificate}{use_of_rows if certificate.status == 'too few rows' else ''}")

    # ---- scores of the wrapped estimator ---------------------------------------------------------------------------

    # available_if has no types, here and below
    @available_if(_wrapped_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> NDArray[Any]:
        """The wrapped estimator's own scores, in full."""
        return self._compiled().in_full("decision_function", X, effective_threads(self.n_jobs))

    @available_if(_wrapped_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[Any]:
        """The wrapped estimator's own probabilities, in full."""
        return self._compiled().in_full("predict_proba", X, effective_threads(self.n_jobs))

    @available_if(_wrapped_has("predict_log_proba"))  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> NDArray[Any]:
        """The wrapped estimator's own log-probabilities, in full."""
        return self._compiled().in_full("predict_log_proba", X, effective_threads(self.n_jobs))

    @available_if(_wrapped_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba_one(self, x: Any) -> NDArray[Any]:
        """Probabilities of one row, in full; of tree ensembles and texts in microseconds.

        Parameters
        ----------
        x : array-like of shape (n_features,), or dict from feature name to value
            As for `predict_one`.

        Returns
        -------
        ndarray of shape (n_classes,)
            For tree ensembles, and linear models of texts whose rows stay sparse, the row of `predict_proba`, bit for
            bit. Other models evaluate this row alone, and their matrix products may round differently than for many
            rows.

        Raises
        ------
        ValueError, TypeError
            If ``x`` is not one row of the model's features.

        Examples
        --------
        >>> import pandas as pd
        >>> from sklearn.datasets import make_classification
        >>> from sklearn.ensemble import HistGradientBoostingClassifier
        >>> from sklearn.frozen import FrozenEstimator
        >>> from wald import EarlyExitClassifier
        >>> X, y = make_classification(500, 4, random_state=0)
        >>> frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
        >>> model = HistGradientBoostingClassifier(max_iter=10).fit(frame, y)
        >>> fast = EarlyExitClassifier(FrozenEstimator(model), risk=0).fit()
        >>> row = {"d": X[0, 3], "a": X[0, 0], "b": X[0, 1], "c": X[0, 2]}
        >>> bool((fast.predict_proba_one(row) == model.predict_proba(frame[:1])[0]).all())
        True
        """
        return self._compiled().proba_of_one(x)

    @available_if(_wrapped_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba_records(self, records: Sequence[Mapping[str, Any]]) -> NDArray[Any]:
        """Probabilities of rows that are given as dicts, in full.

        Parameters
        ----------
        records : sequence of dict
            As for `predict_records`.

        Returns
        -------
        ndarray of shape (n_records, n_classes)

        Raises
        ------
        ValueError, TypeError
            As `predict_records`.

        Examples
        --------
        >>> import pandas as pd
        >>> from sklearn.datasets import make_classification
        >>> from sklearn.ensemble import HistGradientBoostingClassifier
        >>> from sklearn.frozen import FrozenEstimator
        >>> from wald import EarlyExitClassifier
        >>> X, y = make_classification(500, 4, random_state=0)
        >>> frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
        >>> model = HistGradientBoostingClassifier(max_iter=10).fit(frame, y)
        >>> fast = EarlyExitClassifier(FrozenEstimator(model), risk=0).fit()
        >>> records = frame[:3].to_dict("records")
        >>> bool((fast.predict_proba_records(records) == model.predict_proba(frame[:3])).all())
        True
        """
        return self._compiled().proba_of_records(records, effective_threads(self.n_jobs))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags = get_tags(fitted_for_good(self.estimator) or self.estimator).classifier_tags
        return tags
