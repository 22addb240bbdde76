"""ParserSession keeps its contract, and equals the parser under every state."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from structured.parser_reference import decode_tree

from wald.datasets import make_trees
from wald.structured import DependencyParser, Treebank
from wald.structured.policies.crossfit import crossfit
from wald.structured.protocol import Session, StructuredModel, check_model

SMALL = {"table_bits": 16, "max_iter": 3, "random_state": 0, "states": "random"}


@pytest.fixture(scope="module")
def bank():
    return make_trees(150, random_state=0)


@pytest.fixture(scope="module", params=["modifier", "head"])
def parser(bank, request):
    return DependencyParser(**SMALL, group_by=request.param).fit(bank[:100])


def mixed(session, share=0.5, seed=0):
    return np.random.default_rng(seed).random(session.state().shape) < share


def scores_of(parser, bank, i, state):
    """Arcs of a sentence, and their scores under a state, from the parser's own arc_scores."""
    arcs = parser.arcs(bank, i)
    costly = parser.arc_scores(bank, i, "words", arcs)
    owners = arcs[:, 1] if parser.group_by == "modifier" else np.where(arcs[:, 0] > 0, arcs[:, 0], arcs[:, 1])
    return arcs, parser.arc_scores(bank, i, "tags", arcs) + np.where(state[owners - 1, 0], costly, 0)


def test_it_can_be_driven_by_policies(bank, parser):
    check_model(parser, bank[100:], bank[100:])
    check_model(pickle.loads(pickle.dumps(parser)), bank[100:], bank[100:])
    assert isinstance(parser, StructuredModel)
    assert isinstance(parser.open(bank), Session)
    assert parser.group_names_ == ["tags", "words"]
    assert parser.group_costs_.shape == (2,)


@pytest.mark.parametrize("decoder", ["eisner", "chu-liu-edmonds"])
def test_answers_are_the_parsers(bank, parser, decoder):
    test = bank[100:]
    parser = pickle.loads(pickle.dumps(parser)).set_params(decoder=decoder)
    session = parser.open(test)
    np.testing.assert_array_equal(session.decode(session.state()), parser.predict(test).heads)
    state = mixed(session)
    heads, confidence = session.decode(state), session.confidence(state)
    for i in range(len(test)):
        mine = slice(*session.offsets[i : i + 2])
        arcs, scores = scores_of(parser, test, i, state[mine])
        matrix = np.full((len(test[i]) + 1,) * 2, -np.inf, np.float32)
        matrix[arcs[:, 0], arcs[:, 1]] = scores
        np.testing.assert_array_equal(heads[mine], decode_tree(matrix, decoder=decoder))
        for word, head in enumerate(heads[mine], 1):
            rival = np.delete(matrix[:, word], head).max(initial=-np.inf)
            expected = max(0, matrix[head, word] - rival) if rival > -np.inf else 16
            assert confidence[mine][word - 1] == pytest.approx(expected, abs=1e-5)


def test_some_sentences_alone(bank, parser):
    everywhere = parser.open(bank)
    state = mixed(everywhere)
    heads, evidence = everywhere.decode(state), everywhere.evidence(state)
    session = parser.open(bank)
    examples = [140, 3, 77]
    words = np.concatenate([np.arange(*session.offsets[i : i + 2]) for i in examples])
    np.testing.assert_array_equal(session.decode(state, examples), heads[words])
    assert session.extracted[1] == state[words].sum()
    np.testing.assert_array_equal(session.evidence(state, examples), evidence[words])
    np.testing.assert_array_equal(session.confidence(state, examples), np.maximum(evidence[words, 0], 0))
    assert session.decode(state, []).shape == (0,)
    assert session.decode(state, np.empty(0)).shape == (0,)


def test_bought_in_any_order(bank, parser):
    """Buying word by word or all at once, on one thread or three, gives the same bits."""
    session = parser.open(bank)
    state = session.state() & False
    for seed in range(5):
        state |= mixed(session, 0.3, seed)
        evidence = session.evidence(state)
        assert session.extracted[1] == state.sum()
    at_once = pickle.loads(pickle.dumps(parser)).set_params(n_jobs=3).open(bank)
    np.testing.assert_array_equal(at_once.evidence(state), evidence)
    assert (session.seconds > 0).all()


def test_evidence(bank, parser):
    test = bank[100:]
    session = parser.open(test)
    state = mixed(session, seed=1)
    heads, evidence = session.decode(state), session.evidence(state)
    assert evidence.shape == (test.n_words, 10)
    assert np.isfinite(evidence).all()
    for i in (0, 20, 49):
        mine = slice(*session.offsets[i : i + 2])
        arcs, scores = scores_of(parser, test, i, state[mine])
        h, margins = heads[mine], evidence[mine, 0]
        for word in range(1, len(test[i]) + 1):
            own, got = scores[arcs[:, 1] == word], evidence[mine][word - 1]
            p = np.exp(own - own.max()) / np.exp(own - own.max()).sum()
            head = h[word - 1]
            children = np.flatnonzero(h == word)
            expected = [
                p[arcs[arcs[:, 1] == word, 0] == head].item(),
                -(p * np.log(p)).sum(),
                (own > own.max() - 2).sum() - 1,
                head == 0,
                head < word,
                np.log(abs(head - word)),
                len(children),
                16 if head == 0 else margins[head - 1],
                min([16, *margins[children]]),
            ]
            np.testing.assert_allclose(got[1:], expected, rtol=1e-4, atol=1e-4)


