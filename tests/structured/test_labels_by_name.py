"""Labels of parts by name in one call: the answers of a session, for anything that it takes."""

from __future__ import annotations

import pickle
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import wald
from wald.structured import ChainClassifier, FeatureGroup


def sentences(n: int, n_labels: int, seed: int = 0) -> tuple[list[list[Any]], list[list[str]]]:
    """Words in dicts, of numbers and texts, and their labels."""
    rng = np.random.default_rng(seed)
    X: list[list[Any]] = []
    for length in rng.integers(1, 15, n):
        words = rng.integers(40, size=length + 2).tolist()
        X.append(
            [
                {
                    "word": f"w{words[i]}",
                    "before": f"w{words[i - 1]}",
                    "after": f"w{words[i + 1]}",
                    "bias": 1.0,
                    "odd": words[i] % 2 == 1,
                    "value": float(rng.normal()),
                    "list": ["a", f"é{words[i] % 7}"],
                    **{f"more{k}": 1 for k in range(words[i] % 3 * 8)},
                }
                for i in range(1, length + 1)
            ]
        )
    y = [[f"L{(int(part['word'][1:]) + int(part['before'][1:]) % 2) % n_labels:02}" for part in x] for x in X]
    return X, y


def ones(parts: list[Any]) -> Any:
    return np.ones((len(parts), 2))


def by_session(model: ChainClassifier, X: Any) -> list[Any]:
    session = model.open(X)
    return session.answers(session.decode(session.state()))


@pytest.mark.parametrize("n_labels", [2, 17, 40])
def test_answers_are_those_of_a_session(n_labels: int) -> None:
    X, y = sentences(60, n_labels)
    model = ChainClassifier(max_iter=2, random_state=0).fit(X, y)
    new, _ = sentences(80, n_labels, seed=1)
    expected = by_session(model, new)
    assert model.predict(new) == expected
    assert [model.predict_one(x) for x in new] == expected
    assert model.predict(tuple(tuple(x) for x in new)) == expected
    assert model.predict(tuple(OrderedDict(part) for part in x) for x in new) == expected
    assert ChainClassifier(max_iter=2, random_state=0, n_jobs=2).fit(X, y).predict(new) == expected
    assert model.predict([[], *new, []]) == [[], *expected, []]
    assert (model.predict_one([]), model.predict([])) == ([], [])


def test_lists_of_strings_bytes_and_decimals_too() -> None:
    X, y = sentences(40, 5)
    model = ChainClassifier(max_iter=2, random_state=0).fit(X, y)
    names = [[[f"word:{part['word']}", "bias"] for part in x] for x in X]
    as_bytes = [[[name.encode() for name in part] for part in x] for x in names]
    as_sets = [[frozenset(part) for part in x] for x in names]
    expected = by_session(model, names)
    for form in (names, as_bytes, as_sets, [[tuple(part) for part in x] for x in names]):
        assert model.predict(form) == expected
    numbers = [[{**part, "value": Decimal(part["value"])} for part in x] for x in X]
    assert model.predict(numbers) == by_session(model, X)
    assert model.predict([[[], [b"bias"]], [[]]]) == by_session(model, [[[], ["bias"]], [[]]])


def test_arrays_and_integers_come_back_as_they_were_given() -> None:
    X, y = sentences(30, 4)
    codes = [np.array([int(label[1:]) for label in labels]) for labels in y]
    model = ChainClassifier(max_iter=2, random_state=0).fit(X, codes)
    for found, expected in zip(model.predict(X), by_session(model, X), strict=True):
        assert isinstance(found, np.ndarray)
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(model.predict_one(X[3]), model.predict(X)[3])
    assert model.predict_one([]).shape == (0,)


