"""`Surrogate`: what is asked in front of a costly model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from inspect import iscoroutinefunction
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..sources import Source
from .scores import Scores

Floats = NDArray[np.float64]

#: Probabilities below this one count as this one, so that their logarithms are finite.
LEAST_PROBABILITY = 1e-7
#: Methods of a fitted classifier that are asked, the one that says most first.
METHODS = ("predict_proba", "decision_function", "predict")


@dataclass(frozen=True, eq=False)
class Surrogate:
    """A cheap model that is asked before the costly one.

    Parameters
    ----------
    model : estimator or callable
        A fitted classifier, which is asked for `predict_proba`, or else for `decision_function` or labels; or a
        function that takes rows and gives numbers of shape (n_rows,) or (n_rows, m).
    cost : float or None, default=None
        Cost of a row, as a multiple of what the costly model costs. None: it is measured in `fit`.
    name : str, default=""
        What it is called in reports; by default its class.
    ask : callable or None, default=None
        Takes rows (a `Source`) and a number of threads and gives numbers of shape (n_rows, m), for surrogates that
        wald has learnt. None: `model` is asked.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import LogisticRegression
    >>> from wald import Surrogate
    >>> X, y = load_digits(return_X_y=True)
    >>> Surrogate(LogisticRegression(max_iter=500).fit(X, y), cost=0.01).title
    'LogisticRegression'
    """

    model: Any
    cost: float | None = None
    name: str = ""
    ask: Callable[[Source, int], Floats] | None = None

    def __post_init__(self) -> None:
        known = self.cost is None or (isinstance(self.cost, Real) and not isinstance(self.cost, bool))
        if not known or (self.cost is not None and not (np.isfinite(self.cost) and self.cost > 0)):
            raise ValueError(f"Surrogate.cost must be a positive number, or None to measure it. Got {self.cost!r}.")
        waits = iscoroutinefunction(self.model)
        if self.ask is None and self._method is None and (waits or not callable(self.model)):
            given = "an async function" if waits else type(self.model).__name__
            raise TypeError(
                f"A surrogate is a fitted classifier, or a function from rows to numbers, which is not called over a "
                f"network. Got {given}."
            )

    @property
    def _method(self) -> str | None:
        return next((name for name in METHODS if hasattr(self.model, name)), None)

    @property
    def title(self) -> str:
        """What it is called."""
        return self.name or getattr(self.model, "__name__", type(self.model).__name__)

    def costing(self, cost: float) -> Surrogate:
        """The same with a cost."""
        return replace(self, cost=cost)

    def numbers(self, source: Source, n_threads: int) -> Floats:
        """What it says of rows.

        Parameters
        ----------
        source : Source
        n_threads : int

        Returns
        -------
        float64 ndarray of shape (n_rows, m)
            Logarithms of probabilities, scores, an indicator of each label, or what a function gives.

        Raises
        ------
        ValueError
            If it gives another number of rows, or what is no finite number; the message names the surrogate.
        """
        if self.ask is not None:
            return self.ask(source, n_threads)
        rows, method = source.rows, self._method
        if method is None:
            found = np.asarray(self.model(rows))
        elif method == "predict":
            labels, classes = np.asarray(self.model.predict(rows)).ravel(), self._classes
            found = (labels[:, None] == classes).astype(np.float64)
        else:
            found = np.asarray(getattr(self.model, method)(rows))
        found = found.reshape(-1, 1) if found.ndim == 1 else found
        if found.ndim != 2 or len(found) != source.n_rows:
            raise ValueError(
                f"The surrogate {self.title!r} must give a number or a list of numbers for each of {source.n_rows} "
                f"rows. Got an array of shape {found.shape}."
            )
        if found.dtype.kind not in "biuf":
            raise ValueError(f"The surrogate {self.title!r} must give numbers. Got an array of dtype {found.dtype}.")
        found = found.astype(np.float64)
        if not np.isfinite(found).all():
            i, j = np.argwhere(~np.isfinite(found))[0]
            raise ValueError(f"The surrogate {self.title!r} gave {found[i, j]} for row {i} of {source.n_rows}.")
        return np.log(np.maximum(found, LEAST_PROBABILITY)) if method == "predict_proba" else found

    @property
    def shared(self) -> Scores | None:
        """What is asked, where its first step may be one of several surrogates; see `Scores.shared`."""
        return self.ask if isinstance(self.ask, Scores) and self.ask.shared is not None else None

    @property
    def _classes(self) -> NDArray[Any]:
        classes = getattr(self.model, "classes_", None)
        if classes is None:
            raise ValueError(
                f"The surrogate {self.title!r} gives labels and has no classes_: give a classifier, or a function "
                "that gives numbers."
            )
        return np.asarray(classes)


def surrogates_of(given: Any) -> list[Surrogate]:
    """Take a list of surrogates; see `surrogate_of`."""
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise TypeError(
            "surrogates must be a list of fitted classifiers, functions or Surrogate objects, the cheapest first. Got "
            f"{given!r}."
        )
    return [surrogate_of(each) for each in given]


def surrogate_of(given: Any) -> Surrogate:
    """Take a surrogate, a fitted classifier, or a function from rows to numbers.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If a classifier is not fitted.
    TypeError
        If it is something else.
    """
    if isinstance(given, Surrogate):
        return given
    found = Surrogate(given)
    if found._method is not None and hasattr(given, "get_params"):
        check_is_fitted(given)
    return found
