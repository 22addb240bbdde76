"""Figures as people read them."""

from __future__ import annotations

import numpy as np


def number(value: float) -> str:
    """Three digits that count, and thousands set apart.

    Examples
    --------
    >>> number(17.0234), number(839_412.3)
    ('17', '839 000')
    """
    if value >= 100:
        rounded = int(value) if float(value).is_integer() and value < 1e5 else int(float(f"{value:.3g}"))
        return f"{rounded:,}".replace(",", " ")
    return np.format_float_positional(value, precision=3, fractional=False, trim="-")


def ratio(larger: float, smaller: float) -> str:
    """How many times one is the other, in two digits.

    Examples
    --------
    >>> ratio(760, 1.3)
    '580 ×'
    """
    return f"{np.format_float_positional(larger / smaller, precision=2, fractional=False, trim='-').rstrip('.')} ×"


def share(part: int, whole: int) -> str:
    """A share that is 100 % only if it is all of them.

    Examples
    --------
    >>> share(794, 797), share(99_999, 100_000), share(9, 9)
    ('99.62 %', '99.999 %', '100 %')
    """
    digits = 1
    while part < whole and f"{100 * part / whole:.{digits}f}".startswith("100"):
        digits += 1
    return f"{100 * part / whole:.{max(digits, 2)}f} %" if part < whole else "100 %"
