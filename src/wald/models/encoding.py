"""Terms in files: the fields of a dataclass, which a family may read by checks of its own."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import is_dataclass
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np

from ..codec.reading import Section, require
from ..codec.writing import Arrays, encode_fields, fields_of
from .terms import Terms, TermsProtocol
from .units import Ints


class Filed(TermsProtocol):
    """Terms that are checked when they are read from a file, or that are more in it than the fields of a dataclass.

    Attributes
    ----------
    whole_in_files : bool
        Whether a file holds the fitted estimator itself, as an archive of skops, because its terms are no numbers.
        `decode` then builds terms without values, to which those of the estimator must be equal.
    members_in_files : bool
        Whether the terms consist of other models, which a file holds in its description of the estimator. `decode`
        builds terms without values here, too.
    """

    whole_in_files: ClassVar[bool] = False
    members_in_files: ClassVar[bool] = False

    def facts(self) -> dict[str, Any]:
        """Facts that ``wald inspect`` prints in addition to the number of terms and their unit."""
        return {}

    def encode(self) -> dict[str, Any]:
        """What a file holds: arrays, plain values and dataclasses of wald's own, by their names."""
        return fields_of(self)

    @classmethod
    @abstractmethod
    def decode(cls, section: Section, n_outputs: int) -> Self:
        """Build terms from what `encode` returned.

        Parameters
        ----------
        section : wald.codec.reading.Section
            The values, which are taken by their names.
        n_outputs : int

        Raises
        ------
        wald.persistence.FileFormatError
            If something is missing or invalid.
        """


def encode_columns(columns: Iterable[Ints | None]) -> dict[str, Ints]:
    """What a file holds of the columns that each member of an ensemble gets; None: all."""
    chosen = [np.empty(0, np.int64) if each is None else each.astype(np.int64) for each in columns]
    return {"columns": np.concatenate(chosen), "first_column": np.cumsum([0, *map(len, chosen)], dtype=np.int64)}


def decode_columns(section: Section, n_members: int, width: int) -> tuple[Ints | None, ...]:
    """The columns of each member from what `encode_columns` returned."""
    columns = section.integers("columns", ("int64",), None, low=0, high=width)
    first = section.integers("first_column", ("int64",), n_members + 1, low=0, high=len(columns) + 1)
    require(first[0] == 0 and first[-1] == len(columns) and (np.diff(first) >= 0).all(), "columns do not fit")
    return tuple(columns[a:b] if a < b else None for a, b in pairwise(first.tolist()))


def needs_estimator(terms: Terms) -> bool:
    """Whether a file must hold the fitted estimator itself, because its terms are no numbers."""
    filed = Filed.of(terms)
    return filed is not None and filed.whole_in_files


def needs_members(terms: Terms) -> bool:
    """Whether terms are those of other models, which a file holds in its description of the estimator."""
    filed = Filed.of(terms)
    return filed is not None and filed.members_in_files


def facts(terms: Terms) -> dict[str, Any]:
    """Facts that ``wald inspect`` prints of the terms."""
    filed = Filed.of(terms)
    own = {} if filed is None else filed.facts()
    about = {"family": terms.family, "description": terms.description, "terms": terms.n_terms, "unit": terms.unit_name}
    return about | own


def encode_terms(terms: Terms, arrays: Arrays, where: str) -> dict[str, Any]:
    """Encode terms as JSON values and arrays, which ``arrays`` receives by names that begin with ``where``.

    Raises
    ------
    ValueError
        If a field is no array, plain value or dataclass of wald's own.
    """
    filed, plain = Filed.of(terms), is_dataclass(type(terms))
    if filed is None and not plain:
        raise ValueError(
            "Terms that are no dataclass need an encode and a decode of their own: inherit wald.models.protocols.Filed."
        )
    return encode_fields(fields_of(terms) if filed is None else filed.encode(), arrays, where)


def decode_terms(family: type[Terms], section: Section, n_outputs: int) -> Terms:
    """Build terms of a family from what `encode_terms` returned; see `Filed.decode`."""
    terms: Terms = family.decode(section, n_outputs) if issubclass(family, Filed) else section.made(family)
    section.done()
    arrays = (terms.coef, terms.intercept)
    shapes = [array.shape for array in arrays] == [(n_outputs, terms.n_terms), (n_outputs,)]
    fits = shapes and terms.n_terms > 0 and terms.n_features > 0 and all(np.isfinite(array).all() for array in arrays)
    require(fits, "the terms do not fit together")
    return terms
