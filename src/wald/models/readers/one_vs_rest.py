"""One-vs-rest classifiers: one linear model per class, whose largest score wins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.multiclass import OneVsRestClassifier
from sklearn.utils.validation import check_is_fitted

from ...steps import Folded
from ..linear import LinearTerms
from ..reading import Decompose, Family, Reading, of_classes
from ..wrappers import peel
from .kernel import KERNEL_MODELS
from .linear import LINEAR_MODELS

if TYPE_CHECKING:
    from ..model import AdditiveModel


def read_one_vs_rest(model: Any, decompose: Decompose) -> Reading:
    """Read a fitted ``OneVsRestClassifier`` of linear classifiers.

    One score per class, and argmax; for two classes, one score, where exactly 0 is the first class. The model of a
    class that all or no training rows had is a constant score.

    Parameters
    ----------
    model : OneVsRestClassifier
    decompose : callable
        Reads the model of one class.

    Raises
    ------
    TypeError
        If it is multilabel, or a model in it is not a linear classifier after steps that can be folded.
    ValueError
        If it has one class only.
    """
    check_is_fitted(model)
    if model.multilabel_:
        raise TypeError(
            "This OneVsRestClassifier is multilabel: it answers several labels per row, and wald stops at one. "
            "Wrap each of its estimators_ on its own."
        )
    n_classes = len(model.classes_)
    if n_classes < 2:
        raise ValueError("This OneVsRestClassifier was trained on one class only: there is nothing to decide.")
    if len(model.estimators_) != (1 if n_classes == 2 else n_classes):
        raise ValueError(
            f"This OneVsRestClassifier has {n_classes} classes and {len(model.estimators_)} estimators_, "
            "which do not fit. Fit it again."
        )
    constant = [_is_constant(estimator) for estimator in model.estimators_]
    parts = [_read(each, decompose) for each, fixed in zip(model.estimators_, constant, strict=True) if not fixed]
    if not parts:
        raise ValueError("Every model of this OneVsRestClassifier is constant: there is nothing to decide.")
    terms = [part.terms for part in parts if isinstance(part.terms, LinearTerms)]  # _read refuses others
    fill = terms[0].fill
    for each in terms:
        same = each.fill is None if fill is None else each.fill is not None and np.array_equal(each.fill, fill)
        if not same:
            raise TypeError(
                "The models in this OneVsRestClassifier fill in missing values differently, which is not supported. "
                "Put the imputer in front: make_pipeline(SimpleImputer(), OneVsRestClassifier(model))."
            )
    linear, rows = iter(terms), []
    for estimator, fixed in zip(model.estimators_, constant, strict=True):
        if fixed:
            rows.append(LinearTerms(np.zeros((1, terms[0].n_terms)), np.array([float(estimator.y_[0])])))
        else:
            rows.append(next(linear))
    names = ("coef", "intercept", "coef_bound", "intercept_bound")
    joined = {name: np.concatenate([getattr(row, name) for row in rows]) for name in names}
    return Reading(
        LinearTerms(**joined, fill=fill, depth=max(row.depth for row in rows)),
        # Two classes: label 1 for a score above 0, even if the inner model differs at 0. More: argmax.
        of_classes(n_classes),
        min((part.dtype for part in parts), key=lambda dtype: dtype.itemsize),  # the least precise
        folded=Folded(centres=any(p.centres for p in parts)) if any(p.folded for p in parts) else None,
        watches=tuple(part.watch for part in parts),
        row_by_row="sparse",
    )


def _is_constant(estimator: Any) -> bool:
    return type(estimator).__name__ == "_ConstantPredictor" and type(estimator).__module__ == "sklearn.multiclass"


def _read(estimator: Any, decompose: Decompose) -> AdditiveModel:
    peeled = peel(estimator)
    model: Any = peeled.model
    leaf = type(model).__name__
    # Other models have no decision_function, or predict by other scores.
    if peeled.rules or not isinstance(model, LINEAR_MODELS + KERNEL_MODELS):
        raise TypeError(
            f"OneVsRestClassifier of {leaf} is not supported: it compares other numbers than linear scores. Wrap the "
            f"{leaf} itself where it knows several classes, or use a linear classifier inside."
        )
    read = decompose(estimator)
    if not isinstance(read.terms, LinearTerms):
        raise TypeError(
            f"OneVsRestClassifier of {leaf} with kernel={getattr(model, 'kernel', None)!r} is not supported. "
            f"Wrap the {leaf} itself, which knows several classes."
        )
    if read.preprocessing is not None:
        raise TypeError(
            "The models in this OneVsRestClassifier have steps of their own that cannot be folded into weights. Put "
            "the steps in front: make_pipeline(steps, OneVsRestClassifier(model))."
        )
    return read


FAMILY = Family(
    (OneVsRestClassifier,),
    ("predict", "decision_function"),
    ("classes_", "estimators_", "label_binarizer_"),
    read_one_vs_rest,
)
