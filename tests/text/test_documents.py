"""Plans that read texts in parts: the extension reads as the plan on rows of numbers says, and a file holds it all."""

from __future__ import annotations

import functools
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
from wald.early_exit.compiled.documents import early_stages
from wald.early_exit.compiled.rows import preprocessed
from wald.models.documents import BLOCK, DocumentTerms
from wald.sources import RawSource

COMMON = np.array([f"word{i}" for i in range(150)] + ["Caf\u00e9", "\u00dcber"])
TELLING = np.array([[f"{kind}{i}" for i in range(8)] for kind in ("red", "green", "blue")])


@functools.cache
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


def planned(
    vectorizer: Any, n_classes: int = 2, n: int = 1500, order: str = "greedy", **given: Any
) -> tuple[EarlyExitClassifier, Any]:
    """A classifier with a plan in characters."""
    texts, kinds = texts_of(300, n_classes, 0)
    model = make_pipeline(vectorizer, LogisticRegression(C=10)).fit(texts, kinds)
    others, _ = texts_of(n, n_classes, 1)
    planner = Planner(cost="units", order=order)
    options = {"risk": 0.05, "planner": planner, "random_state": 0} | given
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


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize("order", ["in order", "spread"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", VECTORIZERS)
def test_reads_as_the_plan_says(name: str, n_classes: int, order: str) -> None:
    if n_classes == 3 and name not in ("words", "pairs", "char"):
        return
    fast, model = planned(VECTORIZERS[name], n_classes, 700, order)
    predictor, plan = fast.compiled_plan_._predictor, fast.plan_
    assert isinstance(predictor.model.terms, DocumentTerms)
    assert set(predictor.model.terms.blocks.tolist()) == {0 if order == "in order" else BLOCK}
    texts, _ = texts_of(400, n_classes, 2)
    texts += ["", "a", "word1", "\u0130stanbul \u039f\u0394\u039f\u03a3 " * 30, "\u00fc" * 300, "red1" * 99, " " * 400]
    long = "red1 word2 \u00fcber green3 caf\u00e9 " * 300
    texts += [long, *(long.encode()[:n].decode(errors="replace") for n in (63, 64, 91, 127, 128, 129, 256, 384, 512))]
    texts += [("word1 blue2 " * 50)[:n] for n in (64, 91, 128, 129, 255, 256, 257, 384, 512)]
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


@pytest.mark.parametrize("order", ["greedy", "in order", "spread"])
def test_a_file_answers_the_same(order: str, tmp_path: Path) -> None:
    fast, _ = planned(TfidfVectorizer(), 3, 700, order)
    texts, _ = texts_of(200, 3, 4)
    wald.save(fast, tmp_path / "fast.wald")
    own = fast.predict(texts, details=True)
    for other in (wald.load(tmp_path / "fast.wald"), pickle.loads(pickle.dumps(fast))):
        assert other.planner.order == order
        assert str(other.explain(texts[0])) == str(fast.explain(texts[0]))
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


def test_a_word_too_frequent_for_the_table_of_logarithms_counts_in_the_plan_as_it_is_read() -> None:
    fast, model = planned(TfidfVectorizer(sublinear_tf=True), n=700)
    predictor, text = fast.compiled_plan_._predictor, "red1 " * 66_000
    rows = preprocessed(predictor.model, RawSource([text]))
    expected = predictor._cascade.predict(rows, *predictor._reach(None), 1)
    assert fast.predict([text], return_cost=True)[1] == expected.ledger.paid < len(text)
    whole = predictor.predict(RawSource([text]), 1, None, full=True)
    assert_array_equal(fast.classes_[whole.codes], model.predict([text]))
    assert whole.ledger.paid == len(text)


EXPLAINED = dict(VECTORIZERS) | {"stop words, pairs": TfidfVectorizer(ngram_range=(1, 2), stop_words=["word1", "red2"])}


@pytest.mark.parametrize("name", EXPLAINED)
def test_explains_what_was_read(name: str) -> None:
    fast, model = planned(EXPLAINED[name], n=700, order="in order")
    terms, early = fast.compiled_plan_.model.terms, fast.plan_.early
    texts = [
        "",
        "red1",
        "Caf\u00e9 red1, green2  \n word7 " + "word3 \u00dcber word5 " * 40,
        b"red1 word2" * 20,
        *texts_of(6, 2, 7)[0],
    ]
    n_unread = 0
    for text in texts:
        found, cost = fast.explain(text), float(fast.predict([text], return_cost=True)[1][0])
        assert (found.unit, found.cost_unit, found.trace.cost) == ("tokens", "characters", cost)
        assert found.as_dict()["full_cost"] >= cost
        assert found.trace.costs[min(found.trace.stage, len(early))] == cost
        total = found.intercept + sum(part.adds for part in found.parts)
        assert total == pytest.approx(model.decision_function([text]), abs=1e-5)
        assert "inf" not in str(found)
        if cost == found.as_dict()["full_cost"]:
            assert not found.unread
            continue
        assert found.read
        n_unread += len(found.unread)
        # what was read has the columns of the tokens that end in the first bytes
        look = int(terms.looks[early.terms[found.trace.stage] // terms.n_outputs - 1])
        read = model[0].build_preprocessor()(model[0].decode(text)).encode()[:look].decode(errors="ignore")
        inside = set(model[0].build_analyzer()(read))
        for part in found.read:
            assert not inside.isdisjoint(part.name.split(", "))
        cut = set(model[0].build_analyzer()(read[: read.rindex(" ")]))
        for part in found.unread:
            assert part.name not in cut
    assert n_unread > 0


@pytest.mark.parametrize("name", EXPLAINED)
def test_explains_what_was_read_in_blocks(name: str) -> None:
    fast, model = planned(EXPLAINED[name], n=700, order="spread")
    assert fast.compiled_plan_.plan.n_stages > 0
    texts, n_unread = [*texts_of(6, 2, 7)[0], "red1", "word1 \u00dcber " * 99 + "green2"], 0
    known = fast.compiled_plan_.model.texts
    for text in texts:
        found, cost = fast.explain(text), fast.predict([text], return_cost=True)[1][0]
        assert found.trace.cost == cost
        total = found.intercept + sum(part.adds for part in found.parts)
        assert total == pytest.approx(model.decision_function([text]), abs=1e-5)
        n_unread += len(found.unread)
        stages = early_stages_of(fast)
        looks, stage = stages.looks, found.trace.stage
        if stage == len(looks) or looks[stage] >= len(text.encode()):
            assert not found.unread or cost < len(text)
            continue
        # the estimate of the last look is that of the parts that were read
        scores = known.prefixes([text], looks, stages.block)[0][0, stage]
        assert found.trace.scores[stage] == pytest.approx(stages.bias[stage, 0] + stages.weights[stage, 0] * scores[0])
        if name == "counts, binary":  # whose scores are sums of what the parts add
            read = found.intercept + sum(part.adds for part in found.read)
            assert read == pytest.approx(scores)
    assert n_unread > 0


def early_stages_of(fast: EarlyExitClassifier) -> Any:
    """The stages as the extension takes them."""
    compiled = fast.compiled_plan_
    return early_stages(compiled.model.terms, compiled.plan.terms, compiled.plan.early, *compiled.plan.thresholds())


def telling_texts(n: int, where: str, seed: int) -> tuple[list[str], Any]:
    """Texts of 300 to 500 words of two kinds, which only a part of them tells."""
    rng = np.random.default_rng(seed)
    kinds, texts = rng.integers(2, size=n), []
    for kind in kinds:
        length = int(rng.integers(300, 500))
        at = np.arange(length) / length
        telling = (at > 0.6) if where == "end" else (np.floor(at * 8) == rng.integers(1, 8))
        told = rng.choice(TELLING[kind], length)
        texts.append(" ".join(np.where(telling & (rng.random(length) < 0.5), told, rng.choice(COMMON[:150], length))))
    return texts, kinds


@pytest.mark.parametrize("where", ["end", "somewhere"])
def test_spread_pays_where_texts_tell_late(where: str) -> None:
    texts, kinds = telling_texts(300, where, 0)
    model = make_pipeline(TfidfVectorizer(), LogisticRegression(C=10)).fit(texts, kinds)
    others, later = telling_texts(1200, where, 1)[0], telling_texts(400, where, 2)[0]
    cost = {}
    for order in ("in order", "spread", "greedy"):
        planner = Planner(cost="units", order=order)
        fast = EarlyExitClassifier(model, risk=0.02, planner=planner, random_state=0).fit(others)
        labels, paid = fast.predict(later, return_cost=True)
        assert (labels != model.predict(later)).mean() <= 0.03
        cost[order] = paid.mean()
    assert cost["spread"] < 0.7 * cost["in order"]
    assert cost["greedy"] == cost["spread"]
    assert set(early_stages_of(fast).looks % BLOCK) == {0}


def test_texts_whose_beginnings_tell_are_read_in_order() -> None:
    def made(n: int, seed: int) -> tuple[list[str], Any]:
        rng = np.random.default_rng(seed)
        kinds = rng.integers(2, size=n)
        return [f"{' '.join(TELLING[k])} " + " ".join(rng.choice(COMMON, 300)) for k in kinds], kinds

    model = make_pipeline(TfidfVectorizer(), LogisticRegression(C=10)).fit(*made(200, 0))
    fast = EarlyExitClassifier(model, risk=0.05, planner=Planner(cost="units"), random_state=0).fit(made(700, 1)[0])
    assert early_stages_of(fast).block == 0
    assert fast.predict(made(50, 2)[0], return_cost=True)[1].max() <= 91


@pytest.mark.parametrize("order", ["in order", "spread"])
def test_orders_of_texts_are_for_texts(order: str) -> None:
    texts, kinds = texts_of(300, 2, 0)
    X = np.random.default_rng(0).normal(size=(300, 5))
    numbers, words = LogisticRegression().fit(X, kinds), make_pipeline(TfidfVectorizer(), LogisticRegression())
    planner = Planner(order=order)
    for model, rows, risk in ((numbers, X, 0.05), (words.fit(texts, kinds), texts, 0), (numbers, X, 0)):
        with pytest.raises(ValueError, match=f"order='{order}' is for texts that are read in parts"):
            EarlyExitClassifier(model, risk=risk, planner=planner).fit(rows)
    with pytest.raises(ValueError, match="'in order', 'spread'"):
        planned(TfidfVectorizer(), n=400, order="backwards")


def test_inspect_counts_words_and_costs_characters(tmp_path: Path) -> None:
    pytest.importorskip("typer")
    from commands.running import done

    fast, model = planned(TfidfVectorizer(), n=400)
    wald.save(fast, tmp_path / "fast.wald")
    shown = " ".join(done("inspect", tmp_path / "fast.wald").stdout.split())
    assert f"{len(model[0].vocabulary_)} words or slices; " in shown
    assert "characters per row expected" in shown


def test_short_texts_are_read_whole() -> None:
    texts, kinds = texts_of(300, 2, 0)
    texts = [text[:40] for text in texts]
    model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(texts, kinds)
    fast = EarlyExitClassifier(model, risk=0.05, random_state=0).fit(texts)
    assert fast.plan_.evaluate_all
    labels, cost = fast.predict(texts, return_cost=True)
    assert_array_equal(labels, model.predict(texts))
    assert_array_equal(cost, [len(text) for text in texts])
