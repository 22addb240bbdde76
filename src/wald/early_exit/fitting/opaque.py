"""Opaque models in `fit`: their surrogates, learnt where none are given, and what these cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...calls import logged_answers
from ...models import AdditiveModel, decompose
from ...models.asked import AskedFunction
from ...models.asking import answers_labels, asked_model, title_of
from ...models.opaque import OpaqueTerms, opaque_model
from ...sources import Source
from ...stopping.core.risks import largest
from ...surrogates import learn_held_out, learns_probabilities, surrogates_of
from ..compiled.parameters import Parameters
from .asked_rows import AskedRows, Asking
from .data_split import Split
from .late_answers import LateAnswers
from .late_certificate import LateCertificate
from .surrogate_costs import TIMED_ROWS, costing, timed_again
from .taught import Taught, gives_probabilities, taught
from .truth import known_or, true_codes

Indices = NDArray[np.intp]
#: So many labels of a function may differ, even if most rows have one of their own.
FEW_LABELS = 50


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
    chosen = AskedRows.drawn(answers, rows, groups, learnt, asking, rng)
    teach, split = chosen.teach, chosen.split
    lesson = _asked(
        answers, chosen, learnt and y is None and gives_probabilities(model) and learns_probabilities(source)
    )
    answers.sort_classes()
    if y is None:
        _require_same_again(answers, chosen, 0 if lesson is None else lesson.n_compared)
    if len(answers.classes) < 2:
        raise ValueError(
            f"{title_of(model)} gave one label, {answers.classes.tolist()[0]!r}, for all {len(chosen.first)} rows that "
            "it was asked about."
        )
    most = max(FEW_LABELS, len(chosen.first) // 2)
    if len(answers.classes) > most and not hasattr(model, "classes_"):
        raise ValueError(
            f"{title_of(model)} gave {len(answers.classes)} different labels for {len(chosen.first)} rows, such as "
            f"{answers.classes.tolist()[0]!r}: these are values rather than classes."
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
        seconds = timed_again(model, timed, seconds)
    surrogates = [costing(each, timed, seconds, n_threads) for each in surrogates]
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
    return BehindSurrogates(read, rest, said_of_all, places, answers, chosen.lazily, known)


def _asked(answers: LateAnswers, chosen: AskedRows, probabilities: bool) -> Taught | None:
    """Ask about the rows that come first; those that teach for probabilities, of which the lesson is made."""
    if not probabilities:
        answers.ask(chosen.first)
        return None
    answers.ask(np.setdiff1d(chosen.first, answers.unknown(chosen.teach)))
    return taught(answers, chosen.teach, chosen.again)


def _require_same_again(answers: LateAnswers, chosen: AskedRows, n_compared: int) -> None:
    """Ask about some rows twice, less those that were compared; raises ValueError if too many answers differ."""
    answered = np.sort(chosen.first[answers.known[chosen.first]])
    n = min(len(answered), chosen.again - n_compared)
    answers.require_same_again(answered[np.unique(np.linspace(0, len(answered) - 1, n).astype(np.intp))])


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
