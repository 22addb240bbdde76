"""The engine and the wrapped model behind a compiled plan: rows in, codes and a ledger out; threads may share it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ...calls import PartialAnswer
from ...engine import NOTHING, AtEnd, CompiledTerms, Decisions, Ledger, Packed, PythonTerms, Status
from ...models import AdditiveModel
from ...models.bought import BoughtTerms
from ...models.opaque import Looks
from ...models.packing import pack
from ...models.planning import Rest
from ...plan import Plan
from ...sources import ArraySource, LazyRows, Source, source_of
from ...steps import ByColumn, RawColumns
from ...steps.above import Above
from ...steps.text_records import TextNames, TextRecord
from .bought import BoughtColumns, carrying, undecided
from .full_model import FEW_ROWS, FullModel, codes_of
from .handing_over import HandingOver
from .late_columns import LateColumns
from .late_model import LateModel
from .late_steps import LateSteps, columns_by_stage
from .lossless import FeatureRanges
from .rows import check_read, leaves_to_the_model, own_of_sparse, preprocessed, readable, refuse_unlike, with_nan
from .short_ways import ShortWays
from .stage_tables import compared
from .texts import Texts
from .values import Values

Codes = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Trace:
    """One row at every stage of a plan.

    Attributes
    ----------
    scores : ndarray of shape (T + 1,)
        The estimate at each stage (with several outputs, its margin), and the full score. Where the leaves of trees
        say how uncertain an estimate is, it is standardized: its distance to the decision's threshold is divided by
        the size of its error relative to the usual one.
    low, high : ndarray of shape (T,)
        The row exits at the first stage whose score is below ``low`` or above ``high``.
    costs : ndarray of shape (T + 1,)
        Cumulative cost at each stage.
    stage : int
        The stage at which the row exited; T stands for full evaluation.
    label : object
        The answer: a label, the number of a band, or a value.
    cost : float
        What the row paid: the cost at its stage, less that of the terms of classes that were dropped.
    """

    scores: NDArray[np.float64]
    low: NDArray[np.floating[Any]]
    high: NDArray[np.floating[Any]]
    costs: NDArray[np.float64]
    stage: int
    label: Any
    cost: float


class Predictor:
    """Decides rows by early stages, by full evaluation in the engine, or by the wrapped model.

    Parameters
    ----------
    model : AdditiveModel
    plan : Plan
    by_proof : bool
        Whether only lossless exits are allowed; undecided rows may then go to the wrapped model itself.
    packed : Packed or None, default=None
        The model's terms, packed in the plan's order; None to pack them here.
    ranges : FeatureRanges or None, default=None
        Ranges on which exits rely; a row with a value outside, in any column, is evaluated in full.
    """

    def __init__(
        self,
        model: AdditiveModel,
        plan: Plan,
        by_proof: bool,
        packed: Packed | None = None,
        ranges: FeatureRanges | None = None,
    ) -> None:
        self.model, self.plan, self.by_proof, self._ranges = model, plan, by_proof, ranges
        if packed is None:
            packed = pack(model.terms, plan.terms, plan.surrogates, plan.precision)
        self._packed = packed
        self._cascade = self._packed.cascade(model, plan.early, *plan.thresholds(), plan.stage_costs)
        self._full = FullModel(model, self._cascade)
        self._texts = None if model.texts is None else Texts(model, plan, self._full)
        self._late = self._late_steps()
        self._rest = model.terms.planning.rest
        self._at_end: AtEnd = "pending" if by_proof and self._rest is Rest.MODEL else "full"
        self._after = HandingOver(model, plan, self._full, ranges)
        self._codes_are_labels = model.classes.dtype.kind in "biu" and bool(
            np.array_equal(model.classes, np.arange(len(model.classes)))
        )
        natives = [np.dtype(t) for t in (np.float32, np.float64, np.uint8)]
        self._precision = {dtype: model.working_precision(dtype) for dtype in natives}
        #: Values in place of scores; None for models whose answers are labels.
        self.values = None if model.links.predict is None else Values(model, packed)
        self.short = self._short_ways()

    def _short_ways(self) -> ShortWays:
        """What answers rows in place."""
        valued, n_stages = self.model.decision.valued, self._reach(None)[0]
        if self.model.preprocessing is not None:
            if self._texts is None or not self._texts.reads(n_stages):
                return ShortWays()
            self._texts.prepare()
            return ShortWays() if valued else ShortWays.of_texts(self._texts, n_stages)
        calls = self._fixed_calls()
        if calls is None:
            return ShortWays()
        if valued:
            return ShortWays.of_values(calls, self._value)
        faster = None if self._rest is Rest.OWN_ENGINE or n_stages > 0 else self._full.engine_is_faster
        return ShortWays.of_arrays(calls, faster, self._tied if self._at_end == "full" else None)

    def _tied(self, X: NDArray[Any], n_threads: int) -> Codes:
        """Codes of rows of an array whose scores are within rounding of a tie."""
        return self.predict(source_of(X), n_threads, None).codes

    @property
    def _value(self) -> Values:
        assert self.values is not None
        return self.values

    def _late_steps(self) -> LateSteps | LateModel | None:
        """What runs steps of the preprocessing late; None if all rows need all of them."""
        step = self.model.preprocessing
        if self.model.decision.valued:
            return None
        if isinstance(step, Looks):
            return LateModel(step, self._cascade)
        if isinstance(step, RawColumns):
            return LateColumns.of_columns(step, self._cascade, self._terms_by_stage(), self.plan.reached)
        if step is None or not step.branches:
            return None
        return LateSteps.of(self.model, self._cascade, self._terms_by_stage())

    @property
    def runs_late(self) -> bool:
        """Whether some transformers run only for rows that early stages leave undecided."""
        return self._late is not None

    def _fixed_calls(self) -> _core.FixedCalls | None:
        """What answers rows of the terms' columns in arrays; None if exits rely on ranges, or the engine has none."""
        decision = self.model.decision
        if self._ranges is not None or (decision.valued and (not decision.early_values or decision.n_outputs > 1)):
            return None
        working = list(self._precision.values())
        if isinstance(self.model.preprocessing, RawColumns) and self.model.preprocessing.is_single:
            working = [max(working)] * len(working)
        return self._cascade.fixed_calls(
            *self._reach(None), working, (0,) if decision.valued else tuple(self.model.classes)
        )

    @property
    def core(self) -> _core.Model | None:
        """The packed terms of the compiled engine; None where they are evaluated in Python."""
        return self._packed.core if isinstance(self._packed, CompiledTerms) else None

    def record(self, library: str) -> _core.Record | TextRecord | None:
        """What answers single dicts whose values transformers read column by column; None if dicts become frames."""
        step, schema = self.model.preprocessing, self.model.schema
        if self.model.decision.valued:
            return None
        described = step.of_records(library) if isinstance(step, ByColumn) else None
        one = None if described is None or schema.names is None else self._fixed_calls()
        if one is None:
            return None
        assert isinstance(step, ByColumn)
        assert described is not None
        assert schema.names is not None
        if not isinstance(step, RawColumns) or not step.text_columns:
            return _core.Record(list(schema.names), described, step.width, one)
        names = TextNames(list(schema.names), step.text_columns)
        return TextRecord(names, _core.Record(names.names, described, step.width, one))

    def __getstate__(self) -> tuple[AdditiveModel, Plan, bool, FeatureRanges | None]:
        return self.model, self.plan, self.by_proof, self._ranges

    def __setstate__(self, state: tuple[AdditiveModel, Plan, bool, FeatureRanges | None]) -> None:
        model, plan, by_proof, ranges = state  # the engine is compiled here, not at the first prediction
        self.__init__(model, plan, by_proof, ranges=ranges)  # type: ignore[misc]

    # ---- many rows -------------------------------------------------------------------------------------------------

    def predict(
        self,
        source: Source,
        n_threads: int,
        budget: float | None,
        *,
        full: bool = False,
        stages: int | None = None,
    ) -> Decisions:
        """Decide rows; the wrapped model labels those that the engine leaves undecided.

        `full`: without early exits. `stages`: rows that none of so many stages decides get the answer of the last one,
        as with a budget. An error about a call carries the decisions so far.
        """
        if not (source.is_lazy or self.asks):
            return self._predict(source, n_threads, budget, full, stages)
        with carrying(self._undecided(source.n_rows), self.carried):
            return self._predict(source, n_threads, budget, full, stages)

    def _predict(
        self, source: Source, n_threads: int, budget: float | None, full: bool, stages: int | None
    ) -> Decisions:
        if self.model.preprocessing is None:
            refuse_unlike(self.model, source)
            own = own_of_sparse(self.model, "predict", source)
            if own is not None:
                codes = own if self.model.decision.valued else codes_of(self.model, own)
                return self._in_full(codes, Status.HANDED_OVER)
        elif source.n_rows == 0:  # transformers refuse empty input
            return NOTHING
        early = not full and stages is None
        if source.n_rows == 1 and budget is None and early and not self.model.decision.valued:
            answer = self.short.row(source.held())
            if answer is not None:
                return Decisions.of_one(*answer)
        n_stages, at_end = (0, self._at_end) if full else self._reach(budget)
        if stages is not None:
            n_stages, at_end = stages, "answer"
        if n_stages == 0:
            source = readable(self.model, source)
        in_rows = source.is_sparse and self.model.centres  # its steps do not centre sparse rows
        if self.model.decision.valued and (n_stages == 0 or in_rows):
            return self._valued(source, n_threads)
        if self._texts is not None and not self.model.decision.valued and self._texts.reads(n_stages):
            found = self._texts.decided(source, n_stages, at_end == "answer", n_threads)
            if found is not None:
                return found
        if n_stages == 0 or in_rows:
            everything = self._everything(source, n_threads)
            if everything is not None:
                return everything
        step = self.model.preprocessing
        # what is fetched stays anyway, a model is asked about many rows, and an error carries decisions about all
        whole = step is None or isinstance(step, Looks) or (source.is_lazy and isinstance(step, RawColumns))
        parts = [source] if whole or step is None else source.parts(step.rows_at_once)
        decided = Decisions.gathered(
            source.n_rows, (self._decided(part, n_stages, at_end, n_threads) for part in parts)
        )
        if self.model.decision.valued:
            with carrying(decided, self._carried_early):
                return self._with_values(source, decided, n_threads)
        if n_stages > 0 and at_end != "answer":
            self._after.undo_unsafe_exits(source, decided.ledger, n_threads)
        if not decided.ledger.complete:
            with carrying(decided, self.carried):
                self._after.settle(source, decided, n_threads)
        return decided

    @property
    def asks(self) -> bool:
        """Whether the model is asked as it is, behind surrogates: each answer of it is a call."""
        step = self.model.preprocessing
        return isinstance(step, Looks) and step.asks

    def deepest(self, budget: float | None) -> int | None:
        """Number of stages after which rows have an answer within a budget; None: they are evaluated in full."""
        n_stages, at_end = self._reach(budget)
        return n_stages if at_end == "answer" else None

    def carried(self, decided: Decisions, settled: NDArray[np.bool_] | None = None) -> PartialAnswer:
        """What an error about a call carries: the answers of rows that are settled, None: by the engine."""
        settled = decided.ledger.settled if settled is None else settled
        codes = decided.codes.copy()
        codes[~settled] = 0
        return PartialAnswer(self.labels(codes), settled, np.where(settled, decided.ledger.paid, 0.0), decided)

    def _carried_early(self, decided: Decisions) -> PartialAnswer:
        """The same for decisions of the engine, whose values are scores."""
        if self.values is not None:
            decided = Decisions(self.values.early(decided), decided.ledger)
        return self.carried(decided)

    def _undecided(self, n_rows: int) -> Decisions:
        """Decisions about rows of which none is decided, whose values have the shape of others."""
        pending = undecided(n_rows)
        if not self.model.decision.valued:
            return pending
        values = self._value.none()
        return Decisions(np.zeros((n_rows, *values.shape[1:]), values.dtype), pending.ledger)

    def _everything(self, source: Source, n_threads: int) -> Decisions | None:
        """Decide rows in full by the wrapped model; None if the engine should evaluate them."""
        if isinstance(self._late, LateModel):
            return self._late.in_full(source, n_threads)
        if self._rest is Rest.ONE_CALL:
            step = self.model.preprocessing
            assert isinstance(step, Looks)
            return self._in_full(step.codes(source, n_threads), Status.FULL)
        if source.is_sparse and type(getattr(self.model.preprocessing, "first", None)) is Above:
            return self._in_full(self._full.predict(source), Status.FULL)  # sums of ones, which SciPy adds faster
        if self.model.preprocessing is None and (
            source.n_rows <= FEW_ROWS or self._full.engine_is_faster(source.held())
        ):
            return None
        if self._at_end == "pending":
            return self._in_full(self._full.predict(source), Status.HANDED_OVER)
        if self.by_proof and self._rest is Rest.ENGINE_OR_ONE_CALL:
            return self._in_full(self._full.predict(source), Status.FULL)
        found = self._full.by_products(source, n_threads)
        return None if found is None else self._in_full(*found)

    def _in_full(self, codes: NDArray[Any], status: NDArray[np.uint8] | Status) -> Decisions:
        """The decisions about rows that the wrapped model has evaluated."""
        paid, stages = np.full(len(codes), self.plan.full_cost), np.full(len(codes), self.plan.n_stages, dtype=np.int32)
        status = np.full(len(codes), status, dtype=np.uint8)
        return Decisions(codes, Ledger(stages, paid, status))

    def _valued(self, source: Source, n_threads: int) -> Decisions:
        """Values of rows by full evaluation."""
        source = readable(self.model, source)
        scores = None if self._texts is None else self._texts.full_scores(source, n_threads)
        if scores is None:
            scores = self.scores(source, n_threads)
        return self._in_full(*self._value.in_full(source, scores))

    def _with_values(self, source: Source, decided: Decisions, n_threads: int) -> Decisions:
        """Values in place of the scores of early rows; rows that the engine refuses are evaluated in full."""
        self._after.charge_overflows(decided.ledger)
        values, left = self._value.early(decided), np.flatnonzero(~decided.ledger.settled)
        if len(left):
            full = self._valued(source.take(left), n_threads)
            values[left], decided.ledger.status[left] = full.codes, full.ledger.status
        return Decisions(values, decided.ledger)

    def labels(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Labels of codes; values are answers themselves."""
        if self.model.decision.valued:
            return codes if len(codes) else self._value.none()
        classes = self.model.classes
        return codes.astype(classes.dtype) if self._codes_are_labels else classes.take(codes)

    def _reach(self, budget: float | None) -> tuple[int, AtEnd]:
        """Number of stages within the budget, and the treatment of rows that none of them decides."""
        if budget is not None:
            deepest = self.plan.affordable(budget)
            if self.plan.usual_cost is not None and budget < math.inf:  # some rows cost more than the budget in full
                deepest = min(deepest, self.plan.n_stages - 1)
            if deepest < self.plan.n_stages:
                return deepest + 1, "answer"
        elif self.plan.evaluate_all:
            return 0, self._at_end
        return self.plan.n_stages, self._at_end

    def _decided(self, source: Source, n_stages: int, at_end: AtEnd, n_threads: int) -> Decisions:
        """Decide raw rows by the engine; branches of the preprocessing run late where they can."""

        def whole(rows: Source) -> Decisions:
            Z = rows if self.model.preprocessing is None else preprocessed(self.model, rows, n_threads)
            return self._cascade.predict(Z, n_stages, at_end, n_threads)

        if isinstance(source, LazyRows) and BoughtTerms.of(self.model.terms) is None:
            bought, step = None, self.model.preprocessing
            if n_stages > 0 and (step is None or isinstance(step, RawColumns)):
                bought = BoughtColumns.of_groups(source, self._cascade, self._terms_by_stage(), step)
            if bought is not None:
                return bought.predict_bought(source, n_stages, at_end, n_threads, self._carried_early)
            source = readable(self.model, source)
        if self._late is None or n_stages == 0:
            return whole(source)
        return self._late.predict(source, n_stages, at_end, n_threads, whole)

    def scores(self, source: Source, n_threads: int) -> NDArray[np.float64]:
        """Full scores of rows; NaN for rows that the engine refuses."""
        read, rows = self._cascade.columns_read(None), [source]
        step = self.model.preprocessing
        if step is not None:
            rows = [preprocessed(self.model, part, n_threads) for part in source.parts(step.rows_at_once)]
        parts = [self._packed.scores(Z, lambda dtype: 0.0, n_threads, needed=read)[0] for Z in rows]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def numbers(self, method: str, source: Source, n_threads: int) -> NDArray[Any] | None:
        """What a method of the wrapped model returns for texts; None if the engine does not know its bits."""
        return None if self._texts is None else self._texts.numbers(method, source, n_threads)

    def full_scores(self, rows: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Full scores of preprocessed rows, and bounds of their distance to the wrapped model's own."""
        return self._packed.scores(rows, self.model.working_precision, 1)

    def by_engine(self, rows: Any) -> tuple[Codes, NDArray[np.bool_]]:
        """Codes of preprocessed rows by full evaluation in the engine alone, and whether it settles each of them.

        Of several scores that are answers, the first one.
        """
        codes, ledger = self._cascade.predict(rows, 0, "full", 1)
        return codes if codes.ndim == 1 else codes[:, 0], ledger.settled

    def in_full(self, rows: Any) -> tuple[Codes, NDArray[np.bool_], NDArray[np.float64], NDArray[np.float64]]:
        """What `by_engine` and `full_scores` give, from one evaluation by the engine in Python."""
        scores, errors = self.full_scores(rows)
        if isinstance(self._packed, PythonTerms):
            return *self.model.decision.settled(scores, errors + self.model.tie_margin), scores, errors
        return *self.by_engine(rows), scores, errors

    # ---- some stages -----------------------------------------------------------------------------------------------

    def columns_by_stage(self) -> list[NDArray[np.intp]] | None:
        """Columns that the first 1, 2, ... stages read, and last those of all terms; None if rows are read whole.

        Exits that rely on ranges of the features take whole rows, since the unread columns must lie inside, too.
        """
        if self._ranges is not None:
            return None
        if self.model.preprocessing is not None:
            return None if self._late is None else self._late.columns_by_stage()
        return self._terms_by_stage()

    def _terms_by_stage(self) -> list[NDArray[np.intp]] | None:
        n_stages = 0 if self.plan.evaluate_all else self.plan.n_stages
        return columns_by_stage(self._cascade, n_stages, self.model.terms.n_features)

    def first_stages(self, source: Source, n_stages: int, n_threads: int) -> Decisions:
        """Decide rows by the first stages; the status of a row that they do not decide is `PENDING` or `NOT_FINITE`."""
        if self._ranges is not None:
            raise ValueError("The exits of this plan rely on the ranges of all columns: its rows are read whole.")
        if self._late is None:
            return self._cascade.predict(source, n_stages, "pending", n_threads)
        if source.n_rows == 0:
            return NOTHING

        def undecided(rows: Source) -> Decisions:
            return self._in_full(np.zeros(rows.n_rows, dtype=np.int32), Status.PENDING)

        return self._late.predict(source, n_stages, "pending", n_threads, undecided)

    def require_rows_alone(self, source: Source, preprocessed: Source) -> None:
        """Raise ValueError if a branch that runs late gives rows other values when it gets fewer of them."""
        if self._late is not None:
            self._late.require_rows_alone(source, preprocessed.array())

    # ---- one row ---------------------------------------------------------------------------------------------------

    def predict_one(
        self, x: NDArray[Any], budget: float | None, *, full: bool = False, source: Source | None = None
    ) -> tuple[int, int, float, int]:
        """Code, stage, cost and status of one row; with `full`, without early exits.

        `source` has the row with the names of its columns, for the wrapped model.
        """
        n_stages, at_end = (0, self._at_end) if full else self._reach(budget)
        if self.model.preprocessing is not None or (self.model.decision.valued and x.dtype in self._precision):
            if not isinstance(x, np.ndarray):  # x[None] would add a key to a defaultdict
                raise TypeError(f"x must be a row of an array here. Got {type(x).__name__}.")
            return self.predict(source or ArraySource(x[None]), 1, budget, full=full).first
        working = self._precision.get(x.dtype)
        if working is None:
            raise TypeError(f"x must be a float32, float64 or uint8 array. Got {x.dtype}.")
        answer = self._cascade.predict_one(x, n_stages, at_end, working)
        if answer[3] < Status.HANDED_OVER and self._ranges is None:
            return answer
        decided, source = Decisions.of_one(*answer), source or ArraySource(x[None])
        if n_stages > 0 and at_end != "answer":
            self._after.undo_unsafe_exits(source, decided.ledger, 1)
        if not decided.ledger.settled[0]:
            self._after.settle(source, decided, 1)
        return decided.first

    # ---- tracing ---------------------------------------------------------------------------------------------------

    def trace(self, source: Source, n_threads: int) -> tuple[NDArray[np.float64], Decisions]:
        """Estimates at every stage and full scores (n, T + 1), and the engine's decisions about the rows.

        They are NaN where a row needs a value that raw columns leave to the wrapped model.
        """
        Z = source_of(preprocessed(self.model, source).array(self.model.terms.accepts.conversion))
        check_read(self.model, Z)
        early = compared(self.model, self._packed, self.plan.early, Z, n_threads)[0].margins
        full, _ = self._packed.scores(Z, lambda dtype: 0.0, n_threads)
        last = self.model.decision.judged(full)[1]
        decided = self._cascade.predict(Z, *self._reach(None), n_threads)
        self._after.undo_unsafe_exits(Z, decided.ledger, n_threads)
        self._after.require_answered(source, decided.ledger)
        self._after.charge_overflows(decided.ledger)
        scores = np.column_stack([early.astype(np.float64), last])
        return (with_nan(scores) if leaves_to_the_model(self.model) else scores), decided
