"""Answers to rows, with the ledger of what was paid for them."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from ...engine import Decisions

if TYPE_CHECKING:
    from .predictor import Predictor


class Answers:
    """Labels, bands or values of rows, and how they were found.

    Parameters
    ----------
    predictor : Predictor
    decided : Decisions

    Attributes
    ----------
    costs : float64 ndarray of shape (n_rows,)
        What each row cost, in the plan's unit.
    stages : int32 ndarray of shape (n_rows,)
        The stage at which each row left; the number of early stages stands for full evaluation.
    status : uint8 ndarray of shape (n_rows,)
        Who answered each row: a number of `Status`.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from wald import EarlyExitClassifier, Planner
    >>> from wald.early_exit import Status
    >>> X, y = make_classification(3000, random_state=0)
    >>> linear = LogisticRegression().fit(X[:500], y[:500])
    >>> fast = EarlyExitClassifier(linear, risk=0.05, planner=Planner(cost="units"), random_state=0).fit(X[500:])
    >>> answers = fast.predict(X, details=True)
    >>> early = answers.status == Status.EARLY
    >>> bool((answers.costs[early] < fast.plan_.full_cost).all())
    True
    """

    def __init__(self, predictor: Predictor, decided: Decisions) -> None:
        self._predictor, self._codes = predictor, decided.codes
        self._labels: NDArray[Any] | None = None
        self.stages, self.costs, self.status = decided.ledger

    @property
    def decided(self) -> Decisions:
        """The codes of the answers, and the ledger."""
        return Decisions.of(self._codes, self.stages, self.costs, self.status)

    @property
    def labels(self) -> NDArray[Any]:
        """Labels of the rows, numbers of their bands, or their values.

        Of a compiled plan of probabilities, these, of shape (n_rows, n_classes), of which a classifier makes labels.
        """
        return self._predictor.labels(self._codes) if self._labels is None else self._labels

    def labelled(self, labels: NDArray[Any]) -> Answers:
        """The same with labels in place of probabilities."""
        other = copy.copy(self)
        other._labels = labels
        return other
