"""The calibrators of a ``CalibratedClassifierCV``, as functions of the number that they are given."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import IsotonicRegression

from .links import NO_LINKS, Links, Method
from .thresholds import Response, logistic
from .units import Floats

#: Roundings of a temperature's exponentials, and of its logarithms, of which none is beyond 28.
ROUNDINGS, LOGARITHMS = 16, 512
#: By how much scikit-learn takes a probability for 1 that is larger.
EXCESS = 1e-5


def has_temperature(pair: Any) -> bool:
    """Whether a calibrated model, scikit-learn's ``_CalibratedClassifier``, divides its scores by a temperature."""
    return hasattr(pair.calibrators[0], "beta_")


def calibrator_response(pair: Any, of_probabilities: bool, single: bool) -> Response:
    """Give the calibrated probability of class 1 of two as a function of the number that is calibrated.

    Parameters
    ----------
    pair : sklearn.calibration._CalibratedClassifier
        A fitted model and its calibrators.
    of_probabilities : bool
        Whether it calibrates probabilities of class 1, and no decision values.
    single : bool
        Whether these may be float32.

    Raises
    ------
    TypeError
        If the method of calibration is unknown.
    ValueError
        If the calibrator is decreasing or not finite.
    """
    calibrator = pair.calibrators[0]
    if isinstance(calibrator, IsotonicRegression):
        # Between knots, interpolation is non-decreasing in floating point, too; it may overshoot the next knot.
        return Response(lambda scores: np.asarray(calibrator.predict(scores), float), calibrator.X_thresholds_)
    if has_temperature(pair):
        return _temperature(pair, of_probabilities, single)
    if not (hasattr(calibrator, "a_") and hasattr(calibrator, "b_")):
        raise TypeError(
            f"CalibratedClassifierCV(method={pair.method!r}) is not supported: use method='sigmoid', 'isotonic' or "
            "'temperature'."
        )
    slope, offset = -float(calibrator.a_), -float(calibrator.b_)
    if not (np.isfinite(slope) and np.isfinite(offset)):
        raise ValueError("The sigmoid calibrator of this CalibratedClassifierCV is not finite.")
    if slope < 0:
        raise ValueError(
            "The calibrator of this CalibratedClassifierCV reverses the order of the scores: the higher the "
            "score, the less probable its class. Check the rows and labels that it was fitted on."
        )
    return logistic(slope, offset, single=single)


def inverse_temperature(pair: Any) -> float:
    """Factor of the scores of a calibrated model; ValueError if it is not positive or not finite."""
    beta = float(pair.calibrators[0].beta_)
    if not 0 < beta < np.inf:
        raise ValueError(f"The inverse temperature of this CalibratedClassifierCV must be positive. Got {beta}.")
    return beta


def _temperature(pair: Any, of_probabilities: bool, single: bool) -> Response:
    """Both classes' probabilities are computed on their own."""
    beta, unit = inverse_temperature(pair), 2.0**-24 if single else 2.0**-53
    most = 1e300 / max(1.0, beta)  # larger scores would overflow

    def column(code: int) -> Callable[[Floats], Floats]:
        def probability(numbers: Floats) -> Floats:
            known = np.clip(numbers, 0, 1) if of_probabilities else np.clip(numbers, -most, most)
            with np.errstate(over="ignore", under="ignore"):
                return np.asarray(_table(pair.calibrators[0], True, of_probabilities, known)[:, code])

        return probability

    relative, shift = ROUNDINGS * unit, 0.0 if of_probabilities else ROUNDINGS * unit
    if of_probabilities:
        relative += LOGARITHMS * beta * unit
    # 1 + exp(-40) is 1 in float64, and scores are taken with both signs
    saturation = np.inf if of_probabilities else 20.0 / beta
    return Response(
        column(1),
        relative_error=relative,
        saturation=saturation,
        input_error=lambda score: shift * abs(score),
        other=column(0),
    )


def calibrated_links(pairs: list[Any], numbers: Method | None, of_probabilities: bool) -> Links:
    """Give the probabilities of nested calibrated models of two classes, with the bits of scikit-learn's own.

    Parameters
    ----------
    pairs : list of sklearn.calibration._CalibratedClassifier
        The innermost first.
    numbers : callable or None
        From scores of shape (n, 1) to the numbers that the innermost calibrator is given; None if they are not known.
    of_probabilities : bool
        Whether these are probabilities of class 1.
    """
    if numbers is None:
        return NO_LINKS
    kept = [(copy.deepcopy(pair.calibrators[0]), has_temperature(pair)) for pair in pairs]
    return Links(predict_proba=partial(_probabilities, kept, numbers, of_probabilities))


def _probabilities(
    calibrators: list[tuple[Any, bool]], numbers: Method, of_probabilities: bool, scores: Floats
) -> NDArray[Any]:
    found = numbers(scores)
    for calibrator, temperature in calibrators:
        table = _table(calibrator, temperature, of_probabilities, found)
        found, of_probabilities = table[:, 1], True
    return table


def _table(calibrator: Any, temperature: bool, of_probabilities: bool, numbers: NDArray[Any]) -> Floats:
    """Probabilities of both classes, as scikit-learn's ``_CalibratedClassifier`` computes them."""
    if temperature:
        column = numbers.reshape(-1, 1)
        found = calibrator.predict(np.concatenate([1 - column, column], axis=1) if of_probabilities else column)
    else:
        found = np.empty((len(numbers), 2))
        found[:, 1] = calibrator.predict(numbers)
        found[:, 0] = 1.0 - found[:, 1]
    found[(found > 1.0) & (found <= 1.0 + EXCESS)] = 1.0
    return np.asarray(found, dtype=np.float64)
