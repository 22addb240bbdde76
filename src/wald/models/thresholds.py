"""From a rule on probabilities to a threshold on the score.

A calibrated or thresholded binary classifier answers by ``p(score) >= level``, where p never falls. That is a
threshold on the score. To hold for every float, it is not computed from a formula but found by bisection, on
the very function that scikit-learn evaluates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from .decision import Decision

__all__ = ["Response", "Rule", "above_half", "at_least", "decision_from", "logistic", "other_at_least"]

Floats = NDArray[np.float64]
# Is class 1 answered at these probabilities of class 1, even if they were smaller by a margin?
Rule = Callable[[Floats, float], NDArray[np.bool_]]


@dataclass(frozen=True)
class Response:
    """The probability of class 1 as a function of the score, as scikit-learn computes it.

    Parameters
    ----------
    probability : callable
        Takes float64 scores of shape (n,) and returns float64 probabilities of shape (n,).
    knots : ndarray of shape (n_knots,), optional
        Scores between which the computed probability never falls, in the dtype that the function works in.
    relative_error : float, default=0.0
        By how much, relative to its value, rounding may make the computed probability fall between knots.
    saturation : float, default=inf
        From this score on the computed probability is 1 exactly, whatever the relative_error.
    input_error : callable, optional
        Size of the rounding error inside the function, seen as a shift of the score given.
    """

    probability: Callable[[Floats], Floats]
    knots: NDArray[np.floating] = field(default_factory=lambda: np.empty(0))
    relative_error: float = 0.0
    saturation: float = np.inf
    input_error: Callable[[float], float] = lambda score: 0.0


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
        Smooth, with the rounding of the exponential as relative_error.
    """
    unit = 2.0**-24 if single else 2.0**-53

    def probability(scores: Floats) -> Floats:
        with np.errstate(over="ignore"):
            return np.asarray(expit(slope * scores + offset), dtype=np.float64)

    if slope == 0:
        return Response(probability)

    def input_error(score: float) -> float:
        # In one precision, equal scores give equal probabilities. Between two precisions the argument
        # differs.
        return 8 * unit * (abs(score) + abs(offset / slope)) if single else 0.0

    # 1 + exp(-40) is 1 in float64.
    return Response(probability, relative_error=8 * unit, saturation=(40.0 - offset) / slope, input_error=input_error)


def at_least(level: float) -> Rule:
    """Class 1 when its probability reaches a level.

    Parameters
    ----------
    level : float
        The level.

    Returns
    -------
    callable
        ``p >= level``, with a margin relative to `level`.
    """
    # Above 1 there is no probability, with or without rounding.
    return lambda p, margin: (p >= level * (1 + margin)) & (level <= 1)


def other_at_least(level: float) -> Rule:
    """Class 1 unless the probability of class 0 reaches a level.

    Parameters
    ----------
    level : float
        The level.

    Returns
    -------
    callable
        ``not (1 - p >= level)``, with an absolute margin.
    """
    # The difference is never negative, and 1 exactly below 2**-56, in float32 and in float64.
    return lambda p, margin: np.where(p < 2.0**-56, level > 1, (1 - p < level - margin) & (level > 0))


def above_half(p: Floats, margin: float) -> NDArray[np.bool_]:
    """Class 1 when it is the more probable one; ``argmax([1 - p, p])`` answers class 0 at one half.

    Parameters
    ----------
    p : float64 ndarray of shape (n,)
        Probabilities of class 1.
    margin : float
        Absolute margin.

    Returns
    -------
    bool ndarray of shape (n,)
        ``p > 0.5 + margin``.
    """
    return np.asarray(p > 0.5 + margin)


def decision_from(response: Response, rule: Rule) -> tuple[Decision, float]:
    """Turn a rule on probabilities into a threshold on the score.

    Parameters
    ----------
    response : Response
        Probability of class 1 given the score.
    rule : callable
        The rule on it.

    Returns
    -------
    decision : Decision
        Of kind ``"sign"``.
    tie_margin : float
        The decision is the rule, exactly, for every score further than this from the threshold. 0: for every
        score.
    """
    relative_error, saturation = response.relative_error, response.saturation
    saturated = bool(rule(np.ones(1), 0.0)[0])

    def maybe(scores: Floats) -> NDArray[np.bool_]:
        return rule(response.probability(scores), -relative_error)

    def surely(scores: Floats) -> NDArray[np.bool_]:
        return rule(response.probability(scores), relative_error) | (saturated & (scores >= saturation))

    points = _points(response.knots)
    first, last = _first_true(maybe, points), _last_false(surely, points)
    if last < first or (first == last and np.isinf(first)):  # a clean cut, or the same answer everywhere
        return Decision("sign", 2, threshold=first, tie_positive=True), 0.0
    middle = (first + last) / 2 if np.isfinite((first, last)).all() else 0.0
    tie_margin = (last - first) / 2 + 2 * float(np.spacing(abs(middle))) + response.input_error(middle)
    return Decision("sign", 2, threshold=middle), tie_margin


def _points(knots: NDArray[np.floating]) -> Floats:
    """List scores between which a response never falls: knots, their neighbours in their dtype, the ends."""
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
    """Neighbouring floats of which `answers` denies the lower and affirms the upper one."""
    below, above = _rank(low), _rank(high)
    while above - below > 1:
        middle = (below + above) // 2
        if answers(np.array([_unrank(middle)]))[0]:
            above = middle
        else:
            below = middle
    return _unrank(below), _unrank(above)


def _rank(value: float) -> int:
    """Position of a float64 among all, zero being 0."""
    bits = int(np.float64(abs(value)).view(np.int64))
    return bits if value >= 0 else -bits


def _unrank(rank: int) -> float:
    size = float(np.int64(abs(rank)).view(np.float64))
    return size if rank >= 0 else -size
