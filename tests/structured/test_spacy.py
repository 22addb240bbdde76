"""The spaCy component: its results, requirements, training and files."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from wald.datasets import make_trees
from wald.persistence import FileFormatError, to_bytes
from wald.structured import ChainClassifier, DependencyParser
from wald.structured.attachment import attachment_scores

spacy = pytest.importorskip("spacy")
component = pytest.importorskip("wald.spacy")

from spacy.tokens import Doc  # noqa: E402  # after it is known to be there
from spacy.training import Example  # noqa: E402

BANK = make_trees(120, random_state=0)
CONFIG = {"table_bits": 12, "max_iter": 3}
ROOT = Path(__file__).parents[2]


def gold(nlp, sentences) -> Doc:
    """One document with the trees of some sentences."""
    words, tags, pos, heads, deps, starts = [], [], [], [], [], []
    for sentence in sentences:
        first = len(words)
        words += sentence.forms
        tags += sentence.xpos
        pos += sentence.upos
        heads += [first + (i if head == 0 else head - 1) for i, head in enumerate(sentence.heads)]
        deps += ["ROOT" if head == 0 else d for head, d in zip(sentence.heads, sentence.deprels, strict=True)]
        starts += [i == 0 for i in range(len(sentence))]
    return Doc(nlp.vocab, words=words, tags=tags, pos=pos, heads=heads, deps=deps, sent_starts=starts)


def tagged(nlp, sentences) -> Doc:
    doc = gold(nlp, sentences)
    starts = [token.is_sent_start for token in doc]
    words, tags, pos = [t.text for t in doc], [t.tag_ for t in doc], [t.pos_ for t in doc]
    return Doc(nlp.vocab, words=words, tags=tags, pos=pos, sent_starts=starts)


def examples(nlp, bank=BANK[:80], at_once=4):
    return [
        Example(tagged(nlp, bank[i : i + at_once]), gold(nlp, bank[i : i + at_once]))
        for i in range(0, len(bank), at_once)
    ]


def pipeline(**config):
    nlp = spacy.blank("en")
    nlp.add_pipe("wald_parser", config=CONFIG | config)
    return nlp


@pytest.fixture(scope="module")
def trained():
    nlp = pipeline()
    nlp.initialize(lambda: examples(nlp))
    return nlp


def heads_of(doc):
    return [[0 if t.head == t else t.head.i - s.start + 1 for t in s] for s in doc.sents]


def trees_of(doc):
    return [(token.head.i, token.dep_) for token in doc]


# ---- parsing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("decoder", ["eisner", "chu-liu-edmonds"])
def test_documents_get_the_parsers_trees(trained, decoder):
    parser = trained.get_pipe("wald_parser").parser
    learned = {"feature_groups": "all", "random_state": 0, **CONFIG}
    again = DependencyParser(**learned).fit(BANK[:80])
    parser.set_params(decoder=decoder)
    truth = again.set_params(decoder=decoder).predict(BANK[80:])
    doc = trained(tagged(trained, BANK[80:]))
    parser.set_params(decoder="eisner")
    assert heads_of(doc) == [sentence.heads for sentence in truth]
    assert [len(s) for s in doc.sents] == [len(s) for s in BANK[80:]]
    ours = ["ROOT" if token.head == token else token.dep_ for token in doc]
    theirs = truth.column("deprel")
    assert ours == ["ROOT" if head == 0 else d for head, d in zip(truth.heads, theirs, strict=True)]
    assert all(sentence.root.dep_ == "ROOT" for sentence in doc.sents)
    assert doc.has_annotation("DEP", require_complete=True)


def test_batches_give_what_single_documents_give(trained):
    docs = [tagged(trained, BANK[i : i + 3]) for i in range(80, 119, 3)]
    one = [trees_of(trained.get_pipe("wald_parser")(tagged(trained, BANK[i : i + 3]))) for i in range(80, 119, 3)]
    assert [trees_of(doc) for doc in trained.get_pipe("wald_parser").pipe(iter(docs), batch_size=4)] == one


def test_white_space_hangs_on_the_word_before_it(trained):
    words = [" ", "a", "\n\n", "b", "c", " ", "\t", "d", "\u2028", "\n"]
    doc = Doc(trained.vocab, words=words, sent_starts=[i in (0, 7, 9) for i in range(10)])
    for token in doc:
        token.tag_ = "_SP" if token.is_space else "NN"
    without = Doc(trained.vocab, words=["a", "b", "c", "d"], tags=["NN"] * 4, sent_starts=[True, False, False, True])
    parse = trained.get_pipe("wald_parser")
    parse(doc)
    parse(without)
    word = [1, 3, 4, 7]
    assert [word.index(doc[i].head.i) for i in word] == [token.head.i for token in without]
    assert [doc[i].dep_ for i in word] == [token.dep_ for token in without]
    assert [(doc[i].head.i, doc[i].dep_) for i in (0, 2, 5, 6, 8)] == [
        (1, "dep"),
        (1, "dep"),
        (4, "dep"),
        (4, "dep"),
        (7, "dep"),
    ]
    assert (doc[9].head.i, doc[9].dep_) == (9, "ROOT")
    assert [s.start for s in doc.sents] == [0, 7, 9]


def test_whatever_may_be_in_a_document(trained):
    parse = trained.get_pipe("wald_parser")
    assert len(parse(Doc(trained.vocab))) == 0
    alone = parse(Doc(trained.vocab, words=["Yes"], tags=["UH"]))
    assert (alone[0].head.i, alone[0].dep_) == (0, "ROOT")
    odd = Doc(
        trained.vocab, words=["New\nYork", "a\tb", "a\0b", "a b"], tags=["NN"] * 4, sent_starts=[True] + 3 * [False]
    )
    assert len(list(parse(odd).sents)) == 1
    assert [token.text for token in odd] == ["New\nYork", "a\tb", "a\0b", "a b"]
    assert len(parse(Doc(trained.vocab, words=[" ", "\n"], sent_starts=[True, False]))) == 2


def test_missing_requirements_are_named(trained):
    words, tags = ["Dogs", "bark"], ["NNS", "VBP"]
    parse = trained.get_pipe("wald_parser")
    with pytest.raises(
        ValueError, match=r"no sentence boundaries.*nlp.add_pipe\('sentencizer', before='wald_parser'\)"
    ):
        parse(Doc(trained.vocab, words=words, tags=tags))
    with pytest.raises(ValueError, match=r"reads token.tag_ and token.pos_.*neither"):
        parse(Doc(trained.vocab, words=words, sent_starts=[True, False]))
    with pytest.raises(NotFittedError):
        pipeline().get_pipe("wald_parser")(Doc(trained.vocab, words=words, tags=tags, sent_starts=[True, False]))
    only_pos = parse(Doc(trained.vocab, words=words, pos=["NOUN", "VERB"], sent_starts=[True, False]))
    assert only_pos.has_annotation("DEP")
    several = pipeline()
    several.get_pipe("wald_parser").parser = DependencyParser(single_root=False, **CONFIG).fit(BANK[:20])
    with pytest.raises(ValueError, match="single_root=True"):
        several.get_pipe("wald_parser")(tagged(several, BANK[:1]))


def test_the_pipelines_handler_gets_the_errors(trained):
    nlp = pipeline()
    parse = nlp.get_pipe("wald_parser")
    parse.parser = trained.get_pipe("wald_parser").parser
    failed = []
    parse.set_error_handler(lambda name, proc, docs, error: failed.append((name, len(docs), type(error))))
    good, bad = tagged(nlp, BANK[:2]), Doc(nlp.vocab, words=["no", "sentences"])
    assert list(parse.pipe([good, bad], batch_size=1)) == [good]
    assert failed == [("wald_parser", 1, ValueError)]
    assert parse(bad) is bad


def test_behind_a_sentencizer_in_a_whole_pipeline(trained):
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("wald_parser").parser = trained.get_pipe("wald_parser").parser
    with pytest.raises(ValueError, match="Put a tagger before it"):
        nlp("Dogs bark. Cats sleep.")
    doc = Doc(nlp.vocab, words=["Dogs", "bark", ".", "Cats", "sleep", "."], tags=["NNS", "VBP", "."] * 2)
    assert [len(sentence) for sentence in nlp(doc).sents] == [3, 3]
    assert doc.has_annotation("DEP")
    analysis = nlp.analyze_pipes()
    assert analysis["summary"]["wald_parser"]["assigns"] == ["token.dep", "token.head"]


# ---- learning --------------------------------------------------------------------------------------------------------


def test_scores_are_spacys(trained):
    found = examples(trained, BANK[80:])
    scores = trained.evaluate(found)
    truth = attachment_scores(BANK[80:], trained.get_pipe("wald_parser").parser.predict(BANK[80:]))
    assert scores["dep_uas"] == pytest.approx(truth.uas_no_punctuation)
    assert scores["dep_las"] <= scores["dep_uas"]
    assert scores["sents_f"] == 1


def learned(nlp):
    """The parameters that a pipeline's parser learned, without measured times, which differ between fits."""
    return [np.asarray(part).tolist() for part in nlp.get_pipe("wald_parser").parser._model.state()]


