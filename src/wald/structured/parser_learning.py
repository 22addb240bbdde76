"""Sentences to learn from, and epochs over them in an order drawn at random."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _core
from .conll import Treebank
from .parser_settings import settings

#: More epochs make the pruner no better.
PRUNER_EPOCHS = 3
_LABEL_BITS, _PRUNER_BITS, _PRUNER_RATE = 15, 20, 0.02


def treebank_of(sentences: Treebank | Sequence[Any]) -> Treebank:
    """Sentences as users have them, as a treebank."""
    return sentences if isinstance(sentences, Treebank) else Treebank.from_words(sentences)


def annotated(sentences: Treebank | Sequence[Any], purpose: str = "learn from") -> Treebank:
    """Sentences whose text has a head for every word; errors say what they are for."""
    bank = treebank_of(sentences)
    if not bank.is_as_read:  # the engine reads the text
        bank = Treebank(bank.to_bytes(), name="<treebank>", format=bank.format)
    if not len(bank):
        raise ValueError(f"there must be at least one sentence to {purpose}. Got none.")
    if bank.heads.min() < 0:
        word = int(np.argmin(bank.heads))
        sentence = int(np.searchsorted(bank.offsets, word, side="right")) - 1
        line = bank.core.line(sentence)
        raise ValueError(f"every word needs a head to {purpose}. One is missing in sentence {sentence} (line {line}).")
    return bank


def learner(parser: Any, bank: Treebank, inventory: Treebank | None = None) -> _core.ParserLearner:
    """Begin to learn for a parser: tags and relations from the inventory, if there is one, lengths from the bank."""
    found = _core.ParserLearner(
        (bank if inventory is None else inventory).core,
        bits=parser.table_bits,
        label_bits=_LABEL_BITS if parser.relations else 0,
        pruner_bits=0 if parser.arc_margin is None else _PRUNER_BITS,
    )
    found.see(bank.core)
    return found


def learn(parser: Any, by: _core.ParserLearner, random: Any, bank: Treebank, *, pruner: bool) -> None:
    """Run one epoch for the groups and, with ``pruner``, for the pruner if there is one."""
    order = random.permutation(len(bank)).astype(np.int64)
    by.learn(bank.core, order, settings(parser), int(random.randint(2**31)), _PRUNER_RATE if pruner else 0.0)
