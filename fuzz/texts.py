"""Targets: treebanks and the OCR words."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from wald.datasets import ocr
from wald.structured import DependencyParser, Treebank

from .alterations import packed, packed_altered, text_altered
from .models import _TREES
from .scratch import written
from .target import Target

#: Letters and words of the small files that stand for letter.data.
LETTERS, WORDS = 6, 3
_CONLL = [
    b"_",
    b"0",
    b"1-2",
    b"2.1",
    b"\t",
    b"\r\n",
    b"\n\n",
    b"# x\n",
    b"\xef\xbb\xbf",
    b"\xe2\x80\xa8",
    b"root",
    b"\0",
]


def _conll(format: Any) -> Any:
    return lambda data: Treebank.read(
        written(packed(data) if data[:1] == b"\x1f" else data, _name(data)), format=format
    )


def _name(data: bytes) -> str:
    return "bank.conllu.gz" if data[:2] == b"\x1f\x8b" else "bank.conllu"


_PARSER = DependencyParser(table_bits=8, max_iter=1, random_state=0).fit(_TREES)


def _parse(bank: Treebank) -> None:
    assert bank.n_words == sum(len(sentence) for sentence in bank) == len(bank.heads)
    raw = bank.to_bytes()
    again = Treebank(raw, format=bank.format)
    assert again.to_bytes() == raw
    assert np.array_equal(again.heads, bank.heads)
    assert len(bank[: len(bank)]) == len(bank)
    for name in ("form", "feats", "misc"):
        assert len(bank.column(name)) == bank.n_words
    if 0 < bank.n_words < 300:
        predicted = _PARSER.predict(bank)
        assert predicted.n_words == bank.n_words
        assert all(0 <= head <= len(sentence) for sentence in predicted for head in sentence.heads)


def _read_letters(data: bytes) -> Any:
    with mock.patch.multiple(ocr, _LETTERS=LETTERS, _WORDS=WORDS, _MAX_TEXT=1 << 20):
        return ocr._read(Path(written(packed(data), "letter.data.gz")))


def _use_letters(found: Any) -> None:
    letters, pixels, ends, folds = found
    assert letters.shape == folds.shape == (LETTERS,)
    assert pixels.shape == (LETTERS, 128)
    assert np.isin(pixels, (0, 1)).all()
    assert len(ends) == WORDS
    assert ends[-1] == LETTERS


TARGETS = [
    Target("conllu", _conll("conllu"), _parse, (ValueError,), packed_altered(text_altered(_CONLL))),
    Target("conllx", _conll("conllx"), _parse, (ValueError,), packed_altered(text_altered(_CONLL))),
    Target(
        "letters",
        _read_letters,
        _use_letters,
        (ValueError,),
        packed_altered(text_altered([b"-1", b"1_0", b"\t", b"\xd9\xa3", b"\x0c", b" 1", b"\n"])),
    ),
]
