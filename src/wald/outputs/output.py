"""The question that is asked of a model's scores: the answer, its margin, and what an early answer may lose."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .words import LABELS, Words

__all__ = ["Output", "known_outputs"]

Answers = NDArray[np.int32]
Floats = NDArray[np.float64]

_KNOWN: dict[str, type[Output]] = {}


class Output(ABC):
    """What is asked of a model's scores.

    Each output is a subclass, in a file of its own. Its answers are numbers from 0 on, which stand for the model's
    `classes`. Plans, certificates, monitors and displays use only what this class declares. `check_output` checks one.

    Rows leave in one of two ways. Where `centre` is a number, there is one score and two answers: a row leaves with the
    answer 1 if its estimate is above a threshold, and with 0 if it is below another one. Where `centre` is None, a row
    leaves with the answer of its estimate if the margin is above a threshold.

    Files hold the fields of an output that is a dataclass of numbers, texts and lists, under the name of its class.

    Attributes
    ----------
    compiled : bool
        Whether the compiled engine knows the output. If not, the engine in Python evaluates the model.
    valued : bool
        Whether scores are answers themselves, so that codes say nothing. An early answer is the estimate, and
        `lost_values` says what it loses.
    column : str
        What an answer is called in tables and messages.
    """

    compiled: ClassVar[bool] = False
    valued: ClassVar[bool] = False
    column: ClassVar[str] = "label"

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        known = _KNOWN.setdefault(cls.__name__, cls)
        if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
            raise TypeError(
                f"There is an output called {cls.__name__} already: {known.__module__}.{known.__qualname__}."
            )
        _KNOWN[cls.__name__] = cls

    # ---- what must be said -----------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def n_outputs(self) -> int:
        """Number of scores of a row."""

    @property
    @abstractmethod
    def n_answers(self) -> int:
        """Number of different answers."""

    @abstractmethod
    def answers(self, scores: ArrayLike) -> Answers:
        """Answers of full scores by the model's own rule, its ties included.

        Parameters
        ----------
        scores : array-like of shape (n_rows, n_outputs)
            Shape (n_rows,) is accepted where there is one score.

        Returns
        -------
        int32 ndarray of shape (n_rows,)
        """

    @abstractmethod
    def judged(self, estimates: ArrayLike) -> tuple[Answers, NDArray[np.floating]]:
        """Answers of estimated scores, and their margins.

        Parameters
        ----------
        estimates : array-like of shape (n_rows, n_outputs)

        Returns
        -------
        answers : int32 ndarray of shape (n_rows,)
        margins : ndarray of shape (n_rows,), of the dtype of `estimates`
            How far an estimate lies from another answer, at most 0 if it has no clear one; where `centre` is a number,
            the estimate itself. NaN where an estimate is NaN.
        """

    @abstractmethod
    def settled(self, scores: Floats, errors: Floats) -> tuple[Answers, NDArray[np.bool_]]:
        """Answers of full scores with bounded errors, and whether no score within the error has another one.

        Parameters
        ----------
        scores : float64 ndarray of shape (n_rows, n_outputs)
        errors : float64 ndarray of shape (n_rows,)

        Returns
        -------
        answers : int32 ndarray of shape (n_rows,)
        sure : bool ndarray of shape (n_rows,)
        """

    # ---- what may be said ------------------------------------------------------------------------------------------

    @property
    def event(self) -> str:
        """Noun for an early answer that loses, in certificates."""
        return "disagreement"

    @property
    def words(self) -> Words:
        """What the answers are called, in reports, pictures and the news of monitors."""
        return LABELS

    @property
    def centre(self) -> float | None:
        """Score that separates the two answers; None if rows leave by their margin alone."""
        return None

    @property
    def races(self) -> bool:
        """Whether each answer has a score of its own, the largest of which wins."""
        return False

    def linear_margins(self) -> Floats | None:
        """Matrix from scores to numbers that move at least as far as the margins, (n_margins, n_outputs), or None.

        Lossless exits need it.
        """
        return None

    def towards(self, code: int) -> Floats:
        """Weights of the scores in the mean margin of an answer over the others, (n_outputs,), for displays.

        Raises
        ------
        ValueError
            If margins are not linear in the scores.
        """
        raise ValueError(f"{type(self).__name__} has no margins that are linear in the scores.")

    def losses(self, early: Answers, full: Answers) -> Floats:
        """Loss of early answers beside those of full evaluation, from 0 to 1; by default, 1 if they differ.

        Where `centre` is a number, other losses have no effect.

        Parameters
        ----------
        early, full : int32 ndarray of shape (n_rows,)

        Returns
        -------
        float64 ndarray of shape (n_rows,)
        """
        return np.asarray(early != full, dtype=np.float64)

    def lost_values(self, early: Floats, full: Floats) -> Floats:
        """Loss of early values beside those of full evaluation, from 0 to 1, where the output is `valued`.

        Parameters
        ----------
        early, full : float64 ndarray of shape (n_rows,) or (n_rows, n_values)
            As the model gives them, with its link.

        Returns
        -------
        float64 ndarray of shape (n_rows,)

        Raises
        ------
        ValueError
            If no row leaves early.
        """
        raise ValueError(f"{type(self).__name__} has no early values.")

    # ---- what follows ----------------------------------------------------------------------------------------------

    @property
    def two_sided(self) -> bool:
        """Whether rows leave on two sides of a `centre`."""
        return self.centre is not None

    @property
    def by_margin(self) -> bool:
        """Whether rows leave by the margin of one score, or of several values, so that estimates are traced."""
        return not self.two_sided and self.n_outputs == 1

    @property
    def early_values(self) -> bool:
        """Whether rows may leave with an estimate of their value, so that engines answer with scores."""
        return self.valued and self.by_margin

    @property
    def has_own_losses(self) -> bool:
        """Whether `losses` says more than whether answers differ."""
        return not self.two_sided and type(self).losses is not Output.losses

    def distances(self, scores: ArrayLike) -> NDArray[np.floating]:
        """How far scores lie from another answer, (n_rows,)."""
        margins = self.judged(scores)[1]
        return margins if self.centre is None else np.abs(margins - margins.dtype.type(self.centre))

    def table(self, scores: ArrayLike) -> NDArray[np.floating]:
        """Scores as floats of shape (n_rows, n_outputs); raises ValueError if they have another shape."""
        table = np.asarray(scores)
        if not np.issubdtype(table.dtype, np.floating):
            table = table.astype(np.float64)
        if table.ndim == 1 and self.n_outputs == 1:
            table = table[:, np.newaxis]
        if table.ndim != 2 or table.shape[1] != self.n_outputs:
            raise ValueError(f"Scores must have shape (n_rows, {self.n_outputs}). Got {table.shape} instead.")
        return table


def known_outputs() -> Mapping[str, type[Output]]:
    """Classes of outputs, by their names."""
    return dict(_KNOWN)
