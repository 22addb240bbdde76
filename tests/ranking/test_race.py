"""The compiled race beside one in NumPy, and the arguments that it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from wald import _core
from wald.ranking import followed

from .lists import lists
from .races import race_of


def in_numpy(estimates, errors, full, ends, k, q):
    """Scores and stages by the same rules, one group after the other."""
    scores, stages = full.copy(), np.full(len(full), estimates.shape[1], dtype=np.int32)
    for begin, end in zip([0, *ends[:-1]], ends, strict=True):
        own, stage = scores[begin:end], followed(estimates[begin:end], errors[begin:end], k, q).stages
        left = stage < estimates.shape[1]
        own[left] = estimates[begin:end][left, stage[left]]
        own[left] = np.minimum(own[left], np.nextafter(own[~left].min(initial=np.inf), -np.inf))
        stages[begin:end] = stage
    return scores, stages


@pytest.mark.parametrize("spread", [True, False])
@pytest.mark.parametrize("k", [1, 2, 10, 40])
def test_the_race_is_that_of_numpy(k, spread):
    rng = np.random.default_rng(k)
    sizes = np.concatenate([rng.integers(1, 90, 150), [1200]])
    X, ends = lists(1, int(sizes.sum()), seed=3)[0], np.cumsum(sizes)
    X[: sizes[0]] = X[0]  # ties
    core, race = race_of(spread=spread)
    rows = _core.Rows.dense(X)
    full = core.scores(rows, 0.0, 1, False)[0][:, 0]
    estimates, errors = race.trace(rows, 2)
    assert estimates.shape == errors.shape == (len(X), 4)
    assert (np.ptp(errors, axis=0) > 0).all() == spread
    for q in (0.0, 0.7, 2.0, 50.0, np.inf):
        expected = in_numpy(estimates, errors, full, ends, k, q)
        for threads in (1, 2):
            scores, stages = race.rank(rows, ends, k, q, threads)
            np.testing.assert_array_equal(stages, expected[1])
            np.testing.assert_array_equal(scores, expected[0])
    assert len(np.unique(race.rank(rows, ends, k, 0.7, 1)[1])) == 5
    assert (stages == 4).all()  # q is infinite


def test_some_rows_in_another_order():
    X = lists(1, 500, seed=4)[0]
    _, race = race_of()
    ends, order = np.array([100, 350]), np.random.default_rng(0).permutation(500)[:350]
    rows = _core.Rows.dense(X)
    rows.take(order)
    for found, expected in zip(
        race.rank(rows, ends, 5, 1.0, 1), race.rank(_core.Rows.dense(X[order]), ends, 5, 1.0, 1), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


def test_large_groups():
    X = lists(1, 30_000, seed=5)[0]
    core, race = race_of()
    scores, stages = race.rank(_core.Rows.dense(X), np.array([29_999, 30_000]), 10, 3.0, 2)
    stays = stages == 4
    assert stays[-1]
    assert 10 < stays.sum() < 3000
    full = core.scores(_core.Rows.dense(X), 0.0, 1, False)[0][:, 0]
    np.testing.assert_array_equal(scores[stays], full[stays])
    assert scores[:-1][~stays[:-1]].max() < scores[:-1][stays[:-1]].min()


def test_paths_say_how_rows_ended():
    estimates = np.array([[9, 9], [5, 9], [4, 3], [3.6, 9], [0, 9]], np.float32)
    paths = followed(estimates, np.ones((5, 2), np.float32), 2, 1.5)
    assert (paths.racing.tolist(), paths.places.tolist()) == ([5, 3], [2, 1])
    assert (paths.last.tolist(), paths.following.tolist()) == ([5, 9], [4, 9])
    assert paths.stages.tolist() == [2, 2, 1, 2, 0]
    assert paths.settled.tolist() == [0, 1, 1, 1, 0]
    assert paths.certain.tolist() == [True, False, False, False, False]
    assert paths.leads[:, 0].round(3).tolist() == [3.333, 0.667, -0.667, -0.933, -3.333]
    alone = followed(estimates[:2], np.ones((2, 2), np.float32), 2, 1.5)
    assert (alone.stages.tolist(), alone.settled.tolist()) == ([2, 2], [-1, -1])


@pytest.mark.parametrize(
    ("ends", "k", "q", "message"),
    [
        ([3, 3, 10], 5, 1.0, "groups must have at least one row each"),
        ([4, 3, 10], 5, 1.0, "groups must have at least one row each"),
        ([0, 10], 5, 1.0, "groups must have at least one row each"),
        ([-2, 10], 5, 1.0, "groups must have at least one row each"),
        ([4, 9], 5, 1.0, "the last group must end with the last row"),
        ([4, 2**40], 5, 1.0, "the last group must end with the last row"),
        ([], 5, 1.0, "the last group must end with the last row"),
        ([10], 0, 1.0, "k must be at least 1"),
        ([10], -(2**40), 1.0, "k must be at least 1"),
        ([10], 5, -1.0, "q must not be negative, nor NaN"),
        ([10], 5, np.nan, "q must not be negative, nor NaN"),
    ],
)
def test_bad_groups_and_numbers(ends, k, q, message):
    X = lists(1, 10)[0]
    with pytest.raises(ValueError, match=message):
        race_of()[1].rank(_core.Rows.dense(X), np.array(ends, dtype=np.int64), k, q, 1)


def test_a_large_k_evaluates_everything():
    X = lists(1, 10)[0]
    assert (race_of()[1].rank(_core.Rows.dense(X), np.array([10]), 2**62, 1.0, 1)[1] == 4).all()


def test_bad_stages():
    for changes, message in (
        ({"terms": np.array([3, 2, 20, 40])}, "terms must be positive, and must not fall"),
        ({"terms": np.array([0, 8, 20, 40])}, "terms must be positive"),
        ({"terms": np.array([3, 8, 20, 61])}, "nor pass the last term"),
        ({"terms": np.array([3, 8, 20])}, "every stage needs a readout and a usual error"),
        ({"usual": np.ones(3)}, "every stage needs a readout and a usual error"),
        ({"usual": np.array([1.0, 1.0, np.nan, 1.0])}, "usual errors must be finite, not negative"),
        ({"usual": np.array([1.0, 1.0, -1.0, 1.0])}, "usual errors must be finite, not negative"),
        ({"least_variance": 0.0}, "least_variance must be positive"),
        ({"sums": None}, "the stages of a race need running sums"),
    ):
        with pytest.raises(ValueError, match=message):
            race_of(**changes)
    with pytest.raises(ValueError, match="rows have 3 columns, the model has 8"):
        race_of()[1].rank(_core.Rows.dense(np.zeros((2, 3))), np.array([2]), 1, 1.0, 1)
