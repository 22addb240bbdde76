"""Wrappers around a model: pipelines, searches, frozen estimators, decision thresholds and calibrators."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, TunedThresholdClassifierCV
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import Binarizer
from sklearn.utils.validation import check_is_fitted

from ..outputs import Labels
from ..steps.affine import READ_BY_TRANSFORM, ColumnMap, read_step
from .thresholds import Response, Rule, above_half, at_least, decision_from, logistic, other_at_least

# Base class of all searches, including those of other libraries; it has no public name in scikit-learn.
SEARCH: Any = next(base for base in GridSearchCV.__mro__ if base.__name__ == "BaseSearchCV")
Attributes = list[tuple[Any, str]]


@dataclass
class Peeled:
    """The innermost model, and the wrappers that were around it."""

    model: Any
    steps: list[tuple[str, Any]] = field(default_factory=list)  # transformers in their order of application
    rules: list[Any] = field(default_factory=list)  # threshold classifiers and calibrators, outermost first
    attributes: Attributes = field(default_factory=list)  # the wrappers' attributes that refer to inner objects


def peel(estimator: Any) -> Peeled:
    """Take a fitted estimator apart.

    Parameters
    ----------
    estimator : estimator
        Any nesting of pipelines, searches, frozen estimators, threshold classifiers and calibrated classifiers.

    Returns
    -------
    Peeled
        The innermost model, the steps before it, and the rules on its score.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If a wrapper is not fitted.
    TypeError
        If a calibrated classifier is an ensemble, or a step cannot transform.
    """
    peeled = Peeled(estimator)
    while True:
        model = peeled.model
        if isinstance(model, FrozenEstimator):
            names, inner = ["estimator"], model.estimator
        elif isinstance(model, Pipeline):
            names, inner = ["steps"], model.steps[-1][1]
            peeled.steps += _flatten(model.steps[:-1], peeled.attributes)
        elif isinstance(model, SEARCH) and type(model).predict.__module__.startswith("sklearn."):
            check_is_fitted(model)
            if not hasattr(model, "best_estimator_"):  # with refit=False it cannot predict, and is refused by name
                return peeled
            names, inner = ["best_estimator_"], model.best_estimator_
        elif isinstance(model, FixedThresholdClassifier):
            # Its own predict also uses `estimator` if it was not fitted.
            held = "estimator_" if hasattr(model, "estimator_") else "estimator"
            names, inner = [held, "threshold", "pos_label", "response_method"], getattr(model, held)
            peeled.rules.append(model)
        elif isinstance(model, TunedThresholdClassifierCV):
            check_is_fitted(model, "estimator_")
            names, inner = ["estimator_", "best_threshold_", "response_method"], model.estimator_
            peeled.rules.append(model)
        elif isinstance(model, CalibratedClassifierCV):
            pair = _only_calibrated(model)
            names, inner, calibrator = ["calibrated_classifiers_"], pair.estimator, pair.calibrators[0]
            peeled.attributes.append((pair, "estimator"))
            peeled.attributes += [(calibrator, name) for name in vars(calibrator) if name.endswith("_")]
            peeled.rules.append(model)
        else:
            return peeled
        peeled.attributes += [(model, name) for name in names]
        peeled.model = inner


def _flatten(steps: list[tuple[str, Any]], attributes: Attributes) -> Iterator[tuple[str, Any]]:
    for name, step in steps:
        while isinstance(step, FrozenEstimator):
            attributes.append((step, "estimator"))
            step = step.estimator
        if step is None or (isinstance(step, str) and step == "passthrough"):
            continue
        if isinstance(step, Pipeline):
            attributes.append((step, "steps"))
            yield from _flatten(step.steps, attributes)
        elif hasattr(step, "transform"):
            yield name, step
        else:
            raise TypeError(f"Step {name!r} of the pipeline, a {type(step).__name__}, has no transform.")


def _only_calibrated(model: Any) -> Any:
    check_is_fitted(model)
    if len(model.calibrated_classifiers_) != 1:
        raise TypeError(
            f"This {type(model).__name__} averages {len(model.calibrated_classifiers_)} calibrated models, "
            "which is not supported. Calibrate one linear classifier: CalibratedClassifierCV(..., "
            "ensemble=False), or around a FrozenEstimator."
        )
    return model.calibrated_classifiers_[0]


def fold_steps(steps: list[tuple[str, Any]], fold: bool = True) -> tuple[int, ColumnMap | None, Attributes]:
    """Fold as many of a pipeline's last steps as possible into one map of the columns.

    Parameters
    ----------
    steps : list of (str, transformer)
        Fitted steps.
    fold : bool, default=True
        If False, no step is folded.

    Returns
    -------
    n_kept : int
        Number of steps up to the last one that cannot be folded.
    columns : ColumnMap or None
        The map of the steps after it; None for the identity.
    attributes : list of (object, str)
        Attributes that determine the steps' transforms.
    """
    columns: ColumnMap | None = None
    attributes: Attributes = []
    kept = len(steps)
    while fold and kept:
        step = steps[kept - 1][1]
        read = read_step(step)
        if read is None:
            break
        columns = read if columns is None else read.then(columns)
        attributes += [(step, name) for name in READ_BY_TRANSFORM[type(step)]]
        kept -= 1
    for _, step in steps[:kept]:
        # Fitted attributes end in an underscore; refitting a step replaces them.
        attributes += [
            (each, name)
            for each in _with_inner(step)
            for name in getattr(each, "__dict__", {})
            if (name.endswith("_") and not name.startswith("_")) or (type(each) is Binarizer and name == "threshold")
        ]
    return kept, None if columns is None or columns.is_identity else columns, attributes


def _with_inner(step: Any) -> Iterator[Any]:
    """A transformer, and those inside of it."""
    yield step
    inner = step.transformers_ if isinstance(step, ColumnTransformer) and hasattr(step, "transformers_") else ()
    if isinstance(step, FeatureUnion):
        inner = step.transformer_list
    elif isinstance(step, Pipeline):
        inner = step.steps
    for _, each, *_ in inner:
        if not isinstance(each, str) and each is not None:
            yield from _with_inner(each)


def uniquely_named(steps: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Steps of nested pipelines, with names of their own."""
    names = [name for name, _ in steps]  # nested pipelines may use the same name
    return [(name if names.count(name) == 1 else f"{name}-{i}", step) for i, (name, step) in enumerate(steps)]


