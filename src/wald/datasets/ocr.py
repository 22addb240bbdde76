"""The OCR words of Kassel, as Taskar, Guestrin and Koller used them: handwritten words, letter by letter."""

from __future__ import annotations

import gzip
import os
import zlib
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from .cache import obtain

_MIRRORS = ("https://ai.stanford.edu/~btaskar/ocr",)
_FILE, _MAX_BYTES = "letter.data.gz", 4_000_000
_LETTERS, _WORDS, _ROWS, _COLUMNS = 52_152, 6_877, 16, 8
_FIELDS = 6 + _ROWS * _COLUMNS
_MAX_TEXT = 64_000_000

_DESCR = """\
OCR words: 6 877 handwritten words of 52 152 letters without the capital at their start, 16 x 8 binary pixels each.

Collected by R. Kassel (MIT Spoken Language Systems); normalized and published by B. Taskar, C. Guestrin and D. Koller
with "Max-Margin Markov Networks", NIPS 2003. For research. Ten folds come with the words.
"""


def fetch_ocr(
    *,
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
) -> Bunch | tuple[list[NDArray[np.float32]], list[NDArray[Any]]]:
    """Load the OCR words.

    The file is read from ``$WALD_DATA/ocr`` or the cache, or else downloaded, and its content is checked.

    Parameters
    ----------
    data_home : path-like, optional
        The cache folder; ``wald`` in scikit-learn's data folder by default.
    download_if_missing : bool, default=True
        Raise ``FileNotFoundError`` instead of downloading when False.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    Bunch or (data, target)
        ``data``: a list of float32 arrays (letters, 128), pixels in row order; ``target``: a list of arrays of
        lower-case letters; ``fold``: int64 (n_words,), 0 to 9; ``image_shape``, ``DESCR``.

    Examples
    --------
    >>> from wald.datasets import fetch_ocr
    >>> words = fetch_ocr()  # doctest: +SKIP
    >>> "".join(words.target[0])  # doctest: +SKIP
    'ommanding'
    """
    letters, pixels, ends, folds = obtain(
        "ocr",
        _FILE,
        _read,
        mirrors=_MIRRORS,
        max_bytes=_MAX_BYTES,
        data_home=data_home,
        download_if_missing=download_if_missing,
    )
    cuts = ends[:-1]
    data, target = np.split(pixels, cuts), np.split(letters, cuts)
    if return_X_y:
        return data, target
    starts = np.concatenate([[0], cuts])
    return Bunch(data=data, target=target, fold=folds[starts], image_shape=(_ROWS, _COLUMNS), DESCR=_DESCR)


def _read(path: Path) -> tuple[NDArray[Any], NDArray[np.float32], NDArray[np.int64], NDArray[np.int64]]:
    """Letters, pixels, ends of words, and folds; raises ValueError for content that is not the published one."""
    try:
        with gzip.open(path) as file:
            text = file.read(_MAX_TEXT + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{path} is no readable gzip file: {error}") from error
    if len(text) > _MAX_TEXT:
        raise ValueError(f"{path} unpacks to more than {_MAX_TEXT} bytes.")
    lines = text.splitlines()
    if len(lines) != _LETTERS:
        raise ValueError(f"{path} must hold {_LETTERS} letters. Got {len(lines)}.")
    fields = [line.rstrip(b"\t").split(b"\t") for line in lines]
    bad = next((i for i, f in enumerate(fields) if len(f) != _FIELDS), None)
    if bad is not None:
        raise ValueError(f"{path}, line {bad + 1}: {_FIELDS} fields expected. Got {len(fields[bad])}.")
    table = np.array(fields)
    _require(path, np.isin(table[:, 1], [letter.encode() for letter in ascii_lowercase]), "letters must be a to z")
    try:
        following, folds = table[:, 2].astype(np.int64), table[:, 5].astype(np.int64)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{path}: next_id and fold must be integers: {error}") from error
    _require(path, (folds >= 0) & (folds <= 9), "fold must lie between 0 and 9")
    _require(path, np.isin(table[:, 6:], (b"0", b"1")).all(axis=1), "pixels must be 0 or 1")
    ends = np.flatnonzero(following == -1) + 1
    if len(ends) != _WORDS or ends[-1] != _LETTERS:
        raise ValueError(f"{path} must hold {_WORDS} words. Got {len(ends)}.")
    return table[:, 1].astype("U1"), (table[:, 6:] == b"1").astype(np.float32), ends, folds


def _require(path: Path, good: Any, rule: str) -> None:
    """Raise ValueError for the first line that breaks a rule."""
    if not good.all():
        raise ValueError(f"{path}, line {int(np.argmin(good)) + 1}: {rule}.")
