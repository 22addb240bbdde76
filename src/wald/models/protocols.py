"""What some families of models bring in addition to `Terms`: each is a small class that such a family inherits from.

``Bounded.of(terms)`` gives terms that have bounds, and None for others; `bounds` gives what holds for both. `Packable`
is in packing.py, `Filed` in encoding.py, and what terms cost in prices.py.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .encoding import Filed
from .packing import Packable, Surrogates
from .prices import Priced, Sharing, refuse_prices, units_of
from .terms import Terms, TermsProtocol
from .units import Floats, Ints

if TYPE_CHECKING:
    from ..steps import ColumnMap
    from .members import Member

__all__ = [
    "Bounded",
    "Columnwise",
    "Comparing",
    "Delegating",
    "Documents",
    "Filed",
    "Foldable",
    "Owned",
    "Packable",
    "Priced",
    "Sharing",
    "Stepped",
    "Summed",
    "Thresholded",
    "bounds",
    "owners_of",
    "refuse_prices",
    "training_rows",
    "units_of",
]


# ---- columns, preprocessing and bounds -------------------------------------------------------------------------------


class Columnwise(TermsProtocol):
    """Terms each of which reads one column."""

    @abstractmethod
    def columns_read(self, terms: Ints) -> Ints:
        """Column that each of the given terms reads, an int64 ndarray of the same length."""


class Foldable(TermsProtocol):
    """Terms that can include affine steps of a pipeline."""

    @abstractmethod
    def after(self, columns: ColumnMap, n_steps: int) -> Terms:
        """Fold affine steps into the terms.

        Parameters
        ----------
        columns : ColumnMap
            The map that these steps apply before the present terms.
        n_steps : int
            Number of steps; each rounds a value a few times.

        Returns
        -------
        Terms
            Terms of the rows before these steps.
        """


class Bounded(TermsProtocol):
    """Terms whose values have bounds, so that exits may be lossless.

    Attributes
    ----------
    needs_feature_ranges : bool
        Whether `ranges` depends on the bounds of the features.
    """

    needs_feature_ranges: ClassVar[bool] = False

    @abstractmethod
    def ranges(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Lower and upper bounds of every term.

        Parameters
        ----------
        low, high : float64 ndarray of shape (n_features,)
            Bounds of the features.

        Returns
        -------
        low, high : float64 ndarray of shape (n_terms,)
        """

    @abstractmethod
    def rounding(self, low: Floats, high: Floats, working: float) -> float:
        """Bound of the total rounding error between an estimate and the wrapped model's own score.

        Parameters
        ----------
        low, high : float64 ndarray of shape (n_terms,)
            Bounds that `ranges` returns.
        working : float
            Unit roundoff in which the wrapped model computes.

        Returns
        -------
        float
            Infinite if no bound is known; then no exit is lossless.
        """

    def score_error(self, most: float, working: float) -> float:
        """Bound of the rounding error of the wrapped model's own score.

        Parameters
        ----------
        most : float
            Largest absolute value in the rows.
        working : float
            Unit roundoff in which the wrapped model computes.

        Returns
        -------
        float
            Infinite if no bound is known.
        """
        return math.inf

    @property
    def product_weights(self) -> tuple[Floats, Floats] | None:
        """Arrays of shape (n_features, n_outputs) and (n_outputs,): rows times the first, plus the second, are scores.

        The rounding error of this product is within `score_error`. None if the scores are no such product.
        """
        return None


def bounds(terms: Terms, low: Floats, high: Floats, working: float) -> tuple[Floats, Floats, float]:
    """Bounds of every term and of the total rounding error, see `Bounded`; infinite for other terms."""
    bounded = Bounded.of(terms)
    if bounded is None:
        return np.full(terms.n_terms, -np.inf), np.full(terms.n_terms, np.inf), math.inf
    low, high = bounded.ranges(low, high)
    return low, high, bounded.rounding(low, high, working)


# ---- planning --------------------------------------------------------------------------------------------------------


class Owned(TermsProtocol):
    """Terms each of which belongs to one output, if there are several: an output's estimate uses its own alone."""

    @abstractmethod
    def owners(self) -> Ints | None:
        """Output of each term; None with a single output."""


def owners_of(terms: Terms) -> Ints | None:
    """Output of each term, if the estimate of an output uses its own terms only; None if it uses all of them."""
    owned = Owned.of(terms)
    return None if owned is None else owned.owners()


