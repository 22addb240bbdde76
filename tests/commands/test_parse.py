"""``wald train-parser`` and ``wald parse``: from a treebank to trees of words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from commands.running import done, refusal, said

import wald
from wald.datasets import make_trees
from wald.structured import ChainClassifier, Treebank


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trees")
    bank = make_trees(160, random_state=0)
    bank[:120].write(folder / "train.conllu.gz")
    bank[120:].write(folder / "test.conllu")
    options = ("--folds", 2, "--epochs", 3, "--bits", 12)
    facts = said(
        "train-parser", folder / "train.conllu.gz", "-o", folder / "p.wald", "--test", folder / "test.conllu", *options
    )
    assert facts["sentences"] == 120
    assert facts["test"]["uas"] > 0.7
    return folder


def test_it_writes_what_the_library_predicts(folder: Path, tmp_path: Path) -> None:
    result = done("parse", folder / "p.wald", folder / "test.conllu", "-o", tmp_path / "out.conllu")
    assert result.stderr == f"wrote {tmp_path / 'out.conllu'}\n"
    pipeline = wald.load(folder / "p.wald")
    assert (tmp_path / "out.conllu").read_bytes() == pipeline.predict(Treebank.read(folder / "test.conllu")).to_bytes()
    assert "exists" in refusal("parse", folder / "p.wald", folder / "test.conllu", "-o", tmp_path / "out.conllu")


def test_lines_of_words(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("the dog sleeps\n\na cat\n")
    result = done("parse", folder / "p.wald", tmp_path / "words.txt")
    parsed = Treebank(result.stdout.encode())
    assert [s.forms for s in parsed] == [["the", "dog", "sleeps"], ["a", "cat"]]
    assert np.all(parsed.heads >= 0)


def test_only_line_ends_end_a_sentence(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_bytes("\ufeffthe dog\x0bsleeps\r\na\u2028cat".encode())
    parsed = Treebank(done("parse", folder / "p.wald", tmp_path / "words.txt").stdout.encode())
    assert [s.forms for s in parsed] == [["the", "dog", "sleeps"], ["a", "cat"]]


def test_output_is_packed_if_its_name_says_so(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.conllu.gz"
    done("parse", folder / "p.wald", folder / "test.conllu", "-o", out)
    expected = wald.load(folder / "p.wald").predict(Treebank.read(folder / "test.conllu"))
    assert Treebank.read(out).to_bytes() == expected.to_bytes()


def test_what_is_right_is_measured(folder: Path) -> None:
    facts = said("parse", folder / "p.wald", folder / "test.conllu", "--evaluate")
    scores = wald.load(folder / "p.wald").evaluate(Treebank.read(folder / "test.conllu"))
    assert facts == scores._asdict()
    assert f"heads {scores.uas:.2%}" in done("parse", folder / "p.wald", folder / "test.conllu", "--evaluate").stdout


def test_mistakes_are_named(folder: Path, tmp_path: Path) -> None:
    file, test = folder / "p.wald", folder / "test.conllu"
    wald.save(ChainClassifier(max_iter=1).fit([np.ones((2, 2))], [["a", "b"]]), tmp_path / "chain.wald")
    assert "holds a ChainClassifier" in refusal("parse", tmp_path / "chain.wald", test)
    assert "--format" in refusal("parse", file, tmp_path / "words")
    assert "--format" in refusal("parse", file, test, "--format", "csv")
    assert "No such file" in refusal("parse", file, tmp_path / "none.txt")
    assert "--json goes with --evaluate" in refusal("parse", file, test, "--json")
    (tmp_path / "bad.conllu").write_text("1\tDogs\n\n")
    assert refusal("parse", file, tmp_path / "bad.conllu").startswith(
        f"wald parse: {tmp_path / 'bad.conllu'}, line 1: "
    )
    (tmp_path / "words.txt").write_text("the dog\n")
    assert "needs a head to compare with" in refusal("parse", file, tmp_path / "words.txt", "--evaluate")
    few = refusal("train-parser", test, "-o", tmp_path / "q.wald", "--folds", 1000)
    assert "--folds must be 0, or from 2 to the number of sentences, 40. Got 1000." in few
    (tmp_path / "untagged.conllu").write_text("1\tDogs\t_\t_\t_\t_\t0\troot\t_\t_\n\n")
    words = ("train-parser", tmp_path / "untagged.conllu", "-o", tmp_path / "q.wald")
    assert "no word has any" in refusal(*words, "--folds", 0)
    (tmp_path / "empty.conllu").touch()
    assert "at least one sentence to learn from" in refusal("train-parser", tmp_path / "empty.conllu", *words[2:])
    (tmp_path / "headless.conllu").write_text("1\tDogs\t_\tNOUN\t_\t_\t_\t_\t_\t_\n\n")  # nothing is learned before
    untagged = refusal(*words, "--folds", 0, "--test", tmp_path / "headless.conllu")
    assert "headless.conllu: every word needs a head to compare with" in untagged
    (tmp_path / "empty.txt").write_text("\n")
    assert done("parse", file, tmp_path / "empty.txt").stdout == ""
