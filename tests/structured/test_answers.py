"""Answers have the form of the labels given to fit, and examples without parts have empty answers."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import wald
from wald.datasets import make_chains, make_trees
from wald.structured import BudgetedPredictor, ChainClassifier, DependencyParser, FeatureGroup
from wald.structured.policies import UniformPolicy
from wald.structured.sequences import Sequences

X, Y = make_chains(60, n_features=6, random_state=0)
NAMES = [[f"label {code}" for code in codes] for codes in Y]
GROUPS = [FeatureGroup("half", lambda parts: parts[:, ::2], cost=1), FeatureGroup("all", cost=9)]


def fitted(y: Any, groups: Any = None) -> ChainClassifier:
    return ChainClassifier(groups, max_iter=3, random_state=0).fit(X, y)


def budgeted(model: Any, examples: Any) -> BudgetedPredictor:
    policy = UniformPolicy().fit(model)
    return BudgetedPredictor(
        model, policy, budget=float(np.mean([model.group_costs_[0], sum(model.group_costs_)]))
    ).fit(examples)


@pytest.mark.parametrize("kind", [str, int, float, bool])
def test_lists_of_labels_come_back_as_lists_of_the_same_type(kind: type) -> None:
    labels = [[kind(code) for code in codes] for codes in Y]
    for model in (fitted(labels), fitted([tuple(row) for row in labels])):
        found = model.predict(X)
        assert all(type(row) is list and all(type(label) is kind for label in row) for row in found)
        assert json.loads(json.dumps(found)) == found
        assert [len(row) for row in found] == [len(row) for row in X]
        paths = model.best_paths(X[:2], 2)[0]
        assert paths[0][0] == found[0]
        assert json.dumps(paths)


def test_arrays_of_labels_come_back_as_arrays() -> None:
    lists = fitted(NAMES).predict(X)
    together = np.concatenate([np.array(row) for row in NAMES])
    for y in ([np.array(row) for row in NAMES], together):
        found = fitted(y).predict(X)
        assert all(isinstance(row, np.ndarray) for row in found)
        assert [row.tolist() for row in found] == lists


def test_partial_fit_keeps_the_form_of_the_first_call() -> None:
    classes = sorted({name for row in NAMES for name in row})
    model = ChainClassifier(random_state=0).partial_fit(X, NAMES, classes)
    assert type(model.predict(X)[0]) is list
    model = ChainClassifier(random_state=0).partial_fit(X, [np.array(row) for row in NAMES], classes)
    assert isinstance(model.predict(X)[0], np.ndarray)


def test_the_form_survives_files_and_pickles(tmp_path: Any) -> None:
    for y in (NAMES, [np.array(row) for row in NAMES]):
        model = fitted(y)
        wald.save(model, tmp_path / "chain.wald")
        for other in (wald.load(tmp_path / "chain.wald"), pickle.loads(pickle.dumps(model))):
            assert type(other.predict(X)[0]) is type(model.predict(X)[0])
            assert [list(row) for row in other.predict(X)] == [list(row) for row in model.predict(X)]


@pytest.mark.parametrize("y", [NAMES, [np.array(row) for row in NAMES]], ids=["lists", "arrays"])
def test_an_empty_sequence_has_an_empty_answer(y: Any) -> None:
    model = fitted(y, GROUPS)
    fast = budgeted(model, X)
    a, b, form = X[0], X[1], type(model.predict(X)[0])
    stacked, sizes = np.concatenate([a, b]), [0, len(a), 0, len(b)]
    for rows, more in (
        ([[], a, [], b], {}),
        (([], a, np.empty((0, 6)), b), {}),
        ([sparse.csr_matrix((0, 6)), sparse.csr_matrix(a), [], sparse.csr_matrix(b)], {}),
        (stacked, {"lengths": sizes}),
        (Sequences(stacked, np.cumsum([0, *sizes])), {}),
    ):
        for found, expected in (
            (model.predict(rows, **more), model.predict([a, b])),
            *([] if more else [(fast.predict(rows), fast.predict([a, b]))]),
        ):
            assert [type(row) for row in found] == [form] * 4
            assert [len(row) for row in found] == sizes
            assert [list(row) for row in found[1::2]] == [list(row) for row in expected]
        assert [p.shape for p in model.predict_marginals(rows, **more)] == [(n, 4) for n in sizes]
        assert [p.shape for p in model.max_marginals(rows, **more)] == [(n, 4) for n in sizes]
        paths, scores = model.best_paths(rows, 2, **more)
        assert [np.shape(path) for path in paths] == [(2, n) for n in sizes]
        assert scores[0].tolist() == [0, -np.inf]
        np.testing.assert_array_equal(scores[[1, 3]], model.best_paths([a, b], 2)[1])
    assert model.score([a, [], b], [y[0], [], y[1]]) == model.score([a, b], y[:2])
    together = np.concatenate([np.array(row) for row in y])
    for n in (1, 2):  # of which the empty ones have no labels in one array of all
        some, labels = np.concatenate(X[:n]), together[: sum(map(len, X[:n]))]
        for lengths in ([*map(len, X[:n]), 0], [0, *map(len, X[:n])], [0] * (len(labels) - n) + [*map(len, X[:n])]):
            assert model.score(some, labels, lengths=lengths) == model.score(X[:n], y[:n])
    assert [type(row) for row in model.predict([[], []])] == [form] * 2
    assert [type(row) for row in fast.predict([[], []])] == [form] * 2


def test_empty_sequences_of_names_have_empty_answers() -> None:
    dicts = [[{"x": float(part[0])} for part in row] for row in X]
    model = ChainClassifier(max_iter=1, random_state=0).fit(dicts, NAMES)
    assert model.predict([[], dicts[0], []]) == [[], model.predict(dicts[:1])[0], []]


@pytest.mark.parametrize("labels", [["label 1"], np.array(["label 1"]), None, "label 1"])
def test_an_empty_sequence_has_no_labels_to_compare_with(labels: Any) -> None:
    with pytest.raises(ValueError, match=r"Sequence 1 has 0 parts, and labels of shape \("):
        fitted(NAMES).score([X[0], [], X[1]], [NAMES[0], labels, NAMES[1]])


@pytest.mark.parametrize("k", [0, -1, 1.5, "2", None, True, 1001])
def test_numbers_of_labellings_are_checked(k: Any) -> None:
    with pytest.raises(ValueError, match=r"k must be an integer in \[1, 1000\]\. Got"):
        fitted(NAMES).best_paths(X, k)


@pytest.mark.parametrize(
    ("scale", "error"), [(0, ValueError), (np.nan, ValueError), ("1", TypeError), (True, TypeError)]
)
def test_scales_are_checked(scale: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="scale must be"):
        fitted(NAMES).predict_marginals(X, scale=scale)


@pytest.mark.parametrize("none", [[], (), np.empty((0, 3, 6))], ids=["list", "tuple", "array"])
def test_no_sequences_have_no_answers(none: Any) -> None:
    model = fitted(NAMES, GROUPS)
    assert model.predict(none) == model.predict_marginals(none) == model.max_marginals(none) == []
    assert model.best_paths(none, 3)[1].shape == (0, 3)
    answers, cost, state = budgeted(model, X).predict(none, return_cost=True, return_state=True)
    assert (answers, cost.shape, state.shape) == ([], (0,), (0, 1))


def test_an_empty_example_costs_nothing() -> None:
    fast = budgeted(fitted(NAMES, GROUPS), X)
    answers, cost, state = fast.predict([[], X[0], []], return_cost=True, return_state=True)
    expected = fast.predict(X[:1], return_cost=True, return_state=True)
    assert answers == [[], expected[0][0], []]
    assert cost.tolist() == [0, expected[1][0], 0]
    np.testing.assert_array_equal(state, expected[2])


def test_what_is_no_sequence_is_still_refused() -> None:
    model = fitted(NAMES)
    for wrong in ([X[0], 3], [X[0], "text"], np.ones((3, 6)), 5):
        with pytest.raises((ValueError, TypeError)):
            model.predict(wrong)
    with pytest.raises(ValueError, match="Sequence 1 is empty"):
        fitted(NAMES).fit([X[0], []], [NAMES[0], []])


def test_heads_have_the_form_that_sentences_were_given_in(tmp_path: Any) -> None:
    bank = make_trees(80, random_state=0)
    words = [list(zip(s.forms, s.upos, s.xpos, s.heads, s.deprels, strict=True)) for s in bank]
    found = []
    for sentences, form in ((bank, np.ndarray), (words, list)):
        parser = DependencyParser(table_bits=12, max_iter=1, states="random", random_state=0).fit(sentences)
        wald.save(parser, tmp_path / "parser.wald")
        for one in (parser, wald.load(tmp_path / "parser.wald"), pickle.loads(pickle.dumps(parser))):
            fast = budgeted(one, sentences)
            assert {type(row) for row in fast.predict(sentences)} == {form}
            assert fast.predict([]) == []
            assert [len(row) for row in fast.predict([[], words[0]])] == [0, len(words[0])]
        found.append([list(row) for row in budgeted(parser, sentences).predict(sentences)])
        assert len(parser.predict([])) == len(parser.predict(bank[:0])) == 0
    assert json.dumps(found[1])
    assert found[0] == found[1]


def test_errors_count_the_empty_sequences_too() -> None:
    def picky(parts: Any) -> Any:
        if (parts == 7).any():
            raise OSError("no")
        return parts

    model = fitted(
        NAMES, [FeatureGroup("half", lambda parts: parts[:, ::2], cost=1), FeatureGroup("all", picky, cost=9)]
    )
    a, bad, seven = X[0], X[1].copy(), X[1].copy()
    bad[0, 0], seven[0] = np.nan, 7
    empty = np.empty((0, 6))
    stacked, sizes = np.concatenate([a, bad]), [0, len(a), 0, len(bad)]
    message = "NaN or infinity. Sequence 3 does"
    for rows, more in (
        ([empty, a, empty, bad], {}),
        ([empty, sparse.csr_matrix(a), empty, sparse.csr_matrix(bad)], {}),
        (stacked, {"lengths": sizes}),
    ):
        with pytest.raises(ValueError, match=message):
            model.predict(rows, **more)
        with pytest.raises(ValueError, match=message):
            model.score(rows, [[], NAMES[0], [], NAMES[1]], **more)
    with pytest.raises(ValueError, match="Sequence 3 has 5 features"):
        model.predict([[], a, [], X[1][:, :5]])
    with pytest.raises(ValueError, match="Sequence 3 must be a numeric array"):
        model.predict([[], a, [], np.array([["x"]])])
    with pytest.raises(ValueError, match=f"Sequence 3 has {len(bad)} parts, and labels"):
        model.score([[], a, [], X[1]], [[], NAMES[0], [], NAMES[1][:-1]])
    stacked = np.concatenate([a, seven])
    for rows, more in (
        ([empty, seven, empty, a], {}),
        (np.concatenate([seven, a]), {"lengths": [0, len(seven), 0, len(a)]}),
        (Sequences(np.concatenate([seven, a]), np.cumsum([0, 0, len(seven), 0, len(a)])), {}),
    ):
        with pytest.raises(wald.structured.ExtractionError, match="part 0 of sequence 1 and"):
            model.predict(rows, **more)