def test_a_fit_a_file_and_a_pickle_forget_the_weights_before(tmp_path: Any) -> None:
    X, y = sentences(30, 4)
    model = ChainClassifier(max_iter=2, random_state=0).fit(X, y)
    first = model.predict(X)
    wald.save(model, tmp_path / "chain.wald")
    for other in (wald.load(tmp_path / "chain.wald"), pickle.loads(pickle.dumps(model))):
        assert other.predict(X) == first
        assert other.predict_one(X[0]) == first[0]
    model.fit(X, [[f"M{label}" for label in labels] for labels in y])
    assert model.predict(X) == [[f"M{label}" for label in labels] for labels in first]
    model.partial_fit(X, [["ML00" for _ in labels] for labels in y])
    assert model.predict(X) == by_session(model, X)


def test_threads_may_share_a_model() -> None:
    X, y = sentences(60, 5)
    model = ChainClassifier(max_iter=2, random_state=0).fit(X, y)
    expected = model.predict(X)
    with ThreadPoolExecutor(4) as pool:
        assert all(found == expected for found in pool.map(lambda _: model.predict(X), range(12)))
        assert list(pool.map(model.predict_one, X)) == expected


def test_other_groups_need_a_session() -> None:
    X, y = sentences(30, 3)
    groups = [FeatureGroup("names"), FeatureGroup("first", lambda parts: [[part["word"]] for part in parts], cost=1.0)]
    model = ChainClassifier(groups, max_iter=2, random_state=0).fit(X, y)
    assert model.predict(X) == by_session(model, X)
    assert model.predict_one(X[0]) == model.predict(X)[0]
    model = ChainClassifier(max_iter=2, random_state=0).fit(X, y)
    model.predict_one(X[0])  # makes what answers by name
    model.feature_groups = [FeatureGroup("parts", lambda parts: [{} for _ in parts])]
    assert model.predict_one(X[0]) == by_session(model, X[:1])[0] == model.predict([[{}] * len(X[0])])[0]


