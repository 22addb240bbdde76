"""Arc scores, feature by feature, in plain Python: the reference for the compiled kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from wald import _core

MASK32, MASK64 = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF
BEFORE, BEHIND, ROOT = 0x7FEB352D, 0x846CA68B, 0x9E3779B9
CONTEXTS = ("between", "coarse", "count")
ATOMS = {"t": 2, "c": 7, "w": 12, "s": 16, "a": 19, "o": 21, "l": 22, "r": 23}
OPENS = {"ADP", "SCONJ", "CCONJ", "IN", "TO", "CC"}
BOUNDS = {"VERB", "AUX", "PUNCT", "INTJ", "VB", "MD", ",", ".", ":", "``", "''"}
ATTENDS = {"DET", "ADJ", "ADV", "NUM", "PART", "ADP", "AUX", "DT", "JJ", "RB", "CD", "IN", "TO", "MD", "PR", "PO"}


def decode_tree(scores, *, decoder: str = "eisner", single_root: bool = True) -> np.ndarray:
    """The engine's best tree for scores of arcs, [head, modifier]."""
    return _core.decode_tree(np.ascontiguousarray(scores, dtype=np.float32), decoder == "eisner", single_root)


def mix(x: int) -> int:
    x = (x + 0x9E3779B97F4A7C15) & MASK64
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK64
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK64
    return x ^ (x >> 31)


def hash_text(text: str, salt: str) -> int:
    data = text.encode()
    odd = 0x9FB21C651E98DF25
    h = ord(salt) ^ (len(data) * odd & MASK64)
    for at in range(0, len(data), 8):
        h = ((h ^ int.from_bytes(data[at : at + 8], "little")) * odd) & MASK64
        h ^= h >> 29
    return mix(h)


def shape(form: str) -> int:
    data = form.encode()
    has = [
        any(65 <= c <= 90 for c in data),
        any(97 <= c <= 122 for c in data),
        any(48 <= c <= 57 for c in data),
        b"-" in data,
        any(c < 0x80 and not chr(c).isalnum() for c in data),
        any(c >= 0x80 for c in data),
        65 <= data[0] <= 90,
    ]
    length = len(data) if len(data) < 4 else 4 if len(data) < 7 else 5 if len(data) < 11 else 6
    return sum(bit << i for i, bit in enumerate(has)) | length << 8


def lower(form: str) -> str:
    return "".join(c.lower() if c.isascii() else c for c in form)


def atoms(sentence: Any) -> dict[str, list[int]]:
    """Values of all positions, the root first."""
    fine = [u if x == "_" else x for u, x in zip(sentence.upos, sentence.xpos, strict=True)]
    coarse = [x[:2] if u == "_" else u for u, x in zip(sentence.upos, sentence.xpos, strict=True)]
    words = [lower(form) for form in sentence.forms]
    return {
        "t": [ROOT] + [hash_text(tag, "t") >> 32 for tag in fine],
        "c": [ROOT] + [hash_text(tag, "t") >> 32 for tag in coarse],
        "w": [ROOT] + [hash_text(word, "w") >> 32 for word in words],
        "s": [ROOT] + [hash_text(word[-3:], "s") >> 32 for word in words],
        "a": [ROOT] + [mix(shape(form)) >> 32 for form in sentence.forms],
        "o": [ROOT] + [opener(coarse[:i], words[:i]) for i in range(len(words))],
        "l": [ROOT] + [nearest(coarse[:i][::-1], BEFORE) for i in range(len(words))],
        "r": [ROOT] + [nearest(coarse[i + 1 :], BEHIND) for i in range(len(words))],
    }


def opener(coarse: list[str], words: list[str]) -> int:
    """The first word of the phrase that continues after these words."""
    for tag, word in zip(reversed(coarse), reversed(words), strict=True):
        if tag in OPENS:
            return hash_text(word, "w") >> 32
        if tag in BOUNDS:
            return hash_text(tag, "t") >> 32
    return BEFORE


def nearest(coarse: list[str], none: int) -> int:
    """The tag of the first word that attends no other."""
    return next((hash_text(tag, "t") >> 32 for tag in coarse if tag not in ATTENDS), none)


def odd_number(template: int, side: int, atom: int) -> int:
    return mix(template << 16 | side << 8 | atom) >> 32 | 1


def side_key(template: int, names: list[str], side: int, position: int, values: dict[str, list[int]]) -> int:
    key = odd_number(template, side, 255)
    for name in names:
        offset = int(name[1:] or 0)
        array, at = values[name[0]], position + offset
        x = BEFORE if at < 0 else BEHIND if at >= len(array) else array[at]
        key += odd_number(template, side, ATOMS[name[0]] + offset) * x
    return key & MASK32


