"""Values and probabilities within a tolerance: a fitted model, with rows that may leave with estimates of them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special
from sklearn.calibration import CalibratedClassifierCV

from ..outputs import Values
from ..outputs.values import Margin
from .calibrators import calibrated_links
from .families import family_of
from .links import Method, as_they_are, expit_pairs
from .model import AdditiveModel
from .own_links import by_own_method
from .probable import Probable
from .units import Floats
from .value_forms import TRIED, called, checked_tolerance, form_of, margin_of, with_values, within_tolerance
from .wrappers import only_calibrated, peel

#: Scores on which functions of several scores are tried.
N_TRIED, SPREAD = 64, 1.5
#: Sizes of scores on which a logistic function is looked for, and the logits between which it is measured.
SIZES, STEEP = 10.0 ** np.arange(-4, 5), 4.0
#: Two functions are the same if they differ by no more than this, by dtype.
SAME = {8: 1e-9, 4: 2e-6}
#: How far rounding may take a full probability out of its range.
ROUNDING = 1e-9


def values_within(model: AdditiveModel, tolerance: Any, relative: bool) -> AdditiveModel:
    """The model of a regressor, with rows that may leave with estimates of their values.

    Parameters
    ----------
    model : AdditiveModel
    tolerance : float or list of float
        For each value, or the same for all of them.
    relative : bool
        Whether the tolerance is a share of the size of the full value.

    Raises
    ------
    ValueError
        If a tolerance does not fit, or it is not known how far a score may be off.
    """
    n, name = model.terms.n_outputs, type(model.leaf).__name__
    each = checked_tolerances(tolerance, n, f"this {name} has", "values")
    if n == 1:
        return within_tolerance(model, each[0], relative)
    values = model.links.predict
    assert values is not None
    forms = None if not _one_by_one(values, n) else [form_of(partial(_one_value, values, k, n)) for k in range(n)]
    margins = {margin_of(form, relative) for form in forms or ()}
    if forms is None or len(margins) != 1 or None in margins:
        raise ValueError(
            f"A {'relative ' * relative}tolerance of this {name} of {n} values is not supported: {called(model)} is "
            "not one known function of each score, for which wald knows how far it may be off. Leave tolerance out, or "
            "wrap a model of one of the values."
        )
    (margin,) = margins
    assert margin is not None
    return with_values(model, Values(n, max(each), margin, relative, tolerances=each))


def probabilities_within(model: AdditiveModel, tolerance: float) -> AdditiveModel:
    """The model of a classifier, with rows that may leave with estimates of their probabilities.

    Parameters
    ----------
    model : AdditiveModel
    tolerance : float
        For the probability of each class.

    Raises
    ------
    TypeError
        If the model has no probabilities, or a threshold in place of them decides its labels.
    ValueError
        If the tolerance does not fit, or it is not known how far a score may be off.
    """
    outer, leaf = model.estimator, model.leaf
    name, most = type(leaf).__name__, checked_probability(tolerance)
    rules = peel(outer).rules
    threshold = next((rule for rule in rules if not isinstance(rule, CalibratedClassifierCV)), None)
    if threshold is not None:
        raise TypeError(
            f"tolerance is for probabilities, and a threshold decides the labels of this {type(threshold).__name__}: "
            "wrap the classifier inside, whose probabilities you can compare, or leave tolerance out."
        )
    if not hasattr(outer, "predict_proba"):
        raise TypeError(
            f"tolerance is for probabilities, as predict_proba gives them, and this {name} has none: wrap a "
            "CalibratedClassifierCV(ensemble=False) around it, or leave tolerance out."
        )
    found, n = _probabilities_of(model), model.terms.n_outputs
    rule = None if found is None else _logistic(found, most) if n == 1 else _of_classes(found, n, most)
    if found is None or rule is None:
        raise ValueError(
            f"A tolerance of the probabilities of this {type(outer).__name__} is not supported: how they follow from "
            "the scores of its terms is none of the functions (a logistic function, a softmax, or the scores "
            "themselves) for which wald knows how far a score may be off. "
            f"{_instead(model, [*rules, outer])} tolerance out, and predict_proba gives the probabilities in full."
        )
    if rule.margin == "constant":
        found = WithinRange(found)
    links = replace(model.links, predict=found, predict_proba=found, link=None)
    asked = Probable(outer)
    return replace(with_values(model, rule), estimator=asked, links=links, tie_margin=0.0, ruled=True)


def _instead(model: AdditiveModel, around: list[Any]) -> str:
    """What to do about a tolerance that is not supported: a sigmoid for two classes, if there is none, or leave it."""
    calibrators = [each for each in around if isinstance(each, CalibratedClassifierCV)]
    sigmoid = any(c.method == "sigmoid" and len(c.calibrated_classifiers_) == 1 for c in calibrators)
    if len(model.classes) > 2 or sigmoid:
        return "Leave"
    return "Calibrate by one sigmoid, with CalibratedClassifierCV(ensemble=False), or leave"


def checked_tolerances(tolerance: Any, n: int, who: str, what: str) -> list[float]:
    """One tolerance for each of n values, as floats; raise ValueError unless they are positive and as many."""
    listed = isinstance(tolerance, list | tuple | np.ndarray) and np.ndim(tolerance) > 0
    each = [checked_tolerance(one, False) for one in (tolerance if listed else [tolerance])]
    if listed and len(each) != n:
        raise ValueError(f"tolerance must be one number, or one for each of the {n} {what} {who}. Got {len(each)}.")
    return each if listed else each * n


def checked_probability(tolerance: Any) -> float:
    """The tolerance of probabilities as a float; raise ValueError unless it lies between 0 and one half."""
    most = checked_tolerance(tolerance, False, "probabilities")
    if most >= 0.5:
        raise ValueError(
            f"tolerance={most:g} is half of the range of probabilities or more, which lie between 0 and 1: give a "
            "smaller one, such as 0.05."
        )
    return most


def _one_value(values: Method, k: int, n: int, scores: Floats) -> NDArray[Any]:
    """The value of score k, where the others are 0."""
    table = np.zeros((len(scores), n))
    table[:, k] = scores[:, 0]
    return np.asarray(values(table))[:, k]


def _one_by_one(values: Method, n: int) -> bool:
    """Whether each value follows from its own score, so that the others may be 0."""
    tried = SPREAD * np.random.default_rng(0).normal(size=(N_TRIED, n))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = np.asarray(values(tried))
        if found.shape != (N_TRIED, n):
            return False
        return all(np.array_equal(found[:, k], _one_value(values, k, n, tried[:, [k]])) for k in range(n))


# ---- probabilities ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OwnProbabilities:
    """Probabilities of scores by the method of a model of scikit-learn that makes them of its scores.

    Parameters
    ----------
    leaf : estimator
    """

    leaf: Any

    def __call__(self, scores: Floats) -> NDArray[Any]:
        """Probabilities (n, n_classes) of scores (n, n_outputs)."""
        found = by_own_method(
            self.leaf, "predict_proba", scores[:, 0].copy() if scores.shape[1] == 1 else scores.copy()
        )
        assert found is not None
        return found


@dataclass(frozen=True)
class WithinRange:
    """Probabilities that are scores themselves, of which an estimate may leave their range; full ones stay as they are.

    Parameters
    ----------
    inner : callable
    """

    inner: Method

    def __call__(self, scores: Floats) -> NDArray[Any]:
        """Probabilities (n, n_classes) of scores (n, n_outputs)."""
        found = np.asarray(self.inner(scores))
        beyond = (found < -ROUNDING) | (found > 1.0 + ROUNDING)
        return np.where(beyond, np.clip(found, 0.0, 1.0), found) if beyond.any() else found


def _probabilities_of(model: AdditiveModel) -> Method | None:
    """From full scores to probabilities, (n, n_classes); None if they are not known."""
    if model.links.predict_proba is not None:
        return model.links.predict_proba
    rules, leaf = peel(model.estimator).rules, model.leaf
    if rules:
        family = family_of(leaf)
        scored = family is not None and family.thresholds and hasattr(leaf, "decision_function")
        if not scored or model.terms.n_outputs > 1:
            return None
        return calibrated_links([only_calibrated(rule) for rule in rules[::-1]], as_they_are, False).predict_proba
    own = getattr(type(leaf), "predict_proba", None)
    if own is not None and own.__module__ == "sklearn.naive_bayes":  # scores are logarithms of joint probabilities
        return expit_pairs if model.terms.n_outputs == 1 else _softmax
    if own is None or not own.__module__.startswith(("sklearn.linear_model", "sklearn.discriminant_analysis")):
        return None
    tried = np.random.default_rng(0).normal(size=(4, model.terms.n_outputs))
    found = by_own_method(model.leaf, "predict_proba", tried[:, 0] if tried.shape[1] == 1 else tried)
    return None if found is None or found.shape != (4, len(model.classes)) else OwnProbabilities(model.leaf)


def _softmax(scores: Floats) -> Floats:
    return np.asarray(special.softmax(scores, axis=1))


def _logistic(found: Method, most: float) -> Values | None:
    """What is asked of one score, if the probability of the second class is a logistic function of it."""
    for size in SIZES:
        scores = size * np.concatenate([TRIED, [0.0]])
        with np.errstate(all="ignore"):
            table = np.asarray(found(scores[:, None]))
            if table.shape != (len(scores), 2):
                return None
            second = table[:, 1].astype(np.float64)
            logits = np.log(second) - np.log(table[:, 0].astype(np.float64))
        near = np.flatnonzero(np.abs(logits) < STEEP)
        if len(near) < 4 or np.ptp(logits[near]) < STEEP:  # in a small part, any function is nearly linear
            continue
        slope, offset = np.polyfit(scores[near], logits[near], 1)
        if np.hypot(slope - 1, offset) < 1e-6:
            slope, offset = 1.0, 0.0
        with np.errstate(over="ignore"):
            same = np.abs(1.0 / (1.0 + np.exp(-slope * scores - offset)) - second).max() <= SAME[table.dtype.itemsize]
        return Values(1, most, "logistic", slope=float(slope), offset=float(offset)) if same and slope > 0 else None
    return None


def _of_classes(found: Method, n: int, most: float) -> Values | None:
    """What is asked of a score of each class, if probabilities are the scores themselves, or a softmax of them."""
    tried = SPREAD * np.random.default_rng(0).normal(size=(N_TRIED, n))
    with np.errstate(all="ignore"):
        table = np.asarray(found(tried))
    if table.shape != tried.shape:
        return None
    shares = np.exp(tried - tried.max(axis=1, keepdims=True))
    forms: dict[Margin, Floats] = {
        "constant": tried,
        "softmax": shares / shares.sum(axis=1, keepdims=True),
        "logistic": 1.0 / (1.0 + np.exp(-tried)),
    }
    near = SAME[table.dtype.itemsize]
    same = next((name for name, form in forms.items() if np.abs(table - form).max() <= near), None)
    return None if same is None else Values(n, most, same, tolerances=[most] * n)
