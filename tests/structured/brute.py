"""Chains by brute force and in plain NumPy: the reference for the core."""

from __future__ import annotations

import itertools

import numpy as np

from wald import _core


def path_score(node, steps, path):
    path = np.asarray(path)
    return float(node[np.arange(len(path)), path].sum() + steps[path[:-1], path[1:]].sum())


def all_paths(node, steps):
    """Every labelling (n, length), and its score (n,)."""
    paths = np.array(list(itertools.product(range(node.shape[1]), repeat=len(node))))
    places = np.arange(len(node))
    return paths, node[places, paths].sum(axis=1) + steps[paths[:, :-1], paths[:, 1:]].sum(axis=1)


def with_steps(steps):
    """A chain without scores of features, only of steps."""
    K = len(steps)
    chain = _core.Chain(K, [0], True)
    table = np.zeros((1 + 2 + K, K), dtype=np.float32)
    table[3:] = steps
    chain.fill(table)
    return chain


def ends(lengths):
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


class Rows:
    """Indices of the rows of a chain's table."""

    def __init__(self, K, sizes, own):
        self.K, self.sizes, self.own, self.n_states = K, sizes, own, 1 << (len(sizes) - 1)
        self.first, self.last, self.steps = self.n_states, self.n_states + 1, self.n_states + 2
        self.n = self.steps + K
        self.blocks = {}
        for state in range(self.n_states if own else 1):
            for g, size in enumerate(sizes):
                if not own or self.has(state, g):
                    self.blocks[state, g] = self.n
                    self.n += size

    @staticmethod
    def has(state, g):
        return g == 0 or bool(state >> (g - 1) & 1)

    def inputs(self, features, states):
        """Inputs of the label scores at each position of a sequence: (length, rows)."""
        out = np.zeros((len(states), self.n))
        for t, state in enumerate(states):
            out[t, state] = 1
            for g, size in enumerate(self.sizes):
                if self.has(state, g):
                    start = self.blocks[state if self.own else 0, g]
                    out[t, start : start + size] = features[g][t]
        out[0, self.first] = out[-1, self.last] = 1
        return out

    def psi(self, inputs, path):
        """Features of a labelling, as a table."""
        table = np.zeros((self.n, self.K))
        for t, label in enumerate(path):
            table[:, label] += inputs[t]
            if t > 0:
                table[self.steps + path[t - 1], label] += 1
        return table

    def scores(self, table, inputs):
        return inputs @ table, table[self.steps : self.steps + self.K]