def rule_decision(peeled: Peeled, single: bool) -> tuple[Labels, float]:
    """Map the outermost threshold or calibrator of a binary classifier to a threshold on the model's score.

    Parameters
    ----------
    peeled : Peeled
        A model with at least one rule around it.
    single : bool
        Whether the model may compute its scores in float32.

    Returns
    -------
    decision : Labels
        A decision of kind ``"sign"``.
    tie_margin : float
        Distance from the threshold within which the decision is not exact.

    Raises
    ------
    TypeError
        If the model has more than two classes, or the probability is no known function of its score.
    ValueError
        If the threshold is NaN, or a calibrator is decreasing.
    """
    outer, inner = peeled.rules[0], peeled.rules[1:]
    classes = peeled.model.classes_
    if len(classes) != 2:
        raise TypeError(
            f"{type(outer).__name__} around a model of {len(classes)} classes is not supported: its labels "
            "do not follow from the model's own decision. Wrap the model itself, or a binary one."
        )
    if not np.array_equal(outer.classes_ if isinstance(outer, CalibratedClassifierCV) else classes, classes):
        raise ValueError(f"{type(outer).__name__} and {type(peeled.model).__name__} know different classes.")
    if isinstance(outer, CalibratedClassifierCV):
        return decision_from(_response(peeled.rules, peeled.model, single), above_half)

    method = response_method(outer)
    level, positive = _level(outer, method), positive_code(outer, classes)
    if np.isnan(level):
        raise ValueError(f"The threshold of this {type(outer).__name__} is NaN.")
    if method == "predict_proba":
        rule: Rule = at_least(level) if positive == 1 else other_at_least(level)
        return decision_from(_response(inner, peeled.model, single), rule)
    if any(isinstance(between, CalibratedClassifierCV) for between in inner):
        raise TypeError(
            f"{type(outer).__name__} needs a decision_function, which CalibratedClassifierCV does not have."
        )
    # float32 scores are compared with the threshold rounded to float32.
    rounded = single and np.isfinite(level) and float(np.float32(level)) != level
    tie_margin = 2.0**-24 * abs(level) if rounded else 0.0
    # Class 1 if F >= level; or class 0 if -F >= level.
    return Labels("sign", 2, level if positive == 1 else -level, tie_positive=positive == 1), tie_margin


def response_method(outer: Any) -> str:
    """Whose answers a threshold classifier compares: those of ``predict_proba`` or of ``decision_function``."""
    if outer.response_method != "auto":
        return str(outer.response_method)
    held = outer.estimator_ if hasattr(outer, "estimator_") else outer.estimator
    return "predict_proba" if hasattr(held, "predict_proba") else "decision_function"


def _level(outer: Any, method: str) -> float:
    if isinstance(outer, TunedThresholdClassifierCV):
        return float(outer.best_threshold_)
    if isinstance(outer.threshold, str):  # "auto"
        return 0.5 if method == "predict_proba" else 0.0
    return float(outer.threshold)


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


def _response(rules: list[Any], model: Any, single: bool) -> Response:
    """Return the response of the outermost calibrator, or of the model itself if there is none."""
    calibrated = [rule for rule in rules if isinstance(rule, CalibratedClassifierCV)]
    if len(calibrated) > 1:
        raise TypeError(
            "A CalibratedClassifierCV around another one is not supported: wrap the outer or the inner one."
        )
    return _calibrator_response(calibrated[0], single) if calibrated else _model_response(model, single)


def _calibrator_response(model: Any, single: bool) -> Response:
    calibrator = _only_calibrated(model).calibrators[0]
    if isinstance(calibrator, IsotonicRegression):
        # Between knots, interpolation is non-decreasing in floating point, too; it may overshoot the next knot.
        return Response(lambda scores: np.asarray(calibrator.predict(scores), float), calibrator.X_thresholds_)
    if not (hasattr(calibrator, "a_") and hasattr(calibrator, "b_")):
        raise TypeError(
            f"CalibratedClassifierCV(method={model.method!r}) is not supported: use method='sigmoid' or 'isotonic'."
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


def _model_response(model: Any, single: bool) -> Response:
    name = type(model).__name__
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
    raise TypeError(
        f"A threshold on predict_proba of {name} is not supported: its probability is no known function of "
        "its score. Use response_method='decision_function', or calibrate with "
        "CalibratedClassifierCV(ensemble=False)."
    )
