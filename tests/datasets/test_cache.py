"""Files that are bit for bit those that were published are read; all others are refused by name."""

from __future__ import annotations

import gzip
import hashlib
import tracemalloc
from pathlib import Path

import pytest

from wald.datasets.cache import published

CONTENT = bytes(range(60))
EXPECTED = {"sha256": hashlib.sha256(CONTENT).hexdigest(), "n_bytes": len(CONTENT)}


@pytest.mark.parametrize("name", ["plain", "packed.gz"])
def test_intact_files(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(CONTENT) if name.endswith(".gz") else CONTENT)
    assert published(path, **EXPECTED) == CONTENT


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "its content is another one"),
        (b"<html>404</html>", "its content is another one"),
        (gzip.compress(CONTENT)[:-9], "not an intact gzip file"),
        (gzip.compress(CONTENT)[:-1] + b"x", "not an intact gzip file"),
        (gzip.compress(CONTENT[:-1]), "its content is another one"),
        (gzip.compress(CONTENT + b"x"), "its content is another one"),
        (gzip.compress(CONTENT[::-1]), "its content is another one"),
    ],
    ids=["empty", "another file", "cut", "damaged", "a byte less", "a byte more", "reversed"],
)
def test_other_files_are_refused(tmp_path: Path, raw: bytes, reason: str) -> None:
    path = tmp_path / "some-images.gz"
    path.write_bytes(raw)
    with pytest.raises(ValueError, match=reason) as refusal:
        published(path, **EXPECTED)
    assert str(path) in str(refusal.value)
    assert "Delete the file" in str(refusal.value)


def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(CONTENT + bytes(200_000_000)))
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="another one"):
            published(path, **EXPECTED)
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


def test_a_missing_file_is_reported_as_such(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        published(tmp_path / "none.gz", **EXPECTED)
