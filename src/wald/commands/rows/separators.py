"""The separator of a text table, inferred from its first line and the model's columns."""

from __future__ import annotations

from ..errors import UserError
from .schema import Reading, RowSchema

#: Separators that may be inferred.
CANDIDATES = (",", ";", "\t", "|")
_WORDS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";"}


def separator_character(separator: str) -> str:
    """Parse ``--separator``.

    Parameters
    ----------
    separator : str
        One character, or a word: tab, comma or semicolon.
    """
    character = _WORDS.get(separator, separator)
    if (
        len(character) != 1
        or not character.isascii()
        or character in '"\n\r'
        or character.isalnum()
        or character in ".+-"
    ):
        raise UserError(
            "--separator must be one character, as ';', or the word tab; no letter, digit, quote, sign or point. Got "
            f"{separator!r}."
        )
    return character


def infer_separator(place: object, cells: dict[str, list[str]], schema: RowSchema, reading: Reading) -> str:
    """Choose the separator by which the first line holds the model's columns.

    Parameters
    ----------
    place : object
        Name of the file in messages.
    cells : dict from str to list of str
        The first line, cut by each of `CANDIDATES`.
    schema : RowSchema
    reading : Reading

    Returns
    -------
    str
        The only one that fits; if none fits, the only one that cuts the line, or else a comma.

    Raises
    ------
    UserError
        If several fit.
    """
    cutting = [separator for separator in cells if len(cells[separator]) > 1]
    fitting = [separator for separator in cutting if _fits(cells[separator], schema, reading)]
    if len(fitting) > 1:
        named = " and ".join(map(repr, fitting))
        raise UserError(f"{place}: its first line can be cut at {named}. Name the --separator.")
    if fitting:
        return fitting[0]
    return cutting[0] if len(cutting) == 1 else ","


def _fits(cells: list[str], schema: RowSchema, reading: Reading) -> bool:
    if schema.is_named_by(cells):
        return True
    if schema.of_texts:
        return bool(reading.aside) and reading.aside <= {*cells}
    aside = len({*reading.drop, *reading.keep, reading.groups} - {None})
    return (schema.names is None or reading.header is False) and len(cells) - aside == schema.n_features