def context_hash(x: int) -> int:
    return mix(x) >> 32


def length_class(length: int) -> int:
    return next(i for i, most in enumerate((1, 2, 3, 4, 6, 10, 10**9)) if length <= most)


class Reference:
    """The scores of a model's arcs."""

    def __init__(self, model: _core.ParserModel) -> None:
        self.fine, self.coarse, _, self.bits, self.weights, *_, self.pruner_bits, self.pruner = model.state()
        self.templates = _core.parser_templates()

    def number(self, tags: list[str], tag: str) -> int:
        return tags.index(tag) + 1 if tag in tags else len(tags) + 1

    def score(self, sentence: Any, group: str, head: int, modifier: int) -> float:
        bits, weights = (self.pruner_bits, self.pruner) if group == "pruner" else (self.bits, self.weights)
        values = atoms(sentence)
        fine = [0] + [
            self.number(self.fine, u if x == "_" else x) for u, x in zip(sentence.upos, sentence.xpos, strict=True)
        ]
        coarse = [0] + [
            self.number(self.coarse, x[:2] if u == "_" else u)
            for u, x in zip(sentence.upos, sentence.xpos, strict=True)
        ]
        inside = range(min(head, modifier) + 1, max(head, modifier))
        count = [min(3, sum(coarse[i] == coarse[end] for i in inside)) for end in (head, modifier)]
        contexts = [
            context_hash(sum(1 << tag for tag in {fine[i] for i in inside})),
            context_hash(sum(1 << tag for tag in {coarse[i] for i in inside})),
            context_hash(1000 + 4 * count[0] + count[1]),
        ]
        right = int(modifier > head)
        slot = 2 + 2 * length_class(abs(modifier - head)) + right
        total = 0.0

        def add(key: int) -> None:
            nonlocal total
            line, s = key >> (36 - bits), key & 15
            total += float(weights[line * 16 + (s ^ right)]) + float(weights[line * 16 + (s ^ slot)])

        pairs, words = ("word_pairs", "word_words") if group == "words" else ("tag_pairs", "tag_words")
        first = 0 if group != "words" else len(self.templates["tag_pairs"]) + len(self.templates["tag_words"])
        for t, text in enumerate(self.templates[pairs] if group != "pruner" else [], first):
            names = text.split()
            key = side_key(t, [n[1:] for n in names if n[0] == "h"], 0, head, values)
            key += side_key(t, [n[1:] for n in names if n[0] == "m"], 1, modifier, values)
            key += sum(odd_number(t, 2, c) * contexts[c] for c in range(3) if CONTEXTS[c] in names)
            add(key & MASK32)
        for t, text in enumerate(self.templates[words], first + len(self.templates[pairs])):
            add(side_key(t, text.split(), 0, head, values))
            add(side_key(t, text.split(), 1, modifier, values))
        if group != "words":
            n_tags = len(self.fine) + 2
            row = (1 << bits) + ((fine[head] * n_tags + fine[modifier]) * 16 + slot) * 64
            between = {fine[i] for i in inside} | ({0} if group == "pruner" else set())
            total += sum(float(weights[row + tag]) for tag in between)
        return total

    def score_pairs(self, sentence: Any, heads: Any, modifier: int) -> float:
        """Score of the two pairs of an arc in a tree, ``heads`` from the root's on."""
        head = heads[modifier]
        if head == 0:
            return 0.0
        inside = range(modifier + 1, head) if modifier < head else range(modifier - 1, head, -1)
        sibling = next((k for k in inside if heads[k] == head), head)
        values, total = atoms(sentence), 0.0
        for first, name, third in ((1 << 13, "grandparents", heads[head]), ((1 << 13) + 16, "siblings", sibling)):
            slot = (8 if third == head else 4 if third > head else 0) + 2 * (head > modifier) + (third < modifier)
            for t, text in enumerate(self.templates[name], first):
                key = 0
                for side, letter, position in ((0, "h", head), (1, "m", modifier), (3, "x", third)):
                    names = [n[1:] for n in text.split() if n[0] == letter]
                    key += side_key(t, names, side, position, values)
                key &= MASK32
                total += float(self.weights[(key >> (36 - self.bits)) * 16 + ((key & 15) ^ slot)])
        return total


def is_tree(heads: Any) -> bool:
    for m in range(1, len(heads)):
        at, steps = m, 0
        while at != 0 and steps <= len(heads):
            at, steps = heads[at], steps + 1
        if at != 0:
            return False
    return True


def is_projective(heads: Any) -> bool:
    arcs = [(min(h, m), max(h, m)) for m, h in enumerate(heads) if m > 0]
    return not any(a < c < b < d for a, b in arcs for c, d in arcs)
