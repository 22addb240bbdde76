"""Rows, settings and hypotheses that the tests of online boosting share."""

from __future__ import annotations

import numpy as np
from kinds.containers import stream_containers
from online.reference import walk_problem
from scipy import sparse

X, Y = walk_problem(np.random.default_rng(0), 3000, 48)
SPARSE = np.where(np.abs(X) > 0.5, X, 0)
CONTAINERS = stream_containers(X, 3)
WEIGHTS = np.random.default_rng(1).integers(0, 3, len(X)).astype(float)
FULL = {"attention": "full", "max_iter": 2, "tol": None, "shuffle": False, "random_state": 0}
EAGER = {"run_length": 4, "warm_up": 32, "audit_rate": 0.05, "random_state": 7}
ATTENTION = {
    "conditional": {"delta": "auto"},
    "centred": {"attention": "constant"},
    "printed": {"attention": "constant", "boundary": "printed", "order": "random"},
    "bridge": {"attention": "constant", "boundary": "bridge", "variance": "independent"},
    "budgeted": {"attention": "budgeted", "budget": 24},
}


class Column:
    """A stump as a callable, which counts the rows that it is called on."""

    def __init__(self, feature, threshold):
        self.feature, self.threshold, self.calls = feature, threshold, 0

    def __call__(self, rows):
        self.calls += rows.shape[0]
        column = (rows.toarray() if sparse.issparse(rows) else rows)[:, self.feature]
        return np.where(column > self.threshold, 1.0, -1.0)

    def __deepcopy__(self, memo):
        return self  # clones share the count


def columns_of(model):
    return [Column(j, t) for j, t in zip(model.hypotheses_.features, model.hypotheses_.thresholds, strict=True)]


def votes_of(model, rows):
    rows = rows.toarray() if sparse.issparse(rows) else rows
    return np.where(rows[:, model.hypotheses_.features] > model.hypotheses_.thresholds, 1.0, -1.0)


def same(a, b, seen=True):
    np.testing.assert_array_equal(a.coef_, b.coef_)
    np.testing.assert_array_equal(a.intercept_, b.intercept_)
    assert a.n_updates_ == b.n_updates_
    assert a.stop_error_ == b.stop_error_
    if seen:
        assert a.features_seen_ == b.features_seen_
        assert a.cost_seen_ == b.cost_seen_
