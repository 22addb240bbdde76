"""Words, tags and trees under a budget, or with a promise."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from structured.pipelines import HELD, TEST, TRAIN, length_of, same

from wald import persistence
from wald.datasets import make_trees
from wald.structured import (
    BudgetedPredictor,
    DependencyParser,
    FeatureGroup,
    TextPipeline,
    Treebank,
    WordTagger,
)
from wald.structured.attachment import same as same_words
from wald.structured.policies import AnytimePolicy, IteratedPolicy, OneShotPolicy, UniformPolicy


def test_what_a_predictor_has_asked_is_counted_for_each_group() -> None:
    tagger = WordTagger([FeatureGroup("length", length_of, cost=1e-6)], max_iter=1, random_state=0).fit(TRAIN)
    fast = BudgetedPredictor(tagger, UniformPolicy().fit(tagger), budget=float(tagger.group_costs_.sum())).fit(TEST)
    fast.predict(TEST)
    fresh = [[word + "y" for word in TEST[0].forms]]
    fast.fit(fresh)
    assert fast.n_calls_.shape == fast.seconds_.shape == (2,)
    sparing = BudgetedPredictor(tagger, fast.policy, risk=0.5, random_state=0).fit(
        [[word + "x" for word in sentence.forms] for sentence in TEST]
    )
    assert sparing.n_calls_.tolist() == [0, len(set(TEST.column("form")))]
    parser = DependencyParser(table_bits=10, max_iter=1, states="random", random_state=0).fit(TRAIN[:30])
    half = BudgetedPredictor(parser, UniformPolicy().fit(parser), budget=float(parser.group_costs_.sum())).fit(TEST)
    assert half.n_calls_.tolist() == [0, 0]
    empty, none = fast.predict([["the", "dog"], []])
    assert type(empty) is type(none)
    assert len(none) == 0


def test_a_budget_is_shared_and_kept(pipeline: TextPipeline) -> None:
    costs = [stage.group_costs_ for stage in (pipeline.tagger_, pipeline.parser_)]
    cheap, full = sum(c[0] for c in costs), sum(c.sum() for c in costs)
    everything = pipeline.predict(TEST)
    policies = (IteratedPolicy(max_iter=5, random_state=0), OneShotPolicy(target="wrong", random_state=0))
    try:
        budget = cheap + 0.4 * (full - cheap)
        pipeline.fit_budget(HELD, budget, policies=policies)
        assert cheap <= pipeline.mean_cost_ <= budget * (1 + 1e-9)
        sparing = pipeline.predict(TEST)
        assert np.mean(sparing.heads == everything.heads) > 0.7
        assert set(sparing.column("deprel")) <= set(pipeline.parser_.labels_)
        with pytest.raises(ValueError, match="budget must be at least"):
            pipeline.fit_budget(HELD, cheap / 2)
        assert same(pipeline.predict(TEST), sparing)
        assert same(pickle.loads(pickle.dumps(pipeline)).predict(TEST), sparing)
    finally:
        pipeline.fit_budget(HELD, None)
    assert same(pipeline.predict(TEST), everything)
    assert not hasattr(pipeline, "mean_cost_")


def test_a_tagger_and_a_parser_say_what_their_extractors_were_asked() -> None:
    words: list[str] = []
    group = FeatureGroup("last", lambda parts: words.extend(parts) or [[word[-1:]] for word in parts], cost=1.0)
    bank = HELD[:20]
    tagger = WordTagger([group], max_iter=1, n_runs=1, random_state=0).fit(bank)
    group.forget()
    words.clear()
    spending = BudgetedPredictor(tagger, UniformPolicy().fit(tagger), risk=0.3, random_state=0).fit(bank)
    assert spending.n_calls_.tolist() == [0, len(words)]
    assert words
    parser = DependencyParser(table_bits=10, max_iter=1, states="random", random_state=0).fit(bank)
    costs = np.asarray(parser.group_costs_)
    spending = BudgetedPredictor(parser, UniformPolicy().fit(parser), budget=costs[0] + costs[1] / 2).fit(bank)
    assert spending.n_calls_.tolist() == [0, 0]


def test_a_budget_needs_a_costly_group() -> None:
    parser = DependencyParser(feature_groups="tags", table_bits=10, max_iter=1)
    pipeline = TextPipeline(WordTagger(max_iter=1), parser, n_folds=0, random_state=0).fit(TRAIN[:30])
    with pytest.raises(ValueError, match="neither tagger nor parser"):
        pipeline.fit_budget(HELD, 1.0)


def test_a_budget_beyond_everything_buys_everything(pipeline: TextPipeline) -> None:
    everything = pipeline.predict(TEST)
    try:
        pipeline.fit_budget(HELD, np.inf, policies=(UniformPolicy(), UniformPolicy()))
        assert same(pipeline.predict(TEST), everything)
    finally:
        pipeline.fit_budget(HELD, None)


@pytest.mark.parametrize(
    ("policies", "message"),
    [
        ((None,), "policies must be two"),
        (IteratedPolicy(), "policies must be two"),
        ((None, "uniform"), "The parser's policy must be one of"),
        ((UniformPolicy(), None), "The tagger has no costly group, and so cannot have a policy"),
    ],
)
def test_policies_that_cannot_be(plain: TextPipeline, policies: object, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        plain.fit_budget(HELD, 1.0, policies=policies)  # type: ignore[arg-type]  # refused


# ---- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", [IteratedPolicy(max_iter=5, random_state=0), OneShotPolicy(random_state=0)])
def test_a_pipeline_under_a_budget_comes_back_from_its_file(plain: TextPipeline, policy: object) -> None:
    cheap = plain.tagger_.group_costs_.sum() + plain.parser_.group_costs_[0]
    try:
        plain.fit_budget(HELD, cheap + 0.4 * plain.parser_.group_costs_[1], policies=(None, policy))
        loaded = persistence.from_bytes(raw := persistence.to_bytes(plain))
        assert same(loaded.predict(TEST), plain.predict(TEST))
        assert loaded.mean_cost_ == plain.mean_cost_
        assert persistence.to_bytes(loaded) == raw
    finally:
        plain.fit_budget(HELD, None)


def test_a_predictor_and_its_policy_come_back_from_a_file() -> None:
    parser = DependencyParser(table_bits=10, max_iter=2, states="random", random_state=0).fit(TRAIN)
    policy = IteratedPolicy(max_iter=5, cv="prefit", random_state=0).fit(parser, HELD, HELD)
    for settings in (
        {"risk": 0.2, "random_state": 0},
        {"budget": float(parser.group_costs_ @ [1.0, 0.5]), "spend": "each"},
    ):
        sparing = BudgetedPredictor(parser, policy, **settings).fit(TEST)
        loaded = persistence.from_bytes(persistence.to_bytes(sparing))
        for a, b in zip(loaded.predict(TEST), sparing.predict(TEST), strict=True):
            assert np.array_equal(a, b)
        assert str(loaded.certificate_) == str(sparing.certificate_)
        assert loaded.policy.model_ is loaded.model
    sparing.policy = UniformPolicy()
    with pytest.raises(NotFittedError):
        persistence.to_bytes(sparing)
    sparing.policy.fit(clone(parser).fit(TRAIN[:20]))
    with pytest.raises(ValueError, match="was fitted for another model"):
        persistence.to_bytes(sparing)
    sparing.policy = AnytimePolicy(random_state=0)
    with pytest.raises(ValueError, match="AnytimePolicy cannot be saved"):
        persistence.to_bytes(sparing)


# ---- a risk ----------------------------------------------------------------------------------------------------------


def differing(a: Treebank, b: Treebank) -> float:
    return float(np.mean((a.heads != b.heads) | ~np.all([same_words(a, b, name) for name in COLUMNS], axis=0)))


COLUMNS = ("upos", "xpos", "deprel")


def test_a_risk_finds_the_budget_and_promises_what_it_loses(plain: TextPipeline) -> None:
    everything = plain.predict(TEST)
    full = plain.tagger_.group_costs_.sum() + plain.parser_.group_costs_.sum()
    try:
        plain.fit_budget(make_trees(900, random_state=1), risk=0.1, policies=(None, UniformPolicy()))
        certificate = plain.certificate_
        assert certificate.status == "certified"
        assert certificate.verify()
        assert certificate.mean < 0.1
        assert plain.mean_cost_ == pytest.approx(certificate.threshold, rel=0.1)
        assert certificate.threshold < full
        assert plain.stages_[1] is not None
        sparing = plain.predict(TEST)
        assert differing(everything, sparing) < 0.15
        loaded = persistence.from_bytes(raw := persistence.to_bytes(plain))
        assert same(loaded.predict(TEST), sparing)
        assert str(loaded.certificate_) == str(certificate)
        assert persistence.to_bytes(loaded) == raw
    finally:
        plain.fit_budget(HELD)
    assert not hasattr(plain, "certificate_")
    assert same(plain.predict(TEST), everything)


def test_sentences_longer_than_the_promise_get_everything(plain: TextPipeline) -> None:
    everything, lengths = plain.predict(TEST), np.diff(TEST.offsets)
    short = int(np.median(lengths))
    try:
        plain.fit_budget(make_trees(900, random_state=1), risk=0.3, max_parts=short, policies=(None, UniformPolicy()))
        assert plain.certificate_.max_parts == short
        sparing = plain.predict(TEST)
        assert [sparing[i] for i in np.flatnonzero(lengths > short)] == [
            everything[i] for i in np.flatnonzero(lengths > short)
        ]
        assert not same(sparing, everything)
    finally:
        plain.fit_budget(HELD)


def test_too_few_sentences_buy_everything(plain: TextPipeline) -> None:
    everything = plain.predict(TEST)
    try:
        plain.fit_budget(HELD, risk=0.01, policies=(None, UniformPolicy()))
        assert plain.certificate_.status == "too few examples"
        assert plain.stages_ == (None, None)
        assert plain.mean_cost_ == pytest.approx(plain.tagger_.group_costs_.sum() + plain.parser_.group_costs_.sum())
        assert same(plain.predict(TEST), everything)
    finally:
        plain.fit_budget(HELD)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"budget": 1.0, "risk": 0.1}, "either a budget or a risk"),
        ({"risk": 0.0}, "'risk'"),
        ({"risk": 0.1, "confidence": 1.0}, "'confidence'"),
        ({"risk": 0.1, "max_parts": 0}, "'max_parts'"),
        ({"risk": 0.1, "max_parts": 2.5}, "'max_parts'"),
    ],
)
def test_promises_that_cannot_be(plain: TextPipeline, how: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plain.fit_budget(HELD, **how)  # type: ignore[arg-type]  # refused
    assert not hasattr(plain, "certificate_")
