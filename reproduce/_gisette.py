"""A substitute for Gisette, rebuilt from MNIST by its authors' description."""

from __future__ import annotations

import os
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch, check_random_state

from wald.datasets import fetch_mnist

#: Number of rows of the published parts: training, validation, test.
_PARTS = {"train": 6000, "valid": 1000, "test": 6500}
_N_FEATURES = 5000
_TOP = 999
#: The pixels used: the upper rows and middle columns, which distinguish an open 4 from a closed 9.
_ROWS, _COLUMNS = slice(4, 18), slice(6, 22)

_CHUNK = 256

_DESCR = """\
A stand-in for Gisette, not Gisette itself: handwritten digits, four against nine; 5 000 features, half of them noise.

The published set of the NIPS 2003 feature selection challenge (I. Guyon, S. Gunn, A. Ben-Hur and G. Dror) was made from
MNIST, and this follows what its makers say about it: pixels of the middle top of the image and products of pairs of
them; as many probes, which are such features with their values shuffled over the rows; all features in random order,
as whole numbers from 0 to 999; 6 000 + 1 000 + 6 500 rows, half of them nines. Which pixels, pairs, rows and orders
these were is not known, and the images were preprocessed in ways that are not known either.
"""


def make_gisette_like(
    *,
    subset: Literal["train", "valid", "test", "all"] = "train",
    random_state: int | np.random.RandomState | None = 0,
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
) -> Bunch | tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Rebuild the data set Gisette from MNIST: fours against nines, 5 000 features, half of them noise.

    A substitute, made by the published recipe. The published rows and features themselves cannot be restored.

    Parameters
    ----------
    subset : {"train", "valid", "test", "all"}, default="train"
        The 6 000 training, 1 000 validation or 6 500 test rows, or all 13 500 in this order. They share the features
        and no row.
    random_state : int, RandomState instance or None, default=0
        Determines the digits, pairs, shuffles and the order of the features. The same integer gives the same data.
    data_home : path-like, optional
        The cache folder of MNIST; see `fetch_mnist`.
    download_if_missing : bool, default=True
        Raise ``FileNotFoundError`` instead of downloading MNIST when False.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    Bunch or (data, target)
        ``data`` (n, 5000) float32, whole numbers from 0 to 999; ``target`` (n,) int64, 1 for nines and -1 for fours;
        ``is_probe`` (5000,), which features are noise; ``digits`` (n,), the row of MNIST (training digits first) that
        each row was made from; ``DESCR``.

    References
    ----------
    I. Guyon, S. Gunn, A. Ben-Hur and G. Dror, "Result analysis of the NIPS 2003 feature selection challenge", Advances
    in Neural Information Processing Systems 17, 2004.

    Examples
    --------
    >>> from reproduce._gisette import make_gisette_like
    >>> X, y = make_gisette_like(return_X_y=True)  # doctest: +SKIP
    >>> X.shape, y.tolist().count(1)  # doctest: +SKIP
    ((6000, 5000), 3000)
    """
    if subset not in (*_PARTS, "all"):
        raise ValueError(f"subset must be 'train', 'valid', 'test' or 'all'. Got {subset!r}.")
    rng = check_random_state(random_state)
    mnist = fetch_mnist(subset="all", dtype=np.uint8, data_home=data_home, download_if_missing=download_if_missing)
    assert isinstance(mnist, Bunch)
    digits, target = _balanced_rows(mnist.target, rng)
    data, is_probe = _features(mnist.images[digits][:, _ROWS, _COLUMNS].reshape(len(digits), -1), rng)
    chosen = _part(subset)
    data, target, digits = data[chosen].astype(np.float32), target[chosen], digits[chosen]
    if return_X_y:
        return data, target
    return Bunch(data=data, target=target, is_probe=is_probe, digits=digits, DESCR=_DESCR)


def _part(subset: str) -> slice:
    ends = np.cumsum(list(_PARTS.values())).tolist()
    if subset == "all":
        return slice(0, ends[-1])
    place = list(_PARTS).index(subset)
    return slice(ends[place] - _PARTS[subset], ends[place])


def _balanced_rows(labels: NDArray[np.int64], rng: Any) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Draw equally many fours and nines for each part, in random order."""
    fours, nines = (rng.permutation(np.flatnonzero(labels == digit)) for digit in (4, 9))
    digits, target, used = [], [], 0
    for size in _PARTS.values():
        half = slice(used, used + size // 2)
        order = rng.permutation(size)
        digits.append(np.concatenate([fours[half], nines[half]])[order])
        target.append(np.repeat([-1, 1], size // 2)[order])
        used += size // 2
    return np.concatenate(digits), np.concatenate(target)


def _features(pixels: NDArray[np.uint8], rng: Any) -> tuple[NDArray[np.uint16], NDArray[np.bool_]]:
    """Pixels and products of pairs of pixels, and equally many probes, in random order."""
    n_real = _N_FEATURES // 2
    n_rows, n_pixels = pixels.shape
    first, second = np.triu_indices(n_pixels, 1)
    pairs = rng.choice(len(first), n_real - n_pixels, replace=False)
    real = np.empty((n_rows, n_real), dtype=np.uint16, order="F")
    real[:, :n_pixels] = pixels.astype(np.uint32) * _TOP // 255
    scaled = pixels.astype(np.uint32)
    for start in range(0, len(pairs), _CHUNK):
        some = pairs[start : start + _CHUNK]
        product = scaled[:, first[some]] * scaled[:, second[some]]
        real[:, n_pixels + start : n_pixels + start + len(some)] = product * _TOP // 255**2
    order = rng.permutation(_N_FEATURES)
    data = np.empty((n_rows, _N_FEATURES), dtype=np.uint16)
    for feature, place in enumerate(order):
        column = real[:, feature % n_real]
        data[:, place] = column if feature < n_real else rng.permutation(column)
    is_probe = np.empty(_N_FEATURES, dtype=bool)
    is_probe[order] = np.arange(_N_FEATURES) >= n_real
    return data, is_probe