def test_what_is_refused_is_named() -> None:
    X, y = sentences(20, 3)
    model = ChainClassifier(max_iter=2, random_state=0).fit(X, y)
    good = X[0]
    for odd, message in (
        ({"a": None}, "Part 1 of sequence 2: Feature 'a' must be a number"),
        ({"a": float("nan")}, "NaN or infinity. Sequence 2 does"),
        ({1: "a"}, "Part 1 of sequence 2: Names of features must be strings. Got 1, an int"),
        (["a", None], "Part 1 of sequence 2: Lists of features must hold strings"),
        ("text", "Part 1 of sequence 2: Every part must be a dict or a list of strings"),
        (np.ones(3), "Part 1 of sequence 2: Every part must be a dict or a list of strings"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            model.predict([[], good, [good[0], odd]])
        with pytest.raises((TypeError, ValueError), match=message.replace("equence 2", "equence 0")):
            model.predict_one([good[0], odd])
    with pytest.raises(TypeError, match=r"pass \[sequence\]"):
        model.predict(good)
    with pytest.raises(TypeError, match=r"Part 0 of sequence 0"):
        model.predict_one([good])


@pytest.mark.parametrize("names_first", [False, True])
def test_sentences_of_other_kinds_are_refused_wherever_they_stand(names_first: bool) -> None:
    X, y = sentences(20, 3)
    model = ChainClassifier(max_iter=2, random_state=0).fit(X, y)
    mixed: list[Any] = [X[0], np.ones((2, 3))] if names_first else [np.ones((2, 3)), X[0]]
    with pytest.raises(TypeError, match="Part 0 of sequence 1"):
        model.predict(mixed)


def test_generators_are_read_once() -> None:
    X, y = sentences(30, 3)
    model = ChainClassifier(max_iter=2, random_state=0)
    expected = model.fit(X, y).predict(X)
    model.fit((iter(x) for x in X), [labels[:] for labels in y])
    assert model.predict([iter(x) for x in X]) == expected
    assert model.predict(iter(x) for x in [[], *X]) == [[], *expected]


def test_an_empty_sentence_in_fit_and_labels_that_do_not_match() -> None:
    X, y = sentences(5, 2)
    model = ChainClassifier(max_iter=2, random_state=0)
    for rows, labels, message in (
        ([*X, []], [*y, []], "Sequence 5 is empty; .* Leave it out, with its labels"),
        (X, y[:-1], "labels of 5 sequences. Got 4"),
        (X, [*y[:-1], y[-1][1:]], "Sequence 4 has .* parts, and labels of shape"),
        (X, [*y[:-1], [1] * len(y[-1])], "labels of one type"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(rows, labels)


@pytest.mark.slow
def test_a_sentence_of_100_000_words() -> None:
    X, y = sentences(30, 3)
    model = ChainClassifier(max_iter=2, random_state=0).fit(X, y)
    words = [part for x in X for part in x]
    long = (words * (100_000 // len(words) + 1))[:100_000]
    assert model.predict_one(long) == model.predict([long])[0] == by_session(model, [long])[0]


@pytest.mark.parametrize("own_weights", [True, False])
def test_weights_by_name_and_label_add_up_to_scores(own_weights: bool, tmp_path: Any) -> None:
    X, y = sentences(40, 3)
    groups = [FeatureGroup("names"), FeatureGroup("two", ones, cost=1.0)]
    model = ChainClassifier(groups, max_iter=3, keep_names=True, own_weights=own_weights, random_state=0).fit(X, y)
    wald_file = ChainClassifier(max_iter=3, keep_names=True, random_state=0).fit(X, y)
    wald.save(wald_file, tmp_path / "chain.wald")
    for chain in (model, wald_file, wald.load(tmp_path / "chain.wald"), pickle.loads(pickle.dumps(model))):
        weights, labels = chain.feature_weights(), chain.classes_.tolist()
        part = X[0][0]
        values = {f"{k}:{v}" if isinstance(v, str) else k: 1.0 if isinstance(v, str) else v for k, v in part.items()}
        values |= {f"list:{name}": 1.0 for name in values.pop("list")}
        one, other = chain.open([[part, {}]]), chain.open([[{}, {}]])
        found = (one.node_scores(one.state()) - other.node_scores(other.state()))[0]
        names = next(iter(weights.values()))
        expected = [sum(float(v) * names.get((k, label), 0.0) for k, v in values.items()) for label in labels]
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    assert set(model.feature_weights()["two"]) <= {(column, label) for column in range(2) for label in labels}
    steps = model.transition_weights()
    assert len(steps) == len(labels) ** 2
    assert steps["L00", "L01"] == model._chain.table()[2 + 2, 1]


def test_names_that_were_not_kept_are_told() -> None:
    X, y = sentences(10, 2)
    with pytest.raises(ValueError, match="Fit with keep_names=True"):
        ChainClassifier(max_iter=1, random_state=0).fit(X, y).feature_weights()
    numbers = [np.eye(2)[[i % 2 for i in range(len(labels))]] for labels in y]
    weights = ChainClassifier(max_iter=1, random_state=0).fit(numbers, y).feature_weights()
    assert all(column in (0, 1) for column, _ in weights["parts"])


def test_partial_fit_keeps_the_names_of_all_calls() -> None:
    model = ChainClassifier(keep_names=True, random_state=0)
    for word, label in (("first", "A"), ("second", "B")) * 5:
        model.partial_fit([[{"word": word}]], [[label]], classes=["A", "B"])
    assert {name for name, _ in model.feature_weights()["parts"]} == {"word:first", "word:second"}


def test_a_file_has_the_weights_that_are_not_zero(tmp_path: Any) -> None:
    rng = np.random.default_rng(0)
    X = [[[f"n{i}" for i in rng.integers(20_000, size=20)] for _ in range(10)] for _ in range(100)]
    y = [[f"L{i}" for i in rng.integers(40, size=10)] for _ in X]
    model = ChainClassifier(max_iter=1, random_state=0).fit(X, y)
    table = model._chain.table()
    wald.save(model, tmp_path / "chain.wald")
    assert (tmp_path / "chain.wald").stat().st_size < 8 * np.count_nonzero(table) + 4 * np.count_nonzero(
        table.any(axis=1)
    )
    loaded = wald.load(tmp_path / "chain.wald")
    assert np.array_equal(loaded._chain.table().view(np.uint32), table.view(np.uint32))
