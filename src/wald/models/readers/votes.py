"""scikit-learn's voting, bagging and AdaBoost classifiers of arbitrary estimators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, VotingClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from ...outputs import Labels
from ..links import NO_LINKS, Links, as_they_are
from ..members import Member, watch_of
from ..reading import Decompose, Family, Reading, column_names, of_classes
from ..tree_arrays import TreesBuilder
from ..trees import TreeTerms
from ..units import Floats
from ..votes import VoteTerms
from ..watch import Watch
from .sklearn_trees import add_tree, asked_members, read_adaboost, read_forest, require_one_output, watch_of_trees


def voted(terms: VoteTerms) -> Reading:
    """A vote of members that are watched."""
    return Reading(
        terms,
        of_classes(2) if terms.single else Labels("argmax", terms.n_classes),
        np.dtype(np.float64 if terms.exact else np.float32),
        watches=tuple(watch_of(member.estimator) for member in terms.members),
        row_by_row="always" if all(member.row_by_row for member in terms.members) else "never",
    )


def _all_trees(model: Any) -> bool:
    """Whether all members are decision trees, which the compiled engine evaluates."""
    check_is_fitted(model)
    return all(isinstance(member, DecisionTreeClassifier) for member in model.estimators_)


def read_voting(model: Any, decompose: Decompose) -> Reading:
    """Read a fitted ``VotingClassifier``.

    ``voting="soft"``: weighted mean probabilities, and the first of the largest. ``voting="hard"``: weighted counts of
    the members' labels, and the first of the largest. Votes of two classes with whole weights have one score: the mean
    of 1 for the second class and -1 for the first.

    Raises
    ------
    TypeError
        If a member lacks the method that the vote needs.
    ValueError
        If weights do not fit, or there is nothing to decide.
    """
    check_is_fitted(model)
    _require_classes(model)
    kept = [(name, each) for name, each in model.named_estimators_.items() if not _is_dropped(each)]
    if [id(each) for _, each in kept] != [id(each) for each in model.estimators_]:
        kept = [(f"member {i}", each) for i, each in enumerate(model.estimators_)]
    given, voting = model._weights_not_none, model.voting
    weights = np.ones(len(kept)) if given is None else np.asarray(given, dtype=np.float64)
    _require_weights(model, weights, len(kept))
    if voting not in ("soft", "hard"):
        raise ValueError(f"voting of this VotingClassifier must be 'hard' or 'soft'. Got {voting!r} instead.")
    if voting == "hard" and weights.min() < 0:
        raise ValueError(
            f"This VotingClassifier counts votes with a negative weight, {weights.min():g}, which has no meaning: "
            "scikit-learn then answers by which labels occur. Use weights of at least 0."
        )
    n_classes, members = len(model.classes_), [each for _, each in kept]
    single = voting == "hard" and n_classes == 2 and bool((weights == np.round(weights)).all())
    divisor = float(weights.sum()) if voting == "soft" or single else 1.0
    if all(type(member) is DecisionTreeClassifier for member in members) and _know_all(members, n_classes):
        return _tree_votes(model, members, weights, single, divisor)
    method, names = "predict_proba" if voting == "soft" else "predict", column_names(model)
    read = tuple(_member(model, name, each, method, np.arange(n_classes), names=names) for name, each in kept)
    if voting == "soft":
        for member in read:
            known = getattr(member.estimator, "classes_", None)
            if known is not None and len(known) != n_classes:
                raise ValueError(
                    f"{member.title} of this VotingClassifier knows {len(known)} classes, and the ensemble {n_classes}."
                )
    counted = voting == "hard"
    exact = counted or all(member.row_by_row for member in read)
    return _vote(model, read, weights, divisor=divisor, single=single, counted=counted, exact=exact)


def read_bagging(model: Any, decompose: Decompose) -> Reading:
    """Read a fitted ``BaggingClassifier``.

    Mean probabilities; a member without ``predict_proba`` counts as 1 for its label. The first of the largest.

    Raises
    ------
    TypeError
        If it answers several outputs.
    ValueError
        If there is nothing to decide.
    """
    if _all_trees(model):
        return read_forest(model, decompose)
    _require_classes(model)
    n_classes, width = len(model.classes_), _width(model)
    read = []
    for i, (each, columns) in enumerate(zip(asked_members(model), model.estimators_features_, strict=False)):
        chosen = np.asarray(columns, dtype=np.int64)
        everything = np.array_equal(chosen, np.arange(width))
        method = "predict_proba" if hasattr(each, "predict_proba") else "predict"
        labels = np.arange(n_classes)
        read.append(_member(model, f"member {i}", each, method, labels, None if everything else chosen))
    only_votes = all(member.method == "predict" for member in read)
    # scikit-learn adds the members of a job, and then the jobs; only counts do not depend on it
    exact = only_votes or (all(member.row_by_row for member in read) and model.n_jobs in (None, 1))
    return _vote(
        model,
        read,
        np.ones(len(read)),
        divisor=float(model.n_estimators),
        single=only_votes and n_classes == 2,
        counted=only_votes,
        exact=exact,
    )


def read_adaboost_votes(model: Any, decompose: Decompose) -> Reading:
    """Read a fitted ``AdaBoostClassifier``.

    A member adds its weight to the class that it predicts, and takes a share of it from the others (Zhu et al.,
    "Multi-class AdaBoost", 2009).

    Raises
    ------
    ValueError
        If weights do not fit, or there is nothing to decide.
    """
    if _all_trees(model):
        return read_adaboost(model)
    _require_classes(model)
    n_classes, binary = len(model.classes_), len(model.classes_) == 2
    every = np.asarray(model.estimator_weights_, dtype=np.float64)
    weights = every[: len(model.estimators_)]
    _require_weights(model, weights, len(model.estimators_))
    labels = np.asarray(model.classes_)
    read = tuple(_member(model, f"member {i}", each, "predict", labels) for i, each in enumerate(model.estimators_))
    return _vote(
        model,
        read,
        weights,
        divisor=float(every.sum()),
        # scikit-learn subtracts the score of class 0, which is the negative of that of class 1
        scale=2.0 if binary else 1.0,
        single=binary,
        miss=-1 / (n_classes - 1),
        exact=True,
    )


def _vote(model: Any, members: Sequence[Member], weights: Floats, **options: Any) -> Reading:
    """A vote of an ensemble of scikit-learn."""
    n_classes = len(model.classes_)
    return voted(VoteTerms(tuple(members), weights, n_classes, _width(model), **options, **accepted(model)))


def _tree_votes(model: Any, trees: list[Any], weights: Floats, single: bool, divisor: float) -> Reading:
    """Trees of a ``VotingClassifier``: leaves are weighted probabilities, or weighted votes."""
    n_classes, soft = len(model.classes_), model.voting == "soft"
    builder = TreesBuilder(_width(model))
    for tree, weight in zip(trees, weights, strict=True):
        values: Floats = tree.tree_.value[:, 0, :]
        if single:
            values = np.where(values.argmax(axis=1) == 1, 1.0, -1.0)
        elif not soft:
            values = np.eye(n_classes)[values.argmax(axis=1)]
        add_tree(builder, tree.tree_, values * weight)
    terms = TreeTerms(
        builder.build(),
        np.zeros(1 if single else n_classes),
        divisor=divisor,
        f32_rows=True,
        nan=accepted(model)["nan"],
        infinity=False,
    )
    decision = of_classes(2) if single else Labels("argmax", n_classes)
    watch = Watch(((t, "tree_") for t in trees), inside=[watch_of_trees(trees)])
    links = Links(predict_proba=as_they_are) if soft else NO_LINKS
    return Reading(terms, decision, watches=(watch,), row_by_row="always", links=links)


def _know_all(trees: list[Any], n_classes: int) -> bool:
    return all(tree.n_outputs_ == 1 and np.array_equal(tree.classes_, np.arange(n_classes)) for tree in trees)


def _member(
    model: Any, name: str, estimator: Any, method: Any, labels: Any, columns: Any = None, names: Any = None
) -> Member:
    if not hasattr(estimator, method):
        raise TypeError(
            f"{name} ({type(estimator).__name__}), a member of this {type(model).__name__}, has no {method}, which its "
            "vote needs. Fit the ensemble with members that have it."
        )
    return Member(name, estimator, method, labels, columns, names)


def _require_classes(model: Any) -> None:
    require_one_output(model)
    if len(model.classes_) < 2:
        raise ValueError(f"This {type(model).__name__} was trained on one class only: there is nothing to decide.")


def _require_weights(model: Any, weights: Floats, n_members: int) -> None:
    name = type(model).__name__
    if weights.shape != (n_members,):
        raise ValueError(
            f"This {name} has {n_members} members and weights of shape {weights.shape}: one weight for each is needed."
        )
    if not np.isfinite(weights).all():
        raise ValueError(f"The weights of this {name} must be finite. Got {weights.tolist()}.")
    if weights.sum() == 0:
        raise ValueError(f"The weights of this {name} sum to 0: there is nothing to decide.")


def _width(model: Any) -> int:
    """Number of columns."""
    width = getattr(model, "n_features_in_", None)
    if width is None:
        raise TypeError(
            f"{type(model).__name__} of members that do not say how many columns they take (n_features_in_) is not "
            "supported. Put what reads texts or records in front of the ensemble, in one Pipeline."
        )
    return int(width)


def accepted(model: Any) -> dict[str, bool]:
    """Whether a model accepts NaN, and sparse rows, as it says itself."""
    tags = get_tags(model).input_tags
    return {"nan": bool(tags.allow_nan), "sparse": bool(tags.sparse)}


def _is_dropped(estimator: Any) -> bool:
    return isinstance(estimator, str) and estimator == "drop"


FAMILIES = (
    Family(
        (BaggingClassifier,),
        ("predict", "predict_proba"),
        ("estimators_", "estimators_features_", "n_estimators", "classes_"),
        read_bagging,
        thresholds=False,
    ),
    Family(
        (AdaBoostClassifier,),
        ("predict", "decision_function"),
        ("estimators_", "estimator_weights_", "classes_"),
        read_adaboost_votes,
        thresholds=False,
    ),
    Family(
        (VotingClassifier,),
        ("predict", "predict_proba", "_predict", "_collect_probas"),
        ("estimators_", "estimators", "weights", "voting", "le_", "classes_"),
        read_voting,
        thresholds=False,
    ),
)
