"""Pseudo-labels are those of a plain search, and crossfit holds examples out."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from wald.datasets import make_chains
from wald.structured import ChainClassifier, FeatureGroup
from wald.structured.policies import IteratedPolicy, OneShotPolicy
from wald.structured.policies.anytime import _Walk
from wald.structured.policies.crossfit import crossfit
from wald.structured.policies.targets import Objective, Targets, marked, parsimonious, trajectory, without_needless
from wald.structured.sequences import Sequences

X, Y = make_chains(40, mean_length=4, noise=1.5, random_state=0)
GROUPS = [
    FeatureGroup("third", lambda parts: parts[:, ::3], cost=1.0),
    FeatureGroup("half", lambda parts: parts[:, ::2], cost=2.0),
    FeatureGroup("all", cost=6.0),
]


def objective(tradeoff, n_groups=3):
    model = ChainClassifier(GROUPS[:n_groups], max_iter=4, random_state=0).fit(X, Y)
    (fold,) = crossfit(model, X, Y, cv="prefit")
    prices = model.group_costs_[1:] / model.group_costs_[1:].sum()
    return Objective(fold, tradeoff, prices)


def value(objective, state, i):
    """Value of one example, computed without the code under test."""
    session, fold = objective.fold.session, objective.fold
    a, b = session.offsets[i : i + 2]
    wrong = np.count_nonzero(session.decode(state)[a:b] != fold.truth[a:b])
    return wrong + objective.tradeoff * float((state[a:b] * objective.prices).sum())


@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("tradeoff", [0.0, 0.2, 2.0])
@pytest.mark.parametrize("t_max", [None, 2])
def test_trajectory(n_groups, tradeoff, t_max):
    search = objective(tradeoff, n_groups)
    offsets = search.fold.session.offsets
    found = trajectory(search, t_max)
    for i in range(12):
        a, b = offsets[i : i + 2]
        state = np.zeros_like(found.state)
        best, best_state = value(search, state, i), state[a:b].copy()
        for _ in range((b - a) * state.shape[1] if t_max is None else t_max):
            trials = []
            for part, group in itertools.product(range(a, b), range(state.shape[1])):
                if not state[part, group]:
                    state[part, group] = True
                    trials.append((value(search, state, i), part, group))
                    state[part, group] = False
            if not trials:
                break
            least, part, group = min(trials, key=lambda trial: (round(trial[0], 9), trial[1:]))
            state[part, group] = True
            if least < best - 1e-9:
                best, best_state = least, state[a:b].copy()
        np.testing.assert_array_equal(found.state[a:b], best_state)
    assert (found.weight >= 0).all()
    assert found.weight.any()


@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("tradeoff", [0.0, 0.2])
def test_without_needless_keeps_only_needed_groups(n_groups, tradeoff):
    search = objective(tradeoff, n_groups)
    offsets = search.fold.session.offsets
    nothing = search.fold.session.state() & False
    whole = Targets(~nothing, search(nothing, np.arange(40)))
    taken_back = 0
    for found in (trajectory(search), whole):
        left = without_needless(search, found)
        assert not (left.state & ~found.state).any()
        assert (left.weight >= found.weight - 1e-9).all()
        for i in range(12):
            state = found.state.copy()
            best = value(search, state, i)
            while state[slice(*offsets[i : i + 2])].any():
                trials = []
                for part, group in zip(*np.nonzero(state), strict=True):
                    if offsets[i] <= part < offsets[i + 1]:
                        state[part, group] = False
                        trials.append((round(value(search, state, i), 9), part, group))
                        state[part, group] = True
                less, part, group = min(trials)
                if less >= best - 1e-9:
                    break
                state[part, group], best = False, less
            np.testing.assert_array_equal(left.state[slice(*offsets[i : i + 2])], state[slice(*offsets[i : i + 2])])
        taken_back += np.count_nonzero(left.state != found.state)
    assert taken_back


def test_parsimonious():
    search = objective(0.2)
    offsets = search.fold.session.offsets
    for tau in (0.0, 0.5):
        found = parsimonious(search, tau)
        for i in range(12):
            nothing = np.zeros_like(found.state)
            start = value(search, nothing, i)
            for part, group in itertools.product(range(*offsets[i : i + 2]), range(2)):
                state = nothing.copy()
                state[part, group] = True
                assert found.state[part, group] == (value(search, state, i) < start - tau)


def test_a_free_group_that_changes_nothing_is_not_wanted():
    search = objective(0.0)
    assert not parsimonious(search).state.all()
    assert not trajectory(search).state.all()


@pytest.mark.parametrize("n_groups", [2, 3])
def test_anytime_weighs_what_is_better_than_nothing(n_groups):
    search = objective(0.2, n_groups)
    offsets = search.fold.session.offsets
    walk = _Walk(search)
    weights, rows = [], 0
    for i in range(40):
        state = walk.state.copy()
        idle = value(search, state, i) + 0.2 * search.prices.min()
        own = []
        for part, group in itertools.product(range(*offsets[i : i + 2]), range(state.shape[1])):
            state[part, group] = True
            own.append(max(idle - value(search, state, i), 0.0))
            state[part, group] = False
        if max(own) > 1e-9:  # else there is nothing to learn from the example
            weights += own
            rows += len(own)
    found = walk.evaluate()
    assert len(found.rows) == rows
    np.testing.assert_allclose(found.weight, weights, atol=1e-8)
    starts = np.add.reduceat(found.weight, found.ends[:-1])
    assert (starts > 0).all()
    assert (found.weight == 0).any()


def test_marked():
    fold = objective(0.0).fold
    cheap = fold.session.decode(fold.session.state() & False)
    assert (marked(fold, False).state == (cheap != fold.truth)[:, None]).all()
    assert (marked(fold, True).state == (cheap != fold.everything)[:, None]).all()


class Remembers(ChainClassifier):
    """A model that records its training examples."""

    def fit(self, X, y, *, lengths=None, classes=None):
        self.seen_ = {item[0].tobytes() for item in X} if isinstance(X, list) else None
        self.asked_ = classes
        return super().fit(X, y, lengths=lengths, classes=classes)


def test_crossfit_holds_out():
    model = Remembers(GROUPS, max_iter=1, random_state=0).fit(X, Y)
    folds = crossfit(model, X, Y, cv=4, random_state=0)
    held = [x[0].tobytes() for fold in folds for x in fold.session.sequences.split(fold.session.sequences.parts)]
    assert sorted(held) == sorted(x[0].tobytes() for x in X)
    for fold in folds:
        inside = {x[0].tobytes() for x in fold.session.sequences.split(fold.session.sequences.parts)}
        assert not inside & fold.model.seen_
        assert (fold.model.classes_ == model.classes_).all()
        assert fold.model is not model


def test_crossfit_keeps_groups_together():
    groups = np.arange(40) // 8
    model = ChainClassifier(GROUPS, max_iter=1, random_state=0).fit(X, Y)
    where = {}
    for number, fold in enumerate(crossfit(model, X, Y, groups=groups)):
        for x in fold.session.sequences.split(fold.session.sequences.parts):
            where.setdefault(groups[next(i for i in range(40) if np.array_equal(X[i], x))], set()).add(number)
    assert all(len(folds) == 1 for folds in where.values())


def test_crossfit_takes_other_forms():
    model = ChainClassifier(GROUPS, max_iter=1, random_state=0).fit(X, Y)
    sequences = Sequences.of(X)
    a, b = crossfit(model, sequences, Y, cv=2, random_state=0), crossfit(model, X, Y, cv=2, random_state=0)
    assert [(f.everything == g.everything).all() for f, g in zip(a, b, strict=True)] == [True, True]
    (fold,) = crossfit(model, X)
    assert fold.model is model
    assert fold.truth is None
    assert fold.loss(fold.everything).sum() == 0
    for bad in (1, "all", 2.5):
        with pytest.raises(ValueError, match="cv must"):
            crossfit(model, X, Y, cv=bad)
    with pytest.raises(ValueError, match="as many examples"):
        crossfit(model, X[:3], Y[:3], cv=5)
    with pytest.raises(TypeError, match="Examples must be a list"):
        crossfit(model, dict(enumerate(X)), Y)


def test_a_label_that_a_fold_lacks_keeps_its_code():
    labels = [np.where(np.arange(len(y)) == 0, 9, y) if i == 0 else y for i, y in enumerate(Y)]
    model = ChainClassifier(GROUPS, max_iter=1, random_state=0).fit(X, labels)
    for fold in crossfit(model, X, labels, cv=4, random_state=0):
        assert fold.model.classes_.tolist() == model.classes_.tolist()
        assert (fold.truth >= 0).all()


def test_policies_share_folds(monkeypatch):
    model = ChainClassifier(GROUPS[:2], max_iter=2, random_state=0).fit(X, Y)
    policies = [OneShotPolicy(random_state=0), IteratedPolicy(max_iter=3, random_state=0)]
    nothing, everyone = model.open(X).state() & False, np.arange(len(X))
    alone = [policy.fit(model, X, Y).priority(model.open(X), nothing, everyone) for policy in policies]
    seeds = [
        int(np.random.RandomState(0).randint(2**31 - 1)),
        int(np.random.RandomState(0).randint(2**31 - 1, size=3)[1]),
    ]
    folds = [crossfit(model, X, Y, random_state=seed) for seed in seeds]
    monkeypatch.setattr(ChainClassifier, "fit", None)  # nothing is learned again
    for policy, own, expected in zip(policies, folds, alone, strict=True):
        assert crossfit(model, X, Y, cv=own) == own
        policy.set_params(cv=own).fit(model, X, Y)
        np.testing.assert_array_equal(policy.priority(model.open(X), nothing, everyone), expected)
    for bad in ([], [1, 2]):
        with pytest.raises(TypeError, match="must hold Folds"):
            crossfit(model, X, Y, cv=bad)
