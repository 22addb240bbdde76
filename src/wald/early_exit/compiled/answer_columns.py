"""Answers of a plan as columns of a table: how they are called, their dtype, and how many rows have each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...utils.labels import codes_of_labels
from .compiled_plan import CompiledPlan


@dataclass(frozen=True, eq=False)
class AnswerColumns:
    """What files, jobs, clusters and services call the answers of a plan.

    Attributes
    ----------
    name : str
        What one answer is called: ``"label"``, ``"band"``, ``"value"`` or ``"probability"``.
    names : tuple of str
        Names of its columns: the same, or ``value_0``, ``value_1`` and so on where a row has several values; of
        probabilities, ``proba_`` and the label.
    none : ndarray of shape (0,) or (0, n_values)
        The answers to no rows, which have the dtype of those to others.
    classes : ndarray of shape (n_classes,) or None
        Different answers, which are counted; None where answers are values.
    plural : str
        What several answers are called.
    are_probabilities : bool, default=False
        Whether answers are those of a classifier with a tolerance, so that its probabilities are there already.

    Examples
    --------
    >>> from sklearn.datasets import make_regression
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from wald import EarlyExitRegressor
    >>> X, y = make_regression(50, 3, n_targets=2, random_state=0)
    >>> fast = EarlyExitRegressor(DecisionTreeRegressor(max_depth=2).fit(X, y)).fit()
    >>> columns = AnswerColumns.of(fast.compiled_plan_)
    >>> columns.names, columns.of_answers(fast.predict(X[:1]))["value_1"].shape
    (('value_0', 'value_1'), (1,))
    """

    name: str
    names: tuple[str, ...]
    none: NDArray[Any]
    classes: NDArray[Any] | None
    plural: str
    are_probabilities: bool = False

    @classmethod
    def of(cls, compiled: CompiledPlan) -> AnswerColumns:
        """What the answers of a plan are called.

        Parameters
        ----------
        compiled : CompiledPlan
        """
        model, name = compiled.model, compiled.model.column
        if not model.decision.valued:
            return cls(name, (name,), model.classes[:0], model.classes, f"{name}s")
        link = model.links.predict
        assert link is not None
        with np.errstate(all="ignore"):
            none = np.asarray(link(np.zeros((1, model.decision.n_outputs))))[:0]
        if model.answers_probabilities:  # as `--proba` names them
            named = tuple(f"proba_{label}" for label in model.classes.tolist())
            return cls(name, named, none, None, model.words.answers, True)
        names = tuple(f"{name}_{k}" for k in range(none.shape[1])) if none.ndim > 1 else (name,)
        return cls(name, names, none, None, f"{name}s")

    def of_answers(self, answers: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """The columns of some answers, by their names.

        Parameters
        ----------
        answers : ndarray of shape (n_rows,) or (n_rows, n_values)
        """
        answers = answers if len(answers) else self.none
        columns = answers.T if answers.ndim > 1 else [answers]
        return dict(zip(self.names, columns, strict=True))

    def counted(self, answers: NDArray[Any]) -> dict[str, int]:
        """Number of rows with each answer, by its text; nothing of values.

        Parameters
        ----------
        answers : ndarray of shape (n_rows,)
        """
        if self.classes is None:
            return {}
        counts = np.bincount(codes_of_labels(self.classes, answers), minlength=len(self.classes))
        return dict(zip(map(str, self.classes), counts.tolist(), strict=True))
