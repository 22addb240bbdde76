"""Coarse to fine: groups score only the arcs that the pruner keeps."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from structured.parser_reference import decode_tree, is_tree
from structured.parsers import SMALL

from wald import _core
from wald.structured import DependencyParser, Treebank
from wald.structured.parser_learning import settings as parser_settings
from wald.structured.protocol import check_model


@pytest.fixture(scope="module")
def parser(bank):
    return DependencyParser(**SMALL, arc_margin=4.0).fit(bank[:300])


def copy(parser, **parameters):
    return pickle.loads(pickle.dumps(parser)).set_params(**parameters)


def listed(parser, bank, i):
    """All arcs of a sentence, their pruner's scores, and how far each is below the best of its word."""
    arcs = copy(parser, arc_margin=None).arcs(bank, i)
    scores = parser.arc_scores(bank, i, "pruner", arcs)
    best = np.full(len(bank[i]) + 1, -np.inf)
    np.maximum.at(best, arcs[:, 1], scores)
    return arcs, scores, best[arcs[:, 1]] - scores


def test_few_arcs_and_nearly_nothing_lost(bank, parser):
    test = bank[300:]
    everything = copy(parser, arc_margin=None)
    assert parser.score(test) > everything.score(test) - 0.002
    assert parser.n_scored_arcs_ < everything.n_scored_arcs_ / 4
    assert everything.n_scored_arcs_ == sum(len(everything.arcs(test, i)) for i in range(len(test)))


def test_the_pruner_knows_probabilities(bank, parser):
    """The share of right heads is close to the mean probability that the pruner gives to its choices."""
    right, given = [], []
    for i in range(300, 400):
        arcs, scores, _ = listed(parser, bank, i)
        for word, head in enumerate(bank[i].heads, 1):
            own = scores[arcs[:, 1] == word]
            p = np.exp(own - own.max()) / np.exp(own - own.max()).sum()
            given.append(p.max())
            right.append(arcs[arcs[:, 1] == word][p.argmax(), 0] == head)
    assert np.mean(right) > 0.8
    assert np.mean(right) == pytest.approx(np.mean(given), abs=0.05)


@pytest.mark.parametrize("margin", [0, 0.5, 2, 100])
@pytest.mark.parametrize("decoder", ["eisner", "chu-liu-edmonds"])
def test_what_is_scored(bank, parser, margin, decoder):
    parser = copy(parser, arc_margin=margin, decoder=decoder)
    out = parser.predict(bank[:20])
    total = 0
    for i in range(20):
        arcs, rough, below = listed(parser, bank, i)
        near = below <= margin
        several = np.bincount(arcs[near, 1], minlength=len(bank[i]) + 1) > 1
        chosen = near & several[arcs[:, 1]]
        np.testing.assert_array_equal(parser.arcs(bank, i), arcs[chosen])
        total += chosen.sum()
        scores = np.where(near, 0, rough - np.float32(1e4)).astype(np.float32)
        for group in ("tags", "words"):
            scores[chosen] += parser.arc_scores(bank, i, group, arcs[chosen])
        matrix = np.full((len(bank[i]) + 1,) * 2, -np.inf, np.float32)
        matrix[arcs[:, 0], arcs[:, 1]] = scores
        np.testing.assert_array_equal(decode_tree(matrix, decoder=decoder), out[i].heads)
    assert parser.n_scored_arcs_ == total


@pytest.mark.parametrize(
    ("decoder", "margin", "always"),  # whether every sentence has a tree within the margin
    [
        ("eisner", 1, False),
        ("eisner", 4, False),
        ("eisner", 9, True),
        ("chu-liu-edmonds", 1, False),
        ("chu-liu-edmonds", 4, True),
    ],
)
def test_other_arcs_are_the_last_resort(bank, parser, decoder, margin, always):
    """Arcs beyond the margin are used only where there is no tree without them, however high their scores."""
    bank = bank[:60]
    parser = copy(parser, arc_margin=margin, decoder=decoder)
    state = list(parser._model.state())
    state[4] = state[4] * np.float32(1e5)
    state[9] = np.random.default_rng(0).normal(size=state[9].shape).astype(np.float32) / 4  # what is likely is no tree
    parser._model = _core.ParserModel(*state)
    heads = parser.predict(bank).heads
    session = parser.open(bank)
    np.testing.assert_array_equal(session.decode(session.state()), heads)
    with_tree = 0
    for i in range(len(bank)):
        arcs, _, below = listed(parser, bank, i)
        near = np.full((len(bank[i]) + 1,) * 2, -np.inf, np.float32)
        near[*arcs[below <= margin].T] = 0
        own = heads[bank.offsets[i] : bank.offsets[i + 1]]
        within = np.isfinite(near[own, np.arange(1, len(near))])
        try:
            decode_tree(near, decoder=decoder)
        except ValueError:
            assert not within.all()
        else:
            with_tree += 1
            assert within.all()
    assert with_tree > 0
    assert (with_tree == len(bank)) == always


