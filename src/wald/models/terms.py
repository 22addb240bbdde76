"""The base class of model families: what every sum of terms has."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..engine import PythonTerms
from ..sources import PLAIN, Conversion
from .planning import Planning
from .units import NO_TERMS, Floats

#: The order of an engine without early stages.

_BY_NAME: dict[str, type[Terms]] = {}


@dataclass(frozen=True)
class Accepts:
    """The rows that terms accept.

    Parameters
    ----------
    nan, infinity : bool, default=False
        Whether such values are valid.
    sparse : bool, default=True
        Whether rows may be sparse.
    conversion : Conversion
        Conversion of rows that are neither floats nor uint8, as the wrapped model converts them.
    stored_nan : bool, default=True
        Whether the model takes a NaN that a sparse row stores for one of a dense row.
    """

    nan: bool = False
    infinity: bool = False
    sparse: bool = True
    conversion: Conversion = PLAIN
    stored_nan: bool = True


#: Rows of finite numbers, which most families accept.
FINITE = Accepts()


class Terms(ABC):
    """A score as a sum: output k of a row x is ``intercept[k] + sum_j coef[k, j] * values(x)[j]``.

    A family of models is a subclass in one file. It must define the number of features (`n_features`) and the values
    of the terms (`values`), and is then evaluated by the engine in Python. What else a family brings, such as bounds,
    prices or an engine of its own, are the protocols of ``wald.models.protocols``, from which it inherits. Other code
    asks for them, as in ``Bounded.of(terms)``, and does without where they are missing. `wald.models.check_terms`
    checks a family against a fitted model.

    Attributes
    ----------
    family : str
        Name of the family in files. Two families cannot share one.
    unit_name : str
        Plural noun for terms in reports of costs.
    planning : Planning
        What planning may assume.
    coef : float64 ndarray of shape (n_outputs, n_terms)
        Weight of each term in each output.
    intercept : float64 ndarray of shape (n_outputs,)
    """

    family: ClassVar[str] = ""
    unit_name: ClassVar[str] = "terms"
    planning: ClassVar[Planning] = Planning()

    coef: Floats
    intercept: Floats

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        known = _BY_NAME.get(cls.family)
        if (
            cls.family
            and known is not None
            and (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__)
        ):
            raise TypeError(f"There is a family of models called {cls.family!r} already: {known.__qualname__}.")
        if cls.family:
            _BY_NAME[cls.family] = cls

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
    def accepts(self) -> Accepts:
        """The rows that the terms accept; by default finite numbers."""
        return FINITE

    @property
    def description(self) -> str:
        """Description of the model in messages, without reference to its estimator."""
        return f"{self.family or type(self).__name__} model"

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
        return PythonTerms(self, NO_TERMS, self.accepts.conversion).scores(X, lambda dtype: 0.0, 1)[0]


class TermsProtocol(Terms):
    """Terms that have more than every sum has."""

    @classmethod
    def of(cls, terms: Terms) -> Self | None:
        """The terms, if their family has this protocol."""
        return terms if isinstance(terms, cls) else None


def least_precision(terms: Terms) -> float:
    """Unit roundoff in which some of the terms are computed, where that is not the one of the rows; else 0.

    Terms of which another library computes a part have it as an attribute of this name.
    """
    return float(getattr(terms, "least_precision", 0.0))


def families() -> Mapping[str, type[Terms]]:
    """Families of models, by their names in files."""
    return dict(_BY_NAME)
