"""Labels: the decision rule of a fitted classifier."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from .output import Answers, Floats, Output

__all__ = ["Labels"]

#: Largest number of classes that the engine takes.
MOST_CLASSES: int = _core.LIMITS["classes"]


@dataclass(frozen=True, eq=False)
class Labels(Output):
    """Labels by the decision rule of a fitted classifier, its ties included.

    The margin of an estimate is the score itself for ``"sign"``, the largest score minus the second largest for
    ``"argmax"``, and for ``"votes"`` the smallest signed score of the class that wins against every rival; it is
    negative where there is none.

    Parameters
    ----------
    kind : {"sign", "argmax", "votes"}
        ``"sign"``: one score against a threshold. ``"argmax"``: one score per class, the first of the largest
        wins. ``"votes"``: one score per pair of classes in libsvm's order (0, 1), (0, 2), ..., (1, 2), ...; a
        pair (i, j) votes for i when its score is positive and for j otherwise, and the first of the most
        voted classes wins.
    n_classes : int
        Number of classes; 1 only for ``"sign"`` with an infinite `threshold`.
    threshold : float, default=0.0
        For ``"sign"``: scores above it are class 1. If it is infinite, the label is constant.
    tie_positive : bool, default=False
        For ``"sign"``: whether a score of exactly `threshold` is class 1.
    break_ties : bool, default=False
        For ``"votes"``: equal votes go to the class with the larger sum of pairwise scores, as in
        scikit-learn's ``SVC(break_ties=True)``.
    saturation : float, default=inf
        For ``"argmax"``: the model compares functions of the scores that are equal, after rounding, for scores of a
        larger size. It must label such rows itself.

    Raises
    ------
    ValueError
        If the kind is unknown, or does not support `n_classes`.
    """

    compiled: ClassVar[bool] = True

    kind: Literal["sign", "argmax", "votes"]
    n_classes: int
    threshold: float = 0.0
    tie_positive: bool = False
    break_ties: bool = False
    saturation: float = math.inf

    def __post_init__(self) -> None:
        if self.kind not in ("sign", "argmax", "votes"):
            raise ValueError(f"kind must be 'sign', 'argmax' or 'votes'. Got {self.kind!r} instead.")
        constant = self.kind == "sign" and self.threshold == math.inf
        least = 3 if self.kind == "votes" else 2 - constant
        if self.n_classes < least or (self.kind == "sign" and self.n_classes > 2):
            raise ValueError(f"A decision of kind {self.kind!r} cannot serve {self.n_classes} classes.")

    # ---- what every output says ------------------------------------------------------------------------------------

    @property
    def n_outputs(self) -> int:
        """Number of scores: 1, one per class, or one per pair of classes."""
        if self.kind == "sign":
            return 1
        return self.n_classes if self.kind == "argmax" else self.n_classes * (self.n_classes - 1) // 2

    @property
    def n_answers(self) -> int:
        """Number of classes."""
        return self.n_classes

    @property
    def centre(self) -> float | None:
        """The threshold of one score; None for several."""
        return self.threshold if self.kind == "sign" else None

    @property
    def races(self) -> bool:
        """Whether the largest of the classes' scores wins."""
        return self.kind == "argmax"

    def answers(self, scores: ArrayLike) -> Answers:
        """Labels for full scores; see `Output.answers`."""
        f = self.table(scores)
        if self.kind == "sign":
            # A NumPy scalar keeps its dtype, so float32 scores are compared with the threshold in float64.
            threshold = np.float64(self.threshold)
            return np.asarray(f[:, 0] >= threshold if self.tie_positive else f[:, 0] > threshold, dtype=np.int32)
        if self.kind == "argmax":
            return np.asarray(f.argmax(axis=1), dtype=np.int32)
        if self.break_ties:
            return np.asarray(self.votes_and_sums(f).argmax(axis=1), dtype=np.int32)
        return np.asarray(self._votes(f > 0).argmax(axis=1), dtype=np.int32)

    def judged(self, estimates: ArrayLike) -> tuple[Answers, NDArray[np.floating]]:
        """Labels of estimates, and their margins; see `Output.judged`."""
        z = self.table(estimates)
        if self.kind == "sign":
            return self.answers(z), z[:, 0]
        by_class = z if self.kind == "argmax" else self._smallest(z)
        answers = np.asarray(by_class.argmax(axis=1), dtype=np.int32)
        if self.kind == "votes":
            return answers, by_class[np.arange(len(z)), answers]
        with np.errstate(invalid="ignore"):
            second, first = np.partition(by_class, (-2, -1), axis=1)[:, -2:].T
            return answers, np.where(np.isnan(by_class).any(axis=1), by_class.dtype.type(np.nan), first - second)

    def settled(self, scores: Floats, errors: Floats) -> tuple[Answers, NDArray[np.bool_]]:
        """Labels of full scores, and whether no score within the error has another one; see `Output.settled`."""
        sure = errors < np.inf
        if self.kind == "votes":
            answers, overtaken = self._overtaken(scores, errors)
            return answers, sure & ~overtaken & ~np.isnan(scores).any(axis=1)
        answers, distances = self.answers(scores), self.distances(scores)
        reach = errors if self.kind == "sign" else 2 * errors
        sure &= (distances >= 0) & ((distances > reach) | (errors == 0))
        return answers, sure & (np.abs(scores.max(axis=1)) <= self.saturation)

    def linear_margins(self) -> Floats:
        """The scores themselves, or differences of two classes' scores; see `Output.linear_margins`."""
        if self.kind != "argmax":
            return np.eye(self.n_outputs)
        first, second = np.triu_indices(self.n_classes, 1)
        margins = np.zeros((len(first), self.n_classes))
        margins[np.arange(len(first)), first] = 1.0
        margins[np.arange(len(first)), second] = -1.0
        return margins

    def towards(self, code: int) -> Floats:
        """Weights of the scores in the mean margin of a label over its rivals; see `Output.towards`."""
        if self.kind == "sign":
            return np.array([1.0 if code else -1.0])
        n_rivals = self.n_classes - 1
        if self.kind == "argmax":
            return np.where(np.arange(self.n_classes) == code, 1.0, -1.0 / n_rivals)
        return np.array([((i == code) - float(j == code)) / n_rivals for i, j in self.pairs()])

    # ---- votes ------------------------------------------------------------------------------

    def pairs(self) -> list[tuple[int, int]]:
        """List the pairs of classes in the order of the outputs of a ``"votes"`` decision.

        Returns
        -------
        list of (int, int)
            (0, 1), (0, 2), ..., (1, 2), ...
        """
        return [(i, j) for i in range(self.n_classes) for j in range(i + 1, self.n_classes)]

    def votes_and_sums(self, scores: NDArray[np.floating]) -> Floats:
        """One-vs-rest scores from pairwise scores, as scikit-learn computes them.

        Unlike in libsvm, a score of exactly 0 is a vote for the first class of the pair. Additions are in
        scikit-learn's order, so that results are bit-identical.
        """
        sums = np.zeros((len(scores), self.n_classes))
        for pair, (i, j) in enumerate(self.pairs()):
            sums[:, i] += scores[:, pair]
            sums[:, j] -= scores[:, pair]
        # Sums are mapped into (-1/3, 1/3), so that they never outweigh a vote.
        return np.asarray(self._votes(~(scores < 0)) + sums / (3 * (np.abs(sums) + 1)))

    def _votes(self, first_wins: NDArray[np.bool_], counted: NDArray[np.bool_] | bool = True) -> Floats:
        """Votes for each class, by which class of each pair wins; of the pairs that are counted."""
        votes = np.zeros((len(first_wins), self.n_classes))
        for pair, (i, j) in enumerate(self.pairs()):
            there = counted if isinstance(counted, bool) else counted[:, pair]
            votes[:, i] += there & first_wins[:, pair]
            votes[:, j] += there & ~first_wins[:, pair]
        return votes

    def _smallest(self, z: NDArray[np.floating]) -> NDArray[np.floating]:
        """Smallest pairwise score of every class against its rivals."""
        smallest = np.full((len(z), self.n_classes), np.inf, dtype=z.dtype)
        for pair, (i, j) in enumerate(self.pairs()):
            smallest[:, i] = np.minimum(smallest[:, i], z[:, pair])
            smallest[:, j] = np.minimum(smallest[:, j], -z[:, pair])
        return smallest

    def _overtaken(self, scores: Floats, errors: Floats) -> tuple[Answers, NDArray[np.bool_]]:
        """Labels by votes, and whether the pairs whose score may have another sign could elect another class."""
        near = (np.abs(scores) <= errors[:, None]) & (errors > 0)[:, None]
        if self.break_ties:  # votes and sums count a score of 0 for different classes
            near |= scores == 0
        votes = self._votes(scores > 0, ~near)
        most_possible = votes + self._votes(near, near) + self._votes(~near, near)  # a vote for both classes
        answers = votes.argmax(axis=1)
        most, classes = votes.max(axis=1, keepdims=True), np.arange(self.n_classes)
        others = classes != answers[:, None]
        wins_ties = others if self.break_ties else classes < answers[:, None]
        overtakes = others & ((most_possible > most) | ((most_possible == most) & wins_ties))
        return np.asarray(answers, dtype=np.int32), overtakes.any(axis=1)
