"""Texts that are read in blocks, and the labels of plans, against scikit-learn's rows of the same tokens."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from text.material import ANALYZERS, SPACES, WORDS, core, fitted, texts

from wald import _core
from wald.early_exit.compiled.token_blocks import tokens_read, turns_of_blocks

CASES = [("tf-idf", analyzer) for analyzer in ANALYZERS]
CASES += [("hashing", a) for a in ("words", "pairs", "stop words", "char", "char_wb")]
CASES += [("sublinear, l1", "words"), ("float32", "pairs"), ("binary hashes", "one letter"), ("no norm", "char")]
DOCUMENTS = texts(40)
MADE = {case: fitted(*case, DOCUMENTS[:30]) for case in CASES}

written = st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(SPACES)), max_size=40).map(
    lambda parts: "".join(word + space for word, space in parts)
)


class Blocks:
    """What is read of a text, in blocks of some bytes: plain Python, word by word."""

    def __init__(self, vectorizer: Any, document: str, block: int) -> None:
        read = vectorizer.build_preprocessor()(document)
        if vectorizer.analyzer == "char":
            read = re.sub(r"\s\s+", " ", read)
        if vectorizer.analyzer == "char_wb":
            read = " ".join(["", *read.split(), ""])
        self._vectorizer, self._block, self.read = vectorizer, block, read
        self.size = len(read.encode())

    def order(self) -> list[int]:
        """Numbers of blocks: those whose bits, backwards, count up."""
        n = -(-self.size // self._block)
        bits = max(1, (n - 1).bit_length())
        return [i for i in (int(f"{k:0{bits}b}"[::-1], 2) for k in range(1 << bits)) if i < n]

    def characters(self, some: list[int]) -> int:
        """Number of characters that begin in blocks."""
        starts = np.cumsum([0, *(len(c.encode()) for c in self.read)])[:-1]
        return int(np.isin(starts // self._block, some).sum())

    def tokens(self, some: list[int]) -> list[str]:
        """Tokens of blocks, which do not reach from one to another."""
        return [token for number, token in self._in_blocks() if number in some]

    def _in_blocks(self) -> Iterator[tuple[int, str]]:
        least, most = self._vectorizer.ngram_range
        of_words = self._vectorizer.analyzer == "word"
        pattern = self._vectorizer.token_pattern if of_words else r"\S+"
        words = [(len(self.read[: m.start()].encode()), m) for m in re.finditer(pattern, self.read)]
        if of_words:
            stop_words = self._vectorizer.get_stop_words() or ()
            of_each: dict[int, list[str]] = {}
            for begin, match in words:
                if match.group() not in stop_words:
                    of_each.setdefault(begin // self._block, []).append(match.group())
            for number, some in of_each.items():
                for n in range(least, most + 1):
                    yield from ((number, " ".join(some[i : i + n])) for i in range(len(some) - n + 1))
        elif self._vectorizer.analyzer == "char":
            numbers = range(-(-self.size // self._block))
            cuts = [
                0,
                *(min((m.start() for b, m in words if b >= k * self._block), default=-1) for k in numbers[1:]),
                -1,
            ]
            cuts = [len(self.read) if cut < 0 else cut for cut in cuts]
            for number in numbers:
                some_text = self.read[cuts[number] : cuts[number + 1]]
                for n in range(least, most + 1):
                    yield from ((number, some_text[i : i + n]) for i in range(len(some_text) - n + 1))
        else:
            for begin, match in words:
                word = f" {match.group()} "
                for n in range(least, most + 1):
                    number = (begin - 1) // self._block
                    yield from ((number, word[i : i + n]) for i in range(max(1, len(word) - n + 1)))
                    if n >= len(word):
                        break


def row_of(vectorizer: Any, tokens: list[str]) -> Any:
    """Scikit-learn's row of tokens."""
    same = copy.copy(vectorizer)
    same.analyzer = lambda given: given
    return same.transform([tokens])


