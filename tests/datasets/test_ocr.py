"""fetch_ocr: the files that it reads and refuses. The mirror is a local folder."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from wald.datasets import fetch_ocr, ocr

#: letter, next_id, fold
LETTERS = [("a", 2, 3), ("b", -1, 3), ("z", -1, 0), ("q", 5, 9), ("u", 6, 9), ("i", -1, 9)]


def lines():
    rng = np.random.default_rng(0)
    return [
        "\t".join(map(str, [i + 1, letter, follows, 1, i, fold, *rng.integers(0, 2, 128)])) + "\t"
        for i, (letter, follows, fold) in enumerate(LETTERS)
    ]


@pytest.fixture
def published(tmp_path, monkeypatch):
    """Write lines to a mirror; an empty cache, and no WALD_DATA."""
    monkeypatch.setattr(ocr, "_LETTERS", len(LETTERS))
    monkeypatch.setattr(ocr, "_WORDS", 3)
    monkeypatch.setattr(ocr, "_MIRRORS", (tmp_path.as_uri(),))
    monkeypatch.delenv("WALD_DATA", raising=False)

    def publish(text):
        raw = text if isinstance(text, bytes) else gzip.compress("\n".join(text).encode() + b"\n")
        (tmp_path / "letter.data.gz").write_bytes(raw)
        return tmp_path / "cache"

    return publish


def test_content(published):
    cache = published(lines())
    words = fetch_ocr(data_home=cache)
    assert ["".join(word) for word in words.target] == ["ab", "z", "qui"]
    assert words.fold.tolist() == [3, 0, 9]
    assert words.image_shape == (16, 8)
    assert [(pixels.shape, pixels.dtype) for pixels in words.data] == [((n, 128), np.float32) for n in (2, 1, 3)]
    np.testing.assert_array_equal(words.data[1][0], np.array(lines()[2].split("\t")[6:-1], dtype=np.float32))
    X, y = fetch_ocr(data_home=cache, download_if_missing=False, return_X_y=True)
    np.testing.assert_array_equal(X[2], words.data[2])
    assert y[2].tolist() == list("qui")


def changed(i, column, value):
    fields = lines()[i].split("\t")
    fields[column] = value
    return [*lines()[:i], "\t".join(fields), *lines()[i + 1 :]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (lines()[:-1], "6 letters. Got 5"),
        ([*lines(), lines()[0]], "6 letters. Got 7"),
        ([*lines()[:2], lines()[2][:-5], *lines()[3:]], "line 3: 134 fields expected. Got 132"),
        (changed(4, 1, "U"), "line 5: letters must be a to z"),
        (changed(4, 1, "uu"), "line 5: letters must be a to z"),
        (changed(4, 1, "\N{LATIN SMALL LETTER E WITH ACUTE}"), "line 5: letters must be a to z"),
        (changed(1, 2, "x"), "next_id and fold must be integers"),
        (changed(1, 5, "1.5"), "next_id and fold must be integers"),
        (changed(1, 2, "9" * 30), "next_id and fold must be integers"),
        (changed(1, 5, "10"), "line 2: fold must lie between 0 and 9"),
        (changed(1, 2, "3"), "3 words. Got 2"),
        (changed(5, 2, "7"), "3 words"),
        (changed(3, 70, "2"), "line 4: pixels must be 0 or 1"),
        (changed(3, 70, "00"), "line 4: pixels must be 0 or 1"),
        (b"not gzip", "no readable gzip"),
        (gzip.compress("\n".join(lines()).encode(), mtime=0)[:-9], "no readable gzip"),
        (gzip.compress(b"0" * 70_000_000, mtime=0), "unpacks to more"),
    ],
    ids=range(17),
)
def test_files_that_are_not_as_published(published, text, message):
    cache = published(text)
    with pytest.raises(OSError, match="could not be downloaded") as failure:
        fetch_ocr(data_home=cache)
    assert list((cache / "ocr").iterdir()) == []
    (cache / "ocr" / "letter.data.gz").write_bytes((cache.parent / "letter.data.gz").read_bytes())
    with pytest.raises(ValueError, match=message):
        fetch_ocr(data_home=cache)
    assert failure.value is not None


def test_missing_and_not_to_be_downloaded(published):
    with pytest.raises(FileNotFoundError, match="letter"):
        fetch_ocr(data_home=published(lines()), download_if_missing=False)


def test_the_real_thing(wald_data):
    if not (wald_data / "ocr").is_dir():
        pytest.skip(f"no OCR words in {wald_data}")
    words = fetch_ocr(download_if_missing=False)
    assert len(words.data) == len(words.target) == len(words.fold) == 6877
    assert sum(map(len, words.target)) == 52_152
    assert "".join(words.target[0]) == "ommanding"
    assert sum(len(t) for t, f in zip(words.target, words.fold, strict=True) if f == 0) == 4617
    assert set(np.unique(np.concatenate(words.data))) == {0.0, 1.0}
