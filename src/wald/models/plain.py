"""Terms without what only the compiled engine uses, for outputs that this engine does not know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..codec.reading import Section
from ..codec.writing import fields_of
from ..outputs import Output
from .encoding import Filed
from .planning import Planning
from .terms import Accepts, Terms, least_precision
from .units import Floats

__all__ = ["PlainTerms", "terms_for", "whole_terms"]


def terms_for(output: Output, terms: Terms) -> Terms:
    """The terms as the engine that knows the output evaluates them, whichever engine they were for."""
    whole = whole_terms(terms)
    return whole if output.compiled else PlainTerms(whole)


def whole_terms(terms: Terms) -> Terms:
    """Terms with all that their family brings."""
    return terms.inner if isinstance(terms, PlainTerms) else terms


class PlainTerms(Filed):
    """The values of terms and nothing else, so that the engine in Python evaluates them.

    Parameters
    ----------
    inner : Terms
    """

    def __init__(self, inner: Terms) -> None:
        self.inner, self.coef, self.intercept = inner, inner.coef, inner.intercept
        self.family, self.unit_name = inner.family, inner.unit_name  # type: ignore[misc]  # of this instance alone
        self.planning = Planning()  # type: ignore[misc]  # of this instance alone

    @property
    def n_features(self) -> int:
        """Number of columns of the preprocessed rows."""
        return self.inner.n_features

    @property
    def accepts(self) -> Accepts:
        """The rows that the terms accept."""
        return self.inner.accepts

    @property
    def description(self) -> str:
        """Description of the model in messages."""
        return self.inner.description

    @property
    def least_precision(self) -> float:
        """Unit roundoff in which some of the terms are computed; see `wald.models.terms.least_precision`."""
        return least_precision(self.inner)

    def values(self, X: Any, which: Sequence[int] | NDArray[np.intp] | None = None) -> Floats:
        """Values of the terms; see `Terms.values`."""
        return self.inner.values(X, which)

    def encode(self) -> dict[str, Any]:
        """The fields of the inner terms."""
        filed = Filed.of(self.inner)
        return fields_of(self.inner) if filed is None else filed.encode()

    @classmethod
    def decode(cls, section: Section, n_outputs: int) -> NoReturn:
        """A file names the family of the inner terms, which decodes them."""
        raise TypeError("PlainTerms are not in files: a file names the family of the inner terms.")
