"""Threshold classifiers and calibrators around a model, as rules on the score that the model decides by.

They compare a number of the model: its `decision_function`, or the probability of a class, calibrated or not. That is a
monotone function of the score, or several, one after the other. A threshold on the number is moved from one to the
next, until it is a threshold on the score.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV

from ..outputs import Labels
from .banded import Banded, require_two_classes
from .bands import with_bands
from .calibrators import calibrated_links, calibrator_response, has_temperature, inverse_temperature
from .linear import LinearTerms
from .links import NO_LINKS, Links, Method, as_they_are
from .readers.naive_bayes import NAIVE_BAYES_MODELS
from .reading import Reading
from .terms import Terms
from .thresholds import (
    Response,
    Rule,
    above_half,
    at_least,
    below,
    beyond,
    computed,
    decision_from,
    logistic,
    other_at_least,
)
from .trees import TreeTerms
from .units import Floats
from .votes import VoteTerms
from .wrappers import Peeled, inside, only_calibrated

#: Roundings of a naive Bayes probability, relative to its log-likelihoods, and the most that are bounded.
ROUNDINGS, MOST_ROUNDINGS = 8, 1 << 30
#: Relative rounding error of such a probability near 1, where log-likelihoods are at most in the thousands.
NEAR_ONE = 2.0**-40
#: Largest scores of several classes behind a temperature, by the unit of rounding; units by which they may be ties.
LARGEST, UNITS = {2.0**-53: 1e6, 2.0**-24: 1e3}, 64


def with_rules(peeled: Peeled, reading: Reading, by_links: bool) -> Reading:
    """Read a model together with the threshold classifiers and calibrators around it.

    Parameters
    ----------
    peeled : Peeled
        A model with at least one rule around it.
    reading : Reading
        The model without them, with the links of its methods that are known.
    by_links : bool
        Whether only the links say how the model's methods follow from its score. If not, its `decision_function` is the
        score.

    Raises
    ------
    TypeError
        If the model has several classes, or the number that is compared is no known function of its score.
    ValueError
        If the threshold is NaN, or a calibrator is decreasing.
    """
    outer, model = peeled.rules[0], peeled.model
    for rule in peeled.rules:
        if isinstance(rule, CalibratedClassifierCV) and not np.array_equal(rule.classes_, model.classes_):
            raise ValueError(f"{type(rule).__name__} and {type(model).__name__} know different classes.")
    if isinstance(outer, Banded):
        require_two_classes(model)
        number = _number(outer, peeled.rules[1:], model, outer.method, reading, by_links)
        return with_bands([number.at(level, 1) for level in outer.bands])
    if len(model.classes_) != 2:
        return _of_several_classes(peeled, reading, by_links)
    if isinstance(outer, CalibratedClassifierCV):
        return _number(outer, peeled.rules, model, "predict_proba", reading, by_links).decided(above_half)
    method = response_method(outer)
    level, positive = _level(outer, method), positive_code(outer, model.classes_)
    if np.isnan(level):
        raise ValueError(f"The threshold of this {type(outer).__name__} is NaN.")
    return _number(outer, peeled.rules[1:], model, method, reading, by_links, positive).at(level, positive)


# ---- threshold classifiers -------------------------------------------------------------------------------------------


def response_method(outer: Any) -> str:
    """Whose answers a threshold classifier compares: those of ``predict_proba`` or of ``decision_function``."""
    if outer.response_method != "auto":
        return str(outer.response_method)
    return "predict_proba" if hasattr(inside(outer), "predict_proba") else "decision_function"


def _level(outer: Any, method: str) -> Any:
    """The threshold: a float, or a NumPy scalar where it is one."""
    held = outer.best_threshold_ if isinstance(outer, TunedThresholdClassifierCV) else outer.threshold
    if isinstance(held, str):  # "auto"
        return 0.5 if method == "predict_proba" else 0.0
    return held if isinstance(held, np.floating) else float(held)


def positive_code(outer: Any, classes: Any) -> int:
    """The class whose answers a threshold classifier compares."""
    if isinstance(outer, FixedThresholdClassifier):
        label = outer.pos_label
    else:
        # The scorer determines the positive label; it has no public attribute for it.
        scorer = getattr(outer, "_curve_scorer", None)
        if scorer is None or not hasattr(scorer, "_get_pos_label"):
            raise TypeError(
                "wald cannot tell the positive class of this TunedThresholdClassifierCV. Wrap "
                "FixedThresholdClassifier(model.estimator_, threshold=model.best_threshold_, pos_label=...) "
                "instead."
            )
        label = scorer._get_pos_label()
    if label is None:
        return 1
    found = np.flatnonzero(classes == label)
    if not len(found):
        raise ValueError(f"pos_label={label!r} of {type(outer).__name__} is none of the classes {classes}.")
    return int(found[0])


# ---- numbers ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Number:
    """A number that an object gives for a row, as a function of the score of a reading.

    Parameters
    ----------
    reading : Reading
        With one score a row.
    responses : list of Response
        Functions, one after the other; none if the number is the score, or, of class 0, the negative score.
    links : Links
        What the object's methods return for exact scores.
    single : bool
        Whether the number may be float32.
    computed : callable or None, default=None
        Gives the numbers for exact scores, to the last bit; None if they are not known.
    roundings : callable or None, default=None
        From a threshold on the score to the roundings that make up for those of the first function, if these grow with
        the sums of a row.
    """

    reading: Reading
    responses: list[Response]
    links: Links
    single: bool
    computed: Method | None = None
    roundings: Callable[[float], float] | None = None

    def at(self, level: Any, positive: int) -> Reading:
        """Compare the number of class `positive` with a level: that class if it is at least the level."""
        if not self.responses:
            level = float(level)
            # float32 scores are compared with the threshold rounded to float32.
            rounded = self.single and math.isfinite(level) and float(np.float32(level)) != level
            # Class 1 if F >= level; or class 0 if -F >= level.
            decision = Labels("sign", 2, level if positive == 1 else -level, tie_positive=positive == 1)
            return self._read(decision, 2.0**-24 * abs(level) if rounded else 0.0)
        last = self.responses[-1]
        if last.single and not isinstance(level, np.generic):
            with np.errstate(over="ignore"):  # NumPy compares float32 with a number of Python in float32
                level = float(np.float32(level))
        if positive == 1:
            return self.decided(at_least(float(level)))
        if last.other is None:
            return self.decided(other_at_least(float(level)))
        other = replace(self, responses=[*self.responses[:-1], last.of_the_other])
        if self.roundings is not None and len(self.responses) == 1:
            other = replace(other, roundings=partial(_mirrored, self.roundings))
        return other.decided(below(float(level)))

    def decided(self, rule: Rule) -> Reading:
        """Move a rule on the number to the score."""
        for response in reversed(self.responses):
            decision, tie_margin = decision_from(response, rule)
            rule = beyond(decision, tie_margin)
        return self._read(decision, tie_margin)

    def _read(self, decision: Labels, tie_margin: float) -> Reading:
        terms = self.reading.terms
        if self.roundings is not None and math.isfinite(decision.threshold):
            assert isinstance(terms, LinearTerms)
            further = self.roundings(decision.threshold)
            if further < MOST_ROUNDINGS:
                terms = replace(terms, depth=terms.depth + math.ceil(further))
            else:
                tie_margin = math.inf
        return replace(self.reading, terms=terms, decision=decision, tie_margin=tie_margin, links=self.links)


def _number(
    outer: Any, rules: list[Any], model: Any, method: str, reading: Reading, by_links: bool, of_class: int = 1
) -> Number:
    """What a method of the outermost of some rules around a model gives, or of the model if there are none."""
    pairs: list[Any] = []  # the innermost first
    for rule in rules:  # the answers of threshold classifiers are those of the model inside
        if isinstance(rule, CalibratedClassifierCV):
            if method == "decision_function":
                raise TypeError(
                    "A threshold on the decision_function of CalibratedClassifierCV is not supported: it has none. Use "
                    "response_method='predict_proba'."
                )
            pairs.insert(0, only_calibrated(rule))
            method = "decision_function" if hasattr(pairs[0].estimator, "decision_function") else "predict_proba"
    of_class = 1 if pairs else of_class
    number = _of_model(outer, model, method, reading, by_links, of_class)
    if not pairs:
        return number
    responses = list(number.responses)
    probable = method == "predict_proba"
    for k, pair in enumerate(pairs):
        responses.append(calibrator_response(pair, probable or k > 0, number.single and k == 0))
    links = calibrated_links(pairs, number.computed, probable)
    return replace(number, responses=responses, links=links, computed=None, single=False)


def _mirrored(function: Callable[[float], float], score: float) -> float:
    return function(-score)


def _second(predict_proba: Method, scores: Floats) -> NDArray[Any]:
    return predict_proba(scores)[:, 1]


def _of_model(outer: Any, model: Any, method: str, reading: Reading, by_links: bool, of_class: int) -> Number:
    """What a method of the innermost model gives: its decision function, or the probability of a class."""
    single, links = reading.dtype.itemsize < 8, reading.links
    known = replace(links, link=None)
    if method == "decision_function":
        if reading.terms.n_outputs != 1 or (by_links and links.decision_function is not as_they_are):
            raise _unknown(outer, model, method)
        return Number(reading, [], known, single, links.decision_function)
    if not by_links:
        return Number(reading, [_linear_response(outer, model, single)], NO_LINKS, single)
    if isinstance(model, NAIVE_BAYES_MODELS) and _has_own_probabilities(model):
        raise _unknown(outer, model, method)
    if isinstance(model, NAIVE_BAYES_MODELS):
        response = replace(logistic(single=single), other=lambda scores: np.asarray(expit(-scores), dtype=np.float64))
        response = replace(response, relative_error=max(response.relative_error, NEAR_ONE))
        return Number(reading, [response], NO_LINKS, single, None, _naive_bayes_roundings)
    terms = reading.terms
    mean = links.link is not None and links.link.kind == "mean"
    probable = (
        mean or links.predict_proba is as_they_are if isinstance(terms, TreeTerms) else _votes_by_probability(terms)
    )
    if probable and isinstance(terms, TreeTerms | VoteTerms):  # the scores are probabilities
        terms = terms.of_output(of_class, -1.0 if of_class == 0 else 1.0)
        exact = isinstance(terms, TreeTerms)
        return Number(replace(reading, terms=terms), [], NO_LINKS, single, as_they_are if exact else None)
    predict_proba = links.predict_proba
    if predict_proba is None or reading.terms.n_outputs != 1:
        raise _unknown(outer, model, method)
    response = computed(lambda scores: predict_proba(scores.reshape(-1, 1)))
    return Number(reading, [response], known, single, partial(_second, predict_proba))


def _naive_bayes_roundings(score: float) -> float:
    """Roundings of the probability, whose relative error is that of a log-likelihood, as roundings of the score."""
    return ROUNDINGS * (1 + math.exp(min(score, 700.0)))


def _has_own_probabilities(model: Any) -> bool:
    """Whether a subclass computes probabilities in another way than scikit-learn."""
    methods = (getattr(type(model), name) for name in ("predict_proba", "predict_log_proba"))
    return not all(method.__module__.startswith("sklearn.") for method in methods)


def _votes_by_probability(terms: Terms) -> bool:
    return isinstance(terms, VoteTerms) and terms.gives_probabilities


def _linear_response(outer: Any, model: Any, single: bool) -> Response:
    logistic_model = (
        isinstance(model, LinearDiscriminantAnalysis)
        # Until scikit-learn 1.8, two classes may be fitted as a softmax, with other probabilities.
        or (isinstance(model, LogisticRegression) and getattr(model, "multi_class", None) != "multinomial")
        or (isinstance(model, SGDClassifier) and model.loss == "log_loss")
    )
    own = getattr(type(model), "predict_proba", None)
    if str(getattr(own, "__module__", "")).startswith("sklearn."):
        if logistic_model:
            return logistic(single=single)
        if isinstance(model, SGDClassifier) and model.loss == "modified_huber":
            return Response(lambda scores: (np.clip(scores, -1, 1) + 1) / 2)
    raise _unknown(outer, model, "predict_proba")


def _unknown(outer: Any, model: Any, method: str) -> TypeError:
    name = type(model).__name__
    what = "bands of" if isinstance(outer, Banded) else f"{type(outer).__name__} around"
    instead = (
        "Use response_method='decision_function', or calibrate with CalibratedClassifierCV(ensemble=False)"
        if method == "predict_proba" and hasattr(model, "decision_function")
        else "Wrap the model itself"
    )
    return TypeError(
        f"{what} {name} is not supported: it compares {method} of {name}, which is no known "
        f"function of the score that {name} decides by. {instead}."
    )


# ---- several classes -------------------------------------------------------------------------------------------------


def _of_several_classes(peeled: Peeled, reading: Reading, by_links: bool) -> Reading:
    """One temperature for all classes keeps their order; what else there is does not."""
    outer, model = peeled.rules[0], peeled.model
    pairs = [only_calibrated(rule) for rule in peeled.rules if isinstance(rule, CalibratedClassifierCV)]
    what = f"{type(outer).__name__} around a model of {len(model.classes_)} classes is not supported"
    if len(pairs) != 1 or not has_temperature(pairs[0]):
        raise TypeError(
            f"{what}: it calibrates each class on its own, so that its labels do not follow from the model's own "
            "decision. Calibrate with method='temperature', which keeps the order of the classes, or wrap the model "
            "itself, or a binary one."
        )
    decision, scored = reading.decision, hasattr(pairs[0].estimator, "decision_function")
    link = reading.links.link
    probable = isinstance(model, NAIVE_BAYES_MODELS) and not _has_own_probabilities(model)
    probable = probable or reading.links.predict_proba is as_they_are
    probable = probable or _votes_by_probability(reading.terms)
    probable = probable or (link is not None and link.kind in ("mean", "softmax", "exp", "exp_rows", "scipy", "fast"))
    known = not by_links or (reading.links.decision_function is as_they_are if scored else probable)
    if not (isinstance(decision, Labels) and decision.kind == "argmax" and known):
        raise TypeError(f"{what}: its scores are no known function of those that decide. Wrap the model itself.")
    unit = 2.0**-24 if reading.dtype.itemsize < 8 else 2.0**-53
    largest = LARGEST[unit] if scored else 1.0  # of probabilities, logarithms decide: that of the largest is small
    tie_margin = UNITS * unit * (largest + 1 / inverse_temperature(pairs[0]))
    terms = reading.terms
    if isinstance(terms, LinearTerms):
        terms = replace(terms, depth=terms.depth + ROUNDINGS)
    saturation = min(decision.saturation, largest) if scored else decision.saturation
    return replace(
        reading,
        terms=terms,
        decision=replace(decision, saturation=saturation),
        tie_margin=reading.tie_margin + tie_margin,
        links=NO_LINKS,
    )
