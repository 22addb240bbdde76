"""Opaque models in `fit`: their surrogates, learnt where none are given, and what these cost."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..models import AdditiveModel, decompose
from ..models.asked import AskedFunction
from ..models.asking import (
    answered_codes,
    answered_labels,
    answers_labels,
    asked_model,
    seconds_of_calls,
    title_of,
)
from ..models.opaque import OpaqueTerms, opaque_model
from ..sources import Source
from ..stopping.core.risks import largest
from ..surrogates import Surrogate, learn, surrogates_of
from .data_split import by_group
from .parameters import Parameters

Indices = NDArray[np.intp]

#: Share of the rows of `fit` from which surrogates are learnt, and the largest number.
LEARN_SHARE, MOST_LEARNT = 0.35, 20_000
#: Rows on which surrogates and model are timed, and how often the surrogates are.
TIMED_ROWS, ROUNDS = 1000, 3
#: Rows about which the model is asked twice.
ASKED_AGAIN = 64
#: Costs are rounded to powers of this number, so that a plan changes seldom with measured times.
ROUNDED_TO = 2**0.25


@dataclass(frozen=True, eq=False)
class BehindSurrogates:
    """A model behind surrogates, and what both said of the rows that plan and certify.

    Parameters
    ----------
    model : AdditiveModel
    rows : ndarray of int
        The rows from which no surrogate was learnt.
    said : float64 ndarray of shape (n_rows, n_terms)
    """

    model: AdditiveModel
    rows: Indices
    said: NDArray[np.float64]


def behind_surrogates(
    model: Any,
    given: Any,
    source: Source,
    rows: Indices,
    groups: ArrayLike | None,
    rng: np.random.Generator,
    n_threads: int,
) -> BehindSurrogates:
    """Ask a model about all rows, once, and put it behind surrogates.

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
    """
    start = perf_counter()
    labels = answered_labels(model, source.take(rows))
    per_row = seconds_of_calls(model) or (perf_counter() - start) / max(1, len(rows))
    if not hasattr(model, "classes_"):
        model = AskedFunction(model.function, np.unique(labels))
    codes = answered_codes(model, labels)
    if len(model.classes_) < 2:
        raise ValueError(f"{title_of(model)} gave one label, {model.classes_.tolist()[0]!r}, for all {len(rows)} rows.")
    again = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), ASKED_AGAIN)).astype(np.intp))
    _require_same_again(model, source.take(rows[again]), codes[again])
    learnt = given is None or (isinstance(given, str) and given == "auto")
    if learnt:
        chosen, rest = _split(np.arange(len(rows)), None if groups is None else np.asarray(groups)[rows], rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of learners that stop early
            surrogates = learn(source.take(rows[chosen]), codes[chosen], rng, n_threads)
    else:
        surrogates, rest = surrogates_of(given), np.arange(len(rows))
    few = source.take(rows[rest])
    said = [each.numbers(few, n_threads) for each in surrogates]
    timed = few.take(slice(TIMED_ROWS))
    surrogates = [_costing(each, timed, per_row, n_threads) for each in surrogates]
    if learnt:
        order = np.argsort([each.cost or 0.0 for each in surrogates], kind="stable").tolist()
        surrogates, said = [surrogates[i] for i in order], [said[i] for i in order]
    read = opaque_model(model, surrogates, [numbers.shape[1] for numbers in said], source.n_columns)
    terms = OpaqueTerms.of(read.terms)
    assert terms is not None
    return BehindSurrogates(read, rows[rest], np.column_stack([*said, terms.answered(codes[rest])]))


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


def _require_same_again(model: Any, rows: Source, codes: NDArray[np.int32]) -> None:
    """Raise ValueError if the model answers some rows otherwise when it is asked again."""
    other = np.flatnonzero(answered_codes(model, answered_labels(model, rows)) != codes)
    if len(other):
        raise ValueError(
            f"{title_of(model)} answered {len(other)} of {rows.n_rows} rows otherwise when it was asked again "
            f"(row {other[0]} of them first), so that a promise about its answers means little. Make it repeat itself, "
            "for example with a fixed random state, or with a cache."
        )
