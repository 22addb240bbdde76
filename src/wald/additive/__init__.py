"""A fitted model, seen as terms: ``F(x) = b + sum_j a_j T_j(x)``, and its own decision rule.

This part of wald knows models and nothing of stopping. A new family of models is one more file here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.linear_model import SGDOneClassSVM
from sklearn.svm import OneClassSVM

from .columns import ColumnMap
from .decision import Decision
from .kernel import KERNEL_MODELS, KernelTerms, read_kernel
from .linear import LINEAR_MODELS, LinearTerms, read_linear
from .model import AdditiveModel
from .watch import Watch
from .wrappers import fold_steps, peel, rule_decision

__all__ = ["AdditiveModel", "ColumnMap", "Decision", "KernelTerms", "LinearTerms", "decompose"]

LINEAR_ATTRIBUTES = ("coef_", "intercept_", "classes_")
# predict reads the private arrays; the public ones are watched because people edit those.
KERNEL_ATTRIBUTES = (
    *("support_vectors_", "dual_coef_", "_dual_coef_", "intercept_", "_intercept_", "classes_"),
    *("kernel", "_gamma", "coef0", "degree", "break_ties", "decision_function_shape"),
)
SUPPORTED = (
    "Supported are scikit-learn's linear classifiers ("
    + ", ".join(sorted(model.__name__ for model in LINEAR_MODELS))
    + ") and kernel machines (SVC, NuSVC), also inside Pipeline, FrozenEstimator, FixedThresholdClassifier, "
    "TunedThresholdClassifierCV and CalibratedClassifierCV(ensemble=False)."
)


def decompose(estimator: Any, *, fold: bool = True) -> AdditiveModel:
    """Read a fitted classifier as a sum of terms and a decision.

    Parameters
    ----------
    estimator : estimator
        A fitted linear classifier or kernel machine of scikit-learn, or one inside a pipeline, a frozen
        estimator, a binary threshold classifier or a binary calibrated classifier.
    fold : bool, default=True
        Whether scalers and imputers become part of the terms. If not, all steps stay in front of the model.

    Returns
    -------
    AdditiveModel
        Its terms and decision, with copies of the numbers.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.
    TypeError
        If this kind of estimator is not supported; the message says what is.
    ValueError
        If the estimator is of a supported kind but has nothing to decide, or contradicts itself.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> model = decompose(LogisticRegression(max_iter=1000).fit(X, y))
    >>> model.decision.kind, model.terms.n_terms, model.terms.n_outputs
    ('argmax', 4, 3)
    >>> bool((model.classes[model.decision.codes(model.terms.scores(X))] == model.estimator.predict(X)).all())
    True
    """
    peeled = peel(estimator)
    leaf: Any = peeled.model
    terms: LinearTerms | KernelTerms
    linear = isinstance(leaf, LINEAR_MODELS)
    if not linear and not isinstance(leaf, KERNEL_MODELS):
        raise _refusal(leaf)
    _require_inherited(leaf)
    terms, decision = read_linear(leaf) if linear else read_kernel(leaf)
    dtype = np.dtype(leaf.coef_.dtype if linear else np.float64)  # libsvm converts rows to float64

    slack = 0.0
    if peeled.rules:
        decision, slack = rule_decision(peeled, single=dtype.itemsize < 8)
    front, columns, n_folded, step_attributes = fold_steps(peeled.steps, fold)
    allow_nan = columns is not None and columns.fill is not None
    if columns is not None:
        terms = terms.after(columns, n_folded) if isinstance(terms, LinearTerms) else terms.after(columns)
    names = LINEAR_ATTRIBUTES if linear else KERNEL_ATTRIBUTES
    return AdditiveModel(
        estimator=estimator,
        terms=terms,
        decision=decision,
        front=front,
        classes=np.array(leaf.classes_),
        n_features_in=getattr(estimator, "n_features_in_", None),
        feature_names_in=getattr(estimator, "feature_names_in_", None),
        allow_nan=allow_nan,
        slack=slack,
        dtype=dtype,
        folded=columns is not None,
        steps=tuple(step for _, step in peeled.steps[len(peeled.steps) - n_folded :]),
        centres=columns is not None and bool(np.any(columns.shift)),
        leaf=leaf,
        ruled=bool(peeled.rules),
        watch=Watch([*((leaf, name) for name in names), *peeled.attributes, *step_attributes]),
    )


def _require_inherited(model: Any) -> None:
    """Refuse a subclass with its own way to decide: its coefficients would say nothing about its labels."""
    for method in ("predict", "decision_function"):
        if not getattr(type(model), method).__module__.startswith("sklearn."):
            raise TypeError(
                f"{type(model).__name__} has its own {method}, so that its labels do not follow from what "
                "it inherits from scikit-learn. Wrap an estimator that keeps scikit-learn's."
            )


def _refusal(model: Any) -> Exception:
    """Say why a model is not supported, and what to do instead."""
    name = model.__name__ if isinstance(model, type) else type(model).__name__
    if isinstance(model, type):
        return TypeError(f"decompose takes a fitted estimator, not the class {name}. {SUPPORTED}")
    if isinstance(model, (OneClassSVM, SGDOneClassSVM)):
        return ValueError(f"{name} knows one class only: it finds outliers and is no classifier. {SUPPORTED}")
    if hasattr(model, "best_estimator_"):
        return TypeError(f"{name} is a search, not a model: wrap its best_estimator_.")
    module = type(model).__module__
    if module.startswith(("sklearn.ensemble", "sklearn.tree", "lightgbm", "xgboost", "catboost")):
        return TypeError(f"{name} is not yet supported: wald does not read trees and ensembles so far. {SUPPORTED}")
    if hasattr(model, "estimators_"):
        return TypeError(f"{name} is not supported: wrap each of its estimators_ on its own. {SUPPORTED}")
    return TypeError(f"{name} is not supported. {SUPPORTED}")
