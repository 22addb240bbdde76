"""Extractors of parts that are dicts or lists of names are given these parts, and may give such parts themselves."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import wald
from wald.structured import BudgetedPredictor, ChainClassifier, ExtractionError, FeatureGroup
from wald.structured.policies import IteratedPolicy, UniformPolicy
from wald.structured.sequences import Sequences

WORDS = ["dog", "cat", "barks", "sleeps", "the", "a"]
TAGS = dict(zip(WORDS, ["NOUN", "NOUN", "VERB", "VERB", "DET", "DET"], strict=True))


def sentences(n: int, seed: int) -> tuple[list[Any], list[list[str]]]:
    rng = np.random.default_rng(seed)
    texts = [[WORDS[i] for i in rng.integers(len(WORDS), size=rng.integers(1, 6))] for _ in range(n)]
    return [[{"initial": w[0], "text": {"word": w}} for w in text] for text in texts], [
        [TAGS[w] for w in t] for t in texts
    ]


X, Y = sentences(300, 0)


def as_dicts(parts: Any) -> Any:
    return [{"tag": TAGS[part["text"]["word"]]} for part in parts]


def as_lists(parts: Any) -> Any:
    return [["tag=" + TAGS[part["text"]["word"]]] for part in parts]


def as_numbers(parts: Any) -> Any:
    return np.array([[TAGS[part["text"]["word"]] == tag for tag in ("NOUN", "VERB")] for part in parts])


def as_rows(parts: Any) -> Any:
    return sparse.csr_matrix(as_numbers(parts))


def as_number_lists(parts: Any) -> Any:
    return as_numbers(parts).astype(float).tolist()


def initials(parts: Any) -> Any:
    return [[part["initial"]] for part in parts]


@pytest.mark.parametrize("extract", [as_dicts, as_lists, as_numbers, as_rows, as_number_lists])
def test_a_group_of_words_is_bought_where_it_is_asked_for(extract: Any) -> None:
    seen: list[Any] = []

    def watched(parts: Any) -> Any:
        seen.append(parts)
        return extract(parts)

    groups = [FeatureGroup("initial", initials, cost=1.0), FeatureGroup("lookup", watched, cost=20.0)]
    model = ChainClassifier(groups, max_iter=10, random_state=0).fit(X[:200], Y[:200])
    assert model.score(X[200:], Y[200:]) == 1
    assert all(isinstance(parts, list) and all(isinstance(part, dict) for part in parts) for parts in seen)
    words = list({part["text"]["word"]: part for sentence in X[:200] for part in sentence}.values())
    assert seen == [words]  # at once, as they were given, those of equal content once

    seen.clear()
    groups[1].forget()
    session = model.open(X[200:])
    state = session.state() & False
    session.decode(state)
    assert not seen
    flat = [part for sentence in X[200:] for part in sentence]
    other = next(i for i, part in enumerate(flat) if part != flat[3])
    state[[3, other]] = True
    session.decode(state)
    assert seen == [[flat[i] for i in sorted([3, other])]]


@pytest.mark.slow
def test_budgets_policies_folds_and_pickles(tmp_path: Any) -> None:
    groups = [FeatureGroup("initial", initials, cost=1.0), FeatureGroup("lookup", as_dicts, cost=20.0)]
    model = ChainClassifier(groups, max_iter=5, random_state=0).fit(X[:200], Y[:200])
    policy = IteratedPolicy(random_state=0).fit(model, X[:200], Y[:200])
    fast = BudgetedPredictor(model, policy, budget=12.0).fit(X[200:250])
    found, cost = fast.predict([[], *X[250:]], return_cost=True)
    assert found[0] == []
    assert cost.sum() < 21.0 * sum(map(len, X[250:]))
    again = pickle.loads(pickle.dumps(fast))
    assert again.predict([[], *X[250:]]) == found
    everything = BudgetedPredictor(model, UniformPolicy().fit(model), risk=0.1, random_state=0).fit(X)
    assert everything.predict(X[250:]) == pickle.loads(pickle.dumps(everything)).predict(X[250:])
    with pytest.raises(ValueError, match="Group 'initial' cannot be saved: its extractor is code"):
        wald.save(model, tmp_path / "chain.wald")


def test_features_that_fit_keeps_are_those_of_the_same_words() -> None:
    """Two spellings of one column are two parts for an extractor."""
    seen: list[int] = []

    def spelt(parts: Any) -> Any:
        seen.append(len(parts))
        return [[float(isinstance(part, dict))] for part in parts]

    dicts, lists = [[{"w:a": 1.0}, {"w:b": 1.0}]] * 10, [[["w:a"], ["w:b"]]] * 10
    groups = [FeatureGroup("names"), FeatureGroup("spelling", spelt, cost=2.0)]
    model = ChainClassifier(groups, max_iter=2, random_state=0).fit(dicts, [["A", "B"]] * 10)
    assert (Sequences.of(dicts).parts != Sequences.of(lists).parts).nnz == 0
    assert seen == [2]
    seen.clear()
    assert model._extracted(dicts).extracted.values[1].all()
    assert not seen
    assert not model._extracted(lists).extracted.values[1].any()
    assert seen == [2]


@pytest.mark.parametrize(
    ("extract", "message"),
    [
        (
            lambda parts: parts[:, ::2],
            r"part 0 of sequence 0 \({'initial': .*\) and|part 0 of sequence 0 and .*{'initial'",
        ),
        (lambda parts: [{}] * (len(parts) - 1), "'lookup': it gave 5 answers for 6 parts, for part 0 of sequence 0"),
        (lambda parts: [{"a": None}] * len(parts), "'lookup': part 0 of sequence 0: Feature 'a' must be"),
        (lambda parts: [{"a": 1.0}, *[[1.0]] * (len(parts) - 1)], "'lookup': part .* of sequence .*must hold strings"),
        (lambda parts: [None] * len(parts), "'lookup' must be numbers, or a dict or list of strings for each part"),
        (lambda parts: "text", "'lookup': it answered 'text', a str"),
        (lambda parts: [[1.0]] * (len(parts) - 1) + [[1.0, 2.0]], "as many for each part"),
        (lambda parts: [{"a": np.inf}] * len(parts), "'lookup' has NaN or infinity at part 0 of sequence 0"),
    ],
)
def test_errors_name_the_group_and_the_part(extract: Any, message: str) -> None:
    groups = [FeatureGroup("names"), FeatureGroup("lookup", extract, cost=20.0)]
    with pytest.raises(ExtractionError, match=message):
        ChainClassifier(groups, max_iter=2, random_state=0).fit(X, Y)
