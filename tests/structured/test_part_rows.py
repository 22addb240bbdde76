"""The compiled rows of parts and choices of policies equal a plain NumPy reference."""

from __future__ import annotations

from functools import reduce
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from wald import _core
from wald.structured.policies.driver import Allowance, choose
from wald.structured.policies.evidence import counts, known_of, owner, parts_of, ranks, rows_of
from wald.structured.policies.scores import BoostedTrees, packed


def with_neighbours(values, ends):
    before, after = np.zeros_like(values), np.zeros_like(values)
    before[1:], after[:-1] = values[:-1], values[1:]
    before[ends[:-1]] = 0
    after[ends[1:] - 1] = 0
    return np.hstack([values, before, after])


def means(values, ends):
    sums = np.array([reduce(np.add, values[a:b]) for a, b in pairwise(ends)])  # in float32, one part after the other
    return np.asarray(sums / np.diff(ends)[:, None], dtype=np.float32)[owner(ends)]


def places(ends):
    lengths = np.diff(ends)
    place = np.arange(ends[-1]) - np.repeat(ends[:-1], lengths)
    length = np.repeat(lengths, lengths)
    return np.column_stack([place, length - 1 - place, length]).astype(np.float32)


def reference(session, state, examples, features):
    """Rows as `rows_of` documents them, block by block."""
    parts, ends = parts_of(session.offsets, examples)
    if features == "simple":
        return np.hstack([with_neighbours(session.part_features()[parts], ends), places(ends)])
    known = session.evidence(state, examples) if hasattr(session, "evidence") else session.confidence(state, examples)
    both = np.hstack([known.reshape(len(parts), -1), state[parts].astype(np.float32)])
    blocks = [with_neighbours(both, ends), means(both, ends), places(ends)]
    if hasattr(session, "part_features"):
        blocks.append(session.part_features()[parts])
    return np.hstack(blocks)


def session_of(rng, lengths, n_known=5, n_alone=4, n_groups=2):
    """A session with random values for all parts."""
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    known = rng.normal(size=(offsets[-1], n_known or 1)).astype(np.float32)
    alone = rng.normal(size=(offsets[-1], n_alone)).astype(np.float32)
    evidence_of = lambda state, examples: known[parts_of(offsets, examples)[0]]  # noqa: E731
    said = {"evidence": evidence_of} if n_known else {"confidence": lambda *asked: evidence_of(*asked)[:, 0]}
    if n_alone:
        said["part_features"] = lambda: alone
    state = rng.random((offsets[-1], n_groups)) < 0.5
    return SimpleNamespace(offsets=offsets, **said), state


LENGTHS = ([1], [3, 1, 2], [1, 1, 1, 40, 7, 2])


@pytest.mark.parametrize("lengths", LENGTHS)
def test_parts_of_examples(lengths):
    rng = np.random.default_rng(len(lengths))
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    for examples in ([], [0, 0], rng.permutation(len(lengths))):
        found, ends = parts_of(offsets, np.array(examples, dtype=np.int64))
        wanted = [np.arange(offsets[i], offsets[i + 1]) for i in examples]
        assert found.tolist() == [part for parts in wanted for part in parts]
        assert ends.tolist() == [0, *np.cumsum([len(parts) for parts in wanted])]


@pytest.mark.parametrize(("offsets", "examples"), [([0, 2, 1], [0]), ([1, 2], [0]), ([0, 2], [1]), ([0, 2], [-1])])
def test_examples_are_checked(offsets, examples):
    with pytest.raises(ValueError, match=r"offsets|examples|sequences"):
        parts_of(np.array(offsets), np.array(examples))
    for length in (2**60, 2**62):  # together as many as there is no number for
        with pytest.raises(ValueError, match=r"2\^40 parts"):
            parts_of(np.array([0, length]), np.zeros(16, dtype=np.int64))


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize(("n_known", "n_alone"), [(5, 4), (0, 3), (2, 0)])
def test_complex_rows(lengths, n_known, n_alone):
    rng = np.random.default_rng(len(lengths))
    session, state = session_of(rng, lengths, n_known, n_alone)
    for examples in (np.arange(len(lengths)), rng.permutation(len(lengths))[:2], np.array([0, 0])):
        wanted = reference(session, state, examples, "complex")
        np.testing.assert_array_equal(rows_of(session, state, examples, "complex"), wanted)


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize(("n_known", "n_alone"), [(5, 4), (2, 0)])
def test_chances_are_those_of_the_rows(lengths, n_known, n_alone):
    rng = np.random.default_rng(len(lengths))
    session, state = session_of(rng, lengths, n_known, n_alone)
    n_features = rows_of(session, state, np.array([0]), "complex").shape[1]
    lesson = rng.normal(size=(300, n_features)).astype(np.float32)
    trees = BoostedTrees(lesson, lesson[:, 0] + lesson[:, -1] > 0.3, max_iter=7, random_state=0)
    for examples in (np.arange(len(lengths)), rng.permutation(len(lengths))[:2]):
        lacks = ~state[parts_of(session.offsets, examples)[0]].all(axis=1)
        odds = trees(rows_of(session, state, examples, "complex"))
        found = trees.chances(known_of(session, state, examples))
        np.testing.assert_allclose(found, np.where(lacks, -np.logaddexp(0, -odds), -np.inf), rtol=1e-15)


