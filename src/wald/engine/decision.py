"""The rule by which a model turns scores into labels, and the confidence of a label."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Decision"]


@dataclass(frozen=True, eq=False)
class Decision:
    """The decision rule of a fitted classifier, its ties included.

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
        if self.n_classes < 2 - constant or (self.kind == "sign" and self.n_classes > 2):
            raise ValueError(f"A decision of kind {self.kind!r} cannot serve {self.n_classes} classes.")

    @property
    def n_outputs(self) -> int:
        """Number of scores that the decision reads: 1, one per class, or one per pair of classes."""
        if self.kind == "sign":
            return 1
        return self.n_classes if self.kind == "argmax" else self.n_classes * (self.n_classes - 1) // 2

    def codes(self, F: ArrayLike) -> NDArray[np.int32]:
        """Labels for full scores, by the model's own rule.

        Parameters
        ----------
        F : array-like of shape (n_rows, n_outputs)
            Scores; shape (n_rows,) is accepted when there is one output.

        Returns
        -------
        int32 ndarray of shape (n_rows,)
            Indices into the model's classes.

        Raises
        ------
        ValueError
            If `F` has another shape.
        """
        scores = self._table(F)
        if self.kind == "sign":
            # A NumPy scalar keeps its dtype, so float32 scores are compared with the threshold in float64.
            threshold = np.float64(self.threshold)
            above = scores[:, 0] >= threshold if self.tie_positive else scores[:, 0] > threshold
            return np.asarray(above, dtype=np.int32)
        if self.kind == "argmax":
            return np.asarray(scores.argmax(axis=1), dtype=np.int32)
        tally = self.votes_and_sums(scores) if self.break_ties else self._votes(scores)
        return np.asarray(tally.argmax(axis=1), dtype=np.int32)

    def judge(self, Z: ArrayLike) -> tuple[NDArray[np.int32], NDArray[np.floating]]:
        """Labels for estimated scores, and their confidence.

        Parameters
        ----------
        Z : array-like of shape (n_rows, n_outputs)
            Estimates of the scores; shape (n_rows,) is accepted when there is one output.

        Returns
        -------
        codes : int32 ndarray of shape (n_rows,)
            The labels that `codes` gives for `Z`.
        confidence : ndarray of shape (n_rows,), of the dtype of `Z`
            Binary: distance to the threshold. Argmax: largest minus second largest. Votes: the smallest
            signed pairwise score of the winner against any rival, negative when nobody wins every pair.

        Raises
        ------
        ValueError
            If `Z` has another shape.
        """
        scores = self._table(Z)
        codes = self.codes(scores)
        if self.kind == "sign":
            return codes, np.abs(scores[:, 0] - scores.dtype.type(self.threshold))
        if self.kind == "argmax":
            second, first = np.partition(scores, (-2, -1), axis=1)[:, -2:].T
            return codes, first - second
        confidence = np.full(len(scores), np.inf, dtype=scores.dtype)
        for pair, (i, j) in enumerate(self.pairs()):
            for winner, signed in ((i, scores[:, pair]), (j, -scores[:, pair])):
                np.minimum(confidence, signed, out=confidence, where=codes == winner)
        return codes, confidence

    def pairs(self) -> list[tuple[int, int]]:
        """List the pairs of classes in the order of the outputs of a ``"votes"`` decision.

        Returns
        -------
        list of (int, int)
            (0, 1), (0, 2), ..., (1, 2), ...
        """
        return [(i, j) for i in range(self.n_classes) for j in range(i + 1, self.n_classes)]

    def margins(self) -> NDArray[np.float64]:
        """Matrix from scores to the margins that decide: the scores themselves, or differences of two classes' scores.

        Returns
        -------
        float64 ndarray of shape (n_margins, n_outputs)
        """
        if self.kind != "argmax":
            return np.eye(self.n_outputs)
        first, second = np.triu_indices(self.n_classes, 1)
        margins = np.zeros((len(first), self.n_classes))
        margins[np.arange(len(first)), first] = 1.0
        margins[np.arange(len(first)), second] = -1.0
        return margins

    def towards(self, code: int) -> NDArray[np.float64]:
        """Weights of the scores in the mean margin of a label over its rivals.

        Parameters
        ----------
        code : int
            Index of the label.

        Returns
        -------
        float64 ndarray of shape (n_outputs,)
        """
        if self.kind == "sign":
            return np.array([1.0 if code else -1.0])
        n_rivals = self.n_classes - 1
        if self.kind == "argmax":
            return np.where(np.arange(self.n_classes) == code, 1.0, -1.0 / n_rivals)
        return np.array([((i == code) - float(j == code)) / n_rivals for i, j in self.pairs()])

    def _table(self, F: ArrayLike) -> NDArray[np.floating]:
        scores = np.asarray(F)
        if not np.issubdtype(scores.dtype, np.floating):
            scores = scores.astype(np.float64)
        if scores.ndim == 1 and self.n_outputs == 1:
            scores = scores[:, np.newaxis]
        if scores.ndim != 2 or scores.shape[1] != self.n_outputs:
            raise ValueError(f"Scores must have shape (n_rows, {self.n_outputs}). Got {scores.shape} instead.")
        return scores

    def _votes(self, scores: NDArray[np.floating]) -> NDArray[np.float64]:
        votes = np.zeros((len(scores), self.n_classes))
        for pair, (i, j) in enumerate(self.pairs()):
            first_wins = scores[:, pair] > 0
            votes[:, i] += first_wins
            votes[:, j] += ~first_wins
        return votes

    def votes_and_sums(self, scores: NDArray[np.floating]) -> NDArray[np.float64]:
        """One-vs-rest scores from pairwise scores, as scikit-learn computes them.

        Unlike in libsvm, a score of exactly 0 is a vote for the first class of the pair. Additions are in
        scikit-learn's order, so that results are bit-identical.
        """
        votes = np.zeros((len(scores), self.n_classes))
        sums = np.zeros((len(scores), self.n_classes))
        for pair, (i, j) in enumerate(self.pairs()):
            sums[:, i] += scores[:, pair]
            sums[:, j] -= scores[:, pair]
            second_wins = scores[:, pair] < 0
            votes[:, i] += ~second_wins
            votes[:, j] += second_wins
        # Sums are mapped into (-1/3, 1/3), so that they never outweigh a vote.
        return np.asarray(votes + sums / (3 * (np.abs(sums) + 1)))
