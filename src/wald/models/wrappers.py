"""Wrappers around a model: pipelines, searches, frozen estimators, decision thresholds and calibrators."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, TunedThresholdClassifierCV
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import Binarizer
from sklearn.utils.validation import check_is_fitted

from ..steps.affine import READ_BY_TRANSFORM, ColumnMap, read_step
from .banded import Banded
from .probable import Probable

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
        If a step cannot transform.
    """
    peeled = Peeled(estimator)
    while True:
        model = peeled.model
        if isinstance(model, FrozenEstimator | Probable):
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
            held = "estimator_" if hasattr(model, "estimator_") else "estimator"
            names, inner = [held, "threshold", "pos_label", "response_method"], inside(model)
            peeled.rules.append(model)
        elif isinstance(model, TunedThresholdClassifierCV):
            names, inner = ["estimator_", "best_threshold_", "response_method"], inside(model)
            peeled.rules.append(model)
        elif isinstance(model, Banded):
            names, inner = ["estimator", "bands"], model.estimator
            peeled.rules.append(model)
        elif isinstance(model, CalibratedClassifierCV):
            check_is_fitted(model)
            if calibrates_several(model):
                return peeled
            pair = only_calibrated(model)
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


def inside(outer: Any) -> Any:
    """The fitted estimator inside of a threshold classifier."""
    if isinstance(outer, TunedThresholdClassifierCV):
        check_is_fitted(outer, "estimator_")
    # FixedThresholdClassifier's own predict also uses `estimator` if it was not fitted.
    return outer.estimator_ if hasattr(outer, "estimator_") else outer.estimator


def calibrates_several(model: Any) -> bool:
    """Whether a calibrated classifier averages several models, or calibrates several classes one by one.

    Its labels then follow from its own probabilities alone, and not from a score of the model inside.
    """
    pairs = model.calibrated_classifiers_
    by_class = len(model.classes_) > 2 and not hasattr(pairs[0].calibrators[0], "beta_")
    return len(pairs) != 1 or by_class


def only_calibrated(model: Any) -> Any:
    """The one calibrated model of a calibrated classifier, with its calibrators."""
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