def test_sentences_without_a_tree_are_left_out(trained):
    nlp = pipeline()
    some = examples(nlp)
    unparsed = [Example(doc.copy(), doc) for doc in (tagged(nlp, BANK[80:84]), Doc(nlp.vocab, words=["x"]))]
    nlp.initialize(lambda: [*unparsed, *some])
    assert learned(nlp) == learned(trained)
    assert nlp.get_pipe("wald_parser").labels == trained.get_pipe("wald_parser").labels
    # nothing to learn from: a parser that is fitted stays as it is
    nlp.initialize(lambda: unparsed)
    assert learned(nlp) == learned(trained)
    with pytest.raises(ValueError, match=r"Got none\..*nlp.get_pipe\('wald_parser'\).parser"):
        pipeline().initialize()


def test_trees_are_learned_without_their_white_space():
    nlp = pipeline()
    words = ["Dogs", " ", "bark", "\n"]
    spaced = Doc(
        nlp.vocab, words=words, tags=["NNS", "_SP", "VBP", "_SP"], heads=[1, 2, 2, 2], deps=["nsubj", "dep", "ROOT", ""]
    )
    plain = Doc(nlp.vocab, words=["Dogs", "bark"], tags=["NNS", "VBP"], heads=[1, 1], deps=["nsubj", "ROOT"])
    models = []
    for doc in (spaced, plain):
        nlp = pipeline()
        nlp.initialize(lambda doc=doc: [Example(doc.copy(), doc)])
        models.append(learned(nlp))
    assert models[0] == models[1]
    blank = Doc(nlp.vocab, words=[" ", "Dogs"], tags=["_SP", "NNS"], heads=[0, 0], deps=["ROOT", "dep"])
    with pytest.raises(ValueError, match="Got none"):
        pipeline().initialize(lambda: [Example(blank.copy(), blank)])


