"""Delta, and what else the paper leaves open, chosen on held-out training rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed

from .._common import Record, select
from .learners import READINGS, Contender, budgeted, candidates, error_of, learner
from .material import Task

#: The first rule allows this error above the full learner's; the second rule allows this share of the features.
GAP, SHARE = 0.003, 130 / 784

#: The names of the two rules by which one of the tried settings is taken.
WITHIN, CHEAP = "within 0.3 points", "130 of 784"


class Tried(NamedTuple):
    """A setting, its features per example and its held-out error, both in the mean over the tasks."""

    contender: Contender
    features: float
    error: float


def try_all(contenders: Sequence[Contender], tasks: Sequence[Task], seed: int) -> list[Tried]:
    """Train every contender on the rows that are not held out, several at a time, and test it on those that are."""
    train, held_out = tasks[0].split(seed)
    X, X_held_out = tasks[0].X[train], tasks[0].X[held_out]

    def one(contender: Contender, task: Task) -> tuple[float, float]:
        model = learner(contender, seed).set_params(max_iter=task.epochs).fit(X, task.y[train])
        seen = model.features_seen_ / (task.epochs * len(train))
        return seen, error_of(model, X_held_out, task.y[held_out])

    jobs = [delayed(one)(contender, task) for contender in contenders for task in tasks]
    found = np.reshape(Parallel(n_jobs=-1, prefer="threads")(jobs), (len(contenders), len(tasks), 2)).mean(axis=1)
    return [Tried(c, float(f), float(e)) for c, (f, e) in zip(contenders, found, strict=True)]


def within(tried: Sequence[Tried], full: float) -> Tried:
    """Fewest features at an error within `GAP` of the full learner's; where there is none, the least error."""
    good = [t for t in tried if t.error <= full + GAP]
    return min(good, key=lambda t: t.features) if good else min(tried, key=lambda t: t.error)


def cheap(tried: Sequence[Tried], most: float) -> Tried:
    """Least error with at most so many features; where none has so few, the fewest."""
    good = [t for t in tried if t.features <= most]
    return min(good, key=lambda t: t.error) if good else min(tried, key=lambda t: t.features)


def choose(tasks: Sequence[Task], seed: int) -> tuple[dict[tuple[str, str], Contender], list[Record]]:
    """Choose a setting of every reading, by both rules, and budgets of the same mean cost as ours.

    Returns
    -------
    dict from (reading, rule) to Contender
        The budgeted learner has `WITHIN` alone; the full one has no settings.
    list of Record
        All settings that were tried, with their errors above the full learner's.
    """
    contenders = [Contender("full"), *(c for reading in READINGS for c in candidates(reading, tasks[0]))]
    tried = try_all(contenders, tasks, seed)
    full, chosen = tried[0].error, {}
    for reading in READINGS:
        own = [t for t in tried if t.contender.reading == reading]
        chosen[reading, WITHIN] = within(own, full).contender
        chosen[reading, CHEAP] = cheap(own, SHARE * tasks[0].features).contender
    ours = next(t for t in tried if t.contender == chosen["conditional", WITHIN])
    capped = try_all(budgeted(tasks[0], ours.features), tasks, seed)
    chosen["budgeted", WITHIN] = min(capped, key=lambda t: t.error).contender
    records: list[Record] = [
        {
            "data": tasks[0].data,
            "seed": seed,
            "reading": t.contender.reading,
            "delta": t.contender.delta,
            "order": t.contender.order,
            "variance": t.contender.variance,
            "budget": t.contender.budget,
            "features": t.features,
            "share": t.features / tasks[0].features,
            "error": t.error,
            "gap": t.error - full,
        }
        for t in [*tried, *capped]
    ]
    return chosen, records


def curve(records: Sequence[Record], data: str, reading: str) -> list[tuple[Record, list[Record]]]:
    """Settings of a reading that were tried on a data set, each with its records over seeds."""
    own = select(records, data=data, reading=reading)
    by_setting: dict[tuple[object, ...], list[Record]] = {}
    for record in own:
        by_setting.setdefault((record["delta"], record["order"], record["variance"]), []).append(record)
    return [(found[0], found) for found in by_setting.values()]
