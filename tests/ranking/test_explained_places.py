"""`EarlyExitRanker.explain`: why a row of a group left, or stayed."""

from __future__ import annotations

import json

import numpy as np
import pytest

from wald import EarlyExitRanker

from .lists import K, fast, lists, ranker


def test_every_row_is_explained_as_it_was_answered():
    X = lists(1, 60, seed=50)[0]
    answers = fast().predict(X, groups=np.zeros(60), details=True)
    own, n, ends = ranker().predict(X), fast().ranking_plan_.stages.terms, set()
    for row in range(60):
        explained = fast().explain(X, row)
        assert (explained.score, explained.full_score) == (answers.labels[row], own[row])
        assert explained.cost == answers.costs[row]
        assert explained.place == 1 + int(np.flatnonzero(fast().rank(X) == row)[0])
        last = explained.stages[-1]
        if answers.stages[row] < len(n):
            assert explained.end == "left"
            assert len(explained.stages) == answers.stages[row] + 1
            assert last.estimate + last.reach < last.last
        elif explained.end == "certain":
            assert last.estimate - last.reach > last.following
        ends.add(explained.end)
        assert json.loads(json.dumps(explained.as_dict()))["stages"][-1]["trees"] == last.trees
    assert {"left", "certain"} <= ends


def test_explanations_speak():
    X = lists(1, 60, seed=50)[0]
    order = fast().rank(X)
    last, best = fast().explain(X, int(order[-1])), fast().explain(X, int(order[0]))
    text = str(last)
    assert text.startswith(f"Row {order[-1]} of 60 left at stage 1 of ")
    assert "the last of the 5 places that were left. It comes on place 60" in text
    heading = "stage  trees  rows racing  places  estimate  reach  last place  behind it"
    assert text.splitlines()[1].split() == heading.split()
    assert "It comes on place 1" in best.headline
    assert str(best).splitlines()[-1].split()[:2] == ["all", "60"]


def test_groups_that_do_not_race():
    X = lists(1, 3, seed=51)[0]
    explained = fast().explain(X, 1)
    assert (explained.end, explained.stages, explained.cost) == ("no race", (), 60.0)
    assert str(explained).startswith("Row 1 of 3: a group of at most 5 rows is evaluated in full")


def test_bad_input():
    X, _, groups = lists(1)
    for row in (-1, 40, 1.5, True, "first"):
        with pytest.raises(ValueError, match="row must be the number of a row of the group, from 0 to 39"):
            fast().explain(X, row)
    with pytest.raises(
        ValueError, match="There are no paths of rows to follow: this ranker has no risk, so that every row is"
    ):
        EarlyExitRanker(ranker()).fit().explain(X, 0)
    X, _, groups = lists(400, 4, seed=14)
    short = EarlyExitRanker(ranker(), k=K, risk=0.05, random_state=0).fit(X, groups=groups)
    with pytest.raises(
        ValueError, match=r"There are no paths of rows to follow\. Every row is evaluated in full, so that"
    ):
        short.explain(X[:4], 0)
    with pytest.raises(ValueError, match="the group has no rows"):
        fast().paths(X[:0])
