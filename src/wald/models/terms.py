"""The base class of model families: their terms, costs, planning assumptions and how they are packed."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..engine import PythonTerms
from ..engine.rows import PLAIN, Conversion
from ..utils.bytes import padded
from .encoding import decode_fields, encode_fields
from .units import Floats, Ints, Units

if TYPE_CHECKING:
    from ..engine import Packed
    from .columns import ColumnMap

__all__ = ["NO_SURROGATES", "Surrogates", "Terms", "families"]

Precision = Literal["float32", "float64"]

_FAMILIES: dict[str, type[Terms]] = {}


@dataclass(frozen=True, eq=False)
class Surrogates:
    """Cheap functions of a row that predict much of the model's score without being terms of it.

    Parameters
    ----------
    vectors : float64 ndarray of shape (n_surrogates, n_features)
        Vectors that replace the family's own (such as support vectors) in its terms, or that rows are multiplied by.
    linear : bool, default=False
        Whether each surrogate is the dot product of a row with its vector.
    """

    vectors: Floats
    linear: bool = False


NO_SURROGATES = Surrogates(np.empty((0, 0)))


class Terms(ABC):
    """A score as a sum: output k of a row x is ``intercept[k] + sum_j coef[k, j] * values(x)[j]``.

    A family of models is a subclass in one file. It must define the number of features (`n_features`) and the values
    of the terms (`values`). The defaults of all other members are correct for terms that a Python function computes,
    though not always the fastest. `wald.models.check_terms` checks a family against a fitted model.

    Attributes
    ----------
    coef : float64 ndarray of shape (n_outputs, n_terms)
        Weight of each term in each output.
    intercept : float64 ndarray of shape (n_outputs,)
    family : str
        Name of the family in files. Two families cannot share one.
    unit_name : str
        Plural noun for terms in reports of costs.
    precisions : tuple of {"float32", "float64"}
        Precisions in which early stages may be evaluated, the fastest first.
    own_weights : bool
        Whether orders and readouts shrink towards `coef` where plan rows carry little information. Use it where terms
        hardly cancel each other.
    certificate_share : float
        Share of the rows that ``certificate_fraction="auto"`` keeps for the certificate.
    most_splits : int
        Largest number of splits that ``n_splits="auto"`` tries.
    most_order_rows : int
        Largest number of rows on which orders and readouts are fitted.
    timed_rows, timed_repeats : int
        Number of rows, and of repetitions, with which predictions of the wrapped model are timed.
    plans_sparse_rows : bool
        Whether early exit can save time on sparse rows, of which the wrapped model reads only the non-zeros.
    rest_by_model : bool
        Whether rows that no lossless exit decides go to the wrapped model instead of through the remaining terms.
    full_by_model : bool
        Whether the wrapped model labels many rows in one call where a lossless plan has no exits.
    serves_full : bool
        Whether a plan must be faster than the full model on wald's own engine, and not only than the wrapped model.
    boundary_width, boundary_floor : float
        How closely fits look at rows near the decision boundary; see `wald.plan.moments.boundary_weights`.
    keeps_sums : bool
        Whether the engine keeps running sums of a row's terms, so that estimates should be mixtures of few sums. It
        then takes rows through several stages in one pass; see `pass_work`.
    shares_features : bool
        Whether several terms read the same features. Then `units` shares what the user's prices buy (`Units.buys`), and
        a plan with prices minimizes them, and not time.
    surrogate_candidates : int
        Number of best terms that `surrogates` receives.
    whole_in_files : bool
        Whether a file holds the fitted estimator itself, as an archive of skops, because its terms are no numbers.
        `decode` then builds terms without values, to which those of the estimator must be equal.
    orders_all_units : bool
        Whether greedy orders have all units even if units have several terms.
    """

    family: ClassVar[str] = ""
    unit_name: ClassVar[str] = "terms"
    precisions: ClassVar[tuple[Precision, ...]] = ("float64",)
    own_weights: ClassVar[bool] = False
    certificate_share: ClassVar[float] = 0.5
    most_splits: ClassVar[int] = 2
    most_order_rows: ClassVar[int] = 24_000
    timed_rows: ClassVar[int] = 512
    timed_repeats: ClassVar[int] = 2
    plans_sparse_rows: ClassVar[bool] = True
    rest_by_model: ClassVar[bool] = True
    full_by_model: ClassVar[bool] = False
    serves_full: ClassVar[bool] = False
    keeps_sums: ClassVar[bool] = False
    boundary_width: ClassVar[float] = 0.7
    boundary_floor: ClassVar[float] = 0.1
    shares_features: ClassVar[bool] = False
    surrogate_candidates: ClassVar[int] = 0
    whole_in_files: ClassVar[bool] = False
    orders_all_units: ClassVar[bool] = False

    coef: Floats
    intercept: Floats

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        known = _FAMILIES.get(cls.family)
        if (
            cls.family
            and known is not None
            and (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__)
        ):
            raise TypeError(f"There is a family of models called {cls.family!r} already: {known.__qualname__}.")
        if cls.family:
            _FAMILIES[cls.family] = cls

    # ---- shape -----------------------------------------------------------------------------------------------------

    @property
    def n_terms(self) -> int:
        """Number of terms."""
        return int(self.coef.shape[1])

    @property
    def n_outputs(self) -> int:
        """Number of scores per row."""
        return int(self.coef.shape[0])

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Number of columns of the preprocessed rows."""

    @property
    def allow_nan(self) -> bool:
        """Whether NaN is a valid feature value."""
        return False

    @property
    def allow_infinity(self) -> bool:
        """Whether infinity is a valid feature value."""
        return False

    @property
    def takes_sparse(self) -> bool:
        """Whether rows may be sparse."""
        return True

    @property
    def conversion(self) -> Conversion:
        """Conversion of rows that are neither floats nor uint8, as the wrapped model converts them."""
        return PLAIN

    @property
    def description(self) -> str:
        """Description of the model in messages, without reference to its estimator."""
        return f"{self.family or type(self).__name__} model"

    @property
    def speed_key(self) -> Hashable:
        """What the time of a term depends on, in addition to the numbers of columns and outputs."""
        return self.description

    # ---- values ----------------------------------------------------------------------------------------------------

    @abstractmethod
    def values(self, X: Any, which: Sequence[int] | NDArray[np.intp] | None = None) -> Floats:
        """Values of the terms.

        A row's values depend on that row alone, down to the last bit.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Preprocessed rows.
        which : array-like of int, optional
            Indices of the terms; all by default.

        Returns
        -------
        float64 ndarray of shape (n_rows, n_terms) or (n_rows, len(which))
        """

    def scores(self, X: Any) -> Floats:
        """Full scores in float64, as the engine computes them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Preprocessed rows.

        Returns
        -------
        float64 ndarray of shape (n_rows, n_outputs)
            One column per output; NaN for rows that are not finite.
        """
        return self.pack(np.empty(0, dtype=np.int64)).scores(X, lambda dtype: 0.0, 1)[0]

    def columns_read(self, terms: Ints) -> Ints | None:
        """Column that each of the given terms reads; None if terms read the whole row.

        Parameters
        ----------
        terms : int64 ndarray

        Returns
        -------
        int64 ndarray of the same length, or None
        """
        return None

    # ---- preprocessing and bounds ----------------------------------------------------------------------------------

    def after(self, columns: ColumnMap, n_steps: int) -> Terms | None:
        """Fold affine steps of a pipeline into the terms.

        Parameters
        ----------
        columns : ColumnMap
            The map that these steps apply before the present terms.
        n_steps : int
            Number of steps; each rounds a value a few times.

        Returns
        -------
        Terms or None
            Terms of the rows before these steps; None if the steps must remain preprocessing.
        """
        return None

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
        return np.full(self.n_terms, -np.inf), np.full(self.n_terms, np.inf)

    def needs_feature_ranges(self) -> bool:
        """Whether `ranges` depends on the bounds of the features."""
        return False

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
        return math.inf

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

    # ---- planning --------------------------------------------------------------------------------------------------

    def units(
        self,
        names: NDArray[Any] | None,
        groups: Mapping[str, Sequence[int | str]] | None,
        costs: ArrayLike | Mapping[str, float] | None,
        run: int,
    ) -> Units:
        """Group the terms into units, and give their costs.

        Parameters
        ----------
        names : ndarray of str or None
            Names of the features.
        groups, costs
            The parameters ``feature_groups`` and ``feature_costs`` of `EarlyExitClassifier`.
        run : int
            Number of neighbouring columns in one cache line.

        Returns
        -------
        Units
            With `shares_features`, groups and costs become what units buy (`Units.sharing`).

        Raises
        ------
        ValueError
            If groups or costs are given, and they do not say what terms cost.
        """
        if groups is not None or costs is not None:
            raise ValueError(
                f"feature_costs and feature_groups need a linear model or trees: the {self.unit_name} of a "
                f"{self.description} read every feature at once. Its cost is counted in {self.unit_name}."
            )
        return Units.single(self.n_terms)

    def surrogates(
        self, X: Any, scores: Floats, n_classes: int
    ) -> Callable[[Floats, Ints], tuple[Surrogates, Floats]] | None:
        """Prepare the family's surrogates.

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
            (n_rows, n_surrogates). None if the family has no surrogates.
        """
        return None

    def at_thresholds(self, n_rows: int, rng: np.random.Generator) -> Floats | None:
        """Make rows whose values lie just below, at and just above thresholds of the terms.

        Parameters
        ----------
        n_rows : int
        rng : numpy.random.Generator

        Returns
        -------
        float64 ndarray of shape (n_rows, n_features), or None
            None if the terms have no thresholds.
        """
        return None

    def training_rows(self) -> Any:
        """Training rows that the terms hold, in the space of `mapped`; None if they hold none."""
        return None

    def mapped(self, X: Any) -> Any:
        """Map rows to the space in which the terms compare them with training rows."""
        return X

    def owners(self) -> Ints | None:
        """Output of each term, if the estimate of an output uses its own terms only; None if it uses all of them."""
        return None

    def leaf_counts(self) -> Ints | None:
        """Number of values that each term can have, if they are few and the engine can change each of them.

        Returns
        -------
        int64 ndarray of shape (n_terms,) or None
        """
        return None

    def leaves(self, X: Any, which: Ints) -> NDArray[np.int32]:
        """Which of its values each term has, for families with `leaf_counts`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
        which : int64 ndarray
            Indices of the terms.

        Returns
        -------
        int32 ndarray of shape (n_rows, len(which))
        """
        raise TypeError(f"The values of a {self.description} are not counted.")

    def pass_work(self, order: Ints, ends: Ints, columnar: bool) -> Callable[[int, int, int, float], float]:
        """Work of passes, for families that keep sums.

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
        raise TypeError(f"A {self.description} has no passes.")

    def units_by_columns(self, units: Units) -> Units | None:
        """The same units, priced by the time that each takes for a row that is stored by columns.

        Parameters
        ----------
        units : Units
            Units that share nothing.

        Returns
        -------
        Units or None
            Units that share the columns that they read, with prices in any unit of time; None if the family has no such
            prices.
        """
        return None

    def block_length(self, precision: str) -> int:
        """Number of terms that the engine evaluates at a time."""
        return 1

    # ---- the engine, and files -------------------------------------------------------------------------------------

    def pack(self, order: Ints, surrogates: Surrogates = NO_SURROGATES, precision: Precision = "float64") -> Packed:
        """Hand the terms to an engine.

        Parameters
        ----------
        order : int64 ndarray
            Indices of the early stages' terms in their order; surrogate j has the index ``n_terms + j``.
        surrogates : Surrogates
        precision : {"float32", "float64"}
            Precision of the early stages.

        Returns
        -------
        Packed
            By default, terms of the engine that calls `values`.
        """
        return PythonTerms(self, order)

    def facts(self) -> dict[str, Any]:
        """Facts that ``wald inspect`` prints in addition to the number of terms and their unit."""
        return {}

    @property
    def packed_size(self) -> str:
        """Description of what `pack` holds."""
        return f"{self.n_terms} {self.unit_name}"

    def packed_bytes(self, n_surrogates: int, precision: str) -> int:
        """Bound of the memory that `pack` takes, in bytes."""
        return 8 * (self.n_outputs + 8) * padded(self.n_terms + n_surrogates, 8)

    def stages_bytes(self, stage_terms: Sequence[int]) -> int:
        """Bound of the memory of the stages on packed terms, in bytes."""
        return 64 * self.n_outputs * (sum(stage_terms) + len(stage_terms))

    def encode(self, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
        """Encode the terms as arrays and JSON values, for a file.

        A dataclass of float64 arrays, numbers and strings need not override this method.

        Parameters
        ----------
        arrays : dict
            Receives the arrays, by name.

        Returns
        -------
        dict
            JSON values.

        Raises
        ------
        ValueError
            If a field has another type.
        """
        return encode_fields(self, arrays)

    @classmethod
    def decode(cls, section: Any, stock: Any, n_outputs: int) -> Self:
        """Build terms from what `encode` returned.

        Parameters
        ----------
        section : wald.codec.header.Section
            The JSON values.
        stock : wald.codec.arrays.Stock
            The arrays.
        n_outputs : int

        Returns
        -------
        Terms

        Raises
        ------
        wald.persistence.FileFormatError
            If something is missing or invalid.
        """
        values = decode_fields(cls, section, stock)
        try:
            terms = cls(**values)
            fits = terms.coef.shape == (n_outputs, terms.n_terms) and terms.intercept.shape == (n_outputs,)
        except (TypeError, ValueError, AttributeError, IndexError) as error:
            raise stock.error(f"the terms do not fit together: {error}") from None
        stock.require(fits and terms.n_terms > 0 and terms.n_features > 0, "the terms do not fit together")
        return terms


def families() -> Mapping[str, type[Terms]]:
    """Families of models, by their names in files."""
    return dict(_FAMILIES)
