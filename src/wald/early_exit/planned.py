"""`fit` of early-exit estimators: planned on some rows, and certified on others."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_random_state

from ..engine.threads import effective_threads
from ..models import AdditiveModel, decompose, fitted_for_good
from ..models.asking import title_of
from ..models.banded import METHODS, Banded, checked_bands
from ..models.opaque import opaque_model
from ..models.reading import Kind
from ..sources import LazyRows, Source
from ..steps import RawColumns
from ..stopping.core.certifying import one_row_per_group
from ..stopping.core.risks import Risk, largest
from ..stopping.core.row_groups import group_numbers
from ..utils.progress import LateBar
from ..utils.warn import warn_caller
from .base import EarlyExitEstimator
from .compiled.bought import priced_by
from .compiled.certification import Promise, require_proof
from .compiled.compiled_plan import CompiledPlan, ValidationRows
from .compiled.documents import reading_in_parts
from .compiled.in_front import warn_of_time
from .compiled.locating import locate, located
from .compiled.lossless import FeatureRanges
from .compiled.parameters import checked_rule, require_counted, require_estimator, require_kind
from .compiled.planner import planner_of
from .compiled.reader import RowReader
from .compiled.request import Request
from .compiled.rows import Rows
from .fitting.asked_rows import Asking
from .fitting.bought_parts import BehindGroups
from .fitting.data_split import Split, fitted_estimator, split_rows, warn_of_training_rows
from .fitting.late_answers import LateAnswers
from .fitting.late_classes import with_late_classes
from .fitting.opaque import BehindSurrogates, behind_surrogates
from .fitting.selection import certificate_share, plan_and_certify
from .fitting.training_rows import warn_of_leaf_counts
from .fitting.truth import require_reference, true_codes, true_labels
from .fitting.validation import require_accepted, validate_fit_rows
from .fitting.without_rows import compiled_without_rows


def wrapped_has(method: str) -> Any:
    """Make the check of `available_if` for a method that the wrapped estimator has."""

    def check(self: Any) -> bool:
        wrapped = getattr(self, "estimator_", self.estimator)
        getattr(wrapped, method)  # raises the wrapped estimator's own AttributeError
        return True

    return check


class PlannedEstimator(EarlyExitEstimator):
    """An early-exit estimator: `fit` plans on some rows and certifies on others.

    A subclass says which kind of estimators it wraps.
    """

    kind: ClassVar[Kind]
    surrogates: Any = None
    reference: Any = "model"

    # ---- fitting ---------------------------------------------------------------------------------------------------

    def fit(
        self,
        X: Any = None,
        y: Any = None,
        *,
        groups: ArrayLike | None = None,
        max_calls: int | None = None,
        answers: Any = None,
        **params: Any,
    ) -> Self:
        """Plan and certify on rows that the model was not trained on.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features)
            With a fitted estimator: unlabelled rows from the distribution that `predict` will serve, without training
            rows. With ``y``, half of them train the estimator. None, for fitted tree ensembles and linear models of
            texts with ``risk=0``: wald evaluates every row in full, so that there is nothing to plan.
        y : array-like of shape (n_rows,), default=None
            Labels that train the estimator. A `FrozenEstimator` or a booster is not trained, and does not use them.
            With ``reference="labels"``, those of rows that train nothing are the truth for the certificate.
        groups : array-like of shape (n_rows,), default=None
            Group of each row, such as its user, document or day. Rows of a group stay together in every split, and one
            random row of each is certified. The promise is then about a random row of a random group, if groups are
            independent draws; large groups count no more than small ones.
        max_calls : int, default=None
            Most rows about which a model behind surrogates may be asked, those that it is asked about twice included.
            If that does not make the promise, every row is evaluated in full, and the certificate says why.
        answers : array-like of shape (n_rows,), dict from row to answer, or PartialAnswer, default=None
            Answers that a model behind surrogates has given before: it is not asked about these rows. None, NaN or
            `pandas.NA` stands where it has not been asked. The ``partial`` of a `CallError` of `fit` is such a log. The
            rows that certify are drawn from all rows, whether the log has them or not.
        **params : dict
            Routed to the estimator's ``fit``.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            For parameters out of range, and for unsupported models or rows; the message lists what is supported. Also
            if full evaluation by wald answers one of the rows that are compared otherwise than the wrapped object does,
            and if `max_calls` are too few to learn and plan with (`calls_needed` says how many it takes).
        CallError
            If a call of a model behind surrogates fails for good; it names the rows, and its ``partial`` has all
            answers so far, as `answers` takes them.

        Warns
        -----
        UserWarning
            If the rows cannot back the promise, so that everything is evaluated; if rows seem to be training rows; if a
            large part of a rare class disagrees, or may under a promise about all rows; if transformers that are not
            taken apart leave nothing to save; and if ``y`` is given with an estimator that is fitted already, because
            a clone is trained instead.
        """
        self._check_numbers()
        rule = checked_rule(self)
        planner = planner_of(self)
        require_counted(planner.n_splits, rule, largest(self.promised_risk))
        require_reference(self)
        require_estimator(self.estimator)
        if self.bands is not None:
            checked_bands(self.bands, self.kind)
        asking = Asking.of(self, answers, max_calls)
        if X is None:
            promise = Promise.of(self, grouped=False)
            others = {"y": y, "groups": groups, "max_calls": max_calls, "answers": answers, **params}
            compiled, inner = compiled_without_rows(self.estimator, self._read, promise, others)
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
        promise = Promise.of(self, groups is not None)
        told = true_labels(y, source.n_rows) if self.reference == "labels" else None
        inner, untrained = fitted_estimator(self, source, y, groups, params, rng)
        asked: BehindSurrogates | None = None
        bought = self._behind_groups(inner, source, untrained, groups, rng, asking)
        if bought is not None:
            inner, model, untrained = bought.model.estimator, bought.model, np.arange(len(bought.rows))
            source, groups = source.take(bought.rows), None if groups is None else np.asarray(groups)[bought.rows]
            told = None if told is None else told[bought.rows]
        elif self._is_opaque(inner):
            asking.require_fitted(len(untrained) == source.n_rows)
            if hasattr(inner, "classes_"):  # strata that are no classes are refused before anything is asked
                promise.about(opaque_model(inner, (), (), None))
            asked = behind_surrogates(
                inner, self.surrogates, source, untrained, groups, rng, effective_threads(self.n_jobs), asking, told
            )
            inner, model, untrained = asked.model.estimator, asked.model, np.arange(len(asked.rows))
            source, groups = source.take(asked.rows), None if groups is None else np.asarray(groups)[asked.rows]
        else:
            asking.require_unused(f"wald reads {title_of(inner)}, so that fit asks nothing")
            untrained = self._look(inner, source, untrained, groups, rng)
            model = self._read(inner)
        if model.texts is not None:
            model.texts.vectorizer.require(source)
        if source.becomes_sparse and model.centres:  # such steps transform sparse rows differently, or refuse them
            model = self._read(inner, fold=False)
        lazy = model.schema.matched(source) if source.is_lazy else None
        if isinstance(lazy, LazyRows):  # a group of which the model reads nothing is not fetched
            if lazy is not source:
                self._set_columns(lazy.n_columns, model.schema.array)
            source = lazy.whole()
        if isinstance(model.preprocessing, RawColumns) and model.preprocessing.unanswered(source).any():
            model = self._read(inner, raw_columns=False)  # the transformers know better what to make of these rows
        model = reading_in_parts(model, self, rule)
        model = replace(model, schema=model.schema.seen(source))
        matched = model.schema.matched(source)
        if matched is not source:  # its columns were found by name
            source = matched
            self._set_columns(source.n_columns, model.schema.array)
        promised = promise.about(model)  # raises for strata that are no classes
        with located(source, model):
            if bought is not None:
                rows = Rows(source, bought.said, None if groups is None else np.asarray(groups))
            elif asked is None:
                require_accepted(model, source)
                rows = Rows.of(model, source, groups, effective_threads(self.n_jobs))
            else:
                rows = Rows(source, asked.said, None if groups is None else np.asarray(groups), asked.truth)
        if asked is None and told is not None:
            rows = replace(rows, truth=true_codes(told, model.classes))
        ranges = FeatureRanges.of(model, rule)
        if ranges is not None:
            ranges.require(rows.preprocessed)
        warn_of_training_rows(model, rows.preprocessed[untrained])
        if not rule.needs.lossless:  # a proof does not depend on the rows
            warn_of_leaf_counts(model, rows.preprocessed[untrained])
        request = Request.of(self, model, source, rule, promised, effective_threads(self.n_jobs), rng)
        request = request if lazy is None else priced_by(request, lazy, model)
        share = certificate_share(planner.certificate_fraction, model)
        draw: Callable[[], Split] = partial(split_rows, untrained, groups, share, rng)
        draw, late = (draw, None) if asked is None or not asking.one_split else (asked.drawn, asked.certificate)
        with LateBar() as progress:
            outcome = plan_and_certify(model, rows, draw, planner.n_splits, request, promise, progress, late)
        if asked is not None:
            model, outcome, promise = with_late_classes(model, outcome, asked.answers, promise)
            inner = model.estimator
        one_each = None if groups is None else one_row_per_group(np.asarray(groups)[outcome.split.validation], rng)
        seen, n_columns = (getattr(self, name, None) for name in ("feature_names_in_", "n_features_in_"))
        reader = RowReader(model, seen, n_columns, source.library, type(self).__name__)
        validation = ValidationRows(outcome.validation, one_each)
        compiled = CompiledPlan(model, outcome.plan, outcome.certificate, promise, validation, reader)
        self._install(compiled, inner, outcome.split.use_of(source.n_rows), source)
        self._set_calls(None if asked is None else asked.answers)
        if request.cost == "time":
            compiled.measure_in_front(source)
            warn_of_time(compiled.in_front, outcome.plan.evaluate_all)
        return self

    def _set_calls(self, answers: LateAnswers | None) -> None:
        """Set the number of calls of `fit`; say it where they were too few for a promise."""
        self.__dict__.pop("n_calls_", None)
        if answers is None:
            return
        self.n_calls_ = answers.n_calls
        certificate = self.compiled_plan_.certificate
        if certificate.status == "full" and certificate.reason.startswith("max_calls"):
            warn_caller(f"{certificate}.")

    def _is_opaque(self, inner: Any) -> bool:
        """Whether a fitted estimator is asked as it is, behind surrogates."""
        return False

    def _behind_groups(
        self,
        inner: Any,
        source: Source,
        rows: NDArray[np.intp],
        groups: Any,
        rng: np.random.Generator,
        asking: Asking,
    ) -> BehindGroups | None:
        """A model that mixes bought groups behind surrogates; None for all others."""
        return None

    def _read(self, inner: Any, **options: Any) -> AdditiveModel:
        """Read a fitted estimator, with what is asked of it here."""
        model = decompose(inner, **options)
        require_kind(model, self.kind)
        if self.bands is None:
            return model
        asked = Banded(fitted_for_good(inner) or inner, checked_bands(self.bands, self.kind), METHODS[self.kind])
        return decompose(asked, **options)

    def _check_numbers(self) -> None:
        """Refuse parameters of values and probabilities, where an estimator has such."""

    def _look(
        self, inner: Any, source: Source, untrained: NDArray[np.intp], groups: Any, rng: np.random.Generator
    ) -> NDArray[np.intp]:
        """Look at what the fitted estimator answers, before anything is planned; give the rows that are left."""
        return untrained

    def _set_columns(self, n_columns: int | None, names: NDArray[Any] | None) -> None:
        """Set scikit-learn's attributes of the columns, or delete those without a value."""
        for name, value in (("n_features_in_", n_columns), ("feature_names_in_", names)):
            if value is not None:
                setattr(self, name, value)
            elif hasattr(self, name):
                delattr(self, name)

    def recertify(
        self,
        X: Any,
        *,
        y: Any = None,
        risk: Risk = None,
        confidence: float | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Certify the same plan on other rows.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features)
            Fresh rows; all of them are used for the certificate.
        y : array-like of shape (n_rows,), default=None
            Their true labels, for a plan of ``reference="labels"``.
        risk, confidence : default=None
            Parameters of the new promise; by default those of this object.
        groups : array-like of shape (n_rows,), default=None
            One random row of each group is certified, as in `fit`.

        Returns
        -------
        An estimator of this class
            A new object; this one is unchanged.

        Raises
        ------
        ValueError
            For ``risk=0`` if this plan's exits were not placed by a lossless rule; for ``y`` where the plan promises
            nothing about true labels, and without where it does; and as in `fit`.
        """
        compiled = self._compiled()
        other = copy.copy(self)
        other.risk = self.risk if risk is None else risk
        other.confidence = self.confidence if confidence is None else confidence
        other.planner = copy.copy(planner_of(self)).set_params(rule=compiled.promise.given_rule)  # it placed the exits
        other.reference = compiled.promise.reference  # the plan was made for it
        require_reference(other)
        promise = Promise.of(other, groups is not None)
        require_proof(compiled.promise, compiled.plan, promise)
        promise.about(compiled.model)
        if y is not None and promise.reference == "model":
            raise ValueError(
                "y holds true labels, and this plan promises the model's own: leave y out, or call "
                "fit with reference='labels'."
            )
        rows = compiled.read(X)
        if promise.reference == "labels":
            rows = replace(rows, truth=true_codes(true_labels(y, len(rows)), compiled.model.classes))
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
        self.estimator_ = estimator
        if len(compiled.model.classes):
            self.classes_ = compiled.model.classes
        self.compiled_plan_ = compiled if self._watch is None else compiled.watched(*self._watch)
        certificate = compiled.certificate
        if certificate.status in ("too few rows", "too many disagreements"):
            warn_caller(f"{certificate}{use_of_rows if certificate.status == 'too few rows' else ''}")
