"""What is read of a fitted model, and by which family of models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..outputs import Labels, Output, Values
from ..steps import Folded
from .links import NO_LINKS, Links, ValueLink
from .terms import Terms
from .watch import Watch

if TYPE_CHECKING:
    from .model import AdditiveModel

Decompose = Callable[[Any], "AdditiveModel"]

#: What a model is asked for.
Kind = Literal["classifier", "outlier detector", "regressor", "ranker"]

FLOAT64: np.dtype[Any] = np.dtype(np.float64)


@dataclass(frozen=True, eq=False)
class Reading:
    """The terms and the decision of a model, read without the wrappers around it.

    Parameters
    ----------
    terms : Terms
        Terms of its scores.
    decision : Output
        What is asked of the scores.
    dtype : dtype, default=float64
        The least precise dtype of its coefficients.
    steps : sequence of (str, transformer), default=()
        Transformations that the model itself applies to rows first.
    folded : Folded or None, default=None
        What the terms include of a pipeline.
    watches : tuple of Watch, default=()
        Watches of the inner models.
    row_by_row : {"always", "sparse", "never"}, default="never"
        For which rows the model's own scores are independent of the batch, to the last bit. "sparse": products with
        sparse rows add up in a fixed order; with dense rows, the order depends on the number of rows.
    by_product : bool, default=False
        Whether the model's scores are ``X @ coef_.T + intercept_``.
    dense_only : bool, default=False
        Whether the model refuses sparse rows, which the terms accept.
    tie_margin : float, default=0.0
        Distance of scores within which the model itself must label a row.
    links : Links, default=NO_LINKS
        What the model's methods return for full scores that are exact.
    names : sequence of str, default=()
        Names of its columns, for a model that does not tell them as ``feature_names_in_``.
    classes : ndarray or None, default=None
        Labels, where they are others than ``classes_`` of the model.
    kind : {"classifier", "outlier detector", "regressor", "ranker"}, default="classifier"
        What the model is, and so which early-exit estimator takes it.
    """

    terms: Terms
    decision: Output
    dtype: np.dtype[Any] = FLOAT64
    steps: tuple[tuple[str, Any], ...] = ()
    folded: Folded | None = None
    watches: tuple[Watch, ...] = ()
    row_by_row: Literal["always", "sparse", "never"] = "never"
    by_product: bool = False
    dense_only: bool = False
    tie_margin: float = 0.0
    links: Links = NO_LINKS
    names: tuple[str, ...] = ()
    classes: NDArray[Any] | None = None
    kind: Kind = "classifier"


@dataclass(frozen=True)
class Family:
    """Models that are read in the same way.

    Parameters
    ----------
    models : tuple of type
        Their classes; subclasses count.
    methods : tuple of str
        Methods that decide their labels; a subclass that overrides one is refused.
    attributes : tuple of str
        Attributes that decide their labels.
    read : callable
        Takes the model and `decompose`; returns a `Reading`. Raises `sklearn.exceptions.NotFittedError` if the model is
        not fitted.
    thresholds : bool, default=True
        Whether the score that decides is the model's `decision_function`, which threshold classifiers and calibrators
        then use. If not, only its links say what its methods give.
    named : tuple of str, default=()
        Full names of further classes, of libraries that need not be installed.
    """

    models: tuple[type, ...]
    methods: tuple[str, ...]
    attributes: tuple[str, ...]
    read: Callable[[Any, Decompose], Reading]
    thresholds: bool = True
    named: tuple[str, ...] = ()

    def classes_of(self, model: Any) -> list[type]:
        """Classes of a model that this family reads."""
        return [base for base in type(model).__mro__ if base in self.models or full_name(base) in self.named]


def full_name(kind: type) -> str:
    """The name of a class with its module."""
    return f"{kind.__module__}.{kind.__qualname__}"


def column_names(model: Any) -> tuple[str, ...] | None:
    """Names of columns that a fitted model tells; None if it has none."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else tuple(map(str, names))


def of_values(terms: Terms, link: ValueLink, kind: Kind = "regressor", **options: Any) -> Reading:
    """What is read of a model whose answers are values: a function of the scores of a row."""
    links = Links(predict=link.values, value_link=link)
    return Reading(terms, Values(terms.n_outputs), links=links, classes=np.empty(0), kind=kind, **options)


def of_classes(n_classes: int, **options: Any) -> Labels:
    """Labels by one score for two classes, and of a score for each of more, of which the largest wins."""
    return Labels("sign" if n_classes == 2 else "argmax", n_classes, **options)
