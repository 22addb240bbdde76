"""A fitted model as terms, ``F(x) = b + sum_j a_j T_j(x)``, with its own decision rule.

This package does not depend on stopping rules. A family of models is a subclass of `Terms` in one file, and a `Family`
that reads its fitted models.
"""

from __future__ import annotations

from dataclasses import replace
from inspect import getattr_static
from typing import Any

import numpy as np

from ..steps import ByColumn, Chain, Codes, Folded, RawColumns
from ..steps.by_column import n_read_alone
from ..steps.vectorizer_unions import rows_attributes
from .before import before_steps
from .boosters import fitted_for_good
from .checks import check_terms
from .column_terms import ColumnTerms
from .families import family_of, register
from .kernel import KernelTerms
from .library_files import is_library_file, read_model
from .linear import LinearTerms
from .links import NO_LINKS, Link
from .model import AdditiveModel
from .packing import NO_SURROGATES, Surrogates
from .plain import terms_for
from .protocols import Foldable
from .readers.one_class import knows_one_class, read_one_class
from .reading import Family, Reading
from .refusals import refusal
from .schema_of import schema_of
from .terms import Terms, families
from .texts import TextScores
from .tree_arrays import Trees
from .tree_classifier import TreeClassifier
from .trees import TreeTerms
from .unit_checks import check_units
from .units import Units
from .votes import VoteTerms
from .watch import Watch
from .wrappers import fold_steps, peel, rule_decision, uniquely_named

__all__ = [
    "NO_SURROGATES",
    "AdditiveModel",
    "ColumnTerms",
    "Family",
    "KernelTerms",
    "LinearTerms",
    "Link",
    "Reading",
    "Surrogates",
    "Terms",
    "TextScores",
    "TreeClassifier",
    "TreeTerms",
    "Trees",
    "Units",
    "VoteTerms",
    "check_terms",
    "check_units",
    "decompose",
    "families",
    "fitted_for_good",
    "is_library_file",
    "read_model",
    "register",
]


