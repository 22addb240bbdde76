"""Words, tags and trees: the tagger's features and the pipeline's stages."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from structured.pipelines import TEST, TRAIN, length_of, same

from wald import persistence
from wald.structured import (
    ChainClassifier,
    DependencyParser,
    FeatureGroup,
    TextPipeline,
    Treebank,
    WordTagger,
)
from wald.structured.pipeline_learning import both_tags, mean_model
from wald.structured.word_features import WordVocabulary, treebank_of_tokens
from wald.structured.word_tagger import labels_of

# ---- words -----------------------------------------------------------------------------------------------------------


def test_lists_of_words_are_the_same_sentences_as_a_treebank_of_them() -> None:
    sentences = [["Dogs", "bark", "."], ["A b", "#1"]]
    bank = treebank_of_tokens(sentences)
    assert [s.forms for s in bank] == sentences
    assert same(bank, Treebank.from_words([[(word, None, None) for word in s] for s in sentences]))
    assert same(bank, treebank_of_tokens(tuple(map(tuple, sentences))))
    assert same(bank, treebank_of_tokens(iter([iter(sentences[0]), np.array(sentences[1])])))
    assert treebank_of_tokens(bank) is bank
    assert len(treebank_of_tokens([])) == 0


@pytest.mark.parametrize(
    ("sentences", "error", "message"),
    [
        ("Dogs bark.", TypeError, "lists of words"),
        (["Dogs bark."], TypeError, r"pass \[sentence\]"),
        ([["Dogs"], {"bark": 1}], TypeError, "sentence 1 must be a list. Got dict"),
        ([["Dogs"], {"bark"}], TypeError, "sentence 1 must be a list. Got set"),
        ([[b"Dogs"]], TypeError, "Word 1 of sentence 0 must be a text. Got b'Dogs'"),
        ([["Dogs", 3]], TypeError, "Word 2 of sentence 0 must be a text. Got 3"),
        (None, TypeError, "must be lists of words.*Got None"),
        ([["Dogs"], []], ValueError, "sentence 1 has no words"),
        ([["a\tb"]], ValueError, "tab or line end within word 1 of sentence 0"),
        ([["a"], ["\ud800"]], ValueError, "half of a surrogate pair"),
        ([["a", ""]], ValueError, "FORM is empty"),
    ],
)
def test_what_is_no_list_of_words_is_refused(sentences: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        treebank_of_tokens(sentences)  # type: ignore[arg-type]


def test_tags_go_into_the_text_and_nothing_else_changes() -> None:
    text = (
        "# a comment\n1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_\n1\tde\tde\tADP\tE\t_\t2\tcase\t_\t_\r\n"
        "2\tle\tle\tDET\tR\t_\t0\troot\t_\tx=1\n2.1\tx\t_\tX\tX\t_\t_\t_\t_\t_\n\n"
        "# two\n1\tya\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    )
    bank = Treebank(text.encode())
    tagged = bank.with_tags(["LONGER", "A"], ["B", "MUCH_LONGER"], [0, 1, 0])
    expected = (
        text.replace("ADP\tE", "LONGER\tB")
        .replace("DET\tR", "A\tMUCH_LONGER")
        .replace("ya\t_\t_\t_", "ya\t_\tLONGER\tB")
    )
    assert tagged.to_bytes().decode() == expected
    again = Treebank(expected.encode())
    for i, sentence in enumerate(again):
        assert tagged[i] == sentence
        assert tagged.core.sentence(i) == again.core.sentence(i)
    assert tagged.column("misc") == again.column("misc")
    assert bank.with_tags([], ["Y"], [0, 0, 0]).column("upos") == bank.column("upos")


@pytest.mark.parametrize(
    ("names", "codes"), [(["A"], [0, 1]), (["A"], [0, -1]), (["A B"], [0, 0]), ([""], [0, 0]), (["A"], [0])]
)
def test_tags_that_no_file_can_hold_are_refused(names: list[str], codes: list[int]) -> None:
    with pytest.raises(ValueError, match=r"tag|one value per word"):
        treebank_of_tokens([["a", "b"]]).with_tags(names, [], codes)


def test_features_of_a_word_depend_on_two_neighbours_to_either_side() -> None:
    words = ["the", "old", "dog", "sees", "a", "cat", "today"]
    known = WordVocabulary.learn(treebank_of_tokens([words] * 2), np.zeros(14, dtype=np.int64), 1)

    def rows(words: list[str]) -> list[list[int]]:
        parts = known.sequences(treebank_of_tokens([words])).parts
        return [parts[i].indices.tolist() for i in range(len(words))]

    before, after = rows(words), rows([*words[:6], "tomorrow"])
    assert [a == b for a, b in zip(before, after, strict=True)] == [True] * 4 + [False] * 3
    assert all(row == sorted(set(row)) for row in before)
    assert rows(["zzz"])[0] != before[0]


@pytest.mark.parametrize(
    ("word", "like", "differ"),
    [
        ("DOGS", "dogs", "cats"),
        ("ÜBER", "über", "aber"),
        ("МОСКВА", "москва", "минск"),
        ("ΑΩ", "αω", "αβ"),
        ("a1", "a2", "b1"),
    ],
)
def test_lower_case_and_digits(word: str, like: str, differ: str) -> None:
    from wald import _core

    hashes = _core.WordFeatures.lower(treebank_of_tokens([[word, like, differ]]).core)
    assert hashes[0] == hashes[1] != hashes[2]


# ---- the tagger ------------------------------------------------------------------------------------------------------


def test_a_tagger_learns_both_tags_and_leaves_the_rest() -> None:
    tagger = WordTagger(random_state=0, max_iter=3).fit(TRAIN)
    found = tagger.predict(TEST)
    assert tagger.score(TEST) == np.mean(labels_of(found) == labels_of(TEST)) > 0.9
    assert found.column("form") == TEST.column("form")
    assert np.array_equal(found.heads, TEST.heads)
    alone = [tagger.predict(TEST[i : i + 1])[0] for i in range(5)]
    assert alone == [found[i] for i in range(5)]
    assert len(tagger.predict([])) == 0


def test_words_without_tags_cannot_be_learned_from_nor_compared_with() -> None:
    with pytest.raises(ValueError, match=r"lists of \(form, upos, xpos\), and no word has any"):
        WordTagger().fit([["Dogs", "bark"]])
    tagger = WordTagger(max_iter=1, n_runs=1, random_state=0).fit(TRAIN[:20])
    for untagged in ([["Dogs", "bark"]], []):
        with pytest.raises(ValueError, match="compares with words with tags"):
            tagger.score(untagged)


def test_extractors_of_a_tagger_get_words() -> None:
    seen: list[str] = []

    def extract(words: list[str]) -> np.ndarray:
        seen.extend(words)
        return length_of(words)

    group = FeatureGroup("length", extract)
    tagger = WordTagger([group], max_iter=1, random_state=0).fit(TRAIN)
    assert len(seen) == len(set(seen))  # each once
    seen.clear()
    group.forget()
    session = tagger.open(TEST)
    state = session.state() & False
    assert not seen
    state[[0, 3]] = True
    session.decode(state)
    assert seen == [TEST.column("form")[0], TEST.column("form")[3]]


# ---- the pipeline ----------------------------------------------------------------------------------------------------


def test_the_parser_gets_the_taggers_tags(plain: TextPipeline) -> None:
    found = plain.predict([s.forms for s in TEST])
    tagged = plain.tagger_.predict(TEST)
    assert found.column("upos") == tagged.column("upos")
    assert np.array_equal(found.heads, plain.parser_.predict(tagged).heads)
    scores = plain.evaluate(TEST)
    assert scores.uas == plain.score(TEST) > 0.8
    assert scores.n_words == TEST.n_words
    assert scores.upos > 0.9
    assert scores.las <= scores.uas
    assert np.array_equal(Treebank(found.to_bytes()).heads, found.heads)
    assert same(plain.predict(TEST[3:5]), plain.predict(TEST)[3:5])


def test_the_parser_learns_from_tags_of_taggers_that_did_not_see_the_sentence() -> None:
    whole = WordTagger(max_iter=1, n_runs=2, random_state=0).fit(TRAIN)
    half = len(TRAIN) // 2
    found = both_tags(whole, TRAIN, 2)
    tagged = found[: len(TRAIN)]
    assert list(found[len(TRAIN) :]) == list(TRAIN)
    for held, others in ((slice(0, half), slice(half, None)), (slice(half, None), slice(0, half))):
        tagger = clone(whole).fit(TRAIN[others])
        assert tagged[held].column("xpos") == tagger.predict(TRAIN[held]).column("xpos")


def test_the_parser_learns_from_every_sentence_with_both_kinds_of_tags() -> None:
    tagger, parser = WordTagger(max_iter=1, n_runs=1), DependencyParser(table_bits=10, max_iter=1, random_state=0)
    text = TRAIN[:30].to_bytes().rstrip(b"\n")  # a file need not end in a line of its own
    pipeline = TextPipeline(tagger, parser, n_folds=2, n_runs=1, random_state=0).fit(Treebank(text))
    both = both_tags(pipeline.tagger_, TRAIN[:30], 2)
    seed = int(np.random.RandomState(0).randint(2**31 - 1, size=1)[0])
    expected = clone(parser).set_params(random_state=seed).fit(both)
    assert len(both) == 60
    assert np.array_equal(pipeline.parser_.predict(TEST).heads, expected.predict(TEST).heads)


def test_a_parser_of_several_runs_scores_arcs_by_their_mean() -> None:
    runs = [DependencyParser(table_bits=10, max_iter=1, random_state=seed).fit(TRAIN[:30]) for seed in (0, 1, 2)]
    mean = clone(runs[0])
    mean.__dict__.update(vars(runs[0]) | {"_model": mean_model([run._model for run in runs])})
    arcs = runs[0].arcs(TEST, 0)
    for group in ("tags", "words"):
        expected = np.mean([run.arc_scores(TEST, 0, group, arcs) for run in runs], axis=0)
        np.testing.assert_allclose(mean.arc_scores(TEST, 0, group, arcs), expected, atol=1e-5)
    assert mean_model([runs[1]._model]) is runs[1]._model


def test_stages_that_cannot_be() -> None:
    with pytest.raises(TypeError, match=r"needs a WordTagger here\. Got ChainClassifier"):
        TextPipeline(ChainClassifier()).fit(TRAIN[:20])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"needs a DependencyParser here\. Got WordTagger"):
        TextPipeline(WordTagger(max_iter=1), WordTagger(), n_folds=0).fit(TRAIN[:20])  # type: ignore[arg-type]


def test_threads_are_the_pipelines_or_else_the_stages() -> None:
    tagger, parser = WordTagger(max_iter=1, n_jobs=2), DependencyParser(table_bits=10, max_iter=1, n_jobs=3)
    pipeline = TextPipeline(tagger, parser, n_folds=0, random_state=0).fit(TRAIN[:20])
    for n_jobs, expected in ((None, (2, 3)), (1, (1, 1)), (None, (2, 3))):
        pipeline.set_params(n_jobs=n_jobs).predict(TEST[:2])
        assert (pipeline.tagger_.n_jobs, pipeline.parser_.n_jobs) == expected


@pytest.mark.parametrize("n_folds", [1, 10**6, -1, 2.5])
def test_folds_that_cannot_be(n_folds: object) -> None:
    with pytest.raises((ValueError, TypeError), match="n_folds"):
        TextPipeline(n_folds=n_folds).fit(TRAIN[:5])  # type: ignore[arg-type]


def test_a_failing_fit_leaves_the_pipeline_as_it_was(plain: TextPipeline) -> None:
    before = plain.predict(TEST)
    with pytest.raises(ValueError, match="needs a head"):
        plain.fit([[("Dogs", "NOUN", "NNS"), ("bark", "VERB", "VBP")]])
    assert same(plain.predict(TEST), before)


def test_a_pipeline_with_code_inside_is_refused(pipeline: TextPipeline) -> None:
    with pytest.raises(ValueError, match="Group 'length' cannot be saved"):
        persistence.to_bytes(pipeline)


def test_a_tagger_whose_chain_has_other_features_is_refused() -> None:
    tagger = WordTagger(max_iter=1, random_state=0).fit(TRAIN[:20])
    tagger.chain_ = ChainClassifier(max_iter=1, random_state=0).fit([np.ones((2, 3))], [["A\tB", "C\tD"]])
    with pytest.raises(ValueError, match="another number of features"):
        persistence.to_bytes(tagger)
