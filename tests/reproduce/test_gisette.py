"""make_gisette_like, on a small MNIST of random images."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.utils import Bunch

from reproduce import _gisette as gisette
from reproduce._gisette import make_gisette_like

PARTS = {"train": 40, "valid": 10, "test": 30}


@pytest.fixture
def small(monkeypatch) -> Bunch:
    """MNIST with 50 fours, 45 nines and 30 ones; the parts have 80 rows in total."""
    rng = np.random.default_rng(0)
    target = np.repeat([4, 9, 1], [50, 45, 30])
    images = rng.integers(0, 256, (len(target), 28, 28), dtype=np.uint8)
    mnist = Bunch(target=target, images=images)
    calls = []

    def fetch(**options):
        calls.append(options)
        return mnist

    monkeypatch.setattr(gisette, "fetch_mnist", fetch)
    monkeypatch.setattr(gisette, "_PARTS", PARTS)
    mnist.calls = calls
    return mnist


def test_parts_share_features_and_no_row(small):
    parts = {name: make_gisette_like(subset=name) for name in PARTS}
    whole = make_gisette_like(subset="all")
    assert {name: part.data.shape for name, part in parts.items()} == {n: (size, 5000) for n, size in PARTS.items()}
    np.testing.assert_array_equal(np.vstack([p.data for p in parts.values()]), whole.data)
    assert len(np.unique(whole.digits)) == 80
    for part in parts.values():
        assert part.target.sum() == 0  # as many nines as fours
        np.testing.assert_array_equal(small.target[part.digits] == 9, part.target == 1)
    assert "stand-in" in whole.DESCR


def test_values_are_whole_numbers_up_to_999(small):
    X, y = make_gisette_like(subset="all", return_X_y=True)
    assert X.dtype == np.float32
    assert y.dtype == np.int64
    np.testing.assert_array_equal(X, np.round(X))
    assert X.min() == 0
    assert 990 <= X.max() <= 999


def test_half_of_the_features_are_shuffled_copies_of_the_others(small):
    made = make_gisette_like(subset="all")
    assert made.is_probe.sum() == 2500
    real = {np.sort(column).tobytes() for column in made.data[:, ~made.is_probe].T}
    assert all(np.sort(column).tobytes() in real for column in made.data[:, made.is_probe].T)
    unshuffled = {column.tobytes() for column in made.data[:, ~made.is_probe].T}
    assert not any(column.tobytes() in unshuffled for column in made.data[:, made.is_probe].T)


def test_pixels_and_products_of_pixels(small):
    made = make_gisette_like(subset="all")
    window = small.images[made.digits][:, gisette._ROWS, gisette._COLUMNS].reshape(80, -1).astype(int)
    pixels = {column.tobytes() for column in (window * 999 // 255).T.astype(np.float32)}
    columns = [np.ascontiguousarray(c) for c in made.data[:, ~made.is_probe].T]
    others = [c for c in columns if c.tobytes() not in pixels]
    assert len(columns) - len(others) == window.shape[1] == 224
    first, second = np.triu_indices(224, 1)
    products = {c.tobytes() for c in (window[:, first] * window[:, second] * 999 // 255**2).T.astype(np.float32)}
    assert all(c.tobytes() in products for c in others)


def test_the_seed_decides(small):
    once, again, other = (make_gisette_like(random_state=seed, return_X_y=True)[0] for seed in (0, 0, 1))
    np.testing.assert_array_equal(once, again)
    assert not np.array_equal(once, other)


def test_mnist_is_searched_in_the_given_folder(small):
    make_gisette_like(data_home="here", download_if_missing=False)
    assert small.calls[-1]["data_home"] == "here"
    assert small.calls[-1]["download_if_missing"] is False


def test_unknown_part(small):
    with pytest.raises(ValueError, match="subset must be"):
        make_gisette_like(subset="validation")


@pytest.mark.slow
def test_the_real_thing(wald_data):
    if not (wald_data / "mnist").is_dir():
        pytest.skip(f"no MNIST in {wald_data}")
    X, y = make_gisette_like(subset="valid", return_X_y=True, download_if_missing=False)
    assert X.shape == (1000, 5000)
    assert np.bincount(y + 1).tolist() == [500, 0, 500]
    assert 0.1 < (X > 0).mean() < 0.4  # the published one has 13 % of its values above 0