def decompose(estimator: Any, *, fold: bool = True, raw_columns: bool = True) -> AdditiveModel:
    """Read a fitted classifier as a sum of terms and a decision.

    Parameters
    ----------
    estimator : estimator
        A fitted linear classifier, kernel machine, naive Bayes or nearest centroid classifier, tree ensemble or vote,
        or one inside a pipeline, a search, a frozen estimator, a binary threshold classifier or a binary calibrated
        classifier.
    fold : bool, default=True
        Whether scalers and imputers become part of the terms. If not, all steps remain preprocessing.
    raw_columns : bool, default=True
        Whether a linear model behind encoders becomes a sum over raw columns, where that is possible.

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
    >>> bool((model.classes[model.decision.answers(model.terms.scores(X))] == model.estimator.predict(X)).all())
    True
    """
    estimator = fitted_for_good(estimator) or estimator
    peeled = peel(estimator)
    leaf: Any = peeled.model
    family = family_of(leaf)
    if family is None:
        raise refusal(leaf)
    _require_inherited(leaf, family)
    reading = read_one_class(leaf) if knows_one_class(leaf) else family.read(leaf, decompose)
    terms, decision = reading.terms, reading.decision

    tie_margin = reading.tie_margin
    if peeled.rules:
        if not family.thresholds:
            raise TypeError(
                f"{type(peeled.rules[0]).__name__} around {type(leaf).__name__} is not supported: it reads another "
                "number than the one that the model decides by. Wrap the model itself, or put the threshold or the "
                "calibrator around a linear classifier."
            )
        decision, tie_margin = rule_decision(peeled, single=reading.dtype.itemsize < 8)
    steps = [*peeled.steps, *reading.steps]
    n_kept, columns, step_attributes = fold_steps(steps, fold)
    if columns is not None:
        foldable = Foldable.of(terms)
        if foldable is None:
            n_kept, columns, step_attributes = fold_steps(steps, fold=False)
        else:
            terms = foldable.after(columns, len(steps) - n_kept)
    folded = reading.folded
    if columns is not None or n_kept < len(steps):
        inner = folded is not None and folded.centres
        centres = inner or (columns is not None and bool(np.any(columns.shift)))
        folded = Folded(tuple(step for _, step in steps[n_kept:]), centres)
    preprocessing: Chain | Codes | None = Chain(uniquely_named(steps[:n_kept])) if n_kept else None
    if preprocessing is not None and not peeled.steps and hasattr(preprocessing.first, "source_columns"):
        preprocessing = Codes(preprocessing.first, single=terms.accepts.conversion.integers.type is np.float32)
    by_product = reading.by_product
    if isinstance(preprocessing, Chain):
        linear = terms if type(terms) is LinearTerms and raw_columns else None
        first = None if linear is None else before_steps(preprocessing.steps[n_read_alone(preprocessing) :], linear)
        raw = None if first is None else RawColumns.of_sum(preprocessing)
        if first is not None and raw is not None:
            terms = ColumnTerms.of(first, raw.functions, raw.n_steps)
            preprocessing, by_product, folded = raw, False, folded or Folded()
        else:
            preprocessing = _by_column(preprocessing, terms) or preprocessing
    n_columns = getattr(estimator, "n_features_in_", None if preprocessing is not None else terms.n_features)
    schema = schema_of(estimator, estimator if peeled.steps else leaf, n_columns, reading.names)
    if preprocessing is not None and _matches_names(preprocessing.first):
        schema = replace(schema, library="pipeline")
    kept = [step for _, step in steps[:n_kept]]
    texts = TextScores.of(kept, terms, leaf, folded=folded is not None) if decision.compiled else None
    further = (attribute for step in kept for attribute in rows_attributes(step))
    step_attributes += [attribute for attribute in further if attribute not in step_attributes]
    return AdditiveModel(
        estimator=estimator,
        terms=terms_for(decision, terms),
        decision=decision,
        preprocessing=preprocessing,
        classes=np.array(leaf.classes_) if reading.classes is None else reading.classes,
        schema=schema,
        allow_nan=terms.accepts.nan,
        tie_margin=tie_margin,
        dtype=reading.dtype,
        folded=folded,
        leaf=leaf,
        ruled=bool(peeled.rules),
        row_by_row=reading.row_by_row,
        by_product=by_product,
        dense_only=reading.dense_only,
        texts=texts,
        links=NO_LINKS if peeled.rules else reading.links.only(lambda method: _inherits(leaf, family, method)),
        watch=Watch(
            [*((leaf, name) for name in family.attributes), *peeled.attributes, *step_attributes],
            inside=reading.watches,
        ),
    )


def _by_column(chain: Chain, terms: Terms) -> ByColumn | None:
    """Transformers in the engine's own form, if they work column by column."""
    trees = terms if isinstance(terms, TreeTerms) else None
    return ByColumn.of(
        chain,
        absent_is_missing=trees is not None and trees.absent_is_missing,
        integers=terms.accepts.conversion.integers,
        needed=None if trees is None else np.unique(trees.trees.feature),
    )


def _require_inherited(model: Any, family: Family) -> None:
    """Refuse a subclass that overrides a method which decides labels: its coefficients need not determine them."""
    for method in family.methods:
        own = getattr(type(model), method)
        if not _inherits(model, family, method) and not own.__module__.startswith("sklearn."):
            raise TypeError(
                f"{type(model).__name__} has its own {method}, so that its labels do not follow from what "
                "it inherits from scikit-learn. Wrap an estimator that keeps scikit-learn's."
            )


def _inherits(model: Any, family: Family, method: str) -> bool:
    own = getattr_static(type(model), method, None)
    return any(own is getattr_static(base, method, None) for base in family.classes_of(model))


def _matches_names(step: Any) -> bool:
    """Whether the first step of a pipeline itself checks or selects columns by name.

    Steps of scikit-learn that were fitted on arrays check the number of columns and read them by position. A step
    without either attribute is the user's own and may select columns by name.
    """
    return hasattr(step, "feature_names_in_") or not hasattr(step, "n_features_in_")
