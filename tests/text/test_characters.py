"""Characters in texts: tokens are those of scikit-learn's analyzers."""

from __future__ import annotations

import unicodedata
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.feature_extraction.text import HashingVectorizer
from text.material import SPACES, WORDS, core

from wald import _core

CONFIGURATIONS = [
    {},
    {"lowercase": False},
    {"strip_accents": "unicode"},
    {"strip_accents": "ascii"},
    {"lowercase": False, "strip_accents": "unicode"},
    {"token_pattern": r"\S+"},
    {"analyzer": "char", "ngram_range": (1, 2), "strip_accents": "unicode"},
    {"analyzer": "char_wb", "ngram_range": (2, 3)},
]


def hashed(options: dict[str, Any]) -> tuple[_core.Text, Any]:
    """A core that needs no vocabulary, and the analyzer that it follows."""
    vectorizer = HashingVectorizer(n_features=64, **options)
    return core(vectorizer)[0], vectorizer.build_analyzer()


def check_characters(codes: Any) -> None:
    for options in CONFIGURATIONS:
        text, analyze = hashed(options)
        for code in codes:
            for document in (chr(code), f"ab{chr(code)}cd", f"Ab {chr(code)}{chr(code)} c\t"):
                assert text.tokens(document) == analyze(document), (options, hex(code))


def assigned() -> list[int]:
    return [c for c in range(0x110000) if unicodedata.category(chr(c)) not in ("Cn", "Co", "Cs")]


def test_some_characters() -> None:
    codes = assigned()
    check_characters(np.random.default_rng(0).choice(codes, 300).tolist())
    check_characters(
        [0, 0x1C, 0x1F, 0x7F, 0x80, 0x85, 0xA0, 0x130, 0x131, 0x3A3, 0x3C2, 0x1E9E, 0x2028, 0xFB03, 0xFDFA]
    )


@pytest.mark.long
def test_every_assigned_character() -> None:
    check_characters(assigned())


INTERESTING = st.one_of(
    st.sampled_from(WORDS + SPACES + ["Σ", "ΑΣ", "İ", "\u0301", "\u200d"]),
    st.text(st.characters(exclude_categories=("Cs",)), max_size=6),
    st.text(st.characters(max_codepoint=127), max_size=70),
)


@pytest.mark.parametrize("options", CONFIGURATIONS, ids=str)
def test_random_strings(options: dict[str, Any]) -> None:
    text, analyze = hashed(options)

    @settings(max_examples=60)
    @given(st.lists(INTERESTING, max_size=30).map("".join))
    def check(document: str) -> None:
        assert text.tokens(document) == analyze(document)

    check()


def test_a_text_longer_than_a_chunk() -> None:
    # The reader takes a megabyte at a time, and a word may lie across.
    vectorizer = HashingVectorizer(n_features=64, norm=None)
    text, coef, intercept = core(vectorizer)
    for unit in ("abcdefg ", "Über-"):
        document = unit * (2**20 // len(unit) + 9) + "end"
        assert_array_equal(text.scores([document])[0], vectorizer.transform([document]) @ coef.T + intercept)
