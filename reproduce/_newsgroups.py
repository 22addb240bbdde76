"""20 newsgroups as a binary problem, a substitute for real-sim."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse
from sklearn.datasets import fetch_20newsgroups
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.utils import Bunch

_FILE = "20news-bydate_py3.pkz"
_ROWS = {"train": 11_314, "test": 7_532}

_DESCR = """\
20 newsgroups, TF-IDF, two classes: posts to the groups rec.* and sci.* (1) against those to all others (0).

K. Lang; the version "by date", 11 314 posts to train and 7 532 to test, read by scikit-learn. It stands in for real-sim
(72 309 newsgroup posts on real and simulated autos and aviation, 20 958 features), which it is not.
"""


def fetch_20newsgroups_binary(
    *,
    subset: Literal["train", "test", "all"] = "train",
    positive: Sequence[str] = ("rec.", "sci."),
    remove: Sequence[str] = (),
    dtype: DTypeLike = np.float64,
    random_state: int | np.random.RandomState | None = 0,
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
) -> Bunch | tuple[Any, NDArray[np.int64]]:
    """Load 20 newsgroups as TF-IDF rows of length 1, some groups against the others.

    scikit-learn's loader reads the posts from ``$WALD_DATA/sklearn`` or from its own cache, or else downloads them.
    Vocabulary and document frequencies come from the training posts alone.

    Parameters
    ----------
    subset : {"train", "test", "all"}, default="train"
        The 11 314 training posts, the later 7 532 test posts, or both in this order.
    positive : sequence of str, default=("rec.", "sci.")
        Prefixes of the names of the groups that are class 1.
    remove : sequence of {"headers", "footers", "quotes"}, default=()
        Parts of the posts that are left out, as in `sklearn.datasets.fetch_20newsgroups`.
    dtype : {float32, float64}, default=float64
    random_state : int, RandomState instance or None, default=0
        Determines the order of the posts within their subset. The same integer gives the same order.
    data_home : path-like, optional
        scikit-learn's cache folder; its default when None.
    download_if_missing : bool, default=True
        Raise ``OSError`` instead of downloading when False.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    Bunch or (data, target)
        ``data`` CSR matrix (n, n_words), ``target`` (n,) int64, ``group`` (n,) the index of the newsgroup,
        ``group_names``, ``feature_names`` and ``DESCR``.

    Raises
    ------
    ValueError
        If a parameter is out of range, or if the file does not hold the published posts.

    Examples
    --------
    >>> from reproduce._newsgroups import fetch_20newsgroups_binary
    >>> X, y = fetch_20newsgroups_binary(return_X_y=True)  # doctest: +SKIP
    >>> X.shape[0], round(float(y.mean()), 2)  # doctest: +SKIP
    (11314, 0.42)
    """
    if subset not in ("train", "test", "all"):
        raise ValueError(f"subset must be 'train', 'test' or 'all'. Got {subset!r}.")
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64. Got {np.dtype(dtype)}.")
    home = _home(data_home)

    def posts(part: str) -> Bunch:
        found = fetch_20newsgroups(
            data_home=home,
            subset=part,
            remove=tuple(remove),
            random_state=random_state,
            download_if_missing=download_if_missing,
        )
        if len(found.data) != _ROWS[part]:
            raise ValueError(
                f"Cannot use the posts in {home or 'the cache'}: {len(found.data)} {part} posts instead of "
                f"{_ROWS[part]}. Delete the file {_FILE} or put an intact copy in its place."
            )
        return found

    train = posts("train")
    names = np.array(train.target_names)
    chosen = np.array([str(name).startswith(tuple(positive)) for name in names])
    if not chosen.any() or chosen.all():
        raise ValueError(f"positive must name some of the groups and not all: {', '.join(names)}. Got {positive!r}.")
    vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=5, stop_words="english", dtype=np.dtype(dtype))
    rows = {"train": (vectorizer.fit_transform(train.data), train.target)}
    if subset != "train":
        test = posts("test")
        rows["test"] = (vectorizer.transform(test.data), test.target)
    parts = ("train", "test") if subset == "all" else (subset,)
    data = sparse.vstack([rows[part][0] for part in parts], format="csr")
    group = np.concatenate([rows[part][1] for part in parts]).astype(np.int64)
    target = chosen[group].astype(np.int64)
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        group=group,
        group_names=names,
        feature_names=vectorizer.get_feature_names_out(),
        DESCR=_DESCR,
    )


def _home(data_home: str | os.PathLike[str] | None) -> str | os.PathLike[str] | None:
    """The folder with the posts, or else the one to download them to."""
    if data := os.environ.get("WALD_DATA"):
        place = Path(data).expanduser() / "sklearn"
        if (place / _FILE).is_file():
            return place
    return data_home
