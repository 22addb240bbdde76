"""Taggers, pipelines and budgets in files with false content: refused, or they answer."""

from __future__ import annotations

import json
from contextlib import suppress

import numpy as np
import pytest
from persistence.forge import put_together, taken_apart
from persistence.test_fuzz import mutated

from wald.datasets import make_trees
from wald.persistence import FileFormatError, from_bytes, to_bytes
from wald.persistence.taggers import longest_search
from wald.structured import DependencyParser, TextPipeline, WordTagger
from wald.structured.policies import IteratedPolicy

BANK = make_trees(60, random_state=0)
CLASSES = np.zeros(5000, dtype=np.int32)


@pytest.fixture(scope="module")
def raw() -> bytes:
    parser = DependencyParser(table_bits=8, max_iter=1, states="random")
    pipeline = TextPipeline(WordTagger(max_iter=1, n_runs=1), parser, n_folds=0, random_state=0).fit(BANK[:30])
    cheap, costly = pipeline.parser_.group_costs_.tolist()
    budget = pipeline.tagger_.group_costs_.sum() + cheap + 0.5 * costly
    return to_bytes(pipeline.fit_budget(BANK[30:], budget, policies=(None, IteratedPolicy(max_iter=2, random_state=0))))


@pytest.mark.slow
def test_mutated_files_are_refused_or_answer(raw: bytes) -> None:
    fields, arrays = taken_apart(raw)
    parts = json.dumps(fields), arrays
    rng = np.random.default_rng(7)
    outcomes = {"refused": 0, "loaded": 0}
    for _ in range(60):
        try:
            loaded = from_bytes(mutated(raw, parts, rng))
        except FileFormatError:
            outcomes["refused"] += 1
            continue
        outcomes["loaded"] += 1
        with suppress(ValueError):  # a policy's parameters, and the width of its trees, are checked when it is used
            assert len(loaded.predict(BANK[:3])) == 3
    assert min(outcomes.values()) > 5, outcomes


def test_a_tagger_takes_little_room_in_a_file() -> None:
    """Most features of a vocabulary have weights, but only for few labels."""
    rng = np.random.default_rng(0)
    texts = [[(f"w{i:03}", "X", f"T{i % 60}") for i in range(k, k + 5)] for k in rng.permutation(400).tolist()]
    tagger = WordTagger(max_iter=1, margin=1.0, n_runs=1, min_count=1, random_state=0).fit(texts)
    _, _, _, table = tagger.chain_._chain.__getstate__()
    raw = to_bytes(tagger)
    fields, arrays = taken_apart(raw)
    with_weights = int(table.any(axis=1).sum())
    assert 2 * with_weights > len(table)
    assert 2 * sum(arrays[f"chain.{name}"].nbytes for name in ("rows", "per_row", "cells", "weights")) < table.nbytes
    loaded = from_bytes(raw)
    assert loaded.chain_._chain.__getstate__()[3].tobytes() == table.tobytes()
    assert to_bytes(loaded) == raw
    # files of earlier versions hold all weights, or all of some rows
    for rows in (None, arrays["chain.rows"]):
        for name in ("rows", "per_row", "cells", "weights"):
            arrays.pop(f"chain.{name}", None)
        if rows is None:
            fields["chain"]["rows"] = None
        else:
            fields["chain"].pop("rows")
            arrays["chain.rows"] = rows
        arrays["chain.table"] = table if rows is None else table[rows]
        older = from_bytes(put_together(fields, arrays))
        assert older.chain_._chain.__getstate__()[3].tobytes() == table.tobytes()


def test_numbers_that_are_no_hashes_are_refused(raw: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """They would all be looked for in one place."""
    rng = np.random.default_rng(0)
    hashes = rng.integers(2**64, size=200_000, dtype=np.uint64)
    assert longest_search(hashes) < 100
    assert longest_search(hashes >> np.uint64(2)) > 10_000
    assert longest_search(np.full(500, 7, dtype=np.uint64)) == 499
    assert longest_search(hashes[:0]) == 0
    fields, arrays = taken_apart(raw)
    arrays["tagger.keys"] = arrays["tagger.keys"] >> np.uint64(40)
    monkeypatch.setattr("wald.persistence.taggers.MOST_SEARCHED", 100)
    with pytest.raises(FileFormatError, match="'keys' holds no hashes"):
        from_bytes(put_together(fields, arrays))
    assert len(from_bytes(raw).predict(BANK[:3])) == 3


@pytest.mark.parametrize(
    ("lie", "message"),
    [
        (lambda f, a: a.update({"tagger.ends": a["tagger.ends"][::-1].copy()}), "ends must not fall"),
        (lambda f, a: a.update({"tagger.ends": a["tagger.ends"][1:]}), "shape"),
        (lambda f, a: a.update({"tagger.keys": a["tagger.keys"][:-1]}), "another number of features"),
        (lambda f, a: a.update({"tagger.classes": a["tagger.classes"] - 10**6}), "must not be negative"),
        (lambda f, a: f["spending"][1]["policy"]["parameters"].update(pace=7.0), "pace"),
        (lambda f, a: f["spending"][1]["policy"]["parameters"].update(n_rounds=-3), "n_rounds"),
        (lambda f, a: a.update({"tagger.words": np.zeros(5000, np.uint64), "tagger.classes": CLASSES}), "no hashes"),
        (lambda f, a: f["spending"].pop(), "should be a list of two"),
        (lambda f, a: f["spending"][1].update(mode="guess"), "one of policy, everything, nothing"),
        (lambda f, a: f["spending"][1]["policy"].update(kind="AnytimePolicy"), "one of IteratedPolicy"),
        (lambda f, a: f["tagger"].update(more=1), "unknown 'more'"),
        (lambda f, a: a.update({"spending.1.policy.repaired": np.zeros(1)}), "holds a zero"),
        (lambda f, a: a.update({"spending.1.policy.left": a["spending.1.policy.left"] + 10**6}), "."),
    ],
)
def test_lies_are_named(raw: bytes, lie: object, message: str) -> None:
    fields, arrays = taken_apart(raw)
    lie(fields, arrays)  # type: ignore[operator]
    with pytest.raises(FileFormatError, match=message):
        from_bytes(put_together(fields, arrays))
