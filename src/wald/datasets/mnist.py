"""MNIST: 70 000 handwritten digits of 28 x 28 pixels."""

from __future__ import annotations

import math
import os
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray
from sklearn.utils import Bunch

from .cache import obtain, published

_MIRRORS = (  # the publishers' own address refuses downloads and names these
    "https://ossci-datasets.s3.amazonaws.com/mnist",
    "https://storage.googleapis.com/cvdf-datasets/mnist",
)
_PIXELS = 28 * 28

_DESCR = """\
MNIST, handwritten digits: 60 000 to train and 10 000 to test, from different writers, 28 x 28 grey levels.

Y. LeCun, C. Cortes and C. J. C. Burges; CC BY-SA 3.0. Described in Y. LeCun, L. Bottou, Y. Bengio and
P. Haffner, "Gradient-based learning applied to document recognition", Proceedings of the IEEE 86 (11), 1998.
"""


class _File(NamedTuple):
    name: str
    shape: tuple[int, ...]
    sha256: str  # of the decompressed file
    max_bytes: int  # of the compressed file


_FILES = {
    "train": (
        _File(
            "train-images-idx3-ubyte.gz",
            (60_000, 28, 28),
            "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
            12_000_000,
        ),
        _File(
            "train-labels-idx1-ubyte.gz",
            (60_000,),
            "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
            40_000,
        ),
    ),
    "test": (
        _File(
            "t10k-images-idx3-ubyte.gz",
            (10_000, 28, 28),
            "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
            2_000_000,
        ),
        _File(
            "t10k-labels-idx1-ubyte.gz",
            (10_000,),
            "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
            8_000,
        ),
    ),
}


def fetch_mnist(
    *,
    subset: Literal["train", "test", "all"] = "train",
    dtype: DTypeLike = np.float32,
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
) -> Bunch | tuple[NDArray[Any], NDArray[np.int64]]:
    """Load MNIST as it was published.

    The files are read from ``$WALD_DATA/mnist`` or the cache, or else downloaded. Their content must be bit-identical
    to the published one.

    Parameters
    ----------
    subset : {"train", "test", "all"}, default="train"
        The 60 000 training digits, the 10 000 test digits, or both in this order.
    dtype : {float32, float64, uint8}, default=float32
        Floating point values are scaled to [0, 1]; unsigned bytes are the raw grey levels, 0 to 255.
    data_home : path-like, optional
        The cache folder; ``wald`` in scikit-learn's data folder by default.
    download_if_missing : bool, default=True
        Raise ``FileNotFoundError`` instead of downloading when False.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    Bunch or (data, target)
        ``data`` (n, 784), ``target`` (n,) int64, ``images`` (the data as (n, 28, 28)), ``feature_names``,
        ``target_names`` and ``DESCR``.

    Examples
    --------
    >>> from wald.datasets import fetch_mnist
    >>> X, y = fetch_mnist(subset="test", return_X_y=True)  # doctest: +SKIP
    >>> X.shape, X.dtype  # doctest: +SKIP
    ((10000, 784), dtype('float32'))
    """
    if subset not in ("train", "test", "all"):
        raise ValueError(f"subset must be 'train', 'test' or 'all'. Got {subset!r}.")
    dtype = np.dtype(dtype)
    if dtype not in (np.uint8, np.float32, np.float64):
        raise ValueError(f"dtype must be float32, float64 or uint8. Got {dtype}.")

    def load(file: _File) -> NDArray[np.uint8]:
        header = 4 + 4 * len(file.shape)  # of the IDX format: what the numbers are, and the shape
        content = obtain(
            "mnist",
            file.name,
            partial(published, sha256=file.sha256, n_bytes=header + math.prod(file.shape)),
            mirrors=_MIRRORS,
            max_bytes=file.max_bytes,
            data_home=data_home,
            download_if_missing=download_if_missing,
        )
        return np.frombuffer(content, dtype=np.uint8, offset=header).reshape(file.shape)

    parts = ("train", "test") if subset == "all" else (subset,)
    images = np.concatenate([load(_FILES[part][0]) for part in parts])
    target = np.concatenate([load(_FILES[part][1]) for part in parts]).astype(np.int64)
    data: NDArray[Any] = images.reshape(-1, _PIXELS)
    if dtype != np.uint8:
        data = np.divide(data, dtype.type(255), dtype=dtype)
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        images=data.reshape(-1, 28, 28),
        feature_names=[f"pixel_{row}_{column}" for row in range(28) for column in range(28)],
        target_names=np.arange(10),
        DESCR=_DESCR,
    )