@pytest.mark.parametrize("decoder", ["eisner", "chu-liu-edmonds"])
@pytest.mark.parametrize("single_root", [True, False])
def test_the_largest_weights_still_give_trees(bank, parser, decoder, single_root):
    """Weights may come from files: larger weights, whose sums would not be finite, are refused."""
    bank, parser = bank[:40], copy(parser, decoder=decoder, single_root=single_root)
    state, rng = list(parser._model.state()), np.random.default_rng(0)
    for table in (4, 9):
        state[table] = rng.choice([-1e30, 1e30], size=state[table].shape).astype(np.float32)
        larger = [*state[:table], state[table] * 2, *state[table + 1 :]]
        with pytest.raises(ValueError, match="at most 1e30"):
            _core.ParserModel(*larger)
    parser._model = _core.ParserModel(*state)
    heads = parser.predict(bank).heads
    for own in np.split(heads, bank.offsets[1:-1]):
        assert is_tree([0, *own])
        assert not single_root or np.count_nonzero(own == 0) == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"margin": np.nan}, "margin"),
        ({"factor": np.nan}, "factor"),
        ({"factor": 1e300}, "factor"),
        ({"extra": -1.0}, "extra"),
        ({"step": np.inf}, "step"),
        ({"step": np.nan}, "step"),
        ({"rate": -1.0}, "rate"),
        ({"rate": np.nan}, "rate"),
    ],
)
def test_settings_are_checked_where_they_are_used(bank, parser, settings, message):
    learner = _core.ParserLearner(bank.core, bits=8, label_bits=0, pruner_bits=8)
    good = parser_settings(parser) | {"rate": 0.1}
    calls = (
        lambda rate, **asked: parser._model.arcs(bank.core, 0, asked),
        lambda rate, **asked: parser._model.parse(bank.core, asked, 1),
        lambda rate, **asked: _core.ParserSession(parser._model, bank.core, asked, 1),
        lambda rate, **asked: learner.learn(bank.core, np.arange(3), asked, 0, rate),
    )
    learner.see(bank.core)
    for call in calls[3:] if "rate" in settings else calls:
        call(**good)
        with pytest.raises(ValueError, match=message):
            call(**good | settings)


def test_a_wide_margin_is_no_pruner(bank, parser):
    wide, none = copy(parser, arc_margin=1e6), copy(parser, arc_margin=None)
    assert wide.predict(bank).to_bytes() == none.predict(bank).to_bytes()
    assert DependencyParser(**SMALL).fit(bank[:300]).predict(bank).to_bytes() == none.predict(bank).to_bytes()


def test_there_always_is_a_tree(bank, parser):
    words = [("dog", "NOUN", "NN"), ("sees", "VERB", "VBZ"), ("?", "X", "never-seen")]
    sentences = [words[:1], words, words[2:] * 9, words * 300]
    for decoder in ("eisner", "chu-liu-edmonds"):
        out = copy(parser, arc_margin=0, decoder=decoder).predict(sentences)
        Treebank(out.to_bytes())
        for sentence in out:
            assert is_tree([0, *sentence.heads])
            assert sentence.heads.count(0) == 1


def test_sessions(bank, parser):
    """Groups are bought for the arcs that are left, word by word."""
    test = bank[300:]
    parser = DependencyParser(**SMALL, arc_margin=3.0, states="random").fit(bank[:300])
    check_model(parser, test, test)
    session = parser.open(test)
    np.testing.assert_array_equal(session.decode(session.state()), parser.predict(test).heads)
    several = np.concatenate(
        [np.bincount(parser.arcs(test, i)[:, 1], minlength=len(test[i]) + 1)[1:] > 1 for i in range(len(test))]
    )
    nothing = session.state() & False
    for state in (nothing, session.state()):
        evidence = session.evidence(state)
        assert np.isfinite(evidence).all()
        np.testing.assert_array_equal(evidence[~several, 0], 16)
        np.testing.assert_array_equal(evidence[~several, 1:4], [[1, 0, 0]] * np.count_nonzero(~several))
    features = session.part_features()
    np.testing.assert_array_equal(features[~several, -2:], [[0, 16]] * np.count_nonzero(~several))
    state = nothing.copy()
    state[several] = True  # words with one arc left have nothing to gain
    np.testing.assert_array_equal(session.decode(state), session.decode(session.state()))


def test_partial_fit_and_seeds(bank, parser):
    again = DependencyParser(**SMALL, arc_margin=1.0).fit(bank[:300])
    for one, other in zip(again._model.state(), parser._model.state(), strict=True):
        np.testing.assert_array_equal(one, other)
    online = DependencyParser(**SMALL, arc_margin=4.0)
    for _ in range(4):
        online.partial_fit(bank[:300])
    assert online.score(bank[300:]) > 0.97
    assert online.predict(bank).to_bytes() == copy(online, n_jobs=3).predict(bank).to_bytes()


def test_a_parser_without_pruner(bank):
    parser = DependencyParser(**SMALL | {"max_iter": 1}).fit(bank[:20])
    with pytest.raises(ValueError, match="group must be one of"):
        parser.arc_scores(bank, 0, "pruner", [[0, 1]])
    parser.set_params(arc_margin=2.0)
    for call in (parser.predict, parser.open, lambda bank: parser.arcs(bank, 0)):
        with pytest.raises(ValueError, match="has no pruner"):
            call(bank)
    parser.fit(bank[:20]).predict(bank)
