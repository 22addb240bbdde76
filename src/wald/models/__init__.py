"""A fitted model as terms, ``F(x) = b + sum_j a_j T_j(x)``, with its own decision rule.

This package does not depend on stopping rules. A family of models is a subclass of `Terms` in one file, and a `Family`
that reads its fitted models.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .checks import check_terms
from .columns import ColumnMap
from .decision import Decision
from .families import Family, Reading, family_of, register
from .kernel import KernelTerms
from .linear import LinearTerms
from .model import AdditiveModel
from .refusals import refusal
from .terms import NO_SURROGATES, Surrogates, Terms, families
from .units import Units
from .watch import Watch
from .wrappers import fold_steps, peel, rule_decision

__all__ = [
    "NO_SURROGATES",
    "AdditiveModel",
    "ColumnMap",
    "Decision",
    "Family",
    "KernelTerms",
    "LinearTerms",
    "Reading",
    "Surrogates",
    "Terms",
    "Units",
    "check_terms",
    "decompose",
    "families",
    "register",
]


def decompose(estimator: Any, *, fold: bool = True) -> AdditiveModel:
    """Read a fitted classifier as a sum of terms and a decision.

    Parameters
    ----------
    estimator : estimator
        A fitted linear classifier, kernel machine, naive Bayes or nearest centroid classifier of scikit-learn, or
        one inside a pipeline, a search, a frozen estimator, a binary threshold classifier or a binary calibrated
        classifier.
    fold : bool, default=True
        Whether scalers and imputers become part of the terms. If not, all steps remain preprocessing.

    Returns
    -------
    AdditiveModel
        Its terms and decision, which own copies of the model's arrays.

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
    family = family_of(leaf)
    if family is None:
        raise refusal(leaf)
    _require_inherited(leaf, family)
    reading = family.read(leaf, decompose)
    terms, decision = reading.terms, reading.decision

    tie_margin = 0.0
    if peeled.rules:
        if not family.thresholds:
            raise TypeError(
                f"{type(peeled.rules[0]).__name__} around {type(leaf).__name__} is not supported: it reads another "
                "number than the one that the model decides by. Wrap the model itself, or put the threshold or the "
                "calibrator around a linear classifier."
            )
        decision, tie_margin = rule_decision(peeled, single=reading.dtype.itemsize < 8)
    steps = [*peeled.steps, *reading.steps]
    preprocessing, columns, n_folded, step_attributes = fold_steps(steps, fold)
    if columns is not None:
        folded = terms.after(columns, n_folded)
        if folded is None:
            preprocessing, columns, n_folded, step_attributes = fold_steps(steps, fold=False)
        else:
            terms = folded
    return AdditiveModel(
        estimator=estimator,
        terms=terms,
        decision=decision,
        preprocessing=preprocessing,
        classes=np.array(leaf.classes_),
        n_features_in=getattr(estimator, "n_features_in_", None),
        feature_names_in=getattr(estimator, "feature_names_in_", None),
        allow_nan=terms.allow_nan,
        tie_margin=tie_margin,
        dtype=reading.dtype,
        folded=columns is not None or reading.folded,
        steps=tuple(step for _, step in steps[len(steps) - n_folded :]),
        centres=reading.centres or (columns is not None and bool(np.any(columns.shift))),
        leaf=leaf,
        ruled=bool(peeled.rules),
        row_by_row=reading.row_by_row,
        by_product=reading.by_product,
        dense_only=reading.dense_only,
        watch=Watch(
            [*((leaf, name) for name in family.attributes), *peeled.attributes, *step_attributes],
            inside=reading.watches,
        ),
    )


def _require_inherited(model: Any, family: Family) -> None:
    """Refuse a subclass that overrides a method which decides labels: its coefficients need not determine them."""
    for method in family.methods:
        own = getattr(type(model), method)
        inherited = any(own is getattr(base, method, None) for base in family.models if isinstance(model, base))
        if not inherited and not own.__module__.startswith("sklearn."):
            raise TypeError(
                f"{type(model).__name__} has its own {method}, so that its labels do not follow from what "
                "it inherits from scikit-learn. Wrap an estimator that keeps scikit-learn's."
            )
