"""Terms in files: by a family's own encoding, or as the fields of a dataclass (float64 arrays, and JSON values)."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .terms import Terms, TermsProtocol

__all__ = ["Filed", "decode_terms", "encode_terms", "facts", "needs_estimator"]


class Filed(TermsProtocol):
    """Terms that are more in a file than the fields of a dataclass of float64 arrays, numbers and texts.

    Attributes
    ----------
    whole_in_files : bool
        Whether a file holds the fitted estimator itself, as an archive of skops, because its terms are no numbers.
        `decode` then builds terms without values, to which those of the estimator must be equal.
    """

    whole_in_files: ClassVar[bool] = False

    def facts(self) -> dict[str, Any]:
        """Facts that ``wald inspect`` prints in addition to the number of terms and their unit."""
        return {}

    @abstractmethod
    def encode(self, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
        """Encode the terms as arrays and JSON values.

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

    @classmethod
    @abstractmethod
    def decode(cls, section: Any, stock: Any, n_outputs: int) -> Self:
        """Build terms from what `encode` returned.

        Parameters
        ----------
        section : wald.codec.header.Section
            The JSON values.
        stock : wald.codec.arrays.Stock
            The arrays.
        n_outputs : int

        Raises
        ------
        wald.persistence.FileFormatError
            If something is missing or invalid.
        """


def needs_estimator(terms: Terms) -> bool:
    """Whether a file must hold the fitted estimator itself, because its terms are no numbers."""
    filed = Filed.of(terms)
    return filed is not None and filed.whole_in_files


def facts(terms: Terms) -> dict[str, Any]:
    """Facts that ``wald inspect`` prints of the terms."""
    filed = Filed.of(terms)
    own = {} if filed is None else filed.facts()
    about = {"family": terms.family, "description": terms.description, "terms": terms.n_terms, "unit": terms.unit_name}
    return about | own


def encode_terms(terms: Terms, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """Encode terms as arrays, which `arrays` receives by name, and JSON values.

    Raises
    ------
    ValueError
        If the family is not `Filed`, and a field is no float64 array, number or string.
    """
    filed = Filed.of(terms)
    return _encode_fields(terms, arrays) if filed is None else filed.encode(arrays)


def decode_terms(family: type[Terms], section: Any, stock: Any, n_outputs: int) -> Terms:
    """Build terms of a family from what `encode_terms` returned; see `Filed.decode`."""
    if issubclass(family, Filed):
        return family.decode(section, stock, n_outputs)
    values = _decode_fields(family, section, stock)
    try:
        terms = family(**values)
        fits = terms.coef.shape == (n_outputs, terms.n_terms) and terms.intercept.shape == (n_outputs,)
    except (TypeError, ValueError, AttributeError, IndexError) as error:
        raise stock.error(f"the terms do not fit together: {error}") from None
    stock.require(fits and terms.n_terms > 0 and terms.n_features > 0, "the terms do not fit together")
    return terms


def _encode_fields(terms: Terms, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """Put the arrays of terms into `arrays`, and return the other fields and the arrays' shapes.

    Raises
    ------
    ValueError
        If a field is no float64 array, number or string.
    """
    facts: dict[str, Any] = {}
    for name in _fields_of(terms):
        value = getattr(terms, name)
        if isinstance(value, np.ndarray) and value.dtype == np.float64:
            arrays[name] = value
            facts[name] = {"array": list(value.shape)}
        elif isinstance(value, bool | int | float | str):
            facts[name] = value
        else:
            raise ValueError(
                f"A {terms.description} cannot be saved: its {name} is a {type(value).__name__}. Keep it with pickle."
            )
    return facts


def _decode_fields(cls: type[Terms], section: Any, stock: Any) -> dict[str, Any]:
    """Read the values that `_encode_fields` wrote, by the names of the fields.

    Parameters
    ----------
    cls : type
        Class of the terms.
    section : wald.codec.header.Section
        The JSON values.
    stock : wald.codec.arrays.Stock
        The arrays.

    Raises
    ------
    wald.persistence.FileFormatError
        If a value is missing or invalid.
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
    return values


def _fields_of(terms: Terms | type[Terms]) -> list[str]:
    if not is_dataclass(terms):
        raise ValueError(
            "Terms that are no dataclass need an encode and a decode of their own: inherit wald.models.protocols.Filed."
        )
    return [field.name for field in fields(terms)]
