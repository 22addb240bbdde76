"""The kind of parts is that of the whole call, wherever parts without features stand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from wald.datasets import make_chains
from wald.structured import BudgetedPredictor, ChainClassifier, ExtractionError, FeatureGroup, WordTagger
from wald.structured.policies import UniformPolicy

X = [[["cap", "suffix=og"], []], [["suffix=og"], ["cap"]]] * 10
Y = [["A", "B"], ["B", "A"]] * 10
SENTENCES: list[Any] = [[[], ["cap"]], [["cap"], ["suffix=og"]], [[]], [[], []], [["cap"]]]


def test_a_part_without_features_may_come_first() -> None:
    tagger = ChainClassifier(max_iter=3, random_state=0).fit(X, Y)
    alone = [tagger.predict([sentence])[0] for sentence in SENTENCES]
    assert tagger.predict(SENTENCES) == alone
    assert tagger.predict(SENTENCES[::-1]) == alone[::-1]
    assert tagger.predict([[], *SENTENCES]) == [[], *alone]
    as_dicts = [[dict.fromkeys(part, 1.0) for part in sentence] for sentence in SENTENCES]
    assert tagger.predict(as_dicts) == alone
    as_tuples = [tuple(map(tuple, sentence)) for sentence in SENTENCES]
    assert tagger.predict(as_tuples) == alone
    objects = np.empty(2, dtype=object)
    objects[:] = [["cap"], []]
    assert tagger.predict([objects]) == [tagger.predict([[["cap"], []]])[0]]


def test_fit_and_budgets_take_such_parts_too() -> None:
    rows, labels = [[[], ["cap"]], *X], [["B", "A"], *Y]
    groups = [FeatureGroup("names"), FeatureGroup("first", lambda parts: [part[:1] for part in parts], cost=5.0)]
    model = ChainClassifier(groups, max_iter=3, random_state=0).fit(rows, labels)
    fast = BudgetedPredictor(model, UniformPolicy().fit(model), budget=float(model.group_costs_.sum())).fit(rows)
    assert fast.predict(SENTENCES) == model.predict(SENTENCES)
    assert ChainClassifier(max_iter=3, random_state=0).fit([[[], []]] * 5, [["A", "B"]] * 5).predict([[[], []]])


@pytest.mark.parametrize("odd", [[1.0, 2.0], np.ones(3), "text", 3, None, sparse.csr_matrix((1, 3))])
def test_numbers_among_names_are_refused_with_their_place(odd: Any) -> None:
    tagger = ChainClassifier(max_iter=3, random_state=0).fit(X, Y)
    with pytest.raises(TypeError, match="Part 1 of sequence 2"):  # numbers count the empty sequence, too
        tagger.predict([[], [[], ["cap"]], [["cap"], odd]])


def test_names_for_a_model_of_numbers_and_the_reverse_are_refused() -> None:
    numbers, labels = make_chains(40, n_features=6, random_state=0)
    of_numbers = ChainClassifier(max_iter=3, random_state=0).fit(numbers, labels)
    with pytest.raises(ExtractionError, match=r"must have 6 features, as before. Got names for part 0"):
        of_numbers.predict([[[]]])
    with pytest.raises(ExtractionError, match=r"must have names, as before. Got 6 for part 0"):
        ChainClassifier(max_iter=3, random_state=0).fit(X, Y).predict(numbers)


def test_one_sequence_in_place_of_a_list_of_them() -> None:
    """The message says what to pass; a part without features is no empty sequence."""
    dicts = [[{"word": "a"}, {}], [{}, {"word": "b"}]] * 10
    tagger = ChainClassifier(max_iter=3, random_state=0).fit(dicts, [["A", "B"], ["B", "A"]] * 10)
    for one in (dicts[0], dicts[1], [{}], X[0], [""], ["word"]):
        with pytest.raises(TypeError, match=r"pass \[sequence\]"):
            tagger.predict(one)
    numbers, labels = make_chains(20, n_features=6, random_state=0)
    model = ChainClassifier(max_iter=3, random_state=0).fit(numbers, labels)
    for one in (numbers[0], numbers[0].tolist(), list(numbers[0])):
        with pytest.raises(ValueError, match=r"pass \[sequence\]"):
            model.predict(one)


@pytest.mark.parametrize("given", [{("a", "b"): 1}, {("a", "b")}, frozenset([("a", "b")]), {("a", "b"): 1}.keys()])
def test_sequences_without_an_order_are_refused(given: Any) -> None:
    groups = [FeatureGroup("word", lambda words: [[word] for word in words])]
    for model, parts in (
        (ChainClassifier(max_iter=1), [["a"], ["b"]]),
        (ChainClassifier(groups, max_iter=1), ["a", "b"]),
    ):
        model.fit([parts], [["A", "B"]])
        with pytest.raises(TypeError, match=r"X must be a list of sequences, each a list of parts\. Got"):
            model.predict(given)


@pytest.mark.parametrize("groups", [FeatureGroup("word"), 3, "word", []])
def test_groups_that_are_no_list_are_refused(groups: Any) -> None:
    with pytest.raises(ValueError, match=r"feature_groups must be a list of 1 to 5 FeatureGroups\. Got"):
        ChainClassifier(groups).fit([[["a"]]], [["A"]])
    if groups != []:
        with pytest.raises(ValueError, match=r"feature_groups must be a list of 0 to 4 FeatureGroups\. Got"):
            WordTagger(groups).fit([[("a", "DET", "DT")]])
