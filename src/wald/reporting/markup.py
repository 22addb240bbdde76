"""HTML and SVG from Python values. Every text is escaped, unless it was made here."""

from __future__ import annotations

import re
from html import escape

#: Characters that HTML does not allow, and surrogates, which UTF-8 does not have.
_FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
#: Characters that turn the direction of the text after them.
_DIRECTIONS = re.compile("[\u202a-\u202e\u2066-\u2069]")
#: A space inside a number, or before its sign, at which no line may end.
_INSIDE = re.compile(r"(?<=\d) (?=\d{3}\b|[%×])")
_PROSE = frozenset({"p", "dd", "figcaption", "li", "summary"})
_VOID = frozenset({"br", "col", "hr", "link", "meta"})


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


Content = str | int | Markup | None


def text(value: object) -> Markup:
    r"""Escape a value, unless it is markup.

    Examples
    --------
    >>> text("a < b"), text("\x00")
    ('a &lt; b', '�')
    """
    if isinstance(value, Markup):
        return value
    return Markup(escape(_DIRECTIONS.sub("", _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", str(value)))))


def joined(*parts: Content) -> Markup:
    """Concatenate values; None is left out."""
    return Markup("".join(text(part) for part in parts if part is not None))


def breakable(name: str) -> Markup:
    """Allow line breaks between the words of a name such as ``LogisticRegression``."""
    return Markup("<wbr>".join(text(word) for word in re.split("(?<=[a-z])(?=[A-Z])", name)))


def tag(name: str, /, *content: Content, **attributes: object) -> Markup:
    """Build an element.

    Parameters
    ----------
    name : str
    *content : str or Markup
        Strings are escaped; None is left out.
    **attributes : object
        Underscores become hyphens, and one at the end is removed. None is left out, and True has no value.

    Returns
    -------
    Markup

    Examples
    --------
    >>> tag("td", "<script>", class_="number")
    '<td class="number">&lt;script&gt;</td>'
    """
    written = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{text(str(value))}"')
        for key, value in attributes.items()
        if value is not None
    )
    if name in _PROSE:
        content = tuple(
            part if isinstance(part, Markup) or part is None else _INSIDE.sub("\N{NO-BREAK SPACE}", str(part))
            for part in content
        )
    return Markup(f"<{name}{written}>" + ("" if name in _VOID else f"{joined(*content)}</{name}>"))
