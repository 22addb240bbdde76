"""Threads share texts wherever these are read: whole, in parts, and late beside other columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from wald import EarlyExitClassifier, Planner
from wald.early_exit.compiled import late_columns
from wald.early_exit.compiled.rows import preprocessed
from wald.models.texts import FEW_TEXTS, TextScores
from wald.sources import RawSource
from wald.steps.text_columns import TextColumn

pd = pytest.importorskip("pandas")

WORDS = np.array([f"word{i}" for i in range(60)] + ["Caf\u00e9", "\u03a3\u0391\u03a3", "na\u00efve"])
UNITS = Planner(cost="units", n_splits=1)


def texts_of(n: int, seed: int) -> tuple[list[str], Any]:
    """Texts of 3 to 60 words, a few of which say to which class they belong."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(2, size=n)
    sizes = rng.integers(3, 60, n)
    telling = [rng.choice([f"red{kind}", "blue"], 1 + size // 10) for kind, size in zip(kinds, sizes, strict=True)]
    return [" ".join([*rng.choice(WORDS, size), *own]) for size, own in zip(sizes, telling, strict=True)], kinds


def frame(n: int, seed: int) -> tuple[Any, Any]:
    """Numbers that decide most rows, and texts for the others."""
    rng = np.random.default_rng(seed)
    texts, kinds = texts_of(n, seed)
    x = rng.normal(size=n) + 2 * (2 * kinds - 1) * (rng.random(n) < 0.7)
    return pd.DataFrame({"x": x, "y": rng.normal(size=n), "text": texts}), kinds


def spied(monkeypatch: pytest.MonkeyPatch, owner: Any, method: str, place: int) -> list[int]:
    """With how many threads a method is called."""
    own, seen = getattr(owner, method), list[int]()

    def spy(*args: Any) -> Any:
        seen.append(args[place])
        return own(*args)

    monkeypatch.setattr(owner, method, spy)
    return seen


def test_texts_that_are_read_late(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = frame(300, 0)
    front = ColumnTransformer([("n", StandardScaler(), ["x", "y"]), ("t", TfidfVectorizer(), "text")])
    own = make_pipeline(front, LogisticRegression()).fit(X, y)
    fast = EarlyExitClassifier(own, risk=0.05, planner=UNITS, random_state=0).fit(frame(1200, 1)[0])
    assert isinstance(fast.compiled_plan_._predictor._late, late_columns.LateColumns)
    rows = frame(700, 2)[0]
    expected = fast.compiled_plan_.predict(rows)
    seen = spied(monkeypatch, TextColumn, "reader", 4)
    for n_threads in (2, 3):
        found = fast.compiled_plan_.predict(rows, n_threads=n_threads)
        assert_array_equal(found.labels, expected.labels)
        assert_array_equal(found.costs, expected.costs)
        assert seen
        assert set(seen) == {n_threads}
        seen.clear()


def test_texts_that_are_read_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    texts, kinds = texts_of(300, 0)
    own = make_pipeline(TfidfVectorizer(), LogisticRegression(C=10)).fit(texts, kinds)
    seen = spied(monkeypatch, TextScores, "prefixes", 4)
    plans = [
        EarlyExitClassifier(own, risk=0.05, planner=UNITS, random_state=0, n_jobs=n_jobs).fit(texts_of(900, 1)[0])
        for n_jobs in (1, 2)
    ]
    assert {1, 2} <= set(seen)
    one, other = (fast.compiled_plan_ for fast in plans)
    assert_array_equal(one.plan.early.terms, other.plan.early.terms)
    rows = texts_of(400, 2)[0]
    looks = [compiled.looks(rows, n_threads).margins for compiled in (one, other) for n_threads in (1, 2)]
    for each in looks[1:]:
        assert_array_equal(each, looks[0])
    assert len(rows) >= FEW_TEXTS
    parts = [preprocessed(one.model, RawSource(rows), n_threads).array() for n_threads in (1, 2, 3)]
    for each in parts[1:]:
        assert_array_equal(each, parts[0])
