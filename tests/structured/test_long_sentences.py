"""Sentences of thousands of words: the time and memory of parsing them."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from wald import _core
from wald.datasets import make_trees
from wald.structured import DependencyParser, Treebank

BANK = make_trees(200, random_state=0)


def long(n: int, heads: bool = False) -> Treebank:
    """A sentence of n words; with heads, the head of each word is the word before it."""
    words = [word for s in BANK for word in zip(s.forms, s.upos, s.xpos, strict=True)]
    words = (words * (n // len(words) + 1))[:n]
    return Treebank.from_words([[(*word, i, "dep") for i, word in enumerate(words)] if heads else words])


def fitted(**parameters: Any) -> DependencyParser:
    return DependencyParser(table_bits=12, max_iter=1, random_state=0, **parameters).fit(BANK)


def random_scores(rng: np.random.Generator, n: int, longest: int) -> Any:
    """Random scores of arcs up to a length, with ties, and of all arcs from the root."""
    scores = np.float32(rng.integers(0, 5, size=(n + 1, n + 1)))
    h, m = np.indices(scores.shape)
    scores[(abs(h - m) > longest) & (h > 0) | (h == m)] = -np.inf
    return scores


@pytest.mark.parametrize("longest", [1, 2, 3, 7, 40])
def test_short_arcs_give_the_tree_of_the_whole_chart(longest: int) -> None:
    rng = np.random.default_rng(longest)
    for n in (1, 2, 3, 5, 8, 17, 40):
        for _ in range(20):
            scores = random_scores(rng, n, longest)
            for single_root in (True, False):
                whole = _core.decode_tree(scores, True, single_root)
                np.testing.assert_array_equal(_core.decode_tree(scores, True, single_root, sparse=True), whole)


def test_a_parser_gives_long_sentences_the_tree_of_the_whole_chart() -> None:
    parser, bank = fitted(), long(300)
    arcs = parser.arcs(bank, 0)
    lengths = abs(arcs[:, 0] - arcs[:, 1])[arcs[:, 0] > 0]
    assert 32 * len(arcs) * lengths.max() <= 300**3  # little enough for the small chart
    scores = np.full((301, 301), -np.inf, dtype=np.float32)
    both = sum(parser.arc_scores(bank, 0, group, arcs) for group in ("tags", "words"))
    scores[arcs[:, 0], arcs[:, 1]] = both
    np.testing.assert_array_equal(parser.predict(bank).heads, _core.decode_tree(scores, True, True))


PEAK = """
import resource, sys
from tests.structured.test_long_sentences import fitted, long
parser, bank = fitted(decoder=sys.argv[1]), long(6000, heads=True)
parser.predict(long(10))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
if sys.argv[2] == "predict":
    parser.predict(bank)
else:
    parser.fit(bank)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in other units elsewhere")
@pytest.mark.parametrize("decoder", ["eisner", "chu-liu-edmonds"])
@pytest.mark.parametrize("call", ["predict", "fit"])
def test_memory_grows_with_the_arcs(decoder: str, call: str) -> None:
    """A dense matrix of floats for 6 000 words would take 144 MB."""
    done = subprocess.run([sys.executable, "-c", PEAK, decoder, call], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 120


@pytest.mark.slow
def test_too_large_a_chart_is_refused_by_name() -> None:
    parser = fitted(single_root=False)
    bank = Treebank.from_words([[(f, "N", "_") for f in ("a", "b")], *([[("x", "N", "_")] * 14_000])])
    message = (
        r"sentence 1 \(line 4\) has 14000 words .* decoder='eisner' would take 2.4 GB, .* decoder='chu-liu-edmonds'"
    )
    with pytest.raises(ValueError, match=message):
        parser.predict(bank)
    session = parser.open(bank)
    with pytest.raises(ValueError, match=r"sentence 1 has 14000 words .* single_root=True"):
        session.decode(session.state())
    parser.decoder = "chu-liu-edmonds"
    assert len(parser.predict(bank).heads) == 14_002


@pytest.mark.long  # it takes a gigabyte or two to come to the limit
@pytest.mark.parametrize("decoder", ["eisner", "chu-liu-edmonds"])
def test_too_many_arcs_are_refused_by_name(decoder: str) -> None:
    parser = fitted(decoder=decoder, length_filter=None)
    message = r"sentence 0 \(line 1\) has 8000 words, and more than 33554432 arcs .* length_filter='slack'"
    for call in (parser.predict, parser.open):
        with pytest.raises(ValueError, match=message):
            call(long(8000))
    with pytest.raises(ValueError, match=message):
        parser.fit(long(8000, heads=True))
