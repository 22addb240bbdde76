"""DependencyParser on small made-up treebanks."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from structured.parser_reference import Reference, decode_tree
from structured.parsers import SMALL

from wald import _core
from wald.structured import DependencyParser, Treebank
from wald.structured.attachment import attachment_scores


@pytest.fixture(scope="module")
def parser(bank):
    return DependencyParser(**SMALL).fit(bank[:300])


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"decoder": "chu-liu-edmonds"},
        {"learner": "perceptron", "step": 1.0},
        {"single_root": False},
        {"length_filter": "exact"},
        {"length_filter": None},
        {"states": "random", "max_iter": 8},
        {"states": "random", "group_by": "head", "max_iter": 8},
        {"loss_augmented": False},
    ],
    ids=str,
)
def test_the_grammar_is_learned(bank, parameters):
    scores = DependencyParser(**(SMALL | parameters)).fit(bank[:300]).evaluate(bank[300:])
    assert scores.uas > 0.97
    assert scores.las > 0.96
    assert scores.n_words == bank[300:].n_words


def test_words_matter(bank, parser):
    """Only the noun determines whether a phrase is attached to it."""
    tags = DependencyParser(**SMALL, feature_groups="tags").fit(bank[:300])
    assert 0.8 < tags.score(bank[300:]) < parser.score(bank[300:]) - 0.02
    assert tags.evaluate(bank[300:]).las > 0.7


def test_prediction(bank, parser):
    test = bank[300:]
    out = parser.predict(test)
    assert out.column("form") == test.column("form")
    assert set(out.column("deprel")) <= set(parser.labels_) == set(bank.column("deprel"))
    for sentence in out:
        assert sentence.heads.count(0) == 1
    reread = Treebank(out.to_bytes())  # the reader accepts trees only
    np.testing.assert_array_equal(reread.heads, out.heads)
    assert attachment_scores(out, reread).las == 1
    assert parser.score(test) == parser.evaluate(test).uas == np.mean(out.heads == test.heads)
    assert set(parser.seconds_) == {"features", "scores", "decoding", "relations"}
    assert all(seconds > 0 for seconds in parser.seconds_.values())


def test_without_relations(bank):
    parser = DependencyParser(**SMALL, relations=False).fit(bank[:100])
    assert parser.labels_ == []
    assert parser.predict(bank[:3]).column("deprel") == bank[:3].column("deprel")


def test_same_seed_same_weights(bank, parser):
    again = clone(parser).fit(bank[:300])
    for one, other in zip(parser._model.state(), again._model.state(), strict=True):
        np.testing.assert_array_equal(one, other)
    other = DependencyParser(**(SMALL | {"random_state": 1})).fit(bank[:300])
    assert not np.array_equal(other._model.state()[4], parser._model.state()[4])


def test_neither_threads_nor_batches_matter(bank, parser):
    out = parser.predict(bank)
    for n_jobs in (2, 3):
        parallel = clone(parser).set_params(n_jobs=n_jobs)
        parallel.__setstate__(parser.__getstate__() | {"n_jobs": n_jobs})
        again = parallel.predict(bank)
        assert again.to_bytes() == out.to_bytes()
    order = np.random.default_rng(0).permutation(len(bank))
    shuffled = parser.predict(bank[order])
    for i in (0, 17, 399):
        assert shuffled[i] == out[int(order[i])]
        assert parser.predict(bank[int(order[i]) : int(order[i]) + 1])[0] == out[int(order[i])]


@pytest.mark.parametrize("group", ["tags", "words", "pruner"])
def test_scores_equal_the_reference(group):
    words = [
        ("The", "DET", "DT", 2, "det"),
        ("Über-Hund", "NOUN", "NN", 3, "nsubj"),
        ("barks", "VERB", "VBZ", 0, "root"),
        ("at", "ADP", "IN", 6, "case"),
        ("the", "DET", "DT", 6, "det"),
        ("internationalisation", "NOUN", "NN", 3, "obl"),
        ("of", "_", "IN", 9, "case"),
        ("2", "NUM", "_", 9, "nummod"),
        ("日本の", "X", "FW", 6, "nmod"),
        (",", "PUNCT", ",", 3, "punct"),
        ("NATO", "PROPN", "NNP", 3, "obj"),
        ("U.S.", "PROPN", "NNP", 11, "flat"),
        ("?!", "PUNCT", ".", 3, "punct"),
    ]
    bank = Treebank.from_words([words, words[:3]])
    parser = DependencyParser(table_bits=12, max_iter=3, arc_margin=1.0, random_state=0).fit(bank)
    state = list(parser._model.state())
    random = np.random.default_rng(0)
    for table in (4, 9):
        state[table] = random.normal(size=state[table].shape).astype(np.float32)  # every weight counts
    parser._model = _core.ParserModel(*state)
    unseen = Treebank.from_words(
        [[(form, upos, xpos + "X" * (i == 3)) for i, (form, upos, xpos, *_) in enumerate(words)]]
    )
    for treebank in (bank, unseen):
        arcs = [(h, m) for h in range(14) for m in range(1, 14) if h != m]
        scores = parser.arc_scores(treebank, 0, group, arcs)
        reference = Reference(parser._model)
        expected = [reference.score(treebank[0], group, h, m) for h, m in arcs]
        np.testing.assert_allclose(scores, expected, rtol=0, atol=2e-4)


def test_groups_of_chosen_arcs_make_the_parser(bank, parser):
    """Adding the scores of arcs and decoding gives the same trees as predict."""
    out = parser.predict(bank[:20])
    for i in range(20):
        arcs = parser.arcs(bank, i)
        scores = np.full((len(bank[i]) + 1,) * 2, -np.inf, np.float32)
        chosen = sum(parser.arc_scores(bank, i, group, arcs) for group in ("tags", "words"))
        scores[arcs[:, 0], arcs[:, 1]] = chosen
        np.testing.assert_array_equal(decode_tree(scores), out[i].heads)
        some = arcs[::3]
        np.testing.assert_array_equal(
            parser.arc_scores(bank, i, "words", some), parser.arc_scores(bank, i, "words", arcs)[::3]
        )


def test_random_states_serve_tags_alone(bank):
    """Without the costly group, one model parses about as well as a parser of tags."""
    parser = DependencyParser(**(SMALL | {"max_iter": 8}), states="random").fit(bank[:300])
    assert parser.score(bank[300:]) > 0.97
    parser.set_params(feature_groups="tags", states="full")
    assert parser.score(bank[300:]) > 0.8


def test_length_filter(bank):
    exact = DependencyParser(**SMALL, length_filter="exact").fit(bank[:300])
    counts = {}
    for name in ("exact", "slack", None):
        exact.set_params(length_filter=name)
        counts[name] = sum(len(exact.arcs(bank, i)) for i in range(50))
    n = np.diff(bank.offsets[:51])
    assert counts["exact"] < counts["slack"] < counts[None] == (n * n).sum()
    exact.set_params(length_filter="exact")
    for i in range(300):  # no arc of the training trees is filtered
        arcs = {tuple(arc) for arc in exact.arcs(bank, i).tolist()}
        assert arcs >= {(h, m) for m, h in enumerate(bank[i].heads, 1)}
    unknown = Treebank.from_words([[("x", f"T{i}", f"T{i}") for i in range(9)]])  # no arc was ever seen
    arcs = {tuple(arc) for arc in exact.arcs(unknown, 0).tolist()}
    neighbours = {(h, m) for h in range(1, 10) for m in range(1, 10) if abs(h - m) == 1}
    assert arcs == neighbours | {(0, m) for m in range(1, 10)}
    assert exact.predict(unknown)[0].heads.count(0) == 1


def test_partial_fit(bank):
    parser = DependencyParser(**SMALL)
    for _ in range(4):
        parser.partial_fit(bank[:300])
    np.testing.assert_array_equal(
        parser.predict(bank).heads, DependencyParser(**SMALL).fit(bank[:300]).predict(bank).heads
    )
    assert parser.n_iter_ == 4
    new = Treebank.from_words([[("Go", "VERB", "VB", 0, "root"), ("home", "ADV", "RB", 1, "advmod")]] * 20)
    for _ in range(5):
        parser.partial_fit(new)
    assert parser.predict(new).heads.tolist() == new.heads.tolist()
    assert "advmod" not in parser.labels_


def test_other_trees_are_what_is_learned(bank):
    """Sentences whose trees were replaced, by `with_heads` or by a parser, teach the new ones."""
    chains = bank[:60].with_heads(np.concatenate([np.arange(len(sentence)) for sentence in bank[:60]]))
    for learned in (DependencyParser(**SMALL).fit(chains), DependencyParser(**SMALL).partial_fit(chains)):
        assert learned.score(chains) > 0.95
    predicted = learned.predict(bank[60:120])
    again = DependencyParser(**SMALL).fit(predicted)
    assert again.score(predicted) > 0.95
    cycle = bank[:2].with_heads([2, 1, *[1] * (bank[:2].n_words - 2)])
    with pytest.raises(ValueError, match=r"<treebank>, line 1: .*cycle"):
        DependencyParser(**SMALL).fit(cycle)


@pytest.mark.parametrize("single_root", [True, False])
def test_several_roots_in_gold_trees(single_root):
    """CoNLL-X allows several roots; the number of roots of a parse depends on `single_root`."""
    line = "{}\t{}\t_\tX\tX\t_\t0\troot\t_\t_\n"
    bank = Treebank((line.format(1, "a") + line.format(2, "b") + "\n").encode() * 20, format="conllx")
    parser = DependencyParser(**SMALL, single_root=single_root).fit(bank)
    assert all(sentence.heads.count(0) == (1 if single_root else 2) for sentence in parser.predict(bank))


def test_pickle(bank, parser):
    loaded = pickle.loads(pickle.dumps(parser))
    assert loaded.predict(bank[:50]).to_bytes() == parser.predict(bank[:50]).to_bytes()
    assert loaded.labels_ == parser.labels_
    assert loaded.partial_fit(bank[:50]).n_iter_ == 1


@pytest.mark.parametrize("decoder", ["eisner", "chu-liu-edmonds"])
def test_sentences_of_any_length(parser, decoder):
    parser = pickle.loads(pickle.dumps(parser)).set_params(decoder=decoder)
    assert len(parser.predict([])) == 0
    assert parser.predict([[("Yes", "INTJ", "UH")]]).heads.tolist() == [0]
    words = [[("dog", "NOUN", "NN"), ("sees", "VERB", "VBZ")] * 500]
    long = parser.predict(words)
    assert long.n_words == 1000
    Treebank(long.to_bytes())
    scores = parser.evaluate(Treebank(b""))
    assert np.isnan(scores.uas)
    assert scores.n_words == 0


def test_many_tags():
    """With more tags than codes for them, the rare ones share one."""
    sentences = [
        [(f"w{i}", "X", f"T{i}", 0, "root"), ("x", "X", "U", 1, "dep"), ("y", "X", f"T{i}", 1, "dep")]
        for i in range(200)
    ]
    bank = Treebank.from_words(sentences)
    parser = DependencyParser(**SMALL).fit(bank)
    assert len(parser._model.state()[0]) == 62
    assert parser.score(bank) > 0.95


def test_scores_by_definition():
    gold = Treebank.from_words(
        [
            [
                ("Hi", "INTJ", "UH", 0, "root"),
                (",", "PUNCT", ",", 1, "punct"),
                ("you", "PRON", "PRP", 1, "nmod:x"),
                ("...", "_", ".", 3, "punct"),
                ("$", "_", "$", 3, "dep"),
            ]
        ]
    )
    same = attachment_scores(gold, gold)
    assert (same.uas, same.las, same.n_words, same.n_no_punctuation) == (1, 1, 5, 3)
    other = gold.with_heads([0, 3, 1, 1, 3], ["root", "punct", "nmod:y", "x"], [0, 1, 2, 1, 3])
    scores = attachment_scores(gold, other)
    assert (scores.uas, scores.las) == (3 / 5, 2 / 5)  # subtypes do not count
    assert (scores.uas_no_punctuation, scores.las_no_punctuation) == (1, 2 / 3)
    with pytest.raises(ValueError, match="same sentences"):
        attachment_scores(gold, gold[[0, 0]])
    with pytest.raises(ValueError, match="needs a head"):
        attachment_scores(gold.with_heads([-1] * 5), gold)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"feature_groups": "pos"}, "'feature_groups' parameter of DependencyParser must be one of"),
        ({"states": "some"}, "'states' parameter of DependencyParser must be one of"),
        ({"decoder": "cky"}, "'decoder' parameter of DependencyParser must be one of"),
        ({"learner": "svm"}, "'learner' parameter of DependencyParser must be one of"),
        ({"group_by": "arc"}, "'group_by' parameter of DependencyParser must be one of"),
        ({"length_filter": "loose"}, "'length_filter' parameter of DependencyParser must be one of"),
        ({"max_iter": 0}, "'max_iter' parameter of DependencyParser must be an integer"),
        ({"max_iter": 2.0}, "'max_iter' parameter of DependencyParser must be an integer"),
        ({"table_bits": 29}, "'table_bits' parameter of DependencyParser must be an integer from 8 to 28"),
        ({"step": 0}, "'step' .* must be finite and positive"),
        ({"step": float("nan")}, "'step' .* must be finite and positive"),
        ({"step": 1e13}, "'step' .* must be in"),
        ({"arc_margin": -1}, "'arc_margin' .* must be finite and at least 0"),
        ({"arc_margin": float("inf")}, "'arc_margin' .* must be finite and at least 0"),
        ({"arc_margin": "4"}, "'arc_margin' .* must be finite and at least 0"),
        ({"states": "random", "feature_groups": "tags"}, "needs feature_groups='all'"),
    ],
)
def test_parameters_are_checked(bank, parameters, message):
    with pytest.raises(ValueError, match=message):
        DependencyParser(**parameters).fit(bank[:5])


def test_what_cannot_be_learned_or_parsed(bank, parser):
    with pytest.raises(ValueError, match="at least one sentence"):
        DependencyParser().fit([])
    missing = Treebank(bank[:2].to_bytes() + b"1\tx\t_\tX\tX\t_\t_\t_\t_\t_\n\n")
    lines = bank[:2].n_words + 3
    with pytest.raises(ValueError, match=rf"missing in sentence 2 \(line {lines}\)"):
        DependencyParser(**SMALL).fit(missing)
    with pytest.raises(NotFittedError):
        DependencyParser().predict(bank)
    for arcs, message in (([[0, 99]], "out of the sentence"), ([[1, 1]], "out of the sentence"), ([1], "shape")):
        with pytest.raises(ValueError, match=message):
            parser.arc_scores(bank, 0, "tags", arcs)
    with pytest.raises(ValueError, match="group must be one of"):
        parser.arc_scores(bank, 0, "pos", [[0, 1]])
    with pytest.raises(ValueError, match="a sentence within the treebank"):
        parser.arcs(bank, 400)
    state = parser._model.state()
    for place, value in (
        (3, 15),
        (0, ["A"] * 63),
        (4, state[4][:-1]),
        (4, state[4] * np.float32("nan")),
        (4, np.full_like(state[4], 3e38)),  # whose sums are infinite
        (5, ["a"] * 99),
        (9, np.zeros(10, np.float32)),
    ):
        with pytest.raises(ValueError):  # noqa: PT011 - whatever does not fit
            _core.ParserModel(*state[:place], value, *state[place + 1 :])
