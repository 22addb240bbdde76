"""Depths in the tree of the words that get costly features."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wald.structured.policies.driver import acquire

from .._common import Record
from .contenders import Contender
from .curves import Fitted

#: Largest depth that is counted separately; deeper words count with it. The root word has depth 0.
DEEPEST = 7
#: The budget, and the policies whose purchases are counted.
SHARE = 0.3
COUNTED = (Contender("one-shot"), Contender("iterated"))


def depths_of(heads: NDArray[np.int32], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Depth of every word: the number of its ancestors in the tree.

    Examples
    --------
    >>> import numpy as np
    >>> depths_of(np.array([2, 0, 2, 3], dtype=np.int32), np.array([0, 4])).tolist()
    [1, 0, 1, 2]
    """
    starts = np.repeat(offsets[:-1], np.diff(offsets))
    above = np.where(heads > 0, starts + heads - 1, -1)
    depth, now = np.zeros(len(heads), dtype=np.int64), above.copy()
    while (now >= 0).any():
        depth += now >= 0
        now = np.where(now >= 0, above[now], -1)
    return depth


def depth_counts(fitted: Fitted) -> list[Record]:
    """Number of words at every depth of the true trees, and of those with costly features."""
    split = fitted.split
    session = fitted.model.open(split.X_test)
    offsets = np.asarray(session.offsets)
    depth = np.minimum(depths_of(session.codes(split.y_test), offsets), DEEPEST)
    seeds = np.repeat(split.seeds, np.diff(offsets))
    records: list[Record] = []
    for contender in COUNTED:
        predictor = fitted.predictors[contender, SHARE]
        state = acquire(predictor.policy, session, predictor.threshold_, decode=False).state[:, 0]
        for seed in np.unique(seeds):
            for d in range(DEEPEST + 1):
                here = (seeds == seed) & (depth == d)
                records.append(
                    {
                        "data": split.data,
                        "seed": int(seed),
                        "policy": contender.policy,
                        "depth": d,
                        "words": int(here.sum()),
                        "bought": int((here & state).sum()),
                    }
                )
    return records
