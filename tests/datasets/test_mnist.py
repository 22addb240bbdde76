"""fetch_mnist: its sources, downloads and results. The mirror is a local folder."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import numpy as np
import pytest

from wald.datasets import fetch_mnist, mnist

SIZES = {"train": 6, "test": 4}


def payloads(part: str) -> dict[str, bytes]:
    n = SIZES[part]
    rng = np.random.default_rng(n)
    images = rng.integers(0, 256, n * 784, dtype=np.uint8)
    labels = rng.integers(0, 10, n, dtype=np.uint8)
    header = n.to_bytes(4, "big")
    side = (28).to_bytes(4, "big")
    return {
        f"{part}-images.gz": b"\0\0\x08\x03" + header + side + side + images.tobytes(),
        f"{part}-labels.gz": b"\0\0\x08\x01" + header + labels.tobytes(),
    }


@pytest.fixture
def published(tmp_path, monkeypatch) -> Path:
    """A small MNIST on a mirror, an empty cache, and no WALD_DATA."""
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    files = {}
    for part, n in SIZES.items():
        contents = payloads(part)
        for name, payload in contents.items():
            (mirror / name).write_bytes(gzip.compress(payload))
        files[part] = tuple(
            mnist._File(name, shape, hashlib.sha256(contents[name]).hexdigest(), 10_000)
            for name, shape in zip(contents, [(n, 28, 28), (n,)], strict=True)
        )
    monkeypatch.setattr(mnist, "_FILES", files)
    monkeypatch.setattr(mnist, "_MIRRORS", ((tmp_path / "gone").as_uri(), mirror.as_uri()))
    monkeypatch.delenv("WALD_DATA", raising=False)
    return mirror


@pytest.fixture
def cache(tmp_path) -> Path:
    return tmp_path / "cache"


def test_downloads_once_then_reads_the_cache(published, cache, monkeypatch):
    first = fetch_mnist(data_home=cache)
    assert sorted(p.name for p in (cache / "mnist").iterdir()) == ["train-images.gz", "train-labels.gz"]
    monkeypatch.setattr(mnist, "_MIRRORS", ())
    second = fetch_mnist(data_home=cache, download_if_missing=False)
    np.testing.assert_array_equal(first.data, second.data, strict=True)


def test_wald_data_comes_first(published, cache, monkeypatch, tmp_path):
    fetch_mnist(data_home=cache)
    monkeypatch.setenv("WALD_DATA", str(cache))
    fetch_mnist(data_home=tmp_path / "unused", download_if_missing=False)
    assert not (tmp_path / "unused").exists()


def test_default_cache_is_within_scikit_learns(published, tmp_path, monkeypatch):
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "home"))
    fetch_mnist()
    assert (tmp_path / "home" / "wald" / "mnist" / "train-images.gz").is_file()


def test_content(published, cache):
    bunch = fetch_mnist(subset="all", data_home=cache)
    pixels = b"".join(payloads(part)[f"{part}-images.gz"][16:] for part in SIZES)
    raw = np.frombuffer(pixels, np.uint8).reshape(10, 784)
    np.testing.assert_array_equal(bunch.data, raw.astype(np.float32) / np.float32(255), strict=True)
    assert bunch.target.dtype == np.int64
    assert bunch.images.shape == (10, 28, 28)
    assert np.shares_memory(bunch.images, bunch.data)
    assert len(bunch.feature_names) == 784
    assert "LeCun" in bunch.DESCR

    X, y = fetch_mnist(subset="test", dtype="uint8", data_home=cache, return_X_y=True)
    np.testing.assert_array_equal(X, raw[6:], strict=True)
    np.testing.assert_array_equal(y, bunch.target[6:], strict=True)
    assert fetch_mnist(dtype=np.float64, data_home=cache).data.dtype == np.float64


@pytest.mark.parametrize("damage", ["truncated", "altered", "endless"])
def test_damaged_download_leaves_nothing_behind(published, cache, damage):
    file = published / "train-images.gz"
    raw = file.read_bytes()
    altered = gzip.compress(gzip.decompress(raw)[:-1] + b"?", mtime=1)
    file.write_bytes({"truncated": raw[:-20], "altered": altered, "endless": raw + bytes(10_000)}[damage])
    with pytest.raises(OSError, match="could not be downloaded") as failure:
        fetch_mnist(data_home=cache)
    assert "WALD_DATA" in str(failure.value)
    assert list((cache / "mnist").iterdir()) == []


def test_damaged_cache_is_refused_by_name(published, cache):
    fetch_mnist(data_home=cache)
    file = cache / "mnist" / "train-labels.gz"
    file.write_bytes(file.read_bytes()[:-5])
    with pytest.raises(ValueError, match=r"train-labels\.gz.*Delete the file"):
        fetch_mnist(data_home=cache)


def test_missing_and_not_to_be_downloaded(published, cache):
    with pytest.raises(FileNotFoundError, match="train-images"):
        fetch_mnist(data_home=cache, download_if_missing=False)
    assert not cache.exists()


@pytest.mark.parametrize("arguments", [{"subset": "validation"}, {"dtype": "int32"}])
def test_arguments_are_checked(arguments):
    with pytest.raises(ValueError, match=next(iter(arguments))):
        fetch_mnist(**arguments)


def test_the_real_thing(wald_data):
    if not (wald_data / "mnist").is_dir():
        pytest.skip(f"no MNIST in {wald_data}")
    X, y = fetch_mnist(subset="all", return_X_y=True, download_if_missing=False)
    assert X.shape == (70_000, 784)
    assert X.dtype == np.float32
    assert (X.min(), X.max()) == (0, 1)
    np.testing.assert_array_equal(y[:5], [5, 0, 4, 1, 9])
    counts = [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    np.testing.assert_array_equal(np.bincount(y[60_000:]), counts)
