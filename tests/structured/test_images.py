"""HOG equals scikit-image's."""

from __future__ import annotations

import numpy as np
import pytest

from wald.datasets import fetch_ocr
from wald.structured import HOG


def reference(images, hog):
    feature = pytest.importorskip("skimage.feature")
    return np.array(
        [
            feature.hog(
                image.reshape(hog.shape),
                orientations=hog.orientations,
                pixels_per_cell=(hog.cell, hog.cell),
                cells_per_block=(hog.block, hog.block),
                block_norm="L2-Hys",
            )
            for image in images
        ]
    )


@pytest.mark.parametrize(
    "hog",
    [
        HOG((16, 8)),
        HOG((12, 9)),
        HOG((7, 11), cell=2, block=3),
        HOG((20, 20), cell=5, orientations=6),
        HOG((8, 8), 4, 1),
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", ["grey", "binary", "flat"])
def test_equals_scikit_image(hog, kind):
    rng = np.random.default_rng(0)
    grey = rng.random((20, hog.shape[0] * hog.shape[1]))
    images = {"grey": grey, "binary": np.round(grey), "flat": np.ones_like(grey)}[kind]
    np.testing.assert_allclose(hog(images), reference(images, hog), atol=2e-5)


def test_equals_scikit_image_on_letters(wald_data):
    if not (wald_data / "ocr").is_dir():
        pytest.skip(f"no OCR words in {wald_data}")
    letters = np.concatenate(fetch_ocr(download_if_missing=False).data[:60])
    hog = HOG((16, 8))
    np.testing.assert_allclose(hog(letters), reference(letters, hog), atol=2e-5)


def test_each_image_alone():
    images = np.random.default_rng(0).random((9, 128)).astype(np.float32)
    hog = HOG((16, 8))
    np.testing.assert_array_equal(hog(images)[4:5], hog(images[4:5]))
    assert hog(images).dtype == np.float32
    assert hog(images[:0]).shape == (0, 144)


@pytest.mark.parametrize(
    "arguments",
    [((5, 8),), ((16, 8), 0), ((16, 8), 3, 0), ((16, 8), 3, 2, 0), ((16, 8), 9), ((16, 8), 2.5), (16,), ((16, 8, 3),)],
)
def test_what_cannot_be(arguments):
    with pytest.raises((ValueError, TypeError), match=r"shape|at least 1|integers"):
        HOG(*arguments)


@pytest.mark.parametrize("images", [np.zeros((2, 127)), np.zeros(128), np.zeros((2, 16, 8))])
def test_images_of_another_size(images):
    with pytest.raises(ValueError, match=r"\(n, 128\)"):
        HOG((16, 8))(images)