@settings(max_examples=40)
@example(document="", block=1, case=("tf-idf", "words"))
@example(document="home", block=1, case=("tf-idf", "char"))
@example(document="go home " * 16, block=64, case=("tf-idf", "pairs"))
@example(document="\u4f60\u597d \u4e16\u754c home " * 9, block=2, case=("hashing", "char_wb"))
@given(document=written, block=st.sampled_from([1, 2, 3, 7, 13, 64, 128]), case=st.sampled_from(CASES))
def test_blocks_are_scored_as_scikit_learn_scores_their_tokens(
    document: str, block: int, case: tuple[str, str]
) -> None:
    vectorizer = MADE[case]
    text, coef, intercept = core(vectorizer, 2)
    blocks = Blocks(vectorizer, document, block)
    order = blocks.order()
    assert_array_equal(np.argsort(turns_of_blocks(len(order))), order)
    exact = [block * n for n in (1, 2, 3, 5, len(order) - 1, len(order), len(order) + 1)]
    looks = np.unique([n for n in exact if n > 0]).astype(np.int64)
    found, errors, characters = text.prefixes([document], looks, block)
    whole, bounds = text.scores([document])
    assert_array_equal(found[0, -1], whole[0])
    assert_array_equal(errors, bounds)
    assert characters[0, -1] == len(blocks.read)
    for look, scores, read in zip(looks.tolist(), found[0], characters[0], strict=False):
        some = order[: look // block]
        if look >= blocks.size:
            assert read == 0
            assert_array_equal(scores, 0.0)
            continue
        assert read == blocks.characters(some)
        row = row_of(vectorizer, blocks.tokens(some))
        assert_allclose(scores, (row @ coef.T + intercept)[0], atol=1e-5)


@settings(max_examples=40)
@given(document=written, block=st.sampled_from([1, 3, 16, 64]), case=st.sampled_from(CASES))
def test_tokens_are_read_with_their_blocks(document: str, block: int, case: tuple[str, str]) -> None:
    vectorizer = MADE[case]
    blocks, tokens = Blocks(vectorizer, document, block), vectorizer.build_analyzer()(document)
    read = tokens_read(vectorizer, document, block)
    assert len(read) == len(tokens)
    order = blocks.order()
    for n in range(len(order) + 1):
        early = sorted(token for token, at in zip(tokens, read, strict=True) if at <= n * block)
        assert early == sorted(blocks.tokens(order[:n]))


# ---- labels of plans -------------------------------------------------------------------------------------------------


def plan_of(text: _core.Text, n_outputs: int, looks: Any, block: int, seed: int, /, **given: Any) -> tuple[Any, Any]:
    """A plan with random readouts and thresholds, and its parameters."""
    rng = np.random.default_rng(seed)
    high = rng.uniform(0.1, 1.5, len(looks))
    high[rng.random(len(looks)) < 0.2] = np.inf
    described = {
        "looks": np.array(looks, dtype=np.int64),
        "block": block,
        "weights": rng.uniform(0.5, 1.5, (len(looks), n_outputs)),
        "bias": rng.normal(size=(len(looks), n_outputs)) / 8,
        "low": -rng.permutation(high),
        "high": high,
        "n_stages": len(looks),
        "reach": len(looks),
        "cost": None,
        "threshold": 0.1,
        "tie_positive": False,
        "saturation": np.inf,
        "tie_margin": 0.0,
        "error_factor": 1.0,
        "error_rest": 0.0,
        "labels": tuple("abc"[: max(2, n_outputs)]),
    }
    described |= given
    return _core.TextPlan(text, described), described


def expected_of(scores: Any, errors: float, characters: Any, plan: Any, n_stages: int, ends: bool) -> tuple[Any, ...]:
    """Code, stage, cost and status of one text from its scores at all looks, as a plan defines them."""
    n_outputs, n_looks = scores.shape[1], len(plan["looks"])

    def judged(values: Any) -> tuple[int, float]:
        if n_outputs == 1:
            return int(values[0] > plan["threshold"]), float(values[0])
        best = np.sort(values)
        return int(values.argmax()), float(best[-1] - best[-2])

    code, margin = judged(scores[-1])
    distance = abs(margin - plan["threshold"]) if n_outputs == 1 else margin / 2
    for t in range(n_stages):
        if characters[t] == 0:  # the text has ended
            opened = plan["low"][t] > -np.inf if n_outputs == 1 and code == 0 else plan["high"][t] < np.inf
            if opened and (distance > errors or errors == 0):
                return code, t, characters[-1], _core.FULL
            continue
        answer, at = judged(plan["bias"][t] + plan["weights"][t] * scores[t])
        if at > plan["high"][t]:
            return (1 if n_outputs == 1 else answer), t, characters[t], _core.EARLY
        if n_outputs == 1 and at < plan["low"][t]:
            return 0, t, characters[t], _core.EARLY
        if ends and t == n_stages - 1:
            return answer, t, characters[t], _core.OUT_OF_BUDGET
    sure = distance > errors or errors == 0
    return code, n_looks, characters[-1], _core.FULL if sure else _core.HANDED_OVER


@pytest.mark.parametrize("block", [0, 1, 8])
@pytest.mark.parametrize("case", CASES)
def test_a_plan_decides_as_its_scores_say(case: tuple[str, str], block: int) -> None:
    vectorizer = MADE[case]
    documents = [*texts(30, seed=5), "go", "\u4f60", "home " * 8, "x" * 40, " " * 64, "\u039f\u0394\u039f\u03a3 " * 20]
    looks = [3, 8, 9, 40, 77] if block == 0 else [8, 16, 40, 80, 200]
    for n_outputs in (1, 3):
        text, *_ = core(vectorizer, n_outputs)
        plan, described = plan_of(text, n_outputs, looks, block, n_outputs)
        scores, errors, characters = text.prefixes(documents, described["looks"], block)
        early = 0
        for n_stages, ends in ((0, False), (2, False), (2, True), (5, False), (5, True)):
            found = plan.decide(documents, n_stages, ends, 2)
            for i, one in enumerate(zip(*found, strict=True)):
                assert one == expected_of(scores[i], errors[i], characters[i], described, n_stages, ends)
            early += np.count_nonzero(found[3] == _core.EARLY)
        assert early > 20
        all_looks = plan.decide(documents, len(looks))
        for document, code, paid, status in zip(documents, all_looks[0], all_looks[2], all_looks[3], strict=True):
            label = described["labels"][code] if status != _core.HANDED_OVER else None
            assert plan.label(document, False) == label
            assert plan.label(document, True) == (None if label is None else (label, paid))


def test_what_a_plan_leaves_to_the_wrapped_model() -> None:
    text, coef, intercept = core(MADE["tf-idf", "words"], 1)
    odd = [None, 3, b"go", "the \ud800 go", ["go"]]
    plan, _ = plan_of(text, 1, [], 0, 0, cost=7.0, n_stages=4)
    for found, value in zip(plan.decide([*odd, "go"], 0), (0, 4, 7.0, _core.HANDED_OVER), strict=True):
        assert_array_equal(found[:-1], value)
    assert [plan.label(x, True) for x in odd] == [None] * len(odd)
    score = float((MADE["tf-idf", "words"].transform(["go home"]) @ coef.T + intercept)[0, 0])
    assert plan.label("go home", True) == ("b" if score > 0.1 else "a", 7.0)
    assert plan.label("go home " * 10_000, False) is None  # for which others would wait too long
    for given_, status in (
        ({"threshold": score}, _core.FULL),
        ({"threshold": score, "tie_margin": 1e-9}, _core.HANDED_OVER),
        ({"saturation": abs(score) / 2}, _core.HANDED_OVER),
        ({"error_rest": 1e3}, _core.HANDED_OVER),
    ):
        plan, _ = plan_of(text, 1, [], 0, 0, **given_)
        assert plan.decide(["go home"], 0)[3] == status
        assert (plan.label("go home", False) is None) == (status == _core.HANDED_OVER)
    for tie_positive in (False, True):
        plan, _ = plan_of(text, 1, [], 0, 0, threshold=score, tie_positive=tie_positive)
        assert plan.decide(["go home"], 0)[0] == tie_positive


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"looks": np.array([8, 20])}, "whole blocks"),
        ({"looks": np.array([8, 8])}, "ascending"),
        ({"looks": np.array([8])}, "row for each look"),
        ({"block": -1}, "block"),
        ({"low": np.zeros(3)}, "value for each look"),
        ({"weights": np.zeros((2, 2))}, "column for each output"),
        ({"reach": 3}, "reach"),
        ({"more": 1}, "no field"),
    ],
)
def test_refuses_plans_that_do_not_fit(wrong: dict[str, Any], message: str) -> None:
    text, *_ = core(MADE["tf-idf", "words"], 1)
    plan_of(text, 1, [8, 16], 8, 0)
    with pytest.raises((TypeError, ValueError), match=message):
        plan_of(text, 1, [8, 16], 8, 0, **wrong)
    with pytest.raises(ValueError, match="whole blocks"):
        text.prefixes(["go"], np.array([3]), 2)
    plan, _ = plan_of(text, 1, [8, 16], 8, 0)
    for n_stages in (-1, 3):
        with pytest.raises(ValueError, match="n_stages"):
            plan.decide(["go"], n_stages)
