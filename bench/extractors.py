"""Tagging words under a budget where the costly features come from an extractor that sees the words, and sleeps."""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import Callable
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.extmath import randomized_svd

from wald import Calls
from wald.datasets import fetch_treebank
from wald.structured import BudgetedPredictor, ChainClassifier, FeatureGroup
from wald.structured.extractors import Context, Embeddings, Neighbours, Shapes
from wald.structured.policies import IteratedPolicy

from .report import Figure
from .settings import OTHER_SPLIT, Run
from .timing import Task, measure

TITLE = "EWT's coarse tags from shapes of words, and their vectors behind a sleep: train on train, test on dev"
SEED = 0
#: Seconds a part of the slow service, and how many it answers at once.
SLOW, AT_ONCE = 0.1, 64
#: Parts of a batch, and the seconds that it takes.
BATCH, BATCH_SECONDS = 32, 0.001
#: Mean cost of a word in these predictions; shapes cost 1, and vectors 10.
BUDGET = 3.2
#: Dimensions of the vectors, and numbers of their contexts.
DIMENSIONS, CONTEXTS = 50, 1000


class Sentences(NamedTuple):
    """Words, and their tags."""

    words: list[list[str]]
    tags: list[list[str]]

    def part(self, begin: int, end: int) -> Sentences:
        """Sentences ``begin`` to ``end``."""
        return Sentences(self.words[begin:end], self.tags[begin:end])

    @property
    def n_words(self) -> int:
        """Number of words."""
        return sum(map(len, self.words))


def run(how: Run) -> list[Figure]:
    """Measure this setting."""
    train, test = _sentences("train"), _sentences("test" if OTHER_SPLIT in os.environ else "dev")
    test = test.part(0, how.rows(len(test.words), 100))
    table = _vectors(train.words[: how.rows(len(train.words), 500)])
    return [*_slow(how, train, test, table), *_in_batches(how, train, test, table)]


def _sentences(subset: str) -> Sentences:
    bank = fetch_treebank("ewt", subset=subset)
    return Sentences([list(one.forms) for one in bank], [list(one.upos) for one in bank])


def _vectors(sentences: list[list[str]]) -> dict[str, NDArray[np.float32]]:
    """Vectors of words by the words beside them: a singular value decomposition of logarithms of counts."""
    lower = [[word.lower() for word in words] for words in sentences]
    counts = Counter(word for words in lower for word in words)
    vocabulary = {word: i for i, word in enumerate(counts)}
    contexts = {word: i for i, (word, _) in enumerate(counts.most_common(CONTEXTS))}
    rows, columns = [], []
    for words in lower:
        for before, word, after in zip(["", *words], words, [*words[1:], ""], strict=False):
            rows += [vocabulary[word]] * 2
            columns += [contexts.get(before, CONTEXTS), CONTEXTS + 1 + contexts.get(after, CONTEXTS)]
    shape = (len(vocabulary), 2 * CONTEXTS + 2)
    seen = sparse.coo_matrix((np.ones(len(rows)), (rows, columns)), shape=shape).tocsr()
    seen.data = np.log1p(seen.data)
    left, values, _ = randomized_svd(seen, min(DIMENSIONS, len(vocabulary) - 1), random_state=SEED)
    found = (left * values).astype(np.float32)
    found /= np.linalg.norm(found, axis=1, keepdims=True) + 1e-9
    return {word: found[i] for word, i in vocabulary.items()}


def _slow(how: Run, train: Sentences, test: Sentences, table: dict[str, Any]) -> list[Figure]:
    """A service that takes 100 ms a part: what is asked, with 2 000 words to learn from."""
    asked: Counter[str] = Counter()
    look_up = Embeddings(table, of=str.lower)

    async def service(words: list[str]) -> Any:
        asked.update(words)
        await asyncio.sleep(how.rows(1, 0) * SLOW * len(words))
        return look_up(words)

    n = int(np.searchsorted(np.cumsum([len(words) for words in train.words]), 2000))
    lesson, kept = train.part(0, n), train.part(n, n + 500)
    groups = [
        FeatureGroup("shapes", Shapes(), cost=1.0),
        FeatureGroup("vectors", Calls(service, batch_size=1, max_concurrency=AT_ONCE), cost=10.0),
    ]
    model = ChainClassifier(groups, max_iter=10, random_state=SEED, n_jobs=1).fit(*lesson)
    policy = IteratedPolicy(random_state=SEED).fit(model, *lesson)
    most, different = max(asked.values()), len(asked)
    fast = BudgetedPredictor(model, policy, budget=4.0).fit(kept.words)
    groups[1].forget()
    asked.clear()
    start = time.perf_counter()
    answers, state = fast.predict(test.words, return_state=True)
    seconds, n_asked = time.perf_counter() - start, len(asked)
    full = model.predict(test.words)
    lost = 100 * (_right(full, test) - _right(answers, test))
    return [
        Figure(
            "100 ms a part: times that model and policy ask about a word",
            most,
            note=f"{different} different words of {lesson.n_words}, five folds",
        ),
        Figure(
            "100 ms a part: words asked for in a prediction",
            100 * n_asked / test.n_words,
            "%",
            note=f"{test.n_words} words in {seconds:.1f} s, {AT_ONCE} at once; {100 * state.mean():.1f} % have vectors",
        ),
        Figure(
            "100 ms a part: accuracy lost",
            lost,
            "points",
            "everything bought",
            note=f"everything {100 * _right(full, test):.2f} %, which asks about {len(asked)} words",
        ),
    ]


