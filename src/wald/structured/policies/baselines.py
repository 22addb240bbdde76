"""Baseline policies, which learn nothing: parts or examples at random, and the examples with doubtful answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...stopping.core.validation import require_integer
from ..protocol import Session, State
from .base import Policy
from .evidence import owner, parts_of

#: Odd constants of the splitmix64 generator, which mixes bits.
_STEP, _MIX = np.uint64(0x9E3779B97F4A7C15), (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


@dataclass(eq=False, repr=False)
class UniformPolicy(Policy):
    """Every part, or every example, with the same probability.

    Parameters
    ----------
    level : {"part", "example"}, default="part"
        Whether a part gets all costly groups alone, or all parts of its example with it.
    random_state : int, default=0
        Seed of the draws.

    Notes
    -----
    A draw is a hash of the example's length, the part's position, and its `Session.part_features` (or
    `Session.confidence`, where a session has no such features): the same example gets the same groups whatever the
    examples beside it. This is the baseline in figure 4 of Bolukbasi, Chang, Wang and Saligrama, "Resource Constrained
    Structured Prediction" (arXiv 1602.08761).

    `BudgetedPredictor` has an example.
    """

    level: str = "part"
    random_state: int = 0

    options: ClassVar = {"level": ("part", "example")}

    def _check(self, model: Any, y: Any) -> None:
        super()._check(model, y)
        require_integer("UniformPolicy", "random_state", self.random_state, 0, 2**32 - 1)

    def priority(self, session: Session, state: State, examples: NDArray[np.int64]) -> NDArray[np.float64]:
        """Numbers between 0 and 1; see `Policy.priority`."""
        parts, ends = parts_of(np.asarray(session.offsets), examples)
        if hasattr(session, "part_features"):
            values = session.part_features()[parts]
        else:
            values = session.confidence(np.zeros_like(state), examples)[:, None]
        bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32).astype(np.uint64)
        lengths = np.diff(ends)
        place = np.arange(len(parts)) - np.repeat(ends[:-1], lengths)
        with np.errstate(over="ignore"):  # sums of unsigned integers wrap around, in any order
            seed = _mixed(np.asarray([self.random_state + 1], dtype=np.uint64))
            words = np.column_stack([bits, place.astype(np.uint64), np.repeat(lengths, lengths).astype(np.uint64)])
            salts = _mixed(np.arange(1, words.shape[1] + 1, dtype=np.uint64) * seed)
            draws = _mixed((_mixed(words + salts)).sum(axis=1, dtype=np.uint64))
            if self.level == "example":
                draws = _mixed(np.add.reduceat(draws, ends[:-1]))[owner(ends)]
        return np.repeat((draws >> np.uint64(11)).astype(np.float64)[:, None] / 2.0**53, state.shape[1], axis=1)


class MyopicPolicy(Policy):
    """All costly groups for the examples in whose cheap answer the model has least confidence, a part.

    Notes
    -----
    The baseline of Bolukbasi et al. (arXiv 1602.08761), after K. Trapeznikov and V. Saligrama, "Supervised sequential
    classification under budget constraints", AISTATS 2013. Every example is decoded with the cheap group first, and
    doubtful ones once more: the second inference is part of what it costs.
    """

    def priority(self, session: Session, state: State, examples: NDArray[np.int64]) -> NDArray[np.float64]:
        """Minus the mean confidence of each part's example; see `Policy.priority`."""
        _, ends = parts_of(np.asarray(session.offsets), examples)
        confidence = np.asarray(session.confidence(state, examples), dtype=np.float64)
        mean = np.add.reduceat(confidence, ends[:-1]) / np.diff(ends)
        return np.repeat(-mean[owner(ends)][:, None], state.shape[1], axis=1)


class Constant(Policy):
    """Policy of equal priorities: the threshold decides whether everything or nothing is bought."""

    def priority(self, session: Session, state: State, examples: NDArray[np.int64]) -> NDArray[np.float64]:
        """Zeros; see `Policy.priority`."""
        lengths = np.diff(np.asarray(session.offsets))[examples]
        return np.zeros((int(lengths.sum()), state.shape[1]))


def _mixed(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix the bits of 64-bit numbers (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014)."""
    x = x + _STEP
    x = (x ^ (x >> np.uint64(30))) * _MIX[0]
    x = (x ^ (x >> np.uint64(27))) * _MIX[1]
    return np.asarray(x ^ (x >> np.uint64(31)))
