"""Words, a service that counts what it is asked, and models whose extractors ask it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from wald import Calls
from wald.structured import (
    ChainClassifier,
    FeatureGroup,
)

WORDS = [f"{first}{second}" for first in "abcdefgh" for second in ("an", "ed", "ly")]
TAGS = {word: {"an": "N", "ed": "V", "ly": "A"}[word[1:]] for word in WORDS}


def sentences(n: int, seed: int, words: list[str] = WORDS) -> tuple[list[list[str]], list[list[str]]]:
    rng = np.random.default_rng(seed)
    texts = [[words[i] for i in rng.integers(len(words), size=rng.integers(1, 6))] for _ in range(n)]
    return texts, [[TAGS[word] for word in text] for text in texts]


X, Y = sentences(60, 0)
OTHERS, _ = sentences(60, 1)


class Service:
    """Tells endings, and counts how often it was asked about each word; fails where it is told."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.batches: list[int] = []
        self.fails_at: str | None = None

    def __call__(self, words: list[str]) -> Any:
        if self.fails_at in words:
            raise ConnectionError("no route")
        self.asked.update(words)
        self.batches.append(len(words))
        return [endings(word) for word in words]

    async def later(self, words: list[str]) -> Any:
        await asyncio.sleep(0)
        return self(words)

    @property
    def most(self) -> int:
        return max(self.asked.values(), default=0)


def endings(word: str) -> list[float]:
    return [float(word.endswith(ending)) for ending in ("an", "ed", "ly")]


def initials(words: list[str]) -> Any:
    return [ord(word[0]) / 100 for word in words]


WAYS: dict[str, Callable[[Service], Any]] = {
    "function": lambda service: service,
    "coroutine function": lambda service: service.later,
    "calls": lambda service: Calls(service, batch_size=5),
    "calls at once": lambda service: Calls(service.later, batch_size=5, max_concurrency=3),
    "calls in threads": lambda service: Calls(service, batch_size=5, max_concurrency=2, timeout=60.0),
}


def model_of(extract: Any, **parameters: Any) -> ChainClassifier:
    groups = [FeatureGroup("initial", initials, cost=1.0), FeatureGroup("service", extract, cost=9.0)]
    return ChainClassifier(groups, max_iter=3, random_state=0, **parameters)
