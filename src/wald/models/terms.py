"""What a family of models is: its terms, what they cost, what planning may assume of them, how they are packed."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..engine import PythonTerms
from ..utils.bytes import padded
from .units import Floats, Ints, Units

if TYPE_CHECKING:
    from ..engine import Packed
    from .columns import ColumnMap

__all__ = ["NO_SURROGATES", "Surrogates", "Terms", "families"]

Precision = Literal["float32", "float64"]

_FAMILIES: dict[str, type[Terms]] = {}


@dataclass(frozen=True, eq=False)
class Surrogates:
    """Cheap functions of a row that are no terms of the model, yet predict much of its score.

    Parameters
    ----------
    vectors : float64 ndarray of shape (n_surrogates, n_features)
        Compared with a row as the family compares its own terms, or multiplied by it.
    linear : bool, default=False
        Whether each is the plain dot product of a row with its vector.
    """

    vectors: Floats
    linear: bool = False


NO_SURROGATES = Surrogates(np.empty((0, 0)))


class Terms(ABC):
    """A score as a sum: output k of a row x is ``intercept[k] + sum_j coef[k, j] * values(x)[j]``.

    A family of models is a subclass in one file. It must say how many features a row has (`n_features`) and what the
    terms are worth (`values`); all else has an answer here that is right for any terms which a function of Python
    computes, if not always the fastest. `wald.models.check_terms` checks a family against a fitted model.

    Attributes
    ----------
    coef : float64 ndarray of shape (n_outputs, n_terms)
        Weight of each term in each output.
    intercept : float64 ndarray of shape (n_outputs,)
    family : str
        Name of the family in files. Two families cannot share one.
    unit_name : str
        What a term is called where costs are counted, in the plural.
    precisions : tuple of {"float32", "float64"}
        In which early stages may be evaluated, the fastest first.
    own_weights : bool
        Whether orders and readouts take from `coef` what plan rows say little of. Do so where terms are far from
        cancelling each other.
    certificate_share : float
        Share of the rows that ``certificate_fraction="auto"`` keeps for the certificate.
    most_splits : int
        How many splits of the rows ``n_splits="auto"`` tries at most.
    timed_rows, timed_repeats : int
        On how many rows, and how often, a prediction of the wrapped model is timed.
    plans_sparse_rows : bool
        Whether early exit can pay on sparse rows, of which the wrapped model itself reads the non-zeros only.
    rest_by_model : bool
        Whether rows that no proof decides go to the wrapped model itself, and not through the rest of the terms.
    surrogate_candidates : int
        How many terms, in the order of their worth, `surrogates` wants to know.
    """

    family: ClassVar[str] = ""
    unit_name: ClassVar[str] = "terms"
    precisions: ClassVar[tuple[Precision, ...]] = ("float64",)
    own_weights: ClassVar[bool] = False
    certificate_share: ClassVar[float] = 0.5
    most_splits: ClassVar[int] = 2
    timed_rows: ClassVar[int] = 512
    timed_repeats: ClassVar[int] = 2
    plans_sparse_rows: ClassVar[bool] = True
    rest_by_model: ClassVar[bool] = True
    surrogate_candidates: ClassVar[int] = 0

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
        """Number of columns of the rows that meet the terms."""

    @property
    def allow_nan(self) -> bool:
        """Whether a NaN among these rows has an answer."""
        return False

    @property
    def takes_sparse(self) -> bool:
        """Whether rows may be sparse."""
        return True

    @property
    def description(self) -> str:
        """What the model is, in words, where its estimator is not at hand."""
        return f"{self.family or type(self).__name__} model"

    # ---- values ----------------------------------------------------------------------------------------------------

    @abstractmethod
    def values(self, X: Any, which: Sequence[int] | NDArray[np.intp] | None = None) -> Floats:
        """Values of the terms.

        A row's values depend on the row alone, down to the last bit: not on the rows beside it.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows as the terms meet them.
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
            Rows as the terms meet them.

        Returns
        -------
        float64 ndarray of shape (n_rows, n_outputs)
            One column per output; NaN for rows that are not finite.
        """
        return self.pack(np.empty(0, dtype=np.int64)).scores(X, lambda dtype: 0.0, 1)[0]

    def columns_read(self, terms: Ints) -> Ints | None:
        """Columns that some terms read, one for each; None where a term reads the whole row.

        Parameters
        ----------
        terms : int64 ndarray

        Returns
        -------
        int64 ndarray of the same length, or None
        """
        return None

    # ---- steps in front, and bounds --------------------------------------------------------------------------------

    def after(self, columns: ColumnMap, n_steps: int) -> Terms | None:
        """Fold affine steps of a pipeline into the terms.

        Parameters
        ----------
        columns : ColumnMap
            What these steps do to a raw row before it meets the present terms.
        n_steps : int
            How many they are: each rounds a value a few times.

        Returns
        -------
        Terms or None
            Terms for the rows before these steps. None: they stay in front of the model.
        """
        return None

    def ranges(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Between which values every term surely lies.

        Parameters
        ----------
        low, high : float64 ndarray of shape (n_features,)
            Between which values the features lie.

        Returns
        -------
        low, high : float64 ndarray of shape (n_terms,)
        """
        return np.full(self.n_terms, -np.inf), np.full(self.n_terms, np.inf)

    def needs_feature_ranges(self) -> bool:
        """Whether `ranges` follows from those of the features."""
        return False

    def rounding(self, low: Floats, high: Floats, working: float) -> float:
        """Bound of all rounding between an estimate and the wrapped model's own score.

        Parameters
        ----------
        low, high : float64 ndarray of shape (n_terms,)
            As `ranges` gives them.
        working : float
            Unit roundoff in which the wrapped model computes.

        Returns
        -------
        float
            Infinite where nothing is known: then no exit is lossless.
        """
        return math.inf

    def score_error(self, most: float, working: float) -> float:
        """How far the wrapped model's own score may be off, for rows of values up to `most`.

        Parameters
        ----------
        most : float
        working : float
            Unit roundoff in which the wrapped model computes.

        Returns
        -------
        float
            Infinite where nothing is known.
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
        """Which terms are paid for together, and what that costs.

        Parameters
        ----------
        names : ndarray of str or None
            Of the features.
        groups, costs
            What `EarlyExitClassifier` was given as ``feature_groups`` and ``feature_costs``.
        run : int
            How many neighbouring columns come from memory together.

        Returns
        -------
        Units

        Raises
        ------
        ValueError
            If groups or costs are given, and the terms are not bought by the feature.
        """
        if groups is not None or costs is not None:
            raise ValueError(
                f"feature_costs and feature_groups need a linear model: the {self.unit_name} of a {self.description} "
                f"read every feature at once. Its cost is counted in {self.unit_name}."
            )
        return Units.single(self.n_terms)

    def surrogates(
        self, X: Any, scores: Floats, n_classes: int
    ) -> Callable[[Floats, Ints], tuple[Surrogates, Floats]] | None:
        """Surrogates that the family knows of.

        Parameters
        ----------
        X : array or CSR
            Plan rows as the terms meet them.
        scores : float64 ndarray of shape (n_rows, n_outputs)
            Their full scores.
        n_classes : int

        Returns
        -------
        callable or None
            From weights of the rows, and terms in the order of their worth, to surrogates and their values
            (n_rows, n_surrogates).
        """
        return None

    def training_rows(self) -> Any:
        """Rows of the training set that the terms hold, as `mapped` gives rows; None if they hold none."""
        return None

    def mapped(self, X: Any) -> Any:
        """Rows as the terms compare them with rows of the training set."""
        return X

    def block_length(self, precision: str) -> int:
        """How many terms the engine evaluates at a time."""
        return 1

    # ---- the engine, and files -------------------------------------------------------------------------------------

    def pack(self, order: Ints, surrogates: Surrogates = NO_SURROGATES, precision: Precision = "float64") -> Packed:
        """Hand the terms to an engine.

        Parameters
        ----------
        order : int64 ndarray
            The terms of early stages in their order; surrogates follow the model's own numbers.
        surrogates : Surrogates
        precision : {"float32", "float64"}
            Of the early stages.

        Returns
        -------
        Packed
            By default for the engine that calls `values`.
        """
        return PythonTerms(self, order)

    def facts(self) -> dict[str, Any]:
        """What ``wald inspect`` says of the terms, beside their number and unit."""
        return {}

    @property
    def packed_size(self) -> str:
        """What `pack` holds, in words."""
        return f"{self.n_terms} {self.unit_name}"

    def packed_bytes(self, n_surrogates: int, precision: str) -> int:
        """Bound of the memory that `pack` takes, in bytes."""
        return 8 * (self.n_outputs + 8) * padded(self.n_terms + n_surrogates, 8)

    def stages_bytes(self, stage_terms: Sequence[int]) -> int:
        """Bound of the memory that stages on packed terms take, in bytes."""
        return 64 * self.n_outputs * (sum(stage_terms) + len(stage_terms))

    def encode(self, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
        """Put what the terms are into arrays and plain facts, for a file.

        A dataclass of float64 arrays, numbers and texts needs no method of its own.

        Parameters
        ----------
        arrays : dict
            To be added to.

        Returns
        -------
        dict
            What JSON can hold.

        Raises
        ------
        ValueError
            If the terms hold something else.
        """
        facts: dict[str, Any] = {}
        for name in _fields_of(self):
            value = getattr(self, name)
            if isinstance(value, np.ndarray) and value.dtype == np.float64:
                arrays[name] = value
                facts[name] = {"array": list(value.shape)}
            elif isinstance(value, bool | int | float | str):
                facts[name] = value
            else:
                raise ValueError(
                    f"A {self.description} cannot be saved: its {name} is a {type(value).__name__}. Keep it with "
                    "pickle."
                )
        return facts

    @classmethod
    def decode(cls, section: Any, stock: Any, n_outputs: int) -> Self:
        """Build terms from what `encode` gave.

        Parameters
        ----------
        section : wald.persistence.header.Section
            The facts.
        stock : wald.persistence.arrays.Stock
            The arrays.
        n_outputs : int

        Returns
        -------
        Terms

        Raises
        ------
        wald.persistence.FileFormatError
            If something is missing, or is not what it should be.
        """
        values: dict[str, Any] = {}
        for name in _fields_of(cls):
            fact = section.take(name)
            if isinstance(fact, dict):
                shape = fact.get("array")
                if not isinstance(shape, list) or not all(type(n) is int for n in shape):
                    raise stock.error(f"header.model.terms.{name} is no shape")
                fact = stock.floats(name, *shape)
            values[name] = fact
        section.done()
        try:
            terms = cls(**values)
            fits = terms.coef.shape == (n_outputs, terms.n_terms) and terms.intercept.shape == (n_outputs,)
        except (TypeError, ValueError, AttributeError, IndexError) as error:
            raise stock.error(f"the terms do not fit together: {error}") from None
        stock.require(fits and terms.n_terms > 0 and terms.n_features > 0, "the terms do not fit together")
        return terms


def families() -> Mapping[str, type[Terms]]:
    """Families of models by the name that files know them by."""
    return dict(_FAMILIES)


def _fields_of(terms: Terms | type[Terms]) -> list[str]:
    if not is_dataclass(terms):
        raise ValueError("Terms that are no dataclass need an encode and a decode of their own.")
    return [field.name for field in fields(terms)]
