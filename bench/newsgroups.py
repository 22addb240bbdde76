"""20 newsgroups as a sparse binary problem: the posts of rec.* and sci.* against the rest."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import fetch_20newsgroups
from sklearn.feature_extraction.text import TfidfVectorizer


@dataclass(frozen=True, eq=False)
class Posts:
    """TF-IDF rows, CSR in float32, of training posts and later test posts, with their classes."""

    X: Any
    y: NDArray[np.bool_]
    X_test: Any
    y_test: NDArray[np.bool_]


@cache
def newsgroups() -> Posts:
    """TF-IDF of every word, with scikit-learn's defaults, from the data that scikit-learn downloads."""
    home = os.environ.get("WALD_DATA")
    train, test = (
        fetch_20newsgroups(data_home=None if home is None else os.path.join(home, "sklearn"), subset=subset)
        for subset in ("train", "test")
    )
    words = TfidfVectorizer(dtype=np.float32)
    X, X_test = words.fit_transform(train.data), words.transform(test.data)
    group = np.array([name.startswith(("rec.", "sci.")) for name in train.target_names])
    return Posts(X, group[train.target], X_test, group[test.target])
