"""A fitted model as terms, ``F(x) = b + sum_j a_j T_j(x)``, with its own decision rule.

This package does not depend on stopping rules. A family of models is a subclass of `Terms` in one file, and a `Family`
that reads its fitted models.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from inspect import getattr_static
from typing import Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.feature_selection import SelectorMixin
from sklearn.preprocessing import MaxAbsScaler, RobustScaler, StandardScaler

from ..steps import ByColumn, Chain, Codes, Folded, RawColumns
from ..steps.by_column import n_read_alone
from ..steps.known_values import flat
from ..steps.named_columns import NamedColumns
from ..steps.vectorizer_unions import rows_attributes
from .banded import Banded
from .bands import banded
from .before import before_steps, is_projection
from .boosters import fitted_for_good
from .checks import check_terms
from .column_terms import ColumnTerms
from .families import family_of, register
from .kernel import KernelTerms
from .library_files import is_library_file, read_model
from .linear import LinearTerms
from .links import Link
from .mixed import reader_of_texts
from .model import AdditiveModel
from .numbers import require_numbers
from .packing import NO_SURROGATES, Surrogates
from .plain import terms_for
from .protocols import Foldable
from .readers.one_class import knows_one_class, read_one_class
from .reading import Family, Reading
from .refusals import refusal
from .rules import with_rules
from .schema_of import schema_of
from .targets import target_model, with_target_back
from .terms import Terms, families
from .texts import TextScores
from .tree_arrays import Trees
from .tree_classifier import TreeClassifier
from .tree_regressor import TreeRegressor
from .trees import TreeTerms
from .unit_checks import check_units
from .units import Units
from .votes import VoteTerms
from .watch import Watch
from .wrappers import fold_steps, peel, uniquely_named

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
    "TreeRegressor",
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
    if isinstance(estimator, TransformedTargetRegressor):
        return with_target_back(estimator, decompose(target_model(estimator), fold=fold, raw_columns=raw_columns))
    if isinstance(estimator, Banded) and estimator.method != "predict_proba":
        return banded(estimator, decompose(estimator.estimator, fold=fold, raw_columns=raw_columns))
    peeled = peel(estimator)
    leaf: Any = peeled.model
    family = family_of(leaf)
    if family is None:
        raise refusal(leaf)
    _require_inherited(leaf, family)
    reading = read_one_class(leaf) if knows_one_class(leaf) else family.read(leaf, decompose)
    require_numbers(leaf, reading)
    reading = replace(reading, links=reading.links.only(lambda method: _inherits(leaf, family, method)))
    inside = reading if peeled.rules and reading.links.link is not None else None
    if peeled.rules:
        reading = with_rules(peeled, reading, by_links=not family.thresholds)
        reading = replace(reading, classes=np.array(peeled.rules[0].classes_))
    terms, decision = reading.terms, reading.decision
    if isinstance(terms, TreeTerms) and not terms.accepts.stored_nan and _writes_sparse(peeled.steps):
        terms = replace(terms, nan=False)
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
    by_product, row_by_row = reading.by_product, reading.row_by_row
    if isinstance(preprocessing, Chain):
        linear = terms if type(terms) is LinearTerms and raw_columns else None
        first = None if linear is None else before_steps(preprocessing.steps[n_read_alone(preprocessing) :], linear)
        raw = None if first is None else RawColumns.of_sum(preprocessing, reader_of_texts(first), first.n_outputs)
        if first is not None and raw is not None and raw.n_written == first.n_terms:
            if by_product and raw.sums_in_order and not any(is_projection(step) for _, step in steps):
                row_by_row = "always"
            terms = ColumnTerms.of(first, raw.functions, raw.n_steps)
            preprocessing, by_product, folded = raw, False, folded or Folded()
        else:
            preprocessing = _by_column(preprocessing, terms) or _of_names(preprocessing, terms) or preprocessing
    # a CatBoost that was loaded from a file says that it has none
    n_columns = getattr(estimator, "n_features_in_", None) or (None if preprocessing is not None else terms.n_features)
    schema = schema_of(estimator, estimator if peeled.steps else leaf, n_columns, reading.names)
    if preprocessing is not None and _matches_names(preprocessing.first):
        schema = replace(schema, library="pipeline")
    kept = [step for _, step in steps[:n_kept]]
    texts = TextScores.of(kept, terms, leaf, folded=folded is not None) if decision.compiled else None
    if isinstance(preprocessing, RawColumns):
        kept = [*kept, *(step for part in preprocessing.text_columns for step in flat(part.transformer))]
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
        tie_margin=reading.tie_margin,
        dtype=reading.dtype,
        folded=folded,
        leaf=leaf,
        ruled=bool(peeled.rules),
        row_by_row=row_by_row,
        by_product=by_product,
        dense_only=reading.dense_only,
        texts=texts,
        links=reading.links,
        inside=inside,
        watch=Watch(
            [*((leaf, name) for name in family.attributes), *peeled.attributes, *step_attributes],
            inside=reading.watches,
        ),
        kind=reading.kind,
    )


#: Steps that leave sparse rows sparse, and NaN as it is.
_KEEPING = StandardScaler | RobustScaler | MaxAbsScaler | SelectorMixin


def _writes_sparse(steps: Sequence[tuple[str, Any]]) -> bool:
    """Whether a ColumnTransformer before the model has chosen to write sparse rows, in which forests refuse NaN."""
    kept = (step for _, step in reversed(steps) if not isinstance(step, _KEEPING))
    return bool(getattr(next(kept, None), "sparse_output_", False))


def _by_column(chain: Chain, terms: Terms) -> ByColumn | None:
    """Transformers in the engine's own form, if they work column by column."""
    trees = terms if isinstance(terms, TreeTerms) else None
    found = ByColumn.of(
        chain,
        absent_is_missing=trees is not None and trees.absent_is_missing,
        integers=terms.accepts.conversion.integers,
        needed=None if trees is None else np.unique(trees.trees.feature),
    )
    return found if found is not None and found.width == terms.n_features else None


def _of_names(chain: Chain, terms: Terms) -> NamedColumns | None:
    """A vectorizer of dicts that writes what trees read."""
    return NamedColumns.of(chain, terms.absent_is_missing) if isinstance(terms, TreeTerms) else None


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