def test_odds_far_from_even():
    session, state = session_of(np.random.default_rng(0), [3], 2, 0, 1)
    state[1] = True
    known = known_of(session, state, np.array([0]))
    none = np.array([0], dtype=np.int32)
    leaf = {"ends": np.array([0, 1]), "feature": none, "left": none, "right": none, "threshold": np.zeros(1)}
    for odds in (-800.0, -1.0, 0.0, 1.0, 30.0, 800.0):
        forest = packed(base=odds, value=np.zeros(1), n_features=15, **leaf)  # 4 times 2 + 1 columns, and 3 places
        chance = -np.logaddexp(0, -odds)
        np.testing.assert_allclose(_core.part_chances(forest, *known), [chance, -np.inf, chance], rtol=1e-15)


@pytest.mark.parametrize("lengths", LENGTHS)
def test_simple_rows(lengths):
    rng = np.random.default_rng(len(lengths))
    session, state = session_of(rng, lengths)
    for examples in (np.arange(len(lengths)), rng.permutation(len(lengths))[:2]):
        wanted = reference(session, state, examples, "simple")
        np.testing.assert_array_equal(rows_of(session, state, examples, "simple"), wanted)


def test_simple_rows_need_part_features():
    session, state = session_of(np.random.default_rng(0), [2], n_alone=0)
    with pytest.raises(ValueError, match="part_features"):
        rows_of(session, state, np.array([0]), "simple")


ROWS = {
    "known": np.zeros((3, 2), dtype=np.float32),
    "state": np.zeros((5, 1), dtype=bool),
    "alone": np.zeros((5, 2), dtype=np.float32),
    "offsets": np.array([0, 2, 5]),
    "examples": np.array([1]),
}


NOTHING = np.array([0], dtype=np.int32)
FOREST = packed(  # one leaf, for the rows above
    base=0.0, ends=np.array([0, 1]), feature=NOTHING, left=NOTHING, right=NOTHING, threshold=np.zeros(1),
    value=np.zeros(1), n_features=17,
)  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        {"known": np.zeros((2, 2), dtype=np.float32)},
        {"known": np.zeros((5, 2), dtype=np.float32)},
        {"state": np.zeros((4, 1), dtype=bool)},
        {"alone": np.zeros((3, 2), dtype=np.float32)},
        {"offsets": np.array([0, 2, 4])},
        {"offsets": np.array([0, 5, 2])},
        {"offsets": np.array([1, 2, 5])},
        {"offsets": np.array([], dtype=np.int64)},
        {"examples": np.array([2])},
        {"examples": np.array([-1])},
        {"examples": np.array([0, 1])},
    ],
)
def test_rows_are_checked(change):
    asked = ROWS | change
    with pytest.raises(ValueError):  # noqa: PT011
        _core.part_rows(**asked)
    with pytest.raises(ValueError):  # noqa: PT011
        _core.part_chances(FOREST, **asked)
    with pytest.raises(ValueError, match=r"part|examples|offsets|sequences"):
        _core.part_rows(**ROWS, simple=True)  # needs what is known of all parts


@pytest.mark.parametrize(
    "change",
    [
        {"known": np.zeros((3, 3), dtype=np.float32)},
        {"alone": None},
        {"known": np.full((3, 2), np.nan, dtype=np.float32)},
        {"alone": np.full((5, 2), np.inf, dtype=np.float32)},
    ],
)
def test_rows_of_chances_are_checked(change):
    assert _core.part_chances(FOREST, **ROWS).tolist() == [np.log(0.5)] * 3
    with pytest.raises(ValueError, match="rows"):
        _core.part_chances(FOREST, **ROWS | change)


