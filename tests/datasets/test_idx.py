"""Intact IDX files are read exactly; all others are refused with a ValueError that names the file."""

from __future__ import annotations

import gzip
import hashlib
import struct
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from wald.datasets.idx import read_idx

SHAPE = (5, 4, 3)
CONTENT = np.arange(60, dtype=np.uint8).reshape(SHAPE)


def idx(content: np.ndarray, magic: bytes | None = None, shape: tuple[int, ...] | None = None) -> bytes:
    shape = content.shape if shape is None else shape
    magic = bytes([0, 0, 8, len(shape)]) if magic is None else magic
    return magic + struct.pack(f">{len(shape)}I", *shape) + content.tobytes()


def write(path: Path, payload: bytes) -> Path:
    path.write_bytes(gzip.compress(payload, mtime=0))
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "some-images.gz"


@given(content=hnp.arrays(np.uint8, hnp.array_shapes(max_dims=3, max_side=9)))
def test_round_trip(content, tmp_path_factory):
    path = write(tmp_path_factory.mktemp("idx") / "a.gz", idx(content))
    read = read_idx(path, shape=content.shape, sha256=hashlib.sha256(idx(content)).hexdigest())
    assert read.dtype == np.uint8
    assert read.flags.writeable
    np.testing.assert_array_equal(read, content, strict=True)


def test_content_longer_than_a_chunk(path):
    content = np.random.default_rng(0).integers(0, 256, (3, 1 << 20), dtype=np.uint8)
    np.testing.assert_array_equal(read_idx(write(path, idx(content)), shape=content.shape), content)


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b"", "ends within its header"),
        (b"\0\0\x08", "ends within its header"),
        (idx(CONTENT)[:10], "ends within its header"),
        (idx(CONTENT)[:-1], "ends after 59 of 60 bytes"),
        (idx(CONTENT) + b"\0", "goes on after the 60 bytes"),
        (idx(CONTENT, magic=b"\0\0\x0d\x03"), "magic number is 0x00000d03"),
        (idx(CONTENT, magic=b"\x7fELF"), "magic number is 0x7f454c46"),
        (idx(CONTENT.ravel()), "announces 1 dimensions instead of 3"),
        (idx(CONTENT, shape=(5, 3, 4)), r"announces the shape \(5, 3, 4\) instead of \(5, 4, 3\)"),
        (idx(CONTENT, shape=(2**32 - 1,) * 3), "announces the shape"),
    ],
)
def test_wrong_payload_is_refused(path, payload, reason):
    with pytest.raises(ValueError, match=reason) as refusal:
        read_idx(write(path, payload), shape=SHAPE)
    assert str(path) in str(refusal.value)


@pytest.mark.parametrize("raw", [b"", b"<html>404</html>", idx(CONTENT), gzip.compress(idx(CONTENT), mtime=0)[:-9]])
def test_damaged_gzip_files_are_refused(path, raw):
    path.write_bytes(raw)
    with pytest.raises(ValueError, match="some-images"):
        read_idx(path, shape=SHAPE)


def test_altered_content_is_refused_by_its_hash(path):
    digest = hashlib.sha256(idx(CONTENT)).hexdigest()
    with pytest.raises(ValueError, match="its content is another one"):
        read_idx(write(path, idx(CONTENT[::-1])), shape=SHAPE, sha256=digest)


def test_decompression_bomb_is_not_decompressed(path):
    write(path, idx(CONTENT) + bytes(200_000_000))
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="goes on after"):
            read_idx(path, shape=SHAPE)
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


def test_missing_file_is_reported_as_such(path):
    with pytest.raises(FileNotFoundError):
        read_idx(path, shape=SHAPE)


@st.composite
def mutations(draw, original: bytes) -> bytes:
    """Cut, overwrite, insert or repeat bytes of a file."""
    data = bytearray(original)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        match draw(st.sampled_from(["cut", "overwrite", "insert", "repeat", "delete"])):
            case "cut":
                del data[at:]
            case "overwrite":
                new = draw(st.binary(min_size=1, max_size=4))
                data[at : at + len(new)] = new
            case "insert":
                data[at:at] = draw(st.binary(min_size=1, max_size=8))
            case "repeat":
                data += data[at:]
            case "delete":
                del data[at : at + draw(st.integers(1, 4))]
    return bytes(data)


@given(raw=mutations(gzip.compress(idx(CONTENT), mtime=0)))
def test_mutated_file_gives_the_content_or_a_refusal(raw, tmp_path_factory):
    path = tmp_path_factory.mktemp("idx") / "mutated.gz"
    path.write_bytes(raw)
    try:
        read = read_idx(path, shape=SHAPE)
    except ValueError as refusal:
        assert str(path) in str(refusal)  # noqa: PT017 (either outcome is right)
    else:
        np.testing.assert_array_equal(read, CONTENT, strict=True)


@given(payload=mutations(idx(CONTENT)))
def test_mutated_payload_never_passes_the_hash(payload, tmp_path_factory):
    path = write(tmp_path_factory.mktemp("idx") / "mutated.gz", payload)
    try:
        read = read_idx(path, shape=SHAPE, sha256=hashlib.sha256(idx(CONTENT)).hexdigest())
    except ValueError as refusal:
        assert str(path) in str(refusal)  # noqa: PT017 (either outcome is right)
    else:
        np.testing.assert_array_equal(read, CONTENT, strict=True)
