"""What makes models behind surrogates quick: shared directions, a fitting kernel, no detour where nothing pays."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from wald import EarlyExitClassifier
from wald.early_exit.compiled.passing_on import passed_on
from wald.models.looks import Prepared
from wald.sources import source_of
from wald.surrogates import landmarks as module
from wald.surrogates.landmarks import landmarks

N = 1500


def rings(seed: int = 0, n_columns: int = 40):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, n_columns)) * ([3.0, 3.0] + [0.3] * (n_columns - 2))
    return X, (np.hypot(X[:, 0], X[:, 1]) // 2.5).clip(0, 2).astype(np.int32)


@pytest.fixture(scope="module")
def learnt():
    X, codes = rings()
    return landmarks(X, codes, np.random.default_rng(0), 1)


def test_landmarks_learn_what_is_not_linear(learnt):
    X, codes = rings(1)
    (only,) = learnt
    said = only.numbers(source_of(X), 1)
    assert said.shape == (N, 3)
    assert np.mean(said.argmax(axis=1) == codes) > 0.9
    linear = LogisticRegression().fit(*rings())
    assert np.mean(linear.predict(X) == codes) < 0.6


def test_a_row_has_the_same_numbers_alone_in_float32_and_from_known_directions(learnt):
    X = rings(1)[0].astype(np.float32)
    source, steps = source_of(X), learnt[0].shared
    whole = learnt[0].numbers(source, 2)
    assert all((learnt[0].numbers(source_of(X[i : i + 1]), 1) == whole[i]).all() for i in (0, 7, N - 1))
    rows = Prepared(source)
    assert (steps.of_prepared(rows.by(steps, 400, 1), 1) == whole).all()
    few = np.array([5, 3, 700])
    taken = rows.take(few)
    assert (steps.of_prepared(taken.by(steps, 400, 1), 1) == whole[few]).all()
    assert "source" not in vars(taken)  # the rows themselves were not taken again
    assert (Prepared(source).take(few).by(steps, 400, 1) == rows.by(steps, 400, 1)[few]).all()


def test_sizes_have_the_directions_in_common(monkeypatch):
    monkeypatch.setattr(module, "SIZES", (50, 100))
    X, codes = rings()
    small, large = landmarks(X, codes, np.random.default_rng(0), 1)
    assert small.shared.shared is large.shared.shared


def test_rows_far_from_all_landmarks_are_known_to_be_so(learnt):
    X = np.zeros((3, 40))
    X[0], X[1, 0] = 1e30, 1e5
    said = learnt[0].numbers(source_of(X), 1)
    assert np.isfinite(said).all()
    assert np.abs(said[:2]).max() < 1e-3 < np.abs(said[2]).max()


def test_columns_far_from_zero_are_no_worse():
    X, codes = rings()
    told = landmarks(X + 1e7, codes, np.random.default_rng(0), 1)[0].numbers(source_of(X + 1e7), 1)
    assert np.mean(told.argmax(axis=1) == codes) > 0.9


@pytest.fixture(scope="module")
def unpaid():
    X, y = rings()
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X[:500], y[:500])

    def useless(rows):
        return np.random.default_rng(len(rows)).random((len(rows), 3))

    return tree, EarlyExitClassifier(tree, risk=0.05, surrogates=[useless], random_state=0).fit(X[500:]), X


def test_where_no_surrogate_pays_an_array_goes_straight_to_the_model(unpaid):
    tree, fast, X = unpaid
    assert fast.plan_.evaluate_all
    own = passed_on(fast.compiled_plan_, X)
    assert (own == tree.predict(X)).all()
    assert (fast.predict(X) == own).all()
    assert (fast.predict(X, details=True).labels == own).all()
    assert (fast.predict(X.tolist()) == own).all()


def test_whatever_else_is_checked_first(unpaid):
    _, fast, X = unpaid
    assert passed_on(fast.compiled_plan_, X[:, :-1]) is None
    assert passed_on(fast.compiled_plan_, X.astype(object)) is None
    assert passed_on(fast.compiled_plan_, X.tolist()) is None
    assert passed_on(fast.compiled_plan_, np.full((1, 40), np.inf)) is None
    with pytest.raises(ValueError, match="40"):
        fast.predict(X[:, :-1])


def test_a_changed_model_is_refused_there_too(unpaid):
    tree, fast, X = unpaid
    n_leaves = tree.tree_
    tree.tree_ = DecisionTreeClassifier(max_depth=1).fit(*rings()).tree_
    try:
        with pytest.raises(ValueError, match="not the one that was planned"):
            fast.predict(X)
    finally:
        tree.tree_ = n_leaves
