"""Eisner and Chu-Liu-Edmonds, compared with a search over all trees, and with networkx."""

from __future__ import annotations

from functools import cache
from itertools import product

import networkx
import numpy as np
import pytest
from structured.parser_reference import decode_tree, is_projective, is_tree

from wald import _core


@cache
def trees(n: int, projective: bool, single_root: bool) -> np.ndarray:
    """All trees over n words as rows of heads."""
    found = []
    for heads in product(range(n + 1), repeat=n):
        whole = (0, *heads)
        if single_root and heads.count(0) != 1:
            continue
        if is_tree(whole) and (not projective or is_projective(whole)):
            found.append(heads)
    return np.array(found)


def total(scores, heads):
    return scores[heads, np.arange(1, len(scores))].sum()


@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("decoder", ["eisner", "chu-liu-edmonds"])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_best_of_all_trees(n, decoder, single_root):
    every = trees(n, decoder == "eisner", single_root)
    rng = np.random.default_rng(n)
    for kind in range(40):
        # whole numbers: ties, and sums without rounding; some graphs with arcs left out
        scores = rng.integers(-20, 20, (n + 1, n + 1)).astype(np.float32)
        if kind % 2:
            scores[1:][rng.random((n, n + 1)) < 0.3] = -np.inf
        sums = scores[every, np.arange(1, n + 1)].sum(axis=1)
        if sums.max() == -np.inf:
            with pytest.raises(ValueError, match="no tree"):
                decode_tree(scores, decoder=decoder, single_root=single_root)
            continue
        heads = decode_tree(scores, decoder=decoder, single_root=single_root)
        assert any((row == heads).all() for row in every)
        assert total(scores, heads) == sums.max()


def test_number_of_trees():
    """The lists that the tests above rely on: Cayley's formula, and n^(n - 1) rooted trees (OEIS A000169)."""
    assert [len(trees(n, False, False)) for n in range(1, 6)] == [(n + 1) ** (n - 1) for n in range(1, 6)]
    assert [len(trees(n, False, True)) for n in range(1, 6)] == [n ** (n - 1) for n in range(1, 6)]
    assert [len(trees(n, True, True)) for n in range(1, 6)] == [1, 2, 7, 30, 143]  # OEIS A006013


@pytest.mark.parametrize("single_root", [True, False])
def test_few_arcs(single_root):
    """The decoder for few arcs finds the same tree, also among ties, or finds none as well."""
    none = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 60))
        scores = rng.integers(-3, 3, (n + 1, n + 1)).astype(np.float32)
        if seed % 2:
            scores += rng.normal(size=scores.shape).astype(np.float32)
        scores[rng.random(scores.shape) < rng.choice([0.0, 0.5, 0.9, 0.95])] = -np.inf
        try:
            expected = decode_tree(scores, single_root=single_root)
        except ValueError:
            none += 1
            with pytest.raises(ValueError, match="no tree"):
                _core.decode_tree(scores, True, single_root, sparse=True)
        else:
            np.testing.assert_array_equal(_core.decode_tree(scores, True, single_root, sparse=True), expected)
    assert 30 < none < 200


def arborescence(scores):
    graph = networkx.DiGraph()
    n = len(scores)
    graph.add_nodes_from(range(n))
    graph.add_weighted_edges_from(
        (h, m, float(scores[h, m])) for h in range(n) for m in range(1, n) if h != m and np.isfinite(scores[h, m])
    )
    try:
        tree = networkx.maximum_spanning_arborescence(graph)
    except networkx.NetworkXException:
        return None
    return sum(scores[h, m] for h, m in tree.edges)


def against_networkx(seeds):
    for seed in seeds:
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 41))
        scores = rng.integers(-1000, 1000, (n + 1, n + 1)).astype(np.float32)
        scores[rng.random(scores.shape) < rng.choice([0.0, 0.5, 0.9])] = -np.inf
        expected = arborescence(scores)
        if expected is None:
            with pytest.raises(ValueError, match="no tree"):
                decode_tree(scores, decoder="chu-liu-edmonds", single_root=False)
        else:
            heads = decode_tree(scores, decoder="chu-liu-edmonds", single_root=False)
            assert is_tree([0, *heads])
            assert total(scores, heads) == expected


def test_edmonds_equals_networkx():
    against_networkx(range(60))


@pytest.mark.long
def test_edmonds_equals_networkx_on_1000_graphs():
    against_networkx(range(1000))


@pytest.mark.parametrize("n", [15, 16, 17, 31, 32, 33, 100, 1000])
def test_long_sentences(n):
    rng = np.random.default_rng(n)
    scores = rng.integers(-1000, 1000, (n + 1, n + 1)).astype(np.float32)
    sums = {}
    for decoder in ("eisner", "chu-liu-edmonds"):
        heads = decode_tree(scores, decoder=decoder)
        assert is_tree([0, *heads])
        assert (heads == 0).sum() == 1
        sums[decoder] = total(scores, heads)
    assert sums["eisner"] <= sums["chu-liu-edmonds"]


def test_nested_cycles():
    """Contracted nodes lie on cycles themselves, because arcs to the left neighbour connect all nodes."""
    n = 40
    scores = np.zeros((n + 1, n + 1), np.float32)
    for m in range(1, n + 1):
        scores[m - 1 or n, m] = 100
        scores[min(m + 1, n), m] = 101
    scores[0] = -1
    heads = decode_tree(scores, decoder="chu-liu-edmonds", single_root=False)
    assert is_tree([0, *heads])
    assert total(scores, heads) == arborescence(scores)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([[0, 1]], "square"),
        (np.empty((0, 0)), "square"),
        ([[0, np.nan], [0, 0]], "finite"),
        ([[0, np.inf], [0, 0]], "finite"),
        ([[0, -np.inf], [0, 0]], "no tree"),
    ],
)
@pytest.mark.parametrize("decoder", ["eisner", "chu-liu-edmonds"])
def test_scores_are_checked(scores, message, decoder):
    with pytest.raises(ValueError, match=message):
        decode_tree(scores, decoder=decoder)


def test_nothing_to_decode():
    assert decode_tree([[0.0]]).shape == (0,)
