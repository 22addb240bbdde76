"""Many certificates on a made-up source of groups, with ties and few distinct values: how many are broken."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from wald import EarlyExitRanker
from wald.monitoring import DriftWarning
from wald.ranking import RowGroups
from wald.ranking.measures import missing_shares

from .lists import K, lists, ranker

RISK, DRAWS, N_GROUPS = 0.1, 200, 200
#: The rows that there are.
POOL = lists(1, 120, seed=3)[0]


def tied(n_groups: int, seed: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Rows from a pool of few, in groups of 4 to 60 rows, most of which have others like them in their group."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(4, 61, n_groups)
    kinds = [rng.choice(rng.choice(len(POOL), 15, replace=False), size) for size in sizes.tolist()]
    return POOL[np.concatenate(kinds)], np.repeat(np.arange(n_groups), sizes)


def draw(source: str, n_groups: int, seed: int) -> tuple[NDArray[Any], NDArray[Any]]:
    if source == "tied":
        return tied(n_groups, seed)
    X, _, groups = lists(n_groups, 20, seed=seed)
    return X, groups


def test_the_made_up_groups_have_ties():
    X, groups = tied(300, seed=2)
    own, sides = ranker().predict(X), RowGroups.of(groups, len(X))
    different = [len(np.unique(part)) / len(part) for part in np.split(own, sides.ends[:-1])]
    assert np.mean(different) < 0.75
    assert sides.sizes.min() <= K < sides.sizes.max()


@pytest.mark.long
@pytest.mark.parametrize("source", ["tied", "continuous"])
def test_promises_and_alarms_on_redraws(source):
    model = ranker()
    X, groups = draw(source, 4000, seed=20)
    sides, own = RowGroups.of(groups, len(X)), np.asarray(model.predict(X), dtype=np.float64)
    broken = alarms = raced = kept = 0
    for seed in range(DRAWS):
        Z, keys = draw(source, N_GROUPS, seed=1000 + seed)
        early = EarlyExitRanker(model, k=K, risk=RISK, random_state=seed, n_jobs=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            early.fit(Z, groups=keys)
        if early.ranking_plan_ is None:
            continue
        raced += 1
        missing = missing_shares(own, np.asarray(early.predict(X, groups=groups)), sides, K).mean()
        broken += missing > RISK
        if missing <= RISK:  # then no alarm is right
            kept += 1
            watched = early.watched(1.0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DriftWarning)
                V, names = draw(source, 1000, seed=5000 + seed)
                watched.predict(V, groups=names)
            alarms += watched.monitor_.state in ("broken", "doubtful")
    print(f"{source}: {raced} raced, {broken} broken, {alarms} alarms of {kept}")
    assert raced > 0.8 * DRAWS
    assert broken <= 18  # 10 expected at most; 19 or more have a chance of 0.6 %
    assert alarms <= 15  # 8 expected at most, 2 % for either alarm; 16 or more have a chance of 0.7 %
