"""fetch_treebank: the files that it reads and refuses, from a local folder as the mirror. make_trees."""

from __future__ import annotations

import gzip
import hashlib
import zipfile

import numpy as np
import pytest

from wald.datasets import fetch_treebank, make_trees, treebank

PENN = "It\tPRP\t2\nwas\tVBD\t0\n\nYes\tUH\t0\n"


@pytest.fixture
def published(tmp_path, monkeypatch):
    """A small EWT and a small sample on a mirror, an empty cache, and no WALD_DATA."""
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    text = make_trees(5, random_state=0).to_bytes()
    (mirror / "en_ewt-ud-test.conllu").write_bytes(text)
    with zipfile.ZipFile(mirror / "dependency_treebank.zip", "w") as archive:
        for i in range(1, 200):
            archive.writestr(f"dependency_treebank/wsj_{i:04d}.dp", PENN + "\n" * (i % 2))
    content = (mirror / "dependency_treebank.zip").read_bytes()
    monkeypatch.setitem(treebank._EWT, "test", treebank._File(hashlib.sha256(text).hexdigest(), len(text)))
    monkeypatch.setattr(treebank, "_PENN", treebank._File(hashlib.sha256(content).hexdigest(), len(content)))
    for name in ("_EWT_MIRRORS", "_NLTK_MIRRORS"):
        monkeypatch.setattr(treebank, name, (mirror.as_uri(),))
    monkeypatch.delenv("WALD_DATA", raising=False)
    return mirror


def test_universal_dependencies(published, tmp_path):
    cache = tmp_path / "cache"
    with pytest.raises(FileNotFoundError, match="en_ewt-ud-test"):
        fetch_treebank(subset="test", data_home=cache, download_if_missing=False)
    bank = fetch_treebank(subset="test", data_home=cache)
    assert bank.to_bytes() == make_trees(5, random_state=0).to_bytes()
    (published / "en_ewt-ud-test.conllu").unlink()
    assert len(fetch_treebank(subset="test", data_home=cache)) == 5
    kept = cache / "ewt" / "en_ewt-ud-test.conllu"
    (cache / "ewt" / "en_ewt-ud-test.conllu.gz").write_bytes(gzip.compress(kept.read_bytes()))
    kept.unlink()
    assert len(fetch_treebank(subset="test", data_home=cache, download_if_missing=False)) == 5


def test_penn_sample(published, tmp_path):
    train = fetch_treebank("ptb-sample", data_home=tmp_path)
    test = fetch_treebank("ptb-sample", subset="test", data_home=tmp_path)
    assert (len(train), len(test)) == (2 * 169, 2 * 30)
    assert test[0].forms == ["It", "was"]
    assert test[0].xpos == ["PRP", "VBD"]
    assert test[0].upos == ["_", "_"]
    assert test[1].heads == [0]


def test_damage(published, tmp_path):
    file = tmp_path / "ewt" / "en_ewt-ud-test.conllu.gz"
    file.parent.mkdir()
    whole = gzip.compress((published / "en_ewt-ud-test.conllu").read_bytes())
    for content in (whole[:-20], gzip.compress(b"other"), b"no gzip"):
        file.write_bytes(content)
        with pytest.raises(ValueError, match=r"en_ewt-ud-test\.conllu\.gz.*Delete the file"):
            fetch_treebank(subset="test", data_home=tmp_path)
    (published / "dependency_treebank.zip").write_bytes(b"other")
    with pytest.raises(OSError, match="could not be downloaded"):
        fetch_treebank("ptb-sample", data_home=tmp_path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "ud"}, "name must be"),
        ({"subset": "all"}, "subset of 'ewt'"),
        ({"name": "ptb-sample", "subset": "dev"}, "subset"),
    ],
)
def test_arguments_are_checked(arguments, message):
    with pytest.raises(ValueError, match=message):
        fetch_treebank(**arguments)


def test_made_up_trees():
    bank = make_trees(50, random_state=0)
    assert len(bank) == 50
    assert bank.to_bytes() == make_trees(50, random_state=0).to_bytes() != make_trees(50, random_state=1).to_bytes()
    assert {"nmod", "obl", "det", "nsubj"} <= set(bank.column("deprel"))
    assert all(sentence.heads.count(0) == 1 for sentence in bank)


@pytest.mark.parametrize(
    ("name", "subset", "n_sentences", "n_words"),
    [
        ("ewt", "train", 12_544, 204_577),
        ("ewt", "dev", 2_001, 25_147),
        ("ewt", "test", 2_077, 25_094),
        ("ptb-sample", "train", None, None),
        ("ptb-sample", "test", None, None),
    ],
)
def test_the_real_thing(wald_data, name, subset, n_sentences, n_words):
    if not (wald_data / name).is_dir():
        pytest.skip(f"no {name} in {wald_data}")
    bank = fetch_treebank(name, subset=subset, download_if_missing=False)
    if n_sentences is not None:
        assert (len(bank), bank.n_words) == (n_sentences, n_words)
    assert bank.heads.min() == 0
    lengths = np.diff(bank.offsets)
    assert lengths.min() >= 1
    assert (bank.heads <= np.repeat(lengths, lengths)).all()