def test_chances_depend_on_requested_rows_only():
    """A value that is not finite matters only in rows of the requested examples, and not in parts with all groups."""
    elsewhere = np.array([[np.nan], [np.inf], [0], [0], [0]], dtype=np.float32) * np.ones(2, dtype=np.float32)
    assert _core.part_chances(FOREST, **ROWS | {"alone": elsewhere}).tolist() == [np.log(0.5)] * 3
    state, alone = ROWS["state"].copy(), ROWS["alone"].copy()
    state[3], alone[3] = True, np.nan
    found = _core.part_chances(FOREST, **ROWS | {"alone": alone, "state": state})
    assert found.tolist() == [np.log(0.5), -np.inf, np.log(0.5)]


def plainly_chosen(priority, lacks, ends, threshold, pace):
    above = lacks & (priority > threshold)
    items, wanted = ends * priority.shape[1], above.ravel()
    place = ranks(np.where(wanted, priority.ravel(), -np.inf), items)
    keep = np.maximum(np.ceil(pace * counts(wanted, items)), 1)[owner(items)]
    return (wanted & (place < keep)).reshape(above.shape)


@pytest.mark.parametrize("pace", [0.0, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("n_groups", [1, 3])
def test_choices(pace, n_groups):
    rng = np.random.default_rng(n_groups)
    for lengths in LENGTHS:
        ends = np.concatenate([[0], np.cumsum(lengths)])
        priority = rng.integers(0, 6, size=(ends[-1], n_groups)).astype(np.float64)  # many are equal
        priority[rng.random(priority.shape) < 0.1] = np.inf
        lacks = rng.random(priority.shape) < 0.7
        for threshold in (-np.inf, 0.0, 2.5, 5.0, np.inf):
            wanted = plainly_chosen(priority, lacks, ends, threshold, pace)
            found, buys, lacks_more = choose(priority, lacks, ends, threshold, pace)
            np.testing.assert_array_equal(found, wanted)
            assert buys.tolist() == [bool(found[a:b].any()) for a, b in pairwise(ends)]
            assert lacks_more.tolist() == [bool((lacks & ~found)[a:b].any()) for a, b in pairwise(ends)]


def plainly_afforded(chosen, priority, lacks, ends, per_part, costs):
    out = np.zeros_like(chosen)
    for a, b in pairwise(ends):
        left = per_part * (b - a) - sum(costs[k] for _, k in np.argwhere(~lacks[a:b]))
        items = np.argwhere(chosen[a:b]) + np.array([a, 0])
        order = np.argsort([-priority[i, k] for i, k in items], kind="stable")
        running = np.cumsum([costs[k] for _, k in items[order]])
        for i, k in items[order][running <= left * (1 + 1e-12)]:
            out[i, k] = True
    return out


@pytest.mark.parametrize("costs", [[1.0], [0.1, 0.7]])
def test_what_examples_can_afford(costs):
    rng = np.random.default_rng(0)
    costs = np.array(costs)
    for lengths in LENGTHS:
        ends = np.concatenate([[0], np.cumsum(lengths)])
        priority = rng.integers(0, 6, size=(ends[-1], len(costs))).astype(np.float64)
        for per_part in (0.0, 0.2, 0.5, 1.0):
            lacks = rng.random(priority.shape) < 0.9
            chosen = lacks & (priority > 1)
            wanted = plainly_afforded(chosen, priority, lacks, ends, per_part, costs)
            found = choose(priority, lacks, ends, 1.0, 1.0, Allowance(per_part, costs))[0]
            np.testing.assert_array_equal(found, wanted)


def test_what_is_no_number_is_not_chosen():
    priority, lacks = np.array([[np.nan], [1.0]]), np.ones((2, 1), dtype=bool)
    assert choose(priority, lacks, np.array([0, 2]), -np.inf, 0.5)[0].tolist() == [[False], [True]]


@pytest.mark.parametrize(
    "change",
    [
        {"lacks": np.ones((2, 1), dtype=bool)},
        {"ends": np.array([0, 2])},
        {"ends": np.array([0, 2, 2, 3])},
        {"pace": 1.5},
        {"costs": np.ones(2)},
    ],
)
def test_choices_are_checked(change):
    asked = {"priority": np.zeros((3, 1)), "lacks": np.ones((3, 1), dtype=bool), "ends": np.array([0, 3])}
    asked |= {"threshold": -1.0, "pace": 0.5, "per_part": 1.0, "costs": np.ones(1)}
    assert _core.choose(**asked)[0].sum() == 2
    with pytest.raises(ValueError):  # noqa: PT011
        _core.choose(**asked | change)
