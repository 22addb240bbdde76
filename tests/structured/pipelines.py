"""Treebanks for pipelines from words to trees."""

from __future__ import annotations

import numpy as np

from wald.datasets import make_trees
from wald.structured import (
    Treebank,
)

BANK = make_trees(260, random_state=0)
TRAIN, HELD, TEST = BANK[:140], BANK[140:200], BANK[200:]


def length_of(words: list[str]) -> np.ndarray:
    return np.array([[len(word), word.endswith("s")] for word in words], dtype=float)


def same(a: Treebank, b: Treebank) -> bool:
    return a.to_bytes() == b.to_bytes()
