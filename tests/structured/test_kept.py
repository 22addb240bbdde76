"""What extractors were asked is kept by part: nothing is paid for twice, and nothing is lost when a call fails."""

from __future__ import annotations

import pickle
import shelve
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from structured.kept_cases import OTHERS, TAGS, WAYS, WORDS, Service, X, Y, endings, initials, model_of, sentences

from wald import Calls
from wald.datasets import make_chains
from wald.structured import (
    BudgetedPredictor,
    ChainClassifier,
    ExtractionError,
    FeatureGroup,
    asking,
    budget,
)
from wald.structured.extractors import Context
from wald.structured.kept import key_of_part
from wald.structured.policies import OneShotPolicy, UniformPolicy
from wald.structured.rows import joined, rows_of


@pytest.mark.parametrize("way", WAYS)
def test_no_part_is_asked_about_twice(way: str) -> None:
    service = Service()
    model = model_of(WAYS[way](service)).fit(X, Y)
    assert service.most == 1
    assert model.n_calls_.tolist() == [len(service.asked)] * 2
    assert (model.seconds_ > 0).all()
    policy = OneShotPolicy(target="wrong", cv=2, random_state=0).fit(model, X, Y)
    before = len(service.asked)
    fast = BudgetedPredictor(model, policy, budget=5.0).fit(OTHERS)
    assert fast.n_calls_.tolist() == [model.feature_groups[0].counts.rows - before, len(service.asked) - before]
    assert ((fast.seconds_ > 0) == (fast.n_calls_ > 0)).all()
    answers = fast.predict(X + OTHERS)
    assert fast.predict(X + OTHERS) == answers
    BudgetedPredictor(model, UniformPolicy().fit(model), risk=0.3, random_state=0).fit(OTHERS)
    clone(model).fit(X, Y)
    assert service.most == 1
    counts = model.feature_groups[1].counts
    assert counts.rows == len(service.asked) <= len(WORDS)
    assert counts.calls == len(service.batches)
    assert max(service.batches) <= (5 if "calls" in way else 256)


def test_it_is_said_what_was_spent() -> None:
    group = FeatureGroup("service", Calls(Service(), batch_size=5))
    ChainClassifier([group], max_iter=1, random_state=0).fit(X, Y)
    assert str(group.counts).startswith(f"{len(WORDS)} rows asked in 5 calls and ")


def test_progress_says_what_was_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[tuple[str, float]] = []

    class Bar:
        def __enter__(self) -> Callable[[str, float], None]:
            return lambda name, done: shown.append((name, done))

        def __exit__(self, *error: object) -> None:
            pass

    monkeypatch.setattr(asking, "LateBar", Bar)
    ChainClassifier([FeatureGroup("service", Calls(Service(), batch_size=10))], max_iter=1).fit(X, Y)
    assert shown == [(f"service: {n} of 24 parts, 0 s", n / 24) for n in (0, 10, 20)]