class Summed(TermsProtocol):
    """Terms of which the engine keeps running sums for a row, so that estimates should be mixtures of few sums.

    It then takes rows through several stages in one pass.
    """

    @abstractmethod
    def pass_work(self, order: Ints, ends: Ints, columnar: bool) -> Callable[[int, int, int, float], float]:
        """Work of passes.

        Parameters
        ----------
        order : int64 ndarray
            Terms in the plan's order.
        ends : int64 ndarray
            Number of terms of each running sum.
        columnar : bool
            Whether rows are stored by columns.

        Returns
        -------
        callable
            From the first and the last ordered term (excluded) of a pass, its number of stages, and the share of all
            rows that reach it, to the work of a row, in any unit.
        """


class Thresholded(TermsProtocol):
    """Terms that change at thresholds of the features."""

    @abstractmethod
    def at_thresholds(self, n_rows: int, rng: np.random.Generator) -> Floats | None:
        """Make rows whose values lie just below, at and just above thresholds of the terms.

        Parameters
        ----------
        n_rows : int
        rng : numpy.random.Generator

        Returns
        -------
        float64 ndarray of shape (n_rows, n_features), or None
            None if there are no thresholds.
        """


class Stepped(Thresholded):
    """Terms that take few values, and change between them at thresholds of the features."""

    @abstractmethod
    def leaf_counts(self) -> Ints | None:
        """Number of values that each term can have, if they are few and the engine can change each of them.

        Returns
        -------
        int64 ndarray of shape (n_terms,) or None
        """

    @abstractmethod
    def leaves(self, X: Any, which: Ints) -> NDArray[np.int32]:
        """Which of its values each term has.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
        which : int64 ndarray
            Indices of the terms.

        Returns
        -------
        int32 ndarray of shape (n_rows, len(which))
        """


def training_rows(terms: Terms) -> Any:
    """Training rows that the terms hold; None if they hold none."""
    comparing = Comparing.of(terms)
    return None if comparing is None else comparing.training_rows()


class Documents(TermsProtocol):
    """Terms of texts that a plan reads in parts: a row has the scores of what each of its looks has read.

    Attributes
    ----------
    looks : int64 ndarray of shape (n_looks,)
        Numbers of bytes.
    blocks : int64 ndarray of shape (n_looks,)
        0 for looks at the beginning of a text; else the bytes of blocks that are spread over it.
    """

    looks: Ints
    blocks: Ints

    @abstractmethod
    def looks_of(self, order: Ints, stage_terms: Ints) -> Ints:
        """The look of each stage of a plan.

        Parameters
        ----------
        order : int64 ndarray
            The terms of the plan.
        stage_terms : int64 ndarray of shape (n_stages,)
            Numbers of terms.
        """

    @abstractmethod
    def characters(self, X: NDArray[Any]) -> Ints:
        """Numbers of characters that were read at each look, and of all.

        Parameters
        ----------
        X : float64 ndarray of shape (n_rows, n_features)

        Returns
        -------
        int64 ndarray of shape (n_rows, n_looks + 1)
            0 for looks at the end of a text or behind.
        """


class Comparing(TermsProtocol):
    """Terms that compare a row with vectors, such as support vectors."""

    @abstractmethod
    def training_rows(self) -> Any:
        """Training rows that the terms hold, in the space of `mapped`."""

    @abstractmethod
    def mapped(self, X: Any) -> Any:
        """Map rows to the space in which the terms compare them with training rows."""

    @abstractmethod
    def surrogates(
        self, X: Any, scores: Floats, n_classes: int
    ) -> Callable[[Floats, Ints], tuple[Surrogates, Floats]] | None:
        """Prepare surrogates, cheap vectors to compare rows with.

        Parameters
        ----------
        X : array or CSR
            Preprocessed plan rows.
        scores : float64 ndarray of shape (n_rows, n_outputs)
            Their full scores.
        n_classes : int

        Returns
        -------
        callable or None
            Takes weights of the rows and the best terms, the best first; returns surrogates and their values
            (n_rows, n_surrogates). None if such rows have none.
        """


class Delegating(TermsProtocol):
    """Terms that are the answers of other fitted estimators, the members of the wrapped model."""

    @property
    @abstractmethod
    def score_method(self) -> str | None:
        """Method of the wrapped model that answers the full scores, up to rounding; None if it has none."""

    @abstractmethod
    def with_stand_ins(self, model: Any, stand_in: Callable[[Member], Any]) -> tuple[Any, Self] | None:
        """Copy the wrapped model and the terms, so that both ask other objects in place of the members.

        Parameters
        ----------
        model : estimator
            The wrapped model.
        stand_in : callable
            From a member to the object that is asked in its place, whose answers for a row depend on that row alone;
            or to None: the member itself is asked.

        Returns
        -------
        tuple of (estimator, Terms), or None
            None if the model does not hold the members.
        """