def test_part_features(bank, parser):
    session = parser.open(bank)
    features = session.part_features()
    n_fine, n_coarse = (len(parser._model.state()[k]) + 2 for k in (0, 1))
    assert features.shape == (bank.n_words, n_fine + 2 * n_coarse + 2)
    own, before, behind = np.split(features[:, :-2], [n_fine, n_fine + n_coarse], axis=1)
    for block in (own, before, behind):
        np.testing.assert_array_equal(block.sum(axis=1), 1)
    coarse = parser._model.state()[1]
    upos = bank.column("upos")
    for word in range(1, 40):
        first = word in session.offsets
        assert before[word].argmax() == (0 if first else coarse.index(upos[word - 1]) + 1)
        assert behind[word - 1].argmax() == (0 if first else coarse.index(upos[word]) + 1)
    arcs = parser.arcs(bank, 0)
    two = np.sort(parser.arc_scores(bank, 0, "tags", arcs)[arcs[:, 1] == 1])[-2:]
    np.testing.assert_allclose(features[0, -2:], [np.log((arcs[:, 1] == 1).sum()), two[1] - two[0]], rtol=1e-5)
    assert session.extracted[1] == 0


def test_codes(bank, parser):
    session = parser.open(bank)
    np.testing.assert_array_equal(session.codes(bank), bank.heads)
    np.testing.assert_array_equal(session.codes([list(s.heads) for s in bank]), bank.heads)
    np.testing.assert_array_equal(session.codes(bank.heads), bank.heads)
    for wrong in (bank[:3], [[0, 1]], bank.heads / 2):
        with pytest.raises(ValueError, match="one head for each"):
            session.codes(wrong)
    unknown = bank.with_heads(np.full(bank.n_words, -1, np.int32))
    assert (session.codes(unknown) == -1).all()


def test_small_and_empty(parser):
    one = parser.open(Treebank.from_words([[("Yes", "INTJ", "UH")]]))
    for state in (one.state(), one.state() & False):
        assert one.decode(state).tolist() == [0]
        assert one.confidence(state).tolist() == [16]
    nothing = parser.open([])
    assert nothing.decode(nothing.state()).shape == (0,)
    assert nothing.evidence(nothing.state()).shape == (0, 10)
    assert nothing.part_features().shape[0] == 0
    assert nothing.codes([]).shape == (0,)


def test_tags_alone(bank):
    parser = DependencyParser(table_bits=16, max_iter=2, random_state=0, feature_groups="tags").fit(bank[:50])
    session = parser.open(bank)
    assert session.state().shape == (bank.n_words, 0)
    np.testing.assert_array_equal(session.decode(session.state()), parser.predict(bank).heads)
    assert session.extracted.tolist() == [bank.n_words]
    assert parser.group_names_ == ["tags"]
    assert parser.group_costs_.shape == (1,)


@pytest.mark.parametrize("method", ["decode", "confidence", "evidence"])
def test_bad_input(bank, parser, method):
    session = parser.open(bank)
    ask = getattr(session, method)
    for state in (session.state()[1:], session.state().astype(int), session.state()[:, 0]):
        with pytest.raises(ValueError, match="state must be a boolean array"):
            ask(state)
    for examples, message in (
        ([150], "sentences of this session"),
        ([-1], "sentences of this session"),
        ([3, 3], "twice"),
        ([0.5], "1-D array of indices"),
        ([[1]], "1-D array of indices"),
    ):
        with pytest.raises(ValueError, match=message):
            ask(session.state(), examples)


def test_clones_number_tags_alike():
    words = [[("a", "DET", "DT", 2, "det"), ("b", "NOUN", "NN", 0, "root")]] * 12
    rare = [[("c", "X", "FW", 0, "root"), ("d", f"U{i}", f"T{i}", 1, "dep")] for i in range(3)]
    bank = Treebank.from_words(words + rare)
    parser = DependencyParser(**SMALL).fit(bank)
    known = parser.open(bank[:2]).part_features()
    alone = DependencyParser(**SMALL).fit(bank[:12])
    assert alone.open(bank[:2]).part_features().shape[1] < known.shape[1]
    clone = DependencyParser(**SMALL).fit(bank[:12], inventory=bank)
    np.testing.assert_array_equal(clone.open(bank[:2]).part_features()[:, :-1], known[:, :-1])  # but for the scores
    folds = crossfit(parser, bank, bank, cv=3, random_state=0)
    assert {fold.session.part_features().shape[1] for fold in folds} == {known.shape[1]}
    same = DependencyParser(**SMALL).fit(bank[:12], inventory=bank[:12])
    assert (same.predict(bank).heads == alone.predict(bank).heads).all()


def test_no_sentences_have_no_answers(bank, parser):
    session = parser.open(bank[:0])
    assert session.answers(session.decode(session.state())) == []
