"""Plans that read texts in parts: the extension reads as the plan on rows of numbers says, and a file holds it all."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import wald
from wald import EarlyExitClassifier, Planner
from wald.early_exit.rows import preprocessed
from wald.models.documents import DocumentTerms
from wald.sources import RawSource

COMMON = np.array([f"word{i}" for i in range(150)] + ["Caf\u00e9", "\u00dcber"])
TELLING = np.array([[f"{kind}{i}" for i in range(8)] for kind in ("red", "green", "blue")])


def texts_of(n: int, n_classes: int, seed: int) -> tuple[list[str], Any]:
    """Texts of 5 to 400 words, of which a tenth say to which class they belong."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(n_classes, size=n)
    texts = []
    for kind in kinds:
        length = int(5 * 80 ** rng.random())
        telling = rng.random(length) < 0.1
        texts.append(" ".join(np.where(telling, rng.choice(TELLING[kind], length), rng.choice(COMMON, length))))
    return texts, kinds


def planned(vectorizer: Any, n_classes: int = 2, n: int = 1500, **given: Any) -> tuple[EarlyExitClassifier, Any]:
    """A classifier with a plan in characters."""
    texts, kinds = texts_of(300, n_classes, 0)
    model = make_pipeline(vectorizer, LogisticRegression(C=10)).fit(texts, kinds)
    others, _ = texts_of(n, n_classes, 1)
    options = {"risk": 0.05, "planner": Planner(cost="units"), "random_state": 0} | given
    return EarlyExitClassifier(model, **options).fit(others), model


VECTORIZERS = {
    "words": TfidfVectorizer(),
    "sublinear, l1": TfidfVectorizer(sublinear_tf=True, norm="l1"),
    "counts, binary": CountVectorizer(binary=True),
    "pairs": TfidfVectorizer(ngram_range=(1, 2)),
    "float32": TfidfVectorizer(dtype=np.float32),
    "hashing": HashingVectorizer(n_features=1024),
    "hashed pairs": HashingVectorizer(n_features=1024, ngram_range=(1, 2)),
    "char": TfidfVectorizer(analyzer="char", ngram_range=(2, 3)),
    "char_wb, accents": TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), strip_accents="unicode"),
}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", VECTORIZERS)
def test_reads_as_the_plan_says(name: str, n_classes: int) -> None:
    if n_classes == 3 and name not in ("words", "pairs", "char"):
        return
    fast, model = planned(VECTORIZERS[name], n_classes, 700)
    predictor, plan = fast.compiled_plan_._predictor, fast.plan_
    assert isinstance(predictor.model.terms, DocumentTerms)
    texts, _ = texts_of(400, n_classes, 2)
    texts += ["", "a", "word1", "\u0130stanbul \u039f\u0394\u039f\u03a3 " * 30]
    source = RawSource(texts)
    rows = preprocessed(predictor.model, source)
    for budget in (None, *plan.stage_costs[:2], 1000.0):
        reach = predictor._reach(budget)
        expected, found = predictor._cascade.predict(rows, *reach, 1), predictor.predict(source, 2, budget)
        for one, other in zip((expected.codes, *expected.ledger), (found.codes, *found.ledger), strict=True):
            assert_array_equal(one, other)
        assert budget is None or found.ledger.paid.max() <= budget
    # in full, answers are the pipeline's own, and cost the characters
    whole = predictor.predict(source, 1, None, full=True)
    assert_array_equal(fast.classes_[whole.codes], model.predict(texts))
    early = fast.predict(texts, details=True)
    assert (early.costs <= whole.ledger.paid).all()
    assert plan.evaluate_all or (early.costs < whole.ledger.paid).any()


def test_saves_characters_and_keeps_its_promise() -> None:
    fast, model = planned(TfidfVectorizer())
    texts, _ = texts_of(1000, 2, 3)
    labels, cost = fast.predict(texts, return_cost=True)
    assert fast.certificate_.status == "certified"
    assert cost.mean() < 0.7 * np.mean([len(text) for text in texts])
    assert (labels != model.predict(texts)).mean() < 0.05
    assert fast.plan_.full_cost == pytest.approx(np.mean([len(text) for text in texts]), rel=0.2)
    one = [fast.predict_one(text, return_cost=True) for text in texts[:50]]
    assert one == list(zip(labels[:50], cost[:50], strict=True))
    traced = fast.trace(texts[0])
    assert traced.label == labels[0]
    assert traced.cost == cost[0]
    watched = fast.watched(0.5)
    watched.predict(texts)
    assert watched.monitor_.n_rows == 1000


def test_a_file_answers_the_same(tmp_path: Path) -> None:
    fast, _ = planned(TfidfVectorizer(), 3, 700)
    texts, _ = texts_of(200, 3, 4)
    wald.save(fast, tmp_path / "fast.wald")
    own = fast.predict(texts, details=True)
    for other in (wald.load(tmp_path / "fast.wald"), pickle.loads(pickle.dumps(fast))):
        found = other.predict(texts, details=True)
        assert_array_equal(found.labels, own.labels)
        assert_array_equal(found.costs, own.costs)
        assert_array_equal(found.stages, own.stages)


@pytest.mark.parametrize("odd", [None, np.nan, 3, b"\xff"])
def test_odd_values_raise_the_errors_of_the_pipeline(odd: Any) -> None:
    fast, model = planned(TfidfVectorizer(), n=400)
    rows = ["word1 " * 100, odd]
    with pytest.raises((AttributeError, TypeError, ValueError)) as expected:
        model.predict(rows)
    with pytest.raises(type(expected.value)):
        fast.predict(rows)


def test_bytes_and_halves_of_surrogates_are_the_pipelines() -> None:
    fast, model = planned(TfidfVectorizer(), n=400)
    rows = [b"red1 word1 green2", "red2 \ud800 word1", "word3"]
    labels, cost = fast.predict(rows, return_cost=True)
    assert_array_equal(labels, model.predict(rows))
    assert cost.tolist() == [len(row) for row in rows]


def test_short_texts_are_read_whole() -> None:
    texts, kinds = texts_of(300, 2, 0)
    texts = [text[:40] for text in texts]
    model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(texts, kinds)
    fast = EarlyExitClassifier(model, risk=0.05, random_state=0).fit(texts)
    assert fast.plan_.evaluate_all
    labels, cost = fast.predict(texts, return_cost=True)
    assert_array_equal(labels, model.predict(texts))
    assert_array_equal(cost, [len(text) for text in texts])
