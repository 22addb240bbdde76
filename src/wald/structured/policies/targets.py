"""Pseudo-labels: the state that each example should have, and its weight."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..protocol import State
from .crossfit import Fold
from .evidence import counts, owner, parts_of


@dataclass(frozen=True, eq=False)
class Targets:
    """The best state found for each example, and the value of the worst evaluated one minus that of the best."""

    state: State
    weight: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Objective:
    """The loss of an example's answer under a state, plus ``tradeoff`` times what the state costs (C1).

    ``tradeoff`` counts the wrong parts that a part with all costly groups is worth; ``prices`` (K,) are the costs of
    the costly groups, in shares of their sum.
    """

    fold: Fold
    tradeoff: float
    prices: NDArray[np.float64]

    @property
    def n_examples(self) -> int:
        """Number of examples."""
        return len(self.fold.session.offsets) - 1

    def __call__(self, state: State, examples: NDArray[np.int64]) -> NDArray[np.float64]:
        """Value of each requested example under its state: (n_requested,)."""
        parts, ends = parts_of(np.asarray(self.fold.session.offsets), examples)
        loss = self.fold.loss(self.fold.session.decode(state, examples), parts)
        return np.asarray(np.add.reduceat(loss, ends[:-1])) + self.paid(state, examples)

    def paid(self, state: State, examples: NDArray[np.int64]) -> NDArray[np.float64]:
        """``tradeoff`` times the cost of each example's state."""
        parts, ends = parts_of(np.asarray(self.fold.session.offsets), examples)
        return self.tradeoff * np.asarray(np.add.reduceat(state[parts] @ self.prices, ends[:-1]))


def trajectory(objective: Objective, t_max: int | None = None) -> Targets:
    """Add up to ``t_max`` groups, each time the one that leaves the smallest value; the best state on the way.

    Notes
    -----
    Bolukbasi et al. (arXiv 1602.08761), trajectory search: every step must add, for the value may rise before it falls.
    An example ends early once its groups alone cost as much as its best state: no later state can be better. The first
    of equal states counts. Weights use all visited states, and everything bought.
    """
    state = objective.fold.session.state() & False
    everyone = np.arange(objective.n_examples)
    value = objective(state, everyone)
    best, worst = value.copy(), np.maximum(value, objective(~state, everyone))
    found = state.copy()
    offsets, cheapest = np.asarray(objective.fold.session.offsets), objective.prices.min()
    for _ in range(state.size if t_max is None else t_max):
        can_win = objective.paid(state, everyone) + objective.tradeoff * cheapest < best
        active = everyone[can_win & (counts(np.any(~state, axis=1), offsets) > 0)]
        if not len(active):
            break
        item, values = _best_change(objective, state, active, ~state, worst)
        state[item] = True
        improved = active[values < best[active]]
        np.minimum.at(best, active, values)
        parts, _ = parts_of(offsets, improved)
        found[parts] = state[parts]
    return Targets(found, worst - best)


def parsimonious(objective: Objective, tau: float = 0.0) -> Targets:
    """All additions that alone lower the value by more than ``tau``.

    Notes
    -----
    Bolukbasi et al. (arXiv 1602.08761), parsimonious search. The difference must be more than ``tau``: additions that
    change nothing are not wanted. Weights use nothing and everything bought, all single additions, and the state found.
    """
    nothing = objective.fold.session.state() & False
    everyone = np.arange(objective.n_examples)
    value = objective(nothing, everyone)
    items, values, owners = changes(objective, nothing, everyone, ~nothing)
    gains = values < value[owners] - tau
    found = nothing.copy()
    found[items[0][gains], items[1][gains]] = True
    reached = objective(found, everyone)
    worst = np.maximum.reduce([value, objective(~nothing, everyone), reached])
    np.maximum.at(worst, owners, values)
    return Targets(found, worst - reached)


def marked(fold: Fold, differs: bool) -> Targets:
    """All groups for the parts whose answer with nothing bought is wrong, or differs from that with everything.

    Weights are equal.
    """
    nothing = fold.session.state() & False
    codes = fold.session.decode(nothing)
    wanted = codes != fold.everything if differs else fold.loss(codes) > 0
    return Targets(np.repeat(wanted[:, None], nothing.shape[1], axis=1), np.ones(len(fold.session.offsets) - 1))


def without_needless(objective: Objective, found: Targets) -> Targets:
    """Remove groups that a state does not need, one at a time: each time the one whose removal gives the least value.

    Among additions that change nothing a search takes the first, so a state may hold parts that came before the one
    that mattered. Every removal lowers the value.
    """
    state, weight = found.state.copy(), found.weight.copy()
    offsets = np.asarray(objective.fold.session.offsets)
    active = np.flatnonzero(counts(np.any(state, axis=1), offsets))
    value = objective(state, np.arange(objective.n_examples))
    worst = value + weight
    while len(active):
        (part, group), values = _best_change(objective, state, active, state, worst)
        better = values < value[active]
        state[part[better], group[better]] = False
        active = active[better]
        value[active] = values[better]
        parts, ends = parts_of(offsets, active)
        active = active[counts(np.any(state[parts], axis=1), ends) > 0]
    return Targets(state, worst - value)


Items = tuple[NDArray[np.int64], NDArray[np.int64]]


def _best_change(
    objective: Objective, state: State, active: NDArray[np.int64], which: State, worst: NDArray[np.float64]
) -> tuple[Items, NDArray[np.float64]]:
    """Find the change to each active example with the least value, the first of equal ones; note the worst values."""
    items, values, owners = changes(objective, state, active, which)
    np.maximum.at(worst, active[owners], values)
    order = np.lexsort((values, owners))  # stable
    first = order[np.unique(owners[order], return_index=True)[1]]
    return (items[0][first], items[1][first]), values[first]


def changes(
    objective: Objective, state: State, examples: NDArray[np.int64], which: State
) -> tuple[Items, NDArray[np.float64], NDArray[np.int64]]:
    """Values of some examples after each single change: ``which=~state`` adds a group, ``which=state`` removes one.

    One call of the objective evaluates the first change to every example, the next one the second change, and so on.
    Returns the parts and groups to change, the values, and for each the place of its example in ``examples``.
    """
    parts, ends = parts_of(np.asarray(objective.fold.session.offsets), examples)
    local, groups = np.nonzero(which[parts])
    owners, at = owner(ends)[local], parts[local]
    starts = np.searchsorted(owners, np.arange(len(examples)))
    place = np.arange(len(owners)) - starts[owners]
    values, trial = np.empty(len(owners)), state.copy()
    for place_index in range(int(place.max()) + 1):
        now = np.flatnonzero(place == place_index)
        trial[at[now], groups[now]] ^= True
        values[now] = objective(trial, examples[owners[now]])
        trial[at[now], groups[now]] ^= True
    return (at, groups), values, owners
