"""Attachment scores: shares of words with the right head and the right relation."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .conll import Treebank


@dataclass(frozen=True)
class AttachmentScores:
    """Shares of words with the right head (UAS), and with the right relation to it, too (LAS); and words counted."""

    uas: float
    las: float
    uas_no_punctuation: float
    las_no_punctuation: float
    n_words: int
    n_no_punctuation: int


def attachment_scores(gold: Treebank, predicted: Treebank) -> AttachmentScores:
    """Compare trees of the same sentences; NaN where there is no word to count.

    Notes
    -----
    As in the CoNLL 2018 shared task (D. Zeman et al., CoNLL 2018, section 5), every word counts and relations are
    compared without their subtypes: ``nmod:poss`` is ``nmod``. A word is punctuation if its gold UPOS is PUNCT or, in
    treebanks without UPOS, if all its characters are punctuation to Unicode, as in the CoNLL-X evaluation.
    """
    if not np.array_equal(gold.offsets, predicted.offsets):
        raise ValueError(f"gold and predicted must have the same sentences. Got {gold!r} and {predicted!r}.")
    if gold.n_words and gold.heads.min() < 0:
        raise ValueError("every word of gold needs a head to compare with.")
    head = gold.heads == predicted.heads
    pairs = zip(gold.column("deprel"), predicted.column("deprel"), strict=True)
    relation = np.fromiter((a.split(":", 1)[0] == b.split(":", 1)[0] for a, b in pairs), np.bool_, gold.n_words)
    counted = ~_punctuation(gold)
    return AttachmentScores(
        uas=_mean(head),
        las=_mean(head & relation),
        uas_no_punctuation=_mean(head[counted]),
        las_no_punctuation=_mean((head & relation)[counted]),
        n_words=gold.n_words,
        n_no_punctuation=int(counted.sum()),
    )


def same(one: Treebank, two: Treebank, column: str) -> NDArray[np.bool_]:
    """Whether each word has the same entry of a column in two treebanks of the same words."""
    return np.asarray(np.array(one.column(column)) == np.array(two.column(column)))


def _punctuation(bank: Treebank) -> NDArray[np.bool_]:
    marks = (
        all(unicodedata.category(c).startswith("P") for c in form) if tag == "_" else tag == "PUNCT"
        for form, tag in zip(bank.column("form"), bank.column("upos"), strict=True)
    )
    return np.fromiter(marks, np.bool_, bank.n_words)


def _mean(right: NDArray[np.bool_]) -> float:
    return float(right.mean()) if right.size else float("nan")