def test_without_relations():
    nlp = pipeline(relations=False)
    nlp.initialize(lambda: examples(nlp))
    doc = nlp(tagged(nlp, BANK[:2]))
    assert {token.dep_ for token in doc} == {"ROOT", "dep"}
    assert nlp.get_pipe("wald_parser").labels == ()


def test_configs():
    nlp = pipeline(decoder="chu-liu-edmonds", n_jobs=2, length_filter=None)
    parser = nlp.get_pipe("wald_parser").parser
    wanted = {"decoder": "chu-liu-edmonds", "n_jobs": 2, "length_filter": None, "single_root": True, **CONFIG}
    assert {name: parser.get_params()[name] for name in wanted} == wanted
    assert set(component.SETTINGS) == set(DependencyParser().get_params()) - {"single_root"}
    greedy = pipeline(decoder="greedy")
    with pytest.raises(ValueError, match="greedy"):
        greedy.initialize(lambda: examples(greedy))
    for bad in ({"max_iter": "many"}, {"epochs": 3}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            pipeline(**bad)


# ---- files -----------------------------------------------------------------------------------------------------------


def test_pipelines_are_saved_and_loaded(trained, tmp_path):
    doc = trees_of(trained(tagged(trained, BANK[80:90])))
    trained.to_disk(tmp_path / "model")
    assert (tmp_path / "model" / "wald_parser" / "parser.wald").read_bytes() == trained.get_pipe(
        "wald_parser"
    ).to_bytes()
    loaded = spacy.load(tmp_path / "model")
    assert trees_of(loaded(tagged(loaded, BANK[80:90]))) == doc
    again = pipeline(n_jobs=2).from_bytes(trained.to_bytes())
    assert trees_of(again(tagged(again, BANK[80:90]))) == doc
    assert again.get_pipe("wald_parser").parser.n_jobs == 2
    copied = pickle.loads(pickle.dumps(trained.get_pipe("wald_parser")))
    assert trees_of(copied(tagged(trained, BANK[80:90]))) == doc


def test_a_pipeline_that_was_not_trained_can_be_saved(tmp_path):
    nlp = pipeline()
    nlp.to_disk(tmp_path)
    assert not spacy.load(tmp_path).get_pipe("wald_parser").labels
    assert not pipeline().from_bytes(nlp.to_bytes()).get_pipe("wald_parser").labels


def test_files_are_checked(trained, tmp_path):
    parse = pipeline().get_pipe("wald_parser")
    raw = trained.get_pipe("wald_parser").to_bytes()
    with pytest.raises(FileFormatError, match="cut off"):
        parse.from_bytes(raw[:-1])
    (tmp_path / "parser.wald").write_bytes(raw[:50] + b"?" + raw[51:])
    with pytest.raises(FileFormatError, match=r"parser\.wald: "):
        parse.from_disk(tmp_path)
    chain = ChainClassifier(max_iter=1).fit([np.eye(2)], [["a", "b"]])
    with pytest.raises(TypeError, match=r"needs the file of a DependencyParser\. Got a ChainClassifier"):
        parse.from_bytes(to_bytes(chain))


@pytest.mark.slow
def test_spacy_finds_the_component_by_itself(tmp_path):
    """spaCy finds the component by its entry point, here in a folder that imitates an installed package."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lines = [f"{name} = {where}" for name, where in project["entry-points"]["spacy_factories"].items()]
    folder = tmp_path / "wald_component-1.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: wald_component\nVersion: 1\n")
    (folder / "entry_points.txt").write_text("\n".join(["[spacy_factories]", *lines]) + "\n")
    paths = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    code = "import spacy; print(type(spacy.blank('de').add_pipe('wald_parser')).__name__)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": paths},
        check=False,
    )
    assert done.stdout == "WaldParser\n", done.stderr


# ---- the tagger ------------------------------------------------------------------------------------------------------


def tagging(**config):
    nlp = spacy.blank("en")
    nlp.add_pipe("wald_tagger", config={"max_iter": 2} | config)
    nlp.initialize(lambda: examples(nlp, BANK[:60]))
    return nlp


@pytest.fixture(scope="module")
def tagged_by():
    return tagging()


def without_tags(nlp, sentences, starts=True):
    doc = gold(nlp, sentences)
    given = [token.is_sent_start for token in doc] if starts else None
    return Doc(nlp.vocab, words=[token.text for token in doc], sent_starts=given)


def test_the_tagger_sets_both_tags(tagged_by):
    doc = tagged_by(without_tags(tagged_by, BANK[80:84]))
    expected = tagged_by.get_pipe("wald_tagger").tagger.predict(BANK[80:84])
    assert [t.tag_ for t in doc] == expected.column("xpos")
    assert [t.pos_ for t in doc] == expected.column("upos")
    scores = tagged_by.evaluate([Example(without_tags(tagged_by, BANK[80:]), gold(tagged_by, BANK[80:]))])
    assert scores["tag_acc"] > 0.8
    assert scores["pos_acc"] > 0.8


def test_a_document_without_sentences_is_one(tagged_by):
    doc = tagged_by(without_tags(tagged_by, BANK[80:81], starts=False))
    assert [t.tag_ for t in doc] == tagged_by.get_pipe("wald_tagger").tagger.predict(BANK[80:81])[0].xpos
    spaced = tagged_by("the \n dog")
    assert [t.tag_ for t in spaced][1] == "_SP"
    assert len(tagged_by("")) == 0


def test_tags_then_trees_in_one_pipeline(tmp_path):
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("wald_tagger", config={"max_iter": 2})
    nlp.add_pipe("wald_parser", config=CONFIG)
    nlp.initialize(lambda: examples(nlp, BANK[:60]))
    nlp.to_disk(tmp_path / "nlp")
    doc = nlp("the dog sleeps .")
    again = spacy.load(tmp_path / "nlp")("the dog sleeps .")
    assert [(t.tag_, t.pos_, t.dep_, t.head.i) for t in doc] == [(t.tag_, t.pos_, t.dep_, t.head.i) for t in again]
    assert doc.has_annotation("DEP")


def test_a_model_of_another_kind_is_refused():
    nlp = spacy.blank("en")
    parser = DependencyParser(table_bits=8, max_iter=1).fit(BANK[:10])
    nlp.add_pipe("wald_tagger").tagger = parser  # its predict leaves words without tags
    with pytest.raises(TypeError, match=r"wald_tagger needs a WordTagger\. Got a DependencyParser"):
        nlp("a b")


def test_a_tagger_needs_tags():
    nlp = spacy.blank("en")
    nlp.add_pipe("wald_tagger")
    with pytest.raises(ValueError, match="learns from examples whose references have tags"):
        nlp.initialize(lambda: [Example(nlp.make_doc("a b"), Doc(nlp.vocab, words=["a", "b"]))])
    with pytest.raises(NotFittedError):
        nlp("a b")
    nlp.get_pipe("wald_tagger").from_bytes(nlp.get_pipe("wald_tagger").to_bytes())
    with pytest.raises(TypeError, match="needs the file of a WordTagger"):
        nlp.get_pipe("wald_tagger").from_bytes(to_bytes(ChainClassifier(max_iter=1).fit([np.ones((1, 1))], [["a"]])))
