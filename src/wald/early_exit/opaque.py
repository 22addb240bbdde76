"""Opaque models in `fit`: their surrogates, learnt where none are given, and what these cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..calls import logged_answers
from ..models import AdditiveModel, decompose
from ..models.asked import AskedFunction
from ..models.asking import answers_labels, asked_model, title_of
from ..models.opaque import OpaqueTerms, opaque_model
from ..sources import Source
from ..stopping.core.risks import largest
from ..surrogates import Surrogate, learn_held_out, learns_probabilities, surrogates_of
from ..utils.figures import thousands
from .call_budget import ASKED_AGAIN, CallsNeeded, Division, require_calls
from .data_split import ORDER_SHARE, Split, by_group, split_rows
from .late_answers import LateAnswers
from .late_certificate import LateCertificate
from .parameters import Parameters
from .planner import Planner, planner_of
from .taught import Taught, gives_probabilities, taught
from .truth import known_or, true_codes

Indices = NDArray[np.intp]

#: Share of the rows of `fit` from which surrogates are learnt, and the largest number.
LEARN_SHARE, MOST_LEARNT = 0.35, 20_000
#: Rows on which surrogates and model are timed, and how often the surrogates are.
TIMED_ROWS, ROUNDS = 1000, 3
#: Estimators that take fewer seconds a row are timed as often.
QUICK = 5e-6
#: Costs are rounded to powers of this number, so that a plan changes seldom with measured times.
ROUNDED_TO = 2**0.25


@dataclass(frozen=True, eq=False)
class BehindSurrogates:
    """A model behind surrogates, and what both said of the rows that plan and certify.

    Parameters
    ----------
    model : AdditiveModel
    rows : ndarray of int
        The rows that learn, plan and certify, as `fit` was given them. Of those that learn, surrogates that have not
        seen them say the numbers, and they only plan.
    said : float64 ndarray of shape (n_rows, n_terms)
        The answer of a row that is not known yet is that of the first class.
    split : Split
        Places among these rows.
    answers : LateAnswers
    lazily : bool
        Whether rows of the certificate are asked about only if they would leave early.
    truth : int32 ndarray of shape (n_rows,) or None
        Codes of true labels.
    """

    model: AdditiveModel
    rows: Indices
    said: NDArray[np.float64]
    split: Split
    answers: LateAnswers
    lazily: bool
    truth: NDArray[np.int32] | None = None

    def drawn(self) -> Split:
        """The split of the rows."""
        return self.split

    @property
    def certificate(self) -> LateCertificate:
        """What certifies a plan."""
        return LateCertificate(self.answers, self.rows, self.lazily)


@dataclass(frozen=True, eq=False)
class Asking:
    """How `fit` may ask a model.

    Parameters
    ----------
    answers : array-like, dict, PartialAnswer or None
        The log of `fit`.
    max_calls : int or None
    whole : bool
        Whether all rows of the certificate must be asked about: where the promise has strata, to which rows belong by
        their answers, or losses that others make up for.
    planner : Planner
    """

    answers: Any
    max_calls: int | None
    whole: bool
    planner: Planner

    @classmethod
    def of(cls, given: Parameters, answers: Any, max_calls: int | None) -> Asking:
        """Read what `fit` was given; raises ValueError for a number of calls that is none, and for several splits."""
        require_calls(max_calls)
        if max_calls is not None and planner_of(given).n_splits not in (1, "auto"):
            raise ValueError("max_calls takes one split of the rows: leave n_splits of the planner out.")
        risk = given.promised_risk
        strata = isinstance(risk, Mapping) and set(risk) != {"all"}
        whole = strata or getattr(given, "reference", "model") != "model"
        return cls(answers, max_calls, whole, planner_of(given))

    def require_unused(self, why: str) -> None:
        """Raise ValueError if something is given for a model of which `fit` asks no rows one by one, and say why."""
        for name, value in (("max_calls", self.max_calls), ("answers", self.answers)):
            if value is not None:
                raise ValueError(
                    f"{name} is for models that are asked as they are, behind surrogates, and {why}: leave it out."
                )

    def require_fitted(self, fitted: bool) -> None:
        """Raise ValueError if there is a log, of a model that is trained only now."""
        if self.answers is not None and not fitted:
            raise ValueError(
                "answers are those of a model, and fit trains another one on half of the rows: leave them out, or y."
            )

    @property
    def one_split(self) -> bool:
        """Whether the rows are split once, so that rows of the certificate can be asked late."""
        return self.planner.n_splits in (1, "auto")

    @property
    def certificate_share(self) -> float:
        """Share of the rows from which no surrogate is learnt."""
        fraction = self.planner.certificate_fraction
        return OpaqueTerms.planning.certificate_share if isinstance(fraction, str) else float(fraction)


def calls_needed(n_rows: int, given: Parameters) -> CallsNeeded:
    """Numbers of rows about which `fit` asks, for so many without groups, of which none trained the model.

    Parameters
    ----------
    n_rows : int
    given : Parameters
        Of an estimator around a model that is asked as it is.
    """
    asking = Asking.of(given, None, None)
    learnt = getattr(given, "surrogates", None) in (None, "auto")
    rows, rng = np.arange(n_rows), np.random.default_rng(0)
    teach, rest = _split(rows, None, rng) if learnt else (rows[:0], rows)
    split = split_rows(rest, None, asking.certificate_share, rng)
    n_plan = len(split.order) + len(split.validation)
    late = asking.one_split and not asking.whole
    least = len(teach) + n_plan + (0 if late else len(split.certificate))
    about_truth = getattr(given, "reference", "model") == "labels"  # nothing is asked twice
    twice, fewest = 0 if about_truth else min(least, ASKED_AGAIN), Division.of(1, len(teach), n_plan)
    return CallsNeeded(fewest.learn + fewest.plan + fewest.again, least + twice, n_rows + twice)


def behind_surrogates(
    model: Any,
    given: Any,
    source: Source,
    rows: Indices,
    groups: ArrayLike | None,
    rng: np.random.Generator,
    n_threads: int,
    asking: Asking,
    y: NDArray[Any] | None = None,
) -> BehindSurrogates:
    """Put a model behind surrogates, and ask it about the rows that learn and plan.

    Parameters
    ----------
    model : estimator
        A fitted classifier of any kind.
    given : None, "auto" or sequence
        Surrogates; "auto" and None: they are learnt from the model's answers to some of the rows.
    source : Source
        The rows of `fit`.
    rows : ndarray of int
        Those that the model was not trained on.
    groups : array-like or None
        Group of each row of the source.
    rng : numpy.random.Generator
    n_threads : int
    asking : Asking
    y : ndarray or None, default=None
        True label of each row of the source, where these are promised: surrogates are then learnt from them, and the
        model need not answer the same when it is asked again.
    """
    if y is not None and asking.max_calls is not None and not hasattr(model, "classes_"):
        raise ValueError(
            "max_calls with reference='labels' needs a model that says its classes, as true labels are compared with "
            "them: give an object with predict and classes_, or leave max_calls out."
        )
    answers = LateAnswers(model, source, logged_answers(asking.answers, source.n_rows), asking.max_calls)
    learnt = given is None or (isinstance(given, str) and given == "auto")
    teach, rest = _split(rows, groups, rng) if learnt else (rows[:0], rows)
    split = split_rows(rest, groups, asking.certificate_share, rng)
    n_plan = len(split.order) + len(split.validation)
    division = Division.of(asking.max_calls, len(teach), n_plan)
    teach, n_order = _within(answers, teach, division.learn, rng), round(ORDER_SHARE * division.plan)
    if asking.max_calls is not None:
        order, validation = (
            _first(answers, split.order, n_order),
            _first(answers, split.validation, division.plan - n_order),
        )
        split = Split(order, validation, split.certificate)
    _require_enough(answers, teach, split, division)
    lazily = asking.one_split and not asking.whole
    late = lazily or asking.max_calls is not None
    first = np.concatenate([teach, split.order, split.validation, split.certificate[:0] if late else split.certificate])
    if len(first) == 0:
        raise ValueError(
            f"fit has n_samples={len(rows)}, too few to learn surrogates and to plan: give more rows; "
            "wald.stopping.rows_needed says how many a promise takes."
        )
    lesson = None
    if learnt and y is None and gives_probabilities(model) and learns_probabilities(source):
        answers.ask(np.setdiff1d(first, answers.unknown(teach)))
        lesson = taught(answers, teach, division.again)
    else:
        answers.ask(first)
    answers.sort_classes()
    if y is None:
        n_again = division.again - (0 if lesson is None else lesson.n_compared)
        answered = np.sort(first[answers.known[first]])
        again = np.unique(np.linspace(0, len(answered) - 1, min(len(answered), n_again)).astype(np.intp))
        answers.require_same_again(answered[again])
    if len(answers.classes) < 2:
        raise ValueError(
            f"{title_of(model)} gave one label, {answers.classes.tolist()[0]!r}, for all {len(first)} rows that it was "
            "asked about."
        )
    truth = None if y is None else true_codes(y, answers.classes)
    held: list[NDArray[np.float64]] = []
    if learnt:
        if lesson is None:
            own = answers.ask(teach)
            lesson = Taught(own if truth is None else known_or(truth[teach], own), None, 0)
        some, alike = source.take(teach), None if groups is None else np.asarray(groups)[teach]
        surrogates, held = learn_held_out(some, lesson.codes, rng, n_threads, lesson.probabilities, alike)
    else:
        surrogates = surrogates_of(given)
    others = np.sort(np.concatenate([split.order, split.validation, split.certificate]))
    few = source.take(others)
    said = [each.numbers(few, n_threads) for each in surrogates]
    timed = few.take(slice(TIMED_ROWS))
    seconds = answers.seconds_of_row
    if asking.max_calls is None:
        seconds = _timed_again(model, timed, seconds)
    surrogates = [_costing(each, timed, seconds, n_threads) for each in surrogates]
    if learnt:
        order = np.argsort([each.cost or 0.0 for each in surrogates], kind="stable").tolist()
        surrogates, said = [surrogates[i] for i in order], [said[i] for i in order]
        held = [held[i] for i in order] if held else held
    if not hasattr(model, "classes_"):
        model = AskedFunction(model.function, answers.classes)
    widths = [numbers.shape[1] for numbers in said]
    read = opaque_model(model, surrogates, widths, source.n_columns, complete=_is_complete(few))
    terms = OpaqueTerms.of(read.terms)
    assert terms is not None
    codes, rest = answers.codes.copy(), others  # 0 of rows that are not known
    if held and lesson is not None and asking.one_split:  # of several splits, each may certify any of the rows
        codes[teach] = np.where(answers.known[teach], codes[teach], lesson.codes)
        split = Split(teach, np.concatenate([split.order, split.validation]), split.certificate)
        rest = np.sort(np.concatenate([others, teach]))
        said = [_merged(rest, (others, numbers), (teach, of)) for numbers, of in zip(said, held, strict=True)]
    places = Split(*(np.searchsorted(rest, part) for part in (split.order, split.validation, split.certificate)))
    said_of_all = np.column_stack([*said, terms.answered(codes[rest])])
    known = None if truth is None else truth[rest]
    return BehindSurrogates(read, rest, said_of_all, places, answers, lazily, known)


def _merged(rows: Indices, *parts: tuple[Indices, NDArray[np.float64]]) -> NDArray[np.float64]:
    """What is said of ascending rows, from what is said of parts of them."""
    every = np.empty((len(rows), parts[0][1].shape[1]))
    for some, numbers in parts:
        every[np.searchsorted(rows, some)] = numbers
    return every


def _is_complete(source: Source) -> bool:
    """Whether rows are numbers, and all of them finite."""
    if source.is_sparse or source.is_lazy:
        return False
    try:
        rows = source.array()
        return rows.ndim == 2 and bool(np.isfinite(rows).all())
    except (TypeError, ValueError):
        return False


def _require_enough(answers: LateAnswers, teach: Indices, split: Split, division: Division) -> None:
    """Raise ValueError if so few calls neither learn surrogates nor make a plan."""
    if answers.max_calls is None:
        return
    learn, plan = (len(answers.unknown(rows)) for rows in (teach, np.concatenate([split.order, split.validation])))
    least = learn + plan + division.again
    if least > answers.max_calls:
        taught = f"{thousands(learn)} from which surrogates are learnt, " if learn else ""
        raise ValueError(
            f"max_calls={answers.max_calls} are too few: fit asks about at least {thousands(least)} rows, {taught}"
            f"{thousands(plan)} that plan, and {division.again} twice. Allow more calls, or give answers= that are "
            "paid for."
        )


def _within(answers: LateAnswers, rows: Indices, most: int, rng: np.random.Generator) -> Indices:
    """So many rows at least, those that are known first; all if they are not more."""
    unknown = answers.unknown(rows)
    n_asked = max(0, most - (len(rows) - len(unknown)))
    if len(unknown) <= n_asked:
        return rows
    return np.sort(np.concatenate([rows[answers.known[rows]], rng.permutation(unknown)[:n_asked]]))


def _first(answers: LateAnswers, rows: Indices, most: int) -> Indices:
    """The first of shuffled rows, of which no more than so many are unknown."""
    return rows[: np.searchsorted(np.cumsum(~answers.known[rows]), most, side="right")]


def is_opaque(model: Any, given: Parameters) -> bool:
    """Whether a fitted model is asked as it is: surrogates are given, or it is a classifier that wald cannot read.

    Raises
    ------
    ValueError
        If surrogates are given for what needs the parts of a model: bands, prices of features, or a proof.
    """
    if getattr(given, "surrogates", None) is not None:
        asked_model(model)  # raises for what gives no labels
        instead = f", and {type(model).__name__} with surrogates is asked as it is: leave surrogates out."
    else:
        unread = _why_unread(model) if answers_labels(model) else None
        if unread is None or largest(given.promised_risk) == 0:  # who reads it refuses it by name
            return False
        instead = f": {unread}"
    for name in ("bands", "tolerance", "feature_costs", "feature_groups"):
        if getattr(given, name) is not None:
            raise ValueError(f"{name} needs a model that wald reads{instead}")
    if largest(given.promised_risk) == 0:
        raise ValueError(
            f"risk=0 needs a proof, and {title_of(model)} has no parts to make one of. Give a risk above 0: "
            "wald then asks it for the rows of which surrogates are not sure."
        )
    return True


def _why_unread(model: Any) -> str | None:
    """Why wald does not read a model as a sum of terms; None if it does, also if this one contradicts itself."""
    try:
        decompose(model)
    except TypeError as error:
        return str(error)
    except ValueError:
        return None
    return None


def _split(rows: Indices, groups: ArrayLike | None, rng: np.random.Generator) -> tuple[Indices, Indices]:
    """Rows to learn from, and the others; groups stay together."""
    share = min(LEARN_SHARE, MOST_LEARNT / max(1, len(rows)))
    if groups is not None:
        return by_group(rows, groups, share, rng)
    shuffled, n = rng.permutation(rows), round(share * len(rows))
    return np.sort(shuffled[:n]), np.sort(shuffled[n:])


def _costing(surrogate: Surrogate, rows: Source, per_row: float, n_threads: int) -> Surrogate:
    """The surrogate with a cost, as a multiple of the model's, which takes so many seconds for a row."""
    if surrogate.cost is not None or rows.n_rows == 0:
        return surrogate.costing(surrogate.cost or 1.0)
    times = []
    for _ in range(ROUNDS):
        start = perf_counter()
        surrogate.numbers(rows, n_threads)
        times.append(perf_counter() - start)
    ratio = min(times) / rows.n_rows / max(per_row, 1e-12)
    return surrogate.costing(float(ROUNDED_TO ** round(np.log(max(ratio, 1e-9)) / np.log(ROUNDED_TO))))


def _timed_again(model: Any, rows: Source, per_row: float) -> float:
    """Seconds that a model takes for a row; a quick one is asked again, since a busy machine may have stopped it."""
    if isinstance(model, AskedFunction) or rows.n_rows == 0 or per_row > QUICK:
        return per_row
    for _ in range(ROUNDS):
        start = perf_counter()
        model.predict(rows.rows)
        per_row = min(per_row, (perf_counter() - start) / rows.n_rows)
    return per_row
