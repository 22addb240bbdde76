"""`fit` of early-exit estimators: planned on some rows, and certified on others."""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_random_state

from ..engine.threads import effective_threads
from ..models import AdditiveModel, decompose, fitted_for_good
from ..models.banded import METHODS, Banded, checked_bands
from ..models.reading import Kind
from ..sources import LazyRows, Source
from ..steps import RawColumns
from ..stopping.core.certifying import one_row_per_group
from ..stopping.core.risks import Risk, largest
from ..stopping.core.row_groups import group_numbers
from ..utils.progress import LateBar
from ..utils.warn import warn_caller
from .base import EarlyExitEstimator
from .bought import priced_by
from .bought_parts import BehindGroups
from .certification import Promise, require_proof
from .compiled_plan import CompiledPlan, ValidationRows
from .data_split import fitted_estimator, split_rows, warn_of_training_rows
from .documents import reading_in_parts
from .in_front import warn_of_time
from .locating import locate, located
from .lossless import FeatureRanges
from .opaque import BehindSurrogates, behind_surrogates
from .parameters import checked_rule, require_counted, require_estimator, require_kind
from .planner import planner_of
from .reader import RowReader
from .request import Request
from .rows import Rows
from .selection import certificate_share, plan_and_certify
from .training_rows import warn_of_leaf_counts
from .validation import require_accepted, validate_fit_rows
from .without_rows import compiled_without_rows


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
        self._check_numbers()
        rule = checked_rule(self)
        planner = planner_of(self)
        require_counted(planner.n_splits, rule, largest(self.promised_risk))
        require_estimator(self.estimator)
        if self.bands is not None:
            checked_bands(self.bands, self.kind)
        if X is None:
            promise = Promise.of(self, grouped=False)
            others = {"y": y, "groups": groups, **params}
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
        inner, untrained = fitted_estimator(self, source, y, groups, params, rng)
        asked: BehindSurrogates | None = None
        bought = self._behind_groups(inner, source, untrained, groups, rng)
        if bought is not None:
            inner, model, untrained = bought.model.estimator, bought.model, np.arange(len(bought.rows))
            source, groups = source.take(bought.rows), None if groups is None else np.asarray(groups)[bought.rows]
        elif self._is_opaque(inner):
            asked = behind_surrogates(
                inner, self.surrogates, source, untrained, groups, rng, effective_threads(self.n_jobs)
            )
            inner, model, untrained = asked.model.estimator, asked.model, np.arange(len(asked.rows))
            source, groups = source.take(asked.rows), None if groups is None else np.asarray(groups)[asked.rows]
        else:
            untrained = self._look(inner, source, untrained, groups, rng)
            model = self._read(inner)
        if model.texts is not None:
            model.texts.vectorizer.require(source)
        if source.is_sparse and model.centres:  # such steps transform sparse rows differently, or refuse them
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
        promise = Promise.of(self, groups is not None)
        promised = promise.about(model)  # raises for strata that are no classes
        with located(source, model):
            if bought is not None:
                rows = Rows(source, bought.said, None if groups is None else np.asarray(groups))
            elif asked is None:
                require_accepted(model, source)
                rows = Rows.of(model, source, groups, effective_threads(self.n_jobs))
            else:
                rows = Rows(source, asked.said, None if groups is None else np.asarray(groups))
        ranges = FeatureRanges.of(model, rule)
        if ranges is not None:
            ranges.require(rows.preprocessed)
        warn_of_training_rows(model, rows.preprocessed[untrained])
        if not rule.needs.lossless:  # a proof does not depend on the rows
            warn_of_leaf_counts(model, rows.preprocessed[untrained])
        request = Request.of(self, model, source, rule, promised, effective_threads(self.n_jobs), rng)
        request = request if lazy is None else priced_by(request, lazy, model)
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

    def _is_opaque(self, inner: Any) -> bool:
        """Whether a fitted estimator is asked as it is, behind surrogates."""
        return False

    def _behind_groups(
        self, inner: Any, source: Source, rows: NDArray[np.intp], groups: Any, rng: np.random.Generator
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
        self, X: Any, *, risk: Risk = None, confidence: float | None = None, groups: ArrayLike | None = None
    ) -> Self:
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
        An estimator of this class
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
        self.estimator_ = estimator
        if len(compiled.model.classes):
            self.classes_ = compiled.model.classes
        self.compiled_plan_ = compiled if self._watch is None else compiled.watched(*self._watch)
        certificate = compiled.certificate
        if certificate.status in ("too few rows", "too many disagreements"):
            warn_caller(f"{certificate}{use_of_rows if certificate.status == 'too few rows' else ''}")
