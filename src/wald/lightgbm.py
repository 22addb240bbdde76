"""Margins for the early stop that LightGBM itself has, with a certificate."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .stopping import Certificate
from .stopping.core.fixed_sequence import fixed_sequence
from .stopping.core.stratum import Stratum, failure_of, passes
from .stopping.core.validation import require_fraction

__all__ = ["Margin", "calibrate_margin"]

#: Margins that are tested by default, from cautious to bold.
MARGINS = tuple(float(2.0 ** (k / 3)) for k in range(16, -7, -1))
#: Objectives for which LightGBM heeds `pred_early_stop`; for others it is silently ignored.
OBJECTIVES = ("binary", "multiclass", "multiclassova")


@dataclass(frozen=True)
class Margin:
    """A margin for LightGBM's `pred_early_stop`, and the promise that it keeps.

    Attributes
    ----------
    margin : float
        ``pred_early_stop_margin``; infinite if no tested margin keeps the promise.
    freq : int
        ``pred_early_stop_freq``: a row may stop after every ``freq`` iterations.
    certificate : Certificate
        The promise: rows of the calibration rows' distribution get another label than from all trees at most so often.

    Examples
    --------
    >>> Margin(math.inf, 10, Certificate("too few rows", 0.01, 0.95)).params()
    {}
    """

    margin: float
    freq: int
    certificate: Certificate

    def params(self) -> dict[str, Any]:
        """Return keyword arguments for `predict` of a Booster; none if no margin keeps the promise."""
        if math.isinf(self.margin):
            return {}
        return {
            "pred_early_stop": True,
            "pred_early_stop_freq": self.freq,
            "pred_early_stop_margin": self.margin,
        }

    def __str__(self) -> str:
        """Describe the margin and its promise in one sentence."""
        if math.isinf(self.margin):
            return f"no margin: {self.certificate}"
        return f"pred_early_stop_margin={self.margin:.4g} every {self.freq} iterations: {self.certificate}"


def calibrate_margin(
    model: Any,
    X: Any,
    *,
    risk: float = 0.01,
    confidence: float = 0.95,
    freq: int = 10,
    margins: Sequence[float] = MARGINS,
) -> Margin:
    """Choose `pred_early_stop_margin` for a LightGBM model, so that it rarely changes a label.

    The margins are tested from the largest on, with LightGBM's own predictions, until the first one that fails; the
    last one that passed is returned. The printed promise holds with the stated confidence although the margin was
    chosen (fixed-sequence testing). It is about labels, the most probable class, and not about probabilities, which
    `pred_early_stop` changes.

    `EarlyExitClassifier` is some ten times as fast at the same risk. This function is for those who must stay with
    LightGBM's own predictions.

    Parameters
    ----------
    model : lightgbm.Booster or LGBMClassifier
        Trained, with the objective "binary", "multiclass" or "multiclassova".
    X : array-like of shape (n_rows, n_features)
        Rows on which the model was not trained; no labels are needed.
    risk : float, default=0.01
        Bound of the probability that a row gets another label than from all trees.
    confidence : float, default=0.95
        Probability, over draws of ``X``, with which the promise holds.
    freq : int, default=10
        A row may stop after every ``freq`` iterations.
    margins : sequence of float, default=40.3, 32, 25.4, ..., 0.25
        The margins to test, falling. They must not be chosen by the rows of ``X``.

    Returns
    -------
    Margin

    Raises
    ------
    TypeError
        If the model is no LightGBM model.
    ValueError
        For models without early stop, and for parameters out of range.

    References
    ----------
    A. Angelopoulos, S. Bates, E. Candes, M. Jordan, L. Lei, "Learn then Test", Annals of Applied Statistics 19(2),
    2025: fixed-sequence testing.

    Examples
    --------
    >>> margin = calibrate_margin(booster, X_new, risk=0.001)  # doctest: +SKIP
    >>> booster.predict(X, **margin.params())  # doctest: +SKIP
    """
    require_fraction("calibrate_margin", "risk", risk)
    require_fraction("calibrate_margin", "confidence", confidence)
    if isinstance(freq, bool) or int(freq) != freq or freq < 1:
        raise ValueError(f"freq must be a whole number of at least 1. Got {freq!r}.")
    tested = [float(margin) for margin in margins]
    falling = all(a > b for a, b in pairwise(tested))
    if not tested or not falling or not all(0 <= margin < math.inf for margin in tested):
        raise ValueError(f"margins must be finite, not negative and falling. Got {margins!r}.")
    booster = _booster(model)
    full = _labels(booster.predict(X))
    if len(full) == 0:
        raise ValueError("X has no rows. Give rows on which the model was not trained.")

    def steps() -> Iterator[tuple[float, tuple[Stratum, ...]]]:
        for margin in tested:
            early = booster.predict(
                X, pred_early_stop=True, pred_early_stop_freq=int(freq), pred_early_stop_margin=margin
            )
            yield margin, (Stratum("rows", len(full), int(np.count_nonzero(_labels(early) != full))),)

    found = fixed_sequence(steps(), lambda step: passes(step[1], risk, confidence))
    if found.passed is None:
        assert found.failed is not None
        strata = found.failed[1]
        certificate = Certificate(failure_of(strata, risk, confidence), risk, confidence, strata=strata)
        return Margin(math.inf, int(freq), certificate)
    margin, strata = found.passed
    return Margin(margin, int(freq), Certificate("certified", risk, confidence, q=margin, strata=strata))


def _booster(model: Any) -> Any:
    """The Booster of a LightGBM model that can stop early."""
    if not type(model).__module__.startswith("lightgbm"):
        raise TypeError(f"model must be a LightGBM Booster or LGBMClassifier. Got {type(model).__name__}.")
    if hasattr(model, "booster_"):
        check_is_fitted(model)
    booster = getattr(model, "booster_", model)
    header = booster.model_to_string(num_iteration=1).split("Tree=", 1)[0].splitlines()
    objective = next((line.split("=", 1)[1].split()[0] for line in header if line.startswith("objective=")), "none")
    if objective not in OBJECTIVES:
        raise ValueError(
            f"LightGBM ignores pred_early_stop for the objective {objective!r}, and heeds it for "
            f"{', '.join(OBJECTIVES)}."
        )
    if "average_output" in header:
        raise ValueError(
            "A random forest (boosting='rf') averages its trees: with pred_early_stop, LightGBM would divide partial "
            "sums by all of them. Use EarlyExitClassifier, which reads such models."
        )
    return booster


def _labels(probabilities: NDArray[np.float64]) -> NDArray[np.int64]:
    """Class of each row, as `LGBMClassifier.predict` has it."""
    if probabilities.ndim == 1:
        return (probabilities > 0.5).astype(np.int64)
    return np.asarray(np.argmax(probabilities, axis=1))
