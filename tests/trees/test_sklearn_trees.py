"""scikit-learn's trees and their ensembles: scores have the models' own bits, labels are the models' own."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.lib.recfunctions import rename_fields
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier
from trees.libraries import check_reader, random_data

from wald.models import decompose

CLASSES = [2, 3, 5]


def own_scores(model, X):
    decides = hasattr(model, "decision_function")
    return (model.decision_function if decides else model.predict_proba)(X)


@pytest.mark.parametrize("n_classes", CLASSES)
@pytest.mark.parametrize("seed", range(6))
def test_forests_and_trees(seed: int, n_classes: int) -> None:
    rng = np.random.default_rng(seed)
    X, y, others = random_data(rng, n_classes, nan=seed % 3 == 0)
    depth, state = [None, 1, 4, 12][seed % 4], int(rng.integers(1000))
    for model in (
        RandomForestClassifier(15, max_depth=depth, random_state=state),
        ExtraTreesClassifier(15, max_depth=depth, bootstrap=seed % 2 == 0, random_state=state),
        DecisionTreeClassifier(max_depth=depth, random_state=state, class_weight="balanced" if seed % 2 else None),
        BaggingClassifier(DecisionTreeClassifier(max_depth=depth), 9, max_features=0.7, random_state=state),
    ):
        model.fit(X, y)
        check_reader(model, others, own_scores(model, others))


@pytest.mark.parametrize("n_classes", CLASSES)
@pytest.mark.parametrize("seed", range(6))
def test_boosting(seed: int, n_classes: int) -> None:
    rng = np.random.default_rng(seed)
    X, y, others = random_data(rng, n_classes)
    loss = "exponential" if n_classes == 2 and seed % 2 else "log_loss"
    stops = {"n_iter_no_change": 2} if seed % 3 == 0 else {}
    for model in (
        GradientBoostingClassifier(
            n_estimators=12,
            max_depth=1 + seed % 6,
            loss=loss,
            learning_rate=0.37,
            subsample=0.8,
            random_state=seed,
            **stops,
        ),
        GradientBoostingClassifier(n_estimators=5, init="zero", random_state=seed),
        AdaBoostClassifier(n_estimators=15, random_state=seed, learning_rate=0.7),
        AdaBoostClassifier(DecisionTreeClassifier(max_depth=1 + seed % 4), n_estimators=9, random_state=seed),
    ):
        model.fit(X, y)
        check_reader(model, others, own_scores(model, others))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("n_classes", CLASSES)
@pytest.mark.parametrize("seed", range(6))
def test_histogram_boosting(seed: int, n_classes: int) -> None:
    rng = np.random.default_rng(seed)
    X, y, others = random_data(rng, n_classes, nan=seed % 2 == 0)
    model = HistGradientBoostingClassifier(
        max_iter=12, max_leaf_nodes=[2, 8, 31, 60, None][seed % 5], min_samples_leaf=3, random_state=seed
    ).fit(X, y)
    check_reader(model, others, model.decision_function(others))
    check_reader(model, others.astype(np.float32), model.decision_function(others.astype(np.float32)))


def test_ties_of_gradient_boosting_are_class_1() -> None:
    X, y = np.array([[0.0], [1.0]]), np.array([0, 1])
    model = GradientBoostingClassifier(n_estimators=1, learning_rate=1e-300, init="zero").fit(X, y)
    model.estimators_[0, 0].tree_.value[:] = 0.0
    assert model.predict(X).tolist() == [1, 1]
    read = decompose(model)
    assert read.decision.answers(read.terms.scores(X)).tolist() == [1, 1]


def test_votes_that_tie_are_frequent_and_right() -> None:
    rng = np.random.default_rng(0)
    model = RandomForestClassifier(6, random_state=0).fit(rng.normal(size=(400, 3)), rng.integers(0, 3, 400))
    X = rng.normal(size=(400, 3))
    probabilities = np.sort(model.predict_proba(X), axis=1)
    assert (probabilities[:, -1] == probabilities[:, -2]).sum() >= 5
    check_reader(model, X, model.predict_proba(X))


def rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 4))
    return X, (X[:, 0] + 0.3 * rng.normal(size=120) > 0).astype(int)


def test_what_cannot_be_read_is_refused_by_name() -> None:
    X, y = rows()
    model = GradientBoostingClassifier(init=DummyClassifier(strategy="prior")).fit(X, y)
    check_reader(model, X, model.decision_function(X))
    with pytest.raises(TypeError, match="several outputs"):
        decompose(RandomForestClassifier(2).fit(X, np.column_stack([y, 1 - y])))


def test_a_layout_that_is_not_known_is_refused() -> None:
    X, y = rows()
    model = HistGradientBoostingClassifier(max_iter=2).fit(X, y)
    for predictors in model._predictors:
        for predictor in predictors:
            predictor.nodes = rename_fields(predictor.nodes, {"value": "worth"})
    with pytest.raises(TypeError, match="form that wald does not know"):
        decompose(model)


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(3),
        AdaBoostClassifier(n_estimators=3),
        GradientBoostingClassifier(n_estimators=3),
        HistGradientBoostingClassifier(max_iter=3),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_model_that_is_fitted_again_has_changed(model) -> None:
    X, y = rows()
    fitted = clone(model).fit(X, y)
    read = decompose(fitted)
    assert read.changed() is None
    fitted.fit(X[:60], y[:60])
    assert read.changed() is not None
