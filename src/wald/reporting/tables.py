"""Tables of a page."""

from __future__ import annotations

from collections.abc import Sequence

from .markup import Content, Markup, tag

#: Names up to this length are not broken.
_SHORT = 14


def table(caption: str, head: Sequence[str], rows: Sequence[Sequence[Content]], numeric: Sequence[int]) -> Markup:
    """A table whose rows begin with their names; ``numeric`` columns stand to the right.

    Parameters
    ----------
    caption : str
    head : sequence of str
    rows : sequence of sequences
    numeric : sequence of int

    Returns
    -------
    Markup
    """
    kinds = ["n" if c in numeric else None for c in range(len(head))]
    lines = []
    for name, *cells in rows:
        own = "short" if len(str(name)) <= _SHORT else None
        others = (tag("td", cell, class_=kind) for cell, kind in zip(cells, kinds[1:], strict=True))
        lines.append(tag("tr", tag("th", name, scope="row", class_=own), *others))
    names = tag("tr", *(tag("th", name, scope="col", class_=kind) for name, kind in zip(head, kinds, strict=True)))
    inside = tag("table", tag("caption", tag("span", caption)), tag("thead", names), tag("tbody", *lines))
    return tag("div", inside, class_="scroll", tabindex="0", role="region", aria_label=caption)
