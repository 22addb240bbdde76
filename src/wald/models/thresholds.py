"""Conversion of a rule on probabilities to a threshold on the score.

A calibrated or thresholded binary classifier decides by ``p(score) >= level``, where p is non-decreasing. That is a
threshold on the score. To be exact for every float, the threshold is found by bisection on the function that
scikit-learn itself evaluates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from ..outputs import Labels
from .units import Floats

# Takes probabilities and a margin; returns whether the label is class 1 even for probabilities lower by the margin, or,
# where the margin is negative, whether it is class 1 for some that are higher by as much.
Rule = Callable[[Floats, float], NDArray[np.bool_]]

#: Changes no level, but tells by its sign what a rule is asked.
LEAST = 5e-324
#: Between the score from which a probability is 1 and the one from which it certainly is, whatever the rounding.
RESERVE = 1.1


@dataclass(frozen=True)
class Response:
    """The probability of class 1 as a function of the score, as scikit-learn computes it.

    Parameters
    ----------
    probability : callable
        Takes float64 scores of shape (n,) and returns float64 probabilities of shape (n,).
    knots : ndarray of shape (n_knots,), optional
        Scores between which the computed probability is non-decreasing, in the dtype of the computation.
    relative_error : float, default=0.0
        Relative rounding error by which the computed probability may decrease between knots.
    saturation : float, default=inf
        Score from which on the computed probability is exactly 1, whatever the `relative_error`.
    input_error : callable, optional
        Rounding error of the function at a score, as an equivalent shift of the score.
    other : callable, optional
        The probability of class 0, where it is computed on its own, with the same relative error. None: 1 minus that of
        class 1.
    single : bool, default=False
        Whether the probability is float32, for sure.
    """

    probability: Callable[[Floats], Floats]
    knots: NDArray[np.floating] = field(default_factory=lambda: np.empty(0))
    relative_error: float = 0.0
    saturation: float = np.inf
    input_error: Callable[[float], float] = lambda score: 0.0
    other: Callable[[Floats], Floats] | None = None
    single: bool = False

    @property
    def of_the_other(self) -> Response:
        """The probability of class 0 in place of that of class 1; it falls where the score rises."""
        assert self.other is not None
        return replace(self, probability=self.other, saturation=np.inf, other=None)


def computed(probabilities: Callable[[Floats], NDArray[np.floating]]) -> Response:
    """Response of a library that computes it from the scores that it is given here.

    Parameters
    ----------
    probabilities : callable
        Takes scores of shape (n,) and returns probabilities of both classes, of shape (n, 2), in the dtype of the
        computation; each within 8 of its roundings.

    Returns
    -------
    Response
        The probability of class 0 is taken as computed on its own if it is not 1 minus that of class 1.
    """
    grid = np.linspace(-8.0, 8.0, 99)
    seen = probabilities(grid)
    dtype = seen.dtype

    def column(code: int) -> Callable[[Floats], Floats]:
        def probability(scores: Floats) -> Floats:
            with np.errstate(over="ignore", under="ignore"):
                return np.asarray(probabilities(scores)[:, code], dtype=np.float64)

        return probability

    first, second = column(0), column(1)
    knots = np.empty(0, dtype=dtype)
    start = _first_true(lambda scores: second(scores) >= 1, _points(knots))
    return Response(
        second,
        knots,
        relative_error=8 * float(np.finfo(dtype).eps),
        saturation=start * RESERVE if start > 0 else np.inf,
        other=None if np.array_equal(seen[:, 0], 1 - seen[:, 1]) else first,
        single=dtype == np.float32,
    )


def logistic(slope: float = 1.0, offset: float = 0.0, *, single: bool = False) -> Response:
    """Response of ``expit(slope * score + offset)``.

    Parameters
    ----------
    slope : float, default=1.0
        Not negative.
    offset : float, default=0.0
        Added before the sigmoid.
    single : bool, default=False
        Whether scikit-learn may compute it in float32.

    Returns
    -------
    Response
        A smooth response; its relative error is that of the exponential.
    """
    unit = 2.0**-24 if single else 2.0**-53

    def probability(scores: Floats) -> Floats:
        with np.errstate(over="ignore"):
            return np.asarray(expit(slope * scores + offset), dtype=np.float64)

    if slope == 0:
        return Response(probability)

    def input_error(score: float) -> float:
        # The argument of the sigmoid differs only between precisions.
        return 8 * unit * (abs(score) + abs(offset / slope)) if single else 0.0

    # 1 + exp(-40) is 1 in float64.
    return Response(probability, relative_error=8 * unit, saturation=(40.0 - offset) / slope, input_error=input_error)


def at_least(level: float) -> Rule:
    """Class 1 when its probability reaches a level: ``p >= level``, with a margin relative to `level`."""
    # No probability reaches a level above 1, with or without rounding.
    return lambda p, margin: (p >= level * (1 + margin)) & (level <= 1)


def other_at_least(level: float) -> Rule:
    """Class 1 unless the probability of class 0 reaches a level: ``not (1 - p >= level)``, with an absolute margin."""
    # 1 - p is never negative; below p = 2**-56 it is exactly 1, in float32 and in float64.
    return lambda p, margin: np.where(p < 2.0**-56, level > 1, (1 - p < level - margin) & (level > 0))


def below(level: float) -> Rule:
    """Class 1 unless the probability of class 0, which is given, reaches a level, with a margin relative to that."""
    return lambda p, margin: (p < level * (1 - margin)) | (level > 1)


def beyond(decision: Labels, tie_margin: float) -> Rule:
    """Class 1 when a probability lies beyond a threshold, which another function of it was compared with.

    Parameters
    ----------
    decision : Labels
        A decision of kind ``"sign"`` on the probability.
    tie_margin : float
        Distance from its threshold within which it may be wrong.

    Returns
    -------
    callable
        The decision, with a margin relative to the probability.
    """
    threshold, ties = decision.threshold, decision.tie_positive

    def rule(p: Floats, margin: float) -> NDArray[np.bool_]:
        if np.isinf(threshold):
            return np.full(len(p), threshold < 0)
        moved, possible = p - np.abs(p) * margin, margin < 0
        level = threshold - tie_margin if possible else threshold + tie_margin
        includes = possible if tie_margin > 0 else ties
        return np.asarray(moved >= level if includes else moved > level)

    return rule


def above_half(p: Floats, margin: float) -> NDArray[np.bool_]:
    """Class 1 when it is more probable than class 0, as in ``argmax([1 - p, p])``; the margin is absolute."""
    return np.asarray(p > 0.5 + margin)


def decision_from(response: Response, rule: Rule) -> tuple[Labels, float]:
    """Turn a rule on probabilities into a threshold on the score.

    Parameters
    ----------
    response : Response
        Probability of class 1 as a function of the score.
    rule : callable
        Rule on this probability.

    Returns
    -------
    decision : Labels
        A decision of kind ``"sign"``.
    tie_margin : float
        The decision equals the rule for every score further than this from the threshold. 0: for every score.
    """
    relative_error, saturation = max(response.relative_error, LEAST), response.saturation
    saturated = bool(rule(np.ones(1), 0.0)[0])

    def possibly_positive(scores: Floats) -> NDArray[np.bool_]:
        return rule(response.probability(scores), -relative_error)

    def certainly_positive(scores: Floats) -> NDArray[np.bool_]:
        return rule(response.probability(scores), relative_error) | (saturated & (scores >= saturation))

    points = _points(response.knots)
    first, last = _first_true(possibly_positive, points), _last_false(certainly_positive, points)
    if last < first or (first == last and np.isinf(first)):  # rounding cannot matter, or the label is constant
        return Labels("sign", 2, threshold=first, tie_positive=True), 0.0
    middle = (first + last) / 2 if np.isfinite((first, last)).all() else 0.0
    tie_margin = (last - first) / 2 + 2 * float(np.spacing(abs(middle))) + response.input_error(middle)
    return Labels("sign", 2, threshold=middle), tie_margin


def _points(knots: NDArray[np.floating]) -> Floats:
    """Return scores between which a response is non-decreasing: the knots, their neighbours, and the largest floats."""
    ends = np.array([-1.0, 1.0], dtype=knots.dtype) * np.finfo(knots.dtype).max
    around = [np.nextafter(knots, ends[0]), knots, np.nextafter(knots, ends[1]), ends]
    return np.unique(np.concatenate(around)).astype(np.float64)


def _first_true(answers: Callable[[Floats], NDArray[np.bool_]], points: Floats) -> float:
    known = answers(points)
    if not known.any():
        return np.inf
    index = int(known.argmax())
    return -np.inf if index == 0 else _bisect(answers, points[index - 1], points[index])[1]


def _last_false(answers: Callable[[Floats], NDArray[np.bool_]], points: Floats) -> float:
    known = answers(points)
    if known.all():
        return -np.inf
    index = len(known) - 1 - int((~known[::-1]).argmax())
    return np.inf if index == len(known) - 1 else _bisect(answers, points[index], points[index + 1])[0]


def _bisect(answers: Callable[[Floats], NDArray[np.bool_]], low: float, high: float) -> tuple[float, float]:
    """Return adjacent floats at which `answers` is False and True, in this order."""
    below, above = _ordinal(low), _ordinal(high)
    while above - below > 1:
        middle = (below + above) // 2
        if answers(np.array([_float_at(middle)]))[0]:
            above = middle
        else:
            below = middle
    return _float_at(below), _float_at(above)


def _ordinal(value: float) -> int:
    """Return the position of a float64 in the order of all float64; that of zero is 0."""
    bits = int(np.float64(abs(value)).view(np.int64))
    return bits if value >= 0 else -bits


def _float_at(ordinal: int) -> float:
    magnitude = float(np.int64(abs(ordinal)).view(np.float64))
    return magnitude if ordinal >= 0 else -magnitude
