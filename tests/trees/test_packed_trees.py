"""Trees that the engine packs: their nodes and sets in any order, and hostile arrays."""

from __future__ import annotations

import numpy as np
import pytest
from trees.growing import random_structure, random_terms

from wald.models import TreeTerms
from wald.models.tree_arrays import TreesBuilder


def scores(terms: TreeTerms, X: object, n_threads: int = 1) -> np.ndarray:
    return terms.pack(np.zeros(0, dtype=np.int64)).scores(X, lambda dtype: 0.0, n_threads)[0]


def arguments(rng: np.random.Generator) -> dict:
    trees = random_terms(rng, n_trees=3, leaves=9, categories=True).trees
    return {name: np.array(array) for name, array in trees.arrays()}


def _pack(arrays: dict) -> None:
    from wald.models import Trees

    TreeTerms(Trees(40, **arrays), np.zeros(1)).scores(np.zeros((1, 40)))


HOSTILE = {
    "a cycle": ("left", 0, 0, "out of range"),
    "a child beyond the tree": ("right", 0, 99, "out of range"),
    "a leaf beyond the tree": ("left", 0, -99, "out of range"),
    "the smallest number": ("left", 0, -(2**31), "out of range"),
    "a feature beyond the columns": ("feature", 0, 40, "feature is out of range"),
    "a negative feature": ("feature", 0, -1, "feature is out of range"),
    "a set that is not there": ("categories", 0, 10_000, "categories are out of range"),
    "nodes that end early": ("first_node", -1, 0, "must ascend"),
    "leaves that end early": ("first_leaf", -1, 0, "must ascend"),
    "no such structure": ("structure", 0, 9, "structure is out of range"),
    "no such output": ("output", 0, 9, "an output is out of range"),
    "a leaf that is not finite": ("leaves", 0, np.inf, "leaves must be finite"),
    "bits beyond the array": ("first_bit_word", 0, 2**40, "outside the bits"),
    "categories without end": ("n_categories", 0, 2**31 - 1, "outside the bits"),
}


@pytest.mark.parametrize(("name", "place", "value", "words"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_arrays_are_refused(name: str, place: int, value: float, words: str) -> None:
    arrays = arguments(np.random.default_rng(7))
    _pack(arrays)
    arrays[name][place] = value
    with pytest.raises(ValueError, match=words):
        _pack(arrays)


def test_a_nan_threshold_is_refused() -> None:
    arrays = arguments(np.random.default_rng(8))
    arrays["threshold"][np.flatnonzero(arrays["categories"] < 0)[0]] = np.nan
    with pytest.raises(ValueError, match="threshold is NaN"):
        _pack(arrays)


def test_arrays_of_other_lengths_are_refused() -> None:
    for name in arguments(np.random.default_rng(9)):
        arrays = arguments(np.random.default_rng(9))
        arrays[name] = arrays[name][:-1]
        if name != "bits" or len(arrays[name]) == 0:
            with pytest.raises(ValueError, match=r"must|need|outside|one leaf more"):
                _pack(arrays)


@pytest.mark.parametrize(
    ("left", "right"),
    [([1, ~0], [1, ~1]), ([1, ~0], [~1, ~1]), ([0], [~0]), ([~0, 1], [~1, ~2]), ([5], [~0])],
    ids=["a shared child", "a shared leaf", "a root below itself", "a node below itself", "out of range"],
)
def test_a_builder_refuses_what_is_no_tree(left: list[int], right: list[int]) -> None:
    n = len(left)
    with pytest.raises(ValueError, match="nodes of a tree"):
        TreesBuilder(2).add([0] * n, [0.0] * n, left, right, [0] * n, [0.0] * (n + 1))


def test_nodes_may_come_in_any_order() -> None:
    rng = np.random.default_rng(10)
    left, right = random_structure(rng, 40)
    n = len(left)
    shuffled = np.concatenate([[0], 1 + rng.permutation(n - 1)])
    feature, threshold, leaves = rng.integers(0, 5, n), rng.normal(size=n), rng.normal(size=40)
    X = rng.normal(size=(80, 5))
    found = []
    for order in (np.arange(n), shuffled):
        place = np.argsort(order)

        def moved(child: np.ndarray, place: np.ndarray = place, order: np.ndarray = order) -> np.ndarray:
            return np.where(child >= 0, place[np.maximum(child, 0)], child)[order]

        builder = TreesBuilder(5)
        builder.add(feature[order], threshold[order], moved(left), moved(right), np.zeros(n), leaves)
        found.append(TreeTerms(builder.build(), np.zeros(1)).scores(X))
    np.testing.assert_array_equal(*found)


def test_many_nodes_may_name_one_set() -> None:
    """A set is kept once, however many nodes name it."""
    resource = pytest.importorskip("resource")
    n, words = 3000, 30_000
    builder = TreesBuilder(1)
    s = builder.add_set(np.zeros(words, dtype=np.uint32), 32 * words - 5, False)
    for _ in range(n):
        builder.add([0], [0.0], [~0], [~1], [0], [0.0, 1.0], categories=np.array([s]))
    trees = builder.build()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert TreeTerms(trees, np.zeros(1)).scores(np.zeros((3, 1))).tolist() == [[float(n)]] * 3
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kB; n copies would be 360 MB


def test_sets_of_endless_categories_are_refused() -> None:
    builder = TreesBuilder(1)
    s = builder.add_set(np.zeros(2**19 + 1, dtype=np.uint32), 2**24 + 1, False)
    builder.add([0], [0.0], [~0], [~1], [0], [0.0, 1.0], categories=np.array([s]))
    with pytest.raises(ValueError, match="more than 2\\^24 categories"):
        TreeTerms(builder.build(), np.zeros(1)).scores(np.zeros((1, 1)))