def _right(answers: list[list[str]], test: Sentences) -> float:
    found = [tag for tags in answers for tag in tags]
    return float(np.mean([one == other for one, other in zip(found, chain.from_iterable(test.tags), strict=True)]))


def _in_batches(how: Run, train: Sentences, test: Sentences, table: dict[str, Any]) -> list[Figure]:
    """A service that takes 1 ms a batch: the wall clock, with nothing known of the words beforehand."""
    look_up = Embeddings(table, of=str.lower)
    beside = Neighbours(look_up)

    def of_words(words: list[str]) -> Any:
        time.sleep(BATCH_SECONDS)
        return look_up(words)

    def of_places(words: list[str], context: Context) -> Any:
        time.sleep(BATCH_SECONDS)
        return np.hstack([look_up(words), beside(words, context)])

    n = how.rows(3000, 300)
    lesson, kept = train.part(0, n), train.part(n, n + 500)
    figures = []
    for what, extract in (("words", of_words), ("words in their sentence", of_places)):
        groups = [
            FeatureGroup("shapes", Shapes(), cost=1.0),
            FeatureGroup("vectors", Calls(extract, batch_size=BATCH), cost=10.0),
        ]
        model = ChainClassifier(groups, max_iter=10, random_state=SEED, n_jobs=1).fit(*lesson)
        policy = IteratedPolicy(cv=3, random_state=SEED).fit(model, *lesson)
        fast = BudgetedPredictor(model, policy, budget=BUDGET).fit(kept.words)
        figures += _timed(f"1 ms a batch, {what}", how, model, fast, test, of_words if extract is of_words else None)
    return figures


def _timed(
    what: str,
    how: Run,
    model: ChainClassifier,
    fast: BudgetedPredictor,
    test: Sentences,
    plain: Callable[[list[str]], Any] | None,
) -> list[Figure]:
    """Time a policy, everything bought, and, with a function of words, features of all words extracted beforehand."""
    words = [word for sentence in test.words for word in sentence]
    group = model.feature_groups[1]

    def anew(predict: Callable[[Any], Any]) -> Callable[[], Any]:
        def call() -> Any:
            group.forget()
            return predict(test.words)

        return call

    model.predict(test.words)
    known = dict(group.kept._rows)

    def each_word(sentences: list[list[str]]) -> Any:
        for start in range(0, len(words), BATCH):
            assert plain is not None
            plain(words[start : start + BATCH])
        group.kept.put(known, known.values())
        return model.predict(sentences)

    tasks = {"policy": Task(anew(fast.predict)), "everything": Task(anew(model.predict))}
    if plain is not None:
        tasks["each word"] = Task(anew(each_word))
    samples = measure(tasks, how.repeats)
    answers, state = fast.predict(test.words, return_state=True)
    full = model.predict(test.words)
    lost = 100 * (_right(full, test) - _right(answers, test))
    bought, policy = f"{100 * state.mean():.1f} % of {len(words)} words have the group", samples["policy"]
    figures = [
        Figure(
            f"{what}: speed, everything bought",
            samples["everything"].median / policy.median,
            "x",
            "everything bought",
            f"{bought}; {policy.spread}, everything, of equal parts one, {samples['everything'].spread}",
        ),
        Figure(f"{what}: accuracy lost", lost, "points", "everything bought", f"{100 * _right(full, test):.2f} %"),
    ]
    if plain is not None:
        ratio = samples["each word"].median / policy.median
        figures.insert(
            0, Figure(f"{what}: speed", ratio, "x", "every word extracted", f"{samples['each word'].spread}")
        )
    return figures
