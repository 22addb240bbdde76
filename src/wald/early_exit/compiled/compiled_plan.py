"""A fitted model with its plan, compiled: it takes rows in any form, and gives answers, costs and stages."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...calls import CallError, PartialAnswer
from ...engine import NOTHING, Decisions, Ledger, Packed, Status
from ...models import AdditiveModel
from ...models.opaque import Looks
from ...models.protocols import Documents
from ...monitoring import Monitor
from ...monitoring.monitor import require_audits
from ...plan import CertificateSize, Plan
from ...sources import LazyRows, Schema, Source, source_of
from ...sources.building import library_at_hand
from ...sources.records import require_records
from ...stopping import Certificate, StageScores
from ...utils.warn import warn_caller
from .answers import Answers
from .auditing import audited, audited_one, counted_one, monitor_of
from .certification import Promise, certificate_scores, certified, scores_at_stages, tried
from .documents import costs_at_stages
from .explaining import Explanation, explained
from .full_numbers import numbers_in_full, own_numbers
from .in_front import in_front_of, measured
from .locating import located
from .lossless import FeatureRanges
from .one_probability import proba_of_one, value_of_one
from .passing_on import passed_on
from .predictor import Predictor, Trace
from .rare_classes import rare_classes
from .reader import RowReader
from .rows import Rows, preprocessed, refuse_unlike
from .self_check import Agreement, require_own_answers


@dataclass(frozen=True, eq=False)
class ValidationRows:
    """Rows by which the stages of a plan were chosen.

    Attributes
    ----------
    scores : StageScores
        At every stage of the plan.
    one_per_group : ndarray of int or None, default=None
        Positions of one row of each group; None unless ``fit`` was given groups.
    """

    scores: StageScores
    one_per_group: NDArray[np.intp] | None = None


class CompiledPlan:
    """A fitted model with its plan, compiled.

    Prediction changes nothing but the counts of its monitor, so that threads may share it.

    Parameters
    ----------
    model : AdditiveModel
    plan : Plan
        With its thresholds.
    certificate : Certificate
    promise : Promise
    validation : ValidationRows
    reader : RowReader
    packed : Packed, default=None
        The model's terms, packed in the plan's order; None to pack them here.

    Attributes
    ----------
    monitor : Monitor or None
        Counts the rows that are answered without a budget, after `watched`.
    label_one : callable
        Gives the label of one row, or label and cost, if the engine reads the row in place and settles it; else None.
        The monitor does not count the row.
    agreement : Agreement or None
        What `require_own_answers` found; None before, and in copies and files.
    in_front : InFront or None
        The transformers that run as they are, in front of the engine, and their share of the time if it was measured.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.frozen import FrozenEstimator
    >>> from sklearn.svm import SVC
    >>> from wald import EarlyExitClassifier
    >>> X, y = make_classification(3000, random_state=0)
    >>> svc = SVC().fit(X[:500], y[:500])
    >>> fast = EarlyExitClassifier(FrozenEstimator(svc), risk=0.05, random_state=0)
    >>> compiled = fast.fit(X[500:]).compiled_plan_
    >>> answers = compiled.predict(X[:3])
    >>> len(answers.labels), bool((answers.costs <= compiled.plan.full_cost).all())
    (3, True)
    """

    def __init__(
        self,
        model: AdditiveModel,
        plan: Plan,
        certificate: Certificate,
        promise: Promise,
        validation: ValidationRows,
        reader: RowReader,
        packed: Packed | None = None,
    ) -> None:
        ranges = FeatureRanges.of(model, promise.rule)
        self._predictor = Predictor(model, plan, by_proof=promise.risk == 0, packed=packed, ranges=ranges)
        self.certificate, self.promise, self.validation, self.reader = certificate, promise, validation, reader
        self.monitor: Monitor | None = None
        self.label_one, self._decided = self._of_one()
        self.agreement: Agreement | None = None
        self.in_front = in_front_of(self._predictor)

    def __getstate__(self) -> dict[str, Any]:
        state = {**vars(self), "agreement": None, "label_one": None, "_decided": None}
        for name in ("proba_one", "value_of_dict"):
            state.pop(name, None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.label_one, self._decided = self._of_one()

    def _of_one(self) -> tuple[Callable[[Any, bool], Any], Callable[[Any], tuple[int, int, float, int] | None]]:
        """What labels single rows, and what decides dicts and texts; both give None for what others must read."""
        library = self.reader.library or library_at_hand()
        record = None if library is None else self._predictor.record(library)
        if record is not None:
            return record.label, record.decided
        return self._predictor.short.label, self._predictor.short.text

    @cached_property
    def proba_one(self) -> Callable[[Any], NDArray[Any] | None]:
        """Gives the wrapped estimator's own probabilities of one dict or text; None for rows that it does not read."""
        return proba_of_one(self._predictor, self.reader, lambda row: own_numbers(self.model, "predict_proba", row)[0])

    @cached_property
    def value_of_dict(self) -> Callable[[Any], Any]:
        """Gives the value of one dict, for models whose answers are values; None for dicts that it does not read."""
        return value_of_one(self._predictor, self.reader)

    @property
    def model(self) -> AdditiveModel:
        """The wrapped model as a sum of terms."""
        return self._predictor.model

    @property
    def plan(self) -> Plan:
        """Order, stages, readouts, thresholds and costs."""
        return self._predictor.plan

    @property
    def schema(self) -> Schema:
        """The columns that are read."""
        return self.model.schema

    @property
    def by_proof(self) -> bool:
        """Whether only lossless exits are allowed."""
        return self._predictor.by_proof

    @property
    def has_surrogates(self) -> bool:
        """Whether surrogates stand before the model: many rows at once then take little more time than one."""
        return isinstance(self.model.preprocessing, Looks)

    def require_unchanged(self) -> None:
        """Raise ValueError if the wrapped model is not the one that was planned.

        Looking takes microseconds. What is not seen: changes in place beyond the beginning of large arrays, in other
        trees of scikit-learn than the first, and of values of leaves in a booster (``set_leaf_output``).
        """
        changed = self.model.changed()
        if changed is not None:
            raise ValueError(
                f"The wrapped model is not the one that was planned and certified: {changed} Call fit again."
            )

    def require_own_answers(self, source: Source | None = None) -> None:
        """Compare some answers with the wrapped object's own, on given rows or, for None, on rows at its thresholds.

        Raises
        ------
        ValueError
            If they differ by more than rounding explains.
        """
        self.agreement = require_own_answers(self._predictor, source)

    def measure_in_front(self, source: Source) -> None:
        """Measure on some rows which share of the time of `predict` the transformers in front of the engine take."""
        self.in_front = measured(self._predictor, source)

    # ---- answers ---------------------------------------------------------------------------------------------------

    def predict(
        self,
        X: Any,
        *,
        budget: float | None = None,
        deadline: float | None = None,
        n_threads: int = 1,
        check_input: bool = True,
        groups: ArrayLike | None = None,
        resume: PartialAnswer | Answers | None = None,
    ) -> Answers:
        """Answer rows of a table.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features)
        budget : float, default=None
            Largest cost of a row, in the unit of the plan.
        deadline : float, default=None
            Seconds after which calls end.
        n_threads : int, default=1
        check_input : bool, default=True
            Whether feature names and their number are checked.
        groups : array-like of shape (n_rows,), default=None
            Group of each row, for the monitor.
        resume : PartialAnswer or Answers, default=None
            What an earlier call for the same rows had decided when it failed, or its deadline had passed.

        Returns
        -------
        Answers

        Raises
        ------
        ValueError, TypeError
            See `EarlyExitClassifier.predict`.
        """
        self.require_unchanged()
        source = self._source(X) if check_input else source_of(X)
        with located(source, self.model):
            decided = audited(self._predictor, self.monitor, source, n_threads, budget, groups, resume, deadline)
            return Answers(self._predictor, decided)

    def labels_of(self, X: Any, n_threads: int = 1) -> NDArray[Any] | None:
        """Labels of the rows of an array, without costs and stages.

        None if one call of the engine, or of the model, is not enough: `predict` then answers, or says what is wrong.
        """
        if self.monitor is not None or self.reader.seen is not None:
            return None
        if self.has_surrogates:
            return passed_on(self, X)
        self.require_unchanged()
        if type(X) is np.memmap:  # an array as any other
            X = np.asarray(X)
        codes = self._predictor.short.codes(X, n_threads)
        return None if codes is None else self._predictor.labels(codes)

    def predict_one(
        self, x: Any, *, budget: float | None = None, deadline: float | None = None, group: Any = None
    ) -> Answers:
        """Answer one row in any form.

        Parameters
        ----------
        x : array-like of shape (n_features,), or dict from feature name to value
        budget, deadline : float, default=None
        group : object, default=None
            Group of the row, for the monitor.
        """
        if deadline is not None:
            self.require_unchanged()
            source, groups = self.reader.row(x)[1], None if group is None else [group]
            with located(source, self.model):
                decided = audited(self._predictor, self.monitor, source, 1, budget, groups, deadline=deadline)
                return Answers(self._predictor, decided)
        if self.model.decision.valued:
            return self._one_value(x, budget, group)
        return Answers(self._predictor, Decisions.of_one(*self.decide_one(x, budget, group)))

    def _one_value(self, x: Any, budget: float | None, group: Any) -> Answers:
        """Answer one row with its value."""
        if budget is not None:
            self.plan.affordable(budget)
        if self.plan.n_stages == 0 and self.monitor is None and group is None:
            values, paid = np.asarray(self.value_one(x))[None], np.array([self.plan.full_cost])
            full = np.full(1, Status.FULL, dtype=np.uint8)
            return Answers(self._predictor, Decisions(values, Ledger(np.zeros(1, dtype=np.int32), paid, full)))
        self.require_unchanged()
        source = self.reader.row(x)[1]
        groups = None if group is None else [group]
        with located(source, self.model):
            return Answers(self._predictor, audited(self._predictor, self.monitor, source, 1, budget, groups))

    def value_one(self, x: Any) -> Any:
        """The value of one row in any form, for models whose answers are values."""
        self.require_unchanged()
        values = self._predictor.values
        value = self.value_of_dict(x) if type(x) is dict else None if values is None else values.one(x)
        if value is not None:
            return value
        source = self.reader.row(x)[1]
        with located(source, self.model):
            return self._predictor.predict(source, 1, None).codes[0]

    def decide_one(self, x: Any, budget: float | None = None, group: Any = None) -> tuple[int, int, float, int]:
        """Code, stage, cost and status of one row in any form; parameters as for `predict_one`."""
        failed: Exception | None = None
        if budget is None and group is None and (self.monitor is None or not self.monitor.answers_in_full):
            found = self._decided(x)
            if found is not None:
                return counted_one(self._predictor, self.monitor, found, partial(self._full_one, x))
        if type(x) is not dict:
            try:  # an array of the right shape and dtype needs no validation
                return audited_one(self._predictor, self.monitor, x, budget, group)
            except (AttributeError, TypeError, ValueError, KeyError, IndexError) as error:
                failed = error
        self.require_unchanged()
        row, source = self.reader.row(x)
        with located(source, self.model):
            if failed is not None and row is x is not None:  # it was not converted, so it would fail again
                raise failed
            if row is not None:
                return audited_one(self._predictor, self.monitor, row, budget, group, source)
            return audited(self._predictor, self.monitor, source, 1, budget, None if group is None else [group]).first

    def _full_one(self, x: Any) -> tuple[int, int, float, int]:
        """Answer one row without early exits."""
        source = self.reader.row(x)[1]
        with located(source, self.model):
            return self._predictor.predict(source, 1, None, full=True).first

    def predict_records(
        self,
        records: Sequence[Mapping[str, Any]],
        *,
        budget: float | None = None,
        deadline: float | None = None,
        n_threads: int = 1,
        groups: ArrayLike | None = None,
    ) -> Answers:
        """Answer rows that are given as dicts; parameters as for `predict`."""
        self.require_unchanged()
        require_records(records, "predict_one", "predict")
        if len(records) == 0:
            return Answers(self._predictor, NOTHING)
        source = self.reader.records(records, "records[{}]".format)
        with located(source, self.model, "record"):
            decided = audited(self._predictor, self.monitor, source, n_threads, budget, groups, deadline=deadline)
            return Answers(self._predictor, decided)

    def columns_by_stage(self) -> list[NDArray[np.intp]] | None:
        """Columns that the first 1, 2, ... stages read, and last those of all terms; None if rows are read whole."""
        return self._predictor.columns_by_stage()

    def first_stages(self, source: Source, n_stages: int, n_threads: int) -> Answers:
        """Answer rows by the first stages; those that they do not decide are `PENDING` or `NOT_FINITE`."""
        return Answers(self._predictor, self._predictor.first_stages(source, n_stages, n_threads))

    def predict_in_full(self, X: Any, n_threads: int = 1) -> Answers:
        """Answer rows of a table without early exits; the monitor does not count them."""
        self.require_unchanged()
        source = self._whole(X)
        with located(source, self.model):
            return Answers(self._predictor, self._predictor.predict(source, n_threads, None, full=True))

    # ---- full scores -----------------------------------------------------------------------------------------------

    def in_full(self, method: str, X: Any, n_threads: int = 1) -> NDArray[Any]:
        """The wrapped estimator's own scores. The engine computes them where it gives the same bits.

        Parameters
        ----------
        method : {"decision_function", "predict_proba", "predict_log_proba"}
        X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features)
        n_threads : int, default=1
        """
        self.require_unchanged()
        source = self._whole(X)
        refuse_unlike(self.model, source)
        return self._in_full(method, source, n_threads)

    def proba_of_one(self, x: Any) -> NDArray[Any]:
        """The wrapped estimator's own probabilities of one row in any form."""
        found = self.proba_one(x)
        if found is not None:
            return found
        self.require_unchanged()
        source = self.reader.one(x) if self.model.links.predict_proba is None else self.reader.row(x)[1]
        return np.asarray(self._in_full("predict_proba", source, 1)[0])

    def proba_of_records(self, records: Sequence[Mapping[str, Any]], n_threads: int = 1) -> NDArray[Any]:
        """The wrapped estimator's own probabilities of rows that are given as dicts."""
        self.require_unchanged()
        require_records(records, "predict_proba_one", "predict_proba")
        if len(records) == 0:
            return np.empty((0, len(self.model.classes)))
        source = self.reader.records(records, "records[{}]".format)
        return self._in_full("predict_proba", source, n_threads, "record")

    def _in_full(self, method: str, source: Source, n_threads: int, word: str = "row") -> NDArray[Any]:
        with located(source, self.model, word):
            return numbers_in_full(self._predictor, method, source, n_threads)

    # ---- study -----------------------------------------------------------------------------------------------------

    def stage_scores(self, X: Any, n_threads: int = 1) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
        """Estimates at every stage and full scores, (n, T + 1), and the stage at which each row exits, (n,)."""
        self.require_unchanged()
        source = self._whole(X)
        with located(source, self.model):
            scores, decided = self._predictor.trace(source, n_threads)
            return scores, decided.ledger.stages

    def trace(self, x: Any, n_threads: int = 1) -> Trace:
        """Trace one row: score, thresholds and cost at every stage."""
        self.require_unchanged()
        source = self.reader.one(x)
        if source.n_rows != 1:
            raise ValueError(f"trace takes one row. Got {source.n_rows}: stage_scores takes several.")
        with located(source, self.model):
            scores, decided = self._predictor.trace(source, n_threads)
            stage = decided.ledger.stages[0]
            in_full = self.monitor is not None and self.monitor.answers_in_full
            if in_full or not self._predictor.asks:  # who was asked for the trace has answered
                decided = self._predictor.predict(source, n_threads, None, full=in_full)
        low, high = self.plan.thresholds()
        answers = Answers(self._predictor, decided)
        costs, cost = self._stage_costs(source), float(answers.costs[0])
        return Trace(scores[0], low, high, costs, int(stage), answers.labels[0], cost)

    def _stage_costs(self, source: Source) -> NDArray[np.float64]:
        """The costs of the stages for one row: those of the plan, or the characters of a text that is read in parts."""
        terms = Documents.of(self.model.terms)
        if terms is None:
            return self.plan.stage_costs
        rows = np.asarray(preprocessed(self.model, source).array())
        costs: NDArray[np.float64] = costs_at_stages(terms, self.plan, rows)[0]
        return costs

    def explain(self, x: Any, n_threads: int = 1) -> Explanation:
        """Explain one row: what was read, what each part added, and when the answer was clear."""
        self.require_unchanged()
        source = self.reader.one(x)
        with located(source, self.model):
            return explained(self._predictor, source, partial(self.trace, x, n_threads))

    def looks(self, X: Any, n_threads: int = 1) -> StageScores:
        """Scores of rows at every stage of the plan, with the full model's answers."""
        return scores_at_stages(self.model, self.plan, self.read(X, n_threads), n_threads)

    def read(self, X: Any, n_threads: int = 1) -> Rows:
        """Read and preprocess rows; all values must be finite."""
        self.require_unchanged()
        source = self._whole(X)
        with located(source, self.model):
            return Rows.of(self.model, source, n_threads=n_threads)

    def _source(self, X: Any) -> Source:
        """Read rows, with columns in the model's order."""
        with located(X, self.model):
            return self.reader.source(X)

    def _whole(self, X: Any) -> Source:
        """The same for what reads all columns of all rows: those that must be fetched are."""
        source = self._source(X)
        if not isinstance(source, LazyRows):
            return source
        try:
            return source.whole()
        except CallError as error:
            error.partial = None  # columns, and no answers; what was fetched stays in the rows
            raise

    # ---- other promises --------------------------------------------------------------------------------------------

    def recertified(self, rows: Rows, groups: ArrayLike | None, promise: Promise, n_threads: int) -> CompiledPlan:
        """Certify the same plan on other rows.

        Parameters
        ----------
        rows : Rows
            From `read`.
        groups : array-like of shape (n_rows,) or None
        promise : Promise
        n_threads : int

        Returns
        -------
        CompiledPlan
            A new object, without a monitor.
        """
        model, seen = self.model, self.validation.scores
        # exits about which the new promise says nothing are closed, as in fit
        boundary = self.plan.boundary.restricted(promise.about(model).sides)
        plan = replace(self.plan, boundary=boundary)
        scores = certificate_scores(model, plan, rows, promise, n_threads)
        size = CertificateSize(len(rows) if groups is None else len(np.unique(groups)), promise.confidence)
        trial = tried(model, plan, seen, size, promise)
        certificate, plan = certified(model, trial, seen, scores, groups, promise)
        rare = rare_classes(model, certificate, plan, scores)
        if rare is not None:
            warn_caller(rare)
        return CompiledPlan(model, plan, certificate, promise, self.validation, self.reader)

    def voided(self, reason: str) -> CompiledPlan:
        """Give the same plan with a certificate that is void."""
        return self._with(self.certificate.voided(reason), self.monitor)

    def watched(self, audit_rate: float | None, on_broken: str = "warn") -> CompiledPlan:
        """Give the same plan with a new monitor, or with none if `audit_rate` is None."""
        self.require_unchanged()
        require_audits(0.0 if audit_rate is None else audit_rate, on_broken)
        if audit_rate and self.promise.reference == "labels":
            raise ValueError(
                "Audits compare answers with the model's own, and this promise is about true labels, which no audit "
                "knows: watch the stages alone with audit_rate=0, and call recertify(X, y=...) on rows with labels."
            )
        monitor = None
        if audit_rate is not None:
            if self.model.decision.valued and not self.model.decision.by_margin:
                raise ValueError(
                    "There is nothing to watch: every row is evaluated in full, and each value is the model's own. "
                    "With a tolerance or bands, rows leave early."
                )
            monitor = monitor_of(
                self._predictor,
                self.certificate,
                self.promise,
                self.validation.scores,
                self.validation.one_per_group,
                audit_rate,
                on_broken,
            )
        return self._with(self.certificate, monitor)

    def with_monitor(self, monitor: Monitor | None) -> CompiledPlan:
        """Give the same plan with another monitor, as that of a ranker, which counts groups by itself."""
        return self._with(self.certificate, monitor)

    def _with(self, certificate: Certificate, monitor: Monitor | None) -> CompiledPlan:
        other = copy.copy(self)
        other.certificate, other.monitor, other.agreement = certificate, monitor, self.agreement
        return other
