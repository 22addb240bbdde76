"""Figures as people read them."""

from __future__ import annotations


def thousands(n: int) -> str:
    """A whole number with its thousands set apart.

    Examples
    --------
    >>> thousands(12000)
    '12 000'
    """
    return f"{n:,}".replace(",", " ")


def significant(value: float, digits: int) -> str:
    """A number in so many digits that count, without an exponent.

    Examples
    --------
    >>> significant(0.00004712, 2), significant(12.0, 3)
    ('0.000047', '12')
    """
    import numpy as np  # the command line starts without it

    return np.format_float_positional(value, precision=digits, fractional=False, trim="-")


def number(value: float) -> str:
    """Three digits that count, and thousands set apart; whole numbers below 100 000 as they are.

    Examples
    --------
    >>> number(17.0234), number(839_412.3), number(12_345)
    ('17', '839 000', '12 345')
    """
    if value < 100:
        return significant(value, 3)
    whole = float(value).is_integer() and value < 1e5
    return thousands(int(value) if whole else int(float(f"{value:.3g}")))


def percent(share: float, digits: int = 2) -> str:
    """A share in percent, to some significant digits.

    Examples
    --------
    >>> percent(0.0009912), percent(1 / 3, 3)
    ('0.099 %', '33.3 %')
    """
    return significant(100.0 * share, digits) + " %"


def ratio(larger: float, smaller: float) -> str:
    """How many times one is the other, in two digits.

    Examples
    --------
    >>> ratio(760, 1.3)
    '580 ×'
    """
    return f"{significant(larger / smaller, 2).rstrip('.')} ×"


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
