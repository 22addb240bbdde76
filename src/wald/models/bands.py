"""Bands of a model's number as bands of its score: the number is a monotone function of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..outputs import Bands, Labels
from .banded import Banded
from .links import NO_LINKS, Links, Method
from .model import AdditiveModel
from .plain import terms_for
from .reading import Reading
from .thresholds import Response, Rule, decision_from
from .units import Floats
from .value_forms import called, form_of, rises
from .watch import Watch

#: Roundings of a function of the score, of which it may fall where the score rises.
ROUNDINGS = 8


def with_bands(readings: Sequence[Reading]) -> Reading:
    """Put the readings of one model with a threshold each together."""
    decisions = [_sign(reading.decision) for reading in readings]
    decision, tie_margin = together(decisions, [reading.tie_margin for reading in readings])
    deepest = max(readings, key=lambda reading: getattr(reading.terms, "depth", 0))
    return replace(deepest, decision=decision, tie_margin=tie_margin)


def together(decisions: Sequence[Labels], tie_margins: Sequence[float]) -> tuple[Bands | Labels, float]:
    """One decision by several thresholds of a score, and the distance within which the model itself must decide."""
    cuts = [decision.threshold for decision in decisions]
    rising = np.maximum.accumulate(cuts).tolist()
    moved = max((up - cut for cut, up in zip(cuts, rising, strict=True) if up > cut), default=0.0)
    tie_margin = max(tie_margins) + moved
    if len(cuts) == 1:  # two answers: rows leave on two sides
        return decisions[0], tie_margin
    return Bands(rising, [decision.tie_positive for decision in decisions]), tie_margin


def banded(asked: Banded, inner: AdditiveModel) -> AdditiveModel:
    """The model of a regressor or an outlier detector, with bands of its values or scores.

    Parameters
    ----------
    asked : Banded
    inner : AdditiveModel
        Of its ``estimator``.

    Raises
    ------
    ValueError
        If the model has several values, or they are no known function of the score.
    """
    name = type(inner.leaf).__name__
    if inner.terms.n_outputs != 1:
        raise ValueError(
            f"bands are of one value, and this {name} has {inner.terms.n_outputs}: leave bands out, or wrap a model of "
            "one of them."
        )
    number = inner.links.predict if asked.method == "predict" else inner.links.decision_function
    parts = [_moved(asked, inner, number, level) for level in asked.bands]
    decision, tie_margin = together([decision for decision, _ in parts], [margin for _, margin in parts])
    links = NO_LINKS if inner.decision.valued else Links(number, score_samples=inner.links.score_samples)
    return replace(
        inner,
        estimator=asked,
        terms=terms_for(decision, inner.terms),
        decision=decision,
        classes=asked.classes_,
        tie_margin=tie_margin,
        ruled=True,
        links=links,
        watch=Watch([(asked, "estimator"), (asked, "bands")], inside=(inner.watch,)),
    )


def _moved(asked: Banded, inner: AdditiveModel, number: Method | None, level: float) -> tuple[Labels, float]:
    """A threshold of the number as one of the score."""
    form = None if number is None else form_of(number)
    if number is None or form is None or form.exact:
        single = form is not None and form.dtype == np.float32
        return Labels("sign", 2, _least(level) if single else level, tie_positive=True), 0.0
    if not rises(inner):
        raise ValueError(
            f"bands of this {type(asked.estimator).__name__} are not supported: {called(inner)} is none of those that "
            "are known to rise with the score. Wrap the regressor inside, and move the thresholds to its values."
        )
    if form.dtype == np.float32:  # NumPy compares float32 with a number of Python in float32
        level = float(np.float32(level))
    response = Response(_numbers(number), relative_error=ROUNDINGS * float(np.finfo(form.dtype).eps))
    return decision_from(response, _reaches(level, abs(level) + abs(form.at_zero)))


def _least(level: float) -> float:
    """The least float64 that rounds to a float32 of at least the level, which is rounded to float32 itself."""
    cut = np.float32(level)
    below = np.nextafter(cut, np.float32(-np.inf))
    middle = (float(cut) + float(below)) / 2  # it rounds to the even one of the two
    return middle if np.float32(middle) == cut else float(np.nextafter(middle, math.inf))


def _numbers(number: Method) -> Callable[[Floats], Floats]:
    def numbers(scores: Floats) -> Floats:
        with np.errstate(all="ignore"):
            return np.asarray(number(scores.reshape(-1, 1)), dtype=np.float64)

    return numbers


def _reaches(level: float, size: float) -> Rule:
    """Whether a number reaches a level, with margins relative to a size."""
    return lambda numbers, margin: np.asarray(numbers >= level + margin * size)


def _sign(decision: Any) -> Labels:
    assert isinstance(decision, Labels)
    return decision
