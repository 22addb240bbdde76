"""Parameters of a parser for the engine, and sentences to learn from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..stopping.core.validation import require_between, require_integer, require_option, require_positive
from .conll import Treebank

#: Names of the groups, the cheap one first.
GROUPS = ("tags", "words")
_FILTERS = {"slack": (True, 1.5, 2.0), "exact": (True, 1.0, 0.0), None: (False, 1.0, 0.0)}
_NO_PRUNER = -1.0


def check(parser: Any) -> None:
    """Raise ValueError for the first parameter that is out of range."""
    owner = "DependencyParser"
    for name, allowed in (
        ("feature_groups", ("all", "tags")),
        ("decoder", ("eisner", "chu-liu-edmonds")),
        ("learner", ("mira", "perceptron")),
        ("states", ("full", "random")),
        ("group_by", ("modifier", "head")),
        ("length_filter", tuple(_FILTERS)),
    ):
        require_option(owner, name, getattr(parser, name), allowed)
    require_integer(owner, "max_iter", parser.max_iter, 1, 10**6)
    require_integer(owner, "table_bits", parser.table_bits, 8, 28)
    require_positive(owner, "step", parser.step)
    require_between(owner, "step", parser.step, 0, 1e12)  # sums of weights must stay finite
    if parser.arc_margin is not None:
        require_between(owner, "arc_margin", parser.arc_margin, 0)
    if parser.states == "random" and parser.feature_groups != "all":
        raise ValueError("states='random' needs feature_groups='all': with tags alone there is nothing to choose.")
    if parser.second_order and parser.feature_groups != "all":
        raise ValueError("second_order=True needs feature_groups='all': pairs of arcs belong to the group of words.")


def n_groups(parser: Any) -> int:
    """Return how many groups of features there are."""
    return 2 if parser.feature_groups == "all" else 1


def settings(parser: Any) -> dict[str, Any]:
    """Translate the parameters for the engine."""
    filters, factor, extra = _FILTERS[parser.length_filter]
    return {
        "projective": parser.decoder == "eisner",
        "single_root": parser.single_root,
        "second_order": parser.second_order,
        "by_head": parser.group_by == "head",
        "n_groups": n_groups(parser),
        "filter": filters,
        "factor": factor,
        "extra": extra,
        "margin": _NO_PRUNER if parser.arc_margin is None else float(parser.arc_margin),
        "mira": parser.learner == "mira",
        "step": float(parser.step),
        "random_states": parser.states == "random",
        "loss_augmented": parser.loss_augmented,
    }


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