def test_threads_share_what_is_kept() -> None:
    service = Service()
    model = model_of(service).fit(X, Y)
    wanted, found = model.predict(OTHERS), list[Any]()
    model.forget_features()
    threads = [threading.Thread(target=lambda: found.append(model.predict(OTHERS))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [wanted] * 4


def test_cross_validation_asks_once() -> None:
    service = Service()
    model = model_of(service)
    assert len(cross_val_score(model, X, Y, cv=3)) == 3
    assert service.most == 1


@pytest.mark.parametrize("way", ["calls", "calls at once", "calls in threads"])
def test_what_was_bought_before_a_failure_stays(way: str) -> None:
    service = Service()
    model = model_of(WAYS[way](service))
    order = list(dict.fromkeys(word for text in X for word in text))
    service.fails_at = order[17]
    with pytest.raises(
        ExtractionError,
        match=r"'service': the extractor failed on part \d of sequence \d+ and 4 others.*no route.*is kept",
    ) as caught:
        model.fit(X, Y)
    assert isinstance(caught.value.__cause__, ConnectionError)
    bought = set(service.asked)
    assert bought >= set(order[:15])
    assert not hasattr(model, "classes_")
    service.fails_at = None
    model.fit(X, Y)
    assert service.most == 1
    assert model.n_calls_[1] == len(WORDS) - len(bought)


def test_a_plain_function_loses_one_batch_at_most() -> None:
    words = [f"{i}" for i in range(600)]
    service = Service()
    service.fails_at = "550"
    model = ChainClassifier([FeatureGroup("service", service, cost=1.0)], max_iter=1, random_state=0)
    with pytest.raises(ExtractionError, match="part 512 of sequence 0 and 87 others"):
        model.fit([words], [["A", "B"] * 300])
    assert len(service.asked) == 512


def test_retries_and_bad_answers() -> None:
    service, tries = Service(), Counter[str]()

    def at_second(words: list[str]) -> Any:
        tries.update(words)
        if tries[words[0]] == 1:
            raise ConnectionError("busy")
        return service(words)

    model = model_of(Calls(at_second, batch_size=4, retries=1, backoff=0.0)).fit(X, Y)
    assert set(tries.values()) == {2}
    assert model.feature_groups[1].counts.retries == 6
    service.fails_at = WORDS[0]
    with pytest.raises(ExtractionError, match="after 3 attempts: ConnectionError: no route"):
        model_of(Calls(service, retries=2, backoff=0.0)).fit(X, Y)
    answers = Counter[int]()

    def not_numbers(words: list[str]) -> Any:
        answers[len(words)] += 1
        return [[1.0, np.nan if word == WORDS[3] else 2.0] for word in words]

    group = FeatureGroup("service", Calls(not_numbers, batch_size=4, retries=3, backoff=0.0))
    with pytest.raises(ExtractionError, match=r"'service' has NaN or infinity at part \d of sequence \d+\."):
        ChainClassifier([group], max_iter=1).fit(X, Y)
    assert group.counts.retries == 0  # an answer that cannot be used is no reason to ask again


def test_fewer_rows_for_repeated_parts() -> None:
    """A database gives a row for each id once. Parts of equal content are asked about once, so that this does well."""

    def distinct(words: Any) -> Any:
        return [endings(word) for word in dict.fromkeys(words)]

    model = ChainClassifier([FeatureGroup("service", distinct)], max_iter=2).fit(X, Y)
    assert model.score(X, Y) > 0.5
    placed = FeatureGroup("placed", lambda words, context: distinct(words))
    with pytest.raises(
        ExtractionError, match=r"'placed': it gave 24 answers for \d+ parts, .* 24 of the parts are diff"
    ):
        ChainClassifier([placed], max_iter=2).fit(X, Y)
    numbers, labels = make_chains(20, n_features=3, random_state=0)
    twice = [np.vstack([x, x]) for x in numbers]
    rows = FeatureGroup("rows", lambda parts: np.unique(parts, axis=0))
    with pytest.raises(ExtractionError, match=r"'rows' must have one row for each of .* of the parts are different"):
        ChainClassifier([rows], max_iter=2).fit(twice, [np.concatenate([y, y]) for y in labels])


class Token:
    def __init__(self, text: str) -> None:
        self.text = text


def test_parts_without_content_need_a_key() -> None:
    tokens = [[Token(word) for word in text] for text in X]
    service = Service()

    def ask(parts: list[Token]) -> Any:
        return service([part.text for part in parts])

    group = FeatureGroup("service", ask)
    with pytest.raises(
        ExtractionError, match=r"part 0 of sequence 0 \(<.*Token.*Give a key.*'service', Calls\(extract"
    ):
        ChainClassifier([group], max_iter=2).fit(tokens, Y)
    group = FeatureGroup("service", Calls(ask, key=lambda token: token.text))
    model = ChainClassifier([group], max_iter=2).fit(tokens, Y)
    model.predict([[Token(word) for word in text] for text in X])
    assert service.most == 1
    failing = FeatureGroup("service", Calls(ask, key=lambda token: token.name))
    with pytest.raises(ExtractionError, match=r"its key= failed on part 0 of sequence 0.*has no attribute"):
        ChainClassifier([failing], max_iter=2).fit(tokens, Y)


class Tagged(str):
    """A text with more to it."""

    tag: Any


def tagged(word: str, tag: Any) -> Tagged:
    made = Tagged(word)
    made.tag = tag
    return made


def test_texts_of_a_class_of_its_own_are_known_by_all_they_hold() -> None:
    one, other, again = tagged("run", "V"), tagged("run", "N"), tagged("run", "V")
    assert key_of_part(one) == key_of_part(again) != key_of_part(other)
    texts = [[one, other], [other]] * 9
    group = FeatureGroup("tags", lambda words: [[word.tag] for word in words])
    model = ChainClassifier([group], max_iter=5, random_state=0).fit(texts, [["V", "N"], ["N"]] * 9)
    assert model.predict([[other], [one]]) == [["N"], ["V"]]
    with pytest.raises(TypeError, match="give key="):
        key_of_part(tagged("run", object()))


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_rows_of_numbers_are_kept_where_calls_are_given(container: Any) -> None:
    numbers, labels = make_chains(40, n_features=4, random_state=0)
    seen: Counter[bytes] = Counter()

    def ask(parts: Any) -> Any:
        rows = parts.toarray() if sparse.issparse(parts) else parts
        seen.update(row.tobytes() for row in rows)
        return parts * 2.0

    groups = [FeatureGroup("own"), FeatureGroup("asked", Calls(ask, batch_size=50), cost=1.0)]
    X = [container(x) for x in numbers]
    model = ChainClassifier(groups, max_iter=2, random_state=0).fit(X, labels)
    plain = [FeatureGroup("own"), FeatureGroup("asked", lambda parts: parts * 2.0, cost=1.0)]
    wanted = ChainClassifier(plain, max_iter=2, random_state=0).fit(X, labels)
    for one, other in zip(model.predict(X), wanted.predict(X), strict=True):
        np.testing.assert_array_equal(one, other)
    OneShotPolicy(target="wrong", cv=2, random_state=0).fit(model, X, labels)
    assert max(seen.values()) == 1


def test_a_file_keeps_answers_for_other_processes(tmp_path: Any) -> None:
    names, numbers = (lambda words: [[word[1:]] for word in words]), Service()
    ways = {
        "names": names,
        "numbers": numbers,
        "rows": lambda words: sparse.csr_matrix([[len(word), 1.0] for word in words]),
    }
    for name, give in ways.items():
        with shelve.open(str(tmp_path / name)) as shelf:
            for asks in (True, False):  # the second stands for another process
                group = FeatureGroup("service", Calls(give, name="service", cache=shelf))
                with nullcontext() if asks else pytest.warns(UserWarning, match="cost of group 'service' is not known"):
                    model = ChainClassifier([group], max_iter=2, random_state=0).fit(X, Y)
                assert (group.counts.rows > 0) == asks
                assert group.counts.cached == (0 if asks else len(WORDS))
                assert model.predict(X)
                assert 0 <= model.group_costs_[0] < 0.01  # of a part, not of all together


def test_files_keep_answers_that_depend_on_the_context(tmp_path: Any) -> None:
    cache: dict[Any, Any] = {}
    asked: list[int] = []

    def ask(words: list[str], context: Context) -> Any:
        asked.append(len(words))
        return [[f"{place}"] for place in context.positions]

    for _ in range(2):
        group = FeatureGroup("service", Calls(ask, name="service", cache=cache), cost=1.0)
        ChainClassifier([group], max_iter=2, random_state=0).fit(X[:5], Y[:5])
    assert len(asked) == 1
    assert len(cache) == asked[0]


def test_timeouts_keep_what_came_in_time() -> None:
    service, slow = Service(), threading.Event()

    def ask(words: list[str]) -> Any:
        if slow.is_set() and len(service.batches) > before:
            time.sleep(0.6)
        return service(words)

    known, _ = sentences(40, 0, WORDS[:6])
    for calls in (Calls(ask, batch_size=3), Calls(ask, batch_size=3, timeout=5.0)):
        slow.clear()
        model = model_of(calls).fit(known, [[TAGS[w] for w in text] for text in known])
        fast = BudgetedPredictor(model, UniformPolicy().fit(model), budget=10.0).fit(known)
        before = len(service.batches)
        slow.set()
        start = time.perf_counter()
        answers, state = fast.predict([WORDS], timeout=0.2, return_state=True)
        assert time.perf_counter() - start < 0.5
        assert state[:6].all()  # as known before
        assert state[6:9].all()  # in time
        assert not state[9:].any()
        assert answers == model.predict([WORDS], state=state)
        slow.clear()
        time.sleep(0.6)  # the thread that nobody waits for ends


@pytest.mark.parametrize("sets", [{}, {"max_concurrency": 2, "batch_size": 3}, {"timeout": 0.1}])
def test_what_comes_too_late_is_kept_for_the_next_time(sets: dict[str, Any]) -> None:
    service, slow, ended = Service(), threading.Event(), threading.Semaphore(0)

    def ask(words: list[str]) -> Any:
        if slow.is_set():
            time.sleep(0.25)
        try:
            return service(words)
        finally:
            ended.release()

    known, _ = sentences(40, 0, WORDS[:6])
    model = model_of(Calls(ask, **sets) if sets else ask).fit(known, [[TAGS[w] for w in text] for text in known])
    fast = BudgetedPredictor(model, UniformPolicy().fit(model), budget=10.0).fit(known)
    group = model.feature_groups[1]
    before, calls = group.counts.rows, len(service.batches)
    while ended.acquire(blocking=False):
        pass
    slow.set()
    _, state = fast.predict([WORDS[6:]], timeout=0.05, return_state=True)
    assert not state.any()
    slow.clear()
    while ended.acquire(timeout=0.5):  # the threads that nobody waits for end
        pass
    assert group.counts.rows - before == sum(service.batches[calls:]) > 0
    _, state = fast.predict([WORDS[6:]], return_state=True)
    assert state.all()
    assert service.most == 1
    assert group.counts.rows == len(service.asked)


def test_rows_are_put_together_as_they_were() -> None:
    dense = np.array([[0, 1.5, 0], [0, 0, 0], [2, 0, -3]], dtype=np.float32)
    rows = sparse.csr_matrix(dense)
    for found in (rows_of(dense), rows_of(rows), [*rows_of(dense[:1]), *rows_of(rows[1:])]):
        again = joined(found)
        np.testing.assert_array_equal(again.toarray() if sparse.issparse(again) else again, dense)
    assert joined(rows_of(rows)[1:2]).shape == (1, 3)
    with pytest.raises(ValueError, match=r"must have 3 features, as before. Got 2 for {part}"):
        joined([*rows_of(rows), *rows_of(dense[:, :2])])


def test_forgetting_and_pickles() -> None:
    service = Service()
    model = model_of(service).fit(X, Y)
    again = pickle.loads(pickle.dumps(model))
    assert again.feature_groups[1].counts.rows == 0
    assert again.predict(X) == model.predict(X)
    model.forget_features()
    model.predict(X)
    assert set(service.asked.values()) == {2}


def test_an_extractor_may_use_its_array_again() -> None:
    buffer = np.zeros((256, 2), dtype=np.float32)

    def into_buffer(words: list[str]) -> Any:
        buffer[:] = 0
        for row, word in enumerate(words):
            buffer[row] = len(word), word[1] == "a"
        return buffer[: len(words)]

    model = ChainClassifier([FeatureGroup("service", into_buffer)], max_iter=2, random_state=0).fit(X, Y)
    wanted = model.predict(X)
    model.predict([["longer words"]])
    assert model.predict(X) == wanted


def test_measuring_costs_does_not_call_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers, labels = make_chains(60, n_features=4, random_state=0)
    rows: list[int] = []

    def double(parts: Any) -> Any:
        rows.append(len(parts))
        time.sleep(0.02)
        return parts * 2.0

    groups = [FeatureGroup("half", lambda parts: parts[:, ::2], cost=1.0), FeatureGroup("double", double, cost=9.0)]
    model = ChainClassifier(groups, max_iter=2, random_state=0).fit(numbers[:30], labels[:30])
    policy = UniformPolicy().fit(model)
    monkeypatch.setattr(budget, "checked_budget", lambda _, costs: 0.8 * float(costs.sum()))
    for how in ({"budget": 1.0}, {"risk": 0.5, "random_state": 0}):
        rows.clear()
        fast = BudgetedPredictor(model, policy, feature_costs="time", **how).fit(numbers[30:])
        assert fast.group_costs_[1] > 50.0
        assert sum(rows) == sum(map(len, numbers[30:]))


def test_costs_are_those_of_a_part_that_is_asked() -> None:
    def slow(words: list[str]) -> Any:
        time.sleep(0.002 * len(words))
        return [endings(word) for word in words]

    groups = [FeatureGroup("initial", initials), FeatureGroup("service", slow)]
    first = ChainClassifier(groups, max_iter=2, random_state=0).fit(X, Y).group_costs_[1]
    again = ChainClassifier(groups, max_iter=2, random_state=0).fit(X, Y)
    assert again.n_calls_.tolist() == [0, 0]
    assert again.group_costs_[1] == first >= 0.002
    timed = BudgetedPredictor(again, UniformPolicy().fit(again), budget=500.0, feature_costs="time").fit(X)
    assert timed.group_costs_[1] >= 2000.0
