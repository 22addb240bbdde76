"""The compiled race beside one in NumPy, and the arguments that it refuses."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from wald import _core
from wald.engine import Readout, RunningSums, Stages
from wald.models import decompose

from .lists import lists, ranker

STAGES = (3, 8, 20, 40)


def race_of(n_stages=4, spread=True, **changes):
    """A race on the trees in their own order, whose estimates are scaled partial sums."""
    terms = decompose(ranker()).terms
    m = STAGES[n_stages - 1]
    readouts, rng = [], np.random.default_rng(0)
    for t in range(n_stages):
        weights = np.array([[60 / STAGES[t] * 0.6, 0.0]])
        readouts.append(Readout(weights, np.array([0.1]), np.array([0.0, 1.0]) if spread else None, 0.5))
    n_leaves = int(np.diff(terms.trees.first_leaf)[:m].sum())
    variance = rng.uniform(-0.01, 0.3, n_leaves).astype(np.float32)
    sums = RunningSums(np.array([m, m]), np.vstack([np.ones(m), np.zeros(m)]), (None, variance if spread else None))
    stages = Stages(np.array(STAGES[:n_stages]), tuple(readouts), sums)
    described = {name: getattr(stages, name) for name in ("terms", "readouts", "sums", "least_variance")}
    usual = changes.pop("usual", np.linspace(0.4, 0.1, n_stages))
    core = terms.pack(np.arange(60)).core
    return core, _core.GroupRace(core, SimpleNamespace(**described | changes), usual)


def in_numpy(estimates, errors, full, ends, k, q):
    """Scores and stages by the same rules, one group after the other."""
    scores, stages = full.copy(), np.full(len(full), estimates.shape[1], dtype=np.int32)
    for begin, end in zip([0, *ends[:-1]], ends, strict=True):
        racing, places = np.arange(begin, end), k
        for t in range(estimates.shape[1]):
            if len(racing) <= places or places == 0:
                break
            z, reach = estimates[racing, t], np.float32(q) * errors[racing, t]
            ordered = np.sort(z)[::-1]
            leaves, certain = z + reach < ordered[places - 1], z - reach > ordered[places]
            scores[racing[leaves]], stages[racing[leaves]] = z[leaves], t
            places -= int(np.count_nonzero(certain & ~leaves))
            racing = racing[~leaves & ~certain]
        left = stages[begin:end] < estimates.shape[1]
        own = scores[begin:end]
        own[left] = np.minimum(own[left], np.nextafter(own[~left].min(initial=np.inf), -np.inf))
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
