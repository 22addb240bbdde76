"""Boosting that is trained with attention."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.utils.validation import check_is_fitted

from ..members import Member
from ..reading import Decompose, Family, Reading, of_classes
from ..tree_arrays import TreesBuilder
from ..trees import TreeTerms
from ..votes import VoteTerms
from .votes import accepted, voted


def read_boosted_stumps(model: Any, decompose: Decompose) -> Reading:
    """Read a fitted `wald.online.AttentiveBoosting`: of stumps, each of which is a tree with one node, or of a list."""
    check_is_fitted(model)
    if not hasattr(model.hypotheses_, "thresholds"):  # a list
        return read_boosted_votes(model)
    stumps = model.hypotheses_
    coef = np.asarray(model.coef_, dtype=np.float64)
    intercept = np.asarray(model.intercept_, dtype=np.float64)
    builder = TreesBuilder(int(stumps.n_features))
    for feature, threshold, weights in zip(stumps.features, stumps.thresholds, coef.T, strict=True):
        builder.add([feature], [threshold], [-1], [-2], [1], np.stack([-weights, weights]))
    n_classes = len(model.classes_)
    single = model.problems_[0].dtype == np.float32
    terms = TreeTerms(builder.build(), base=intercept, f32_rows=bool(single), nan=False, infinity=False)
    eps = 2.0**-23 if single else 2.0**-52
    sizes = np.abs(coef).sum(axis=1) + np.abs(intercept)
    # the order of the learner's own additions makes a difference of at most this
    tie_margin = float(sizes.max(initial=0.0)) * eps * (coef.shape[1] + 1)
    dtype = np.dtype(np.float32 if single else np.float64)
    return Reading(terms, of_classes(n_classes), dtype, row_by_row="always", tie_margin=tie_margin)


def read_boosted_votes(model: Any) -> Reading:
    """Read a fitted `wald.online.AttentiveBoosting` of two classes over a list of classifiers.

    A weight times 1 or -1 for each member; the intercept is one more, which always says 1. Rows within rounding of a
    tie are left to the model, whose own sums may be in float32.

    Raises
    ------
    TypeError
        If it knows more classes, or a hypothesis is a callable or knows other classes.
    """
    what, members = "This AttentiveBoosting has a list of hypotheses", model.hypotheses_.members
    classes, width = np.asarray(model.classes_), int(model.n_features_in_)
    if len(classes) != 2:
        raise TypeError(
            f"{what} and {len(classes)} classes, which is supported for two classes only. Wrap one with "
            "hypotheses='stumps', or the fitted classifiers of the list as a VotingClassifier."
        )
    for j, member in enumerate(members):
        if not hasattr(member, "predict") or not np.isin(list(member.classes_), classes).all():
            why = "knows other classes" if hasattr(member, "predict") else "is no classifier"
            raise TypeError(
                f"{what}, of which hypotheses[{j}], {str(member)[:60]}, {why}; such votes are not supported."
            )
    constant = DummyClassifier(strategy="constant", constant=classes[1]).fit(np.zeros((2, width)), classes)
    named = [*((f"hypotheses[{j}]", member) for j, member in enumerate(members)), ("the intercept", constant)]
    read = tuple(Member(name, member, "predict", classes) for name, member in named)
    weights = np.append(np.asarray(model.coef_, dtype=np.float64)[0], np.asarray(model.intercept_, dtype=np.float64))
    terms = VoteTerms(read, weights, 2, width, 1.0, single=True, **accepted(model))
    return voted(terms)


FAMILY = Family(
    (),
    ("predict", "decision_function"),
    ("coef_", "intercept_", "classes_", "hypotheses_"),
    read_boosted_stumps,
    thresholds=False,
    named=("wald.online.boosting.AttentiveBoosting",),
)
