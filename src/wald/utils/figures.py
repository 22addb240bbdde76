"""Numbers and lists as text for people."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, Context, Decimal


def thousands(n: int) -> str:
    """Format a whole number with spaces between the thousands.

    Examples
    --------
    >>> thousands(12000)
    '12 000'
    """
    return f"{n:,}".replace(",", " ")


def counted(n: int, thing: str) -> str:
    """Say how many there are of a thing.

    Examples
    --------
    >>> counted(1, "thread"), counted(2, "thread")
    ('1 thread', '2 threads')
    """
    return f"{n} {thing}{'' if n == 1 else 's'}"


def first_of(words: Sequence[str], most: int) -> str:
    """List the first words, and the number of others.

    Examples
    --------
    >>> first_of(["a", "b", "c"], 2), first_of(["a", "b"], 2)
    ('a, b and 1 more', 'a, b')
    """
    return ", ".join(words[:most]) + (f" and {len(words) - most} more" if len(words) > most else "")


def significant(value: float, digits: int) -> str:
    """Format a number with this many significant digits, without an exponent.

    Examples
    --------
    >>> significant(0.00004712, 2), significant(12.0, 3)
    ('0.000047', '12')
    """
    import numpy as np  # imported late, so that the command line starts fast

    return np.format_float_positional(value, precision=digits, fractional=False, trim="-")


def number(value: float) -> str:
    """Format a number with three significant digits and spaces between the thousands; whole ones below 100 000 in full.

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
    """Format a share in percent.

    Examples
    --------
    >>> percent(0.0009912), percent(1 / 3, 3)
    ('0.099 %', '33.3 %')
    """
    return significant(100.0 * share, digits) + " %"


def percent_up(share: float, digits: int = 2) -> str:
    """Format a share in percent, rounded up, so that the text is still an upper limit.

    Examples
    --------
    >>> percent_up(0.0029913), percent_up(0.5)
    ('0.3 %', '50 %')
    """
    up = Context(prec=digits, rounding=ROUND_CEILING).create_decimal(Decimal(share) * 100)
    return significant(float(up), digits) + " %"


def ratio(larger: float, smaller: float) -> str:
    """Format the ratio of two numbers with two significant digits.

    Examples
    --------
    >>> ratio(760, 1.3)
    '580 ×'
    """
    return f"{significant(larger / smaller, 2).rstrip('.')} ×"


def share(part: int, whole: int) -> str:
    """Format a share in percent, with enough digits that only a whole is 100 %.

    Examples
    --------
    >>> share(794, 797), share(99_999, 100_000), share(9, 9)
    ('99.62 %', '99.999 %', '100 %')
    """
    digits = 1
    while part < whole and f"{100 * part / whole:.{digits}f}".startswith("100"):
        digits += 1
    return f"{100 * part / whole:.{max(digits, 2)}f} %" if part < whole else "100 %"


def between(low: float, high: float) -> str:
    """Format an interval, widened to two significant digits of its upper end.

    Examples
    --------
    >>> between(0, 0.2871), between(16.04, 19.52), between(1234, 1250), between(5, 5)
    ('0 to 0.29', '16 to 20', '1 200 to 1 300', '5')
    """
    if low == high:
        return number(low)
    unit = 10.0 ** (math.floor(math.log10(high)) - 1)
    ends = math.floor(round(low / unit, 9)) * unit, math.ceil(round(high / unit, 9)) * unit
    return " to ".join(thousands(round(end)) if unit >= 1 else significant(end, 3) for end in ends)


def share_between(low: float, high: float) -> str:
    """Format an interval of shares, in percent.

    Examples
    --------
    >>> share_between(0.0, 0.00287), share_between(0.171, 0.229), share_between(0.9962, 1.0), share_between(1.0, 1.0)
    ('0 to 0.29 %', '17 to 23 %', '99 to 100 %', '100 %')
    """
    low, high = 100.0 * low, 100.0 * high
    if low < high and high > 10:  # two digits, whole percents
        return f"{math.floor(low)} to {min(100, math.ceil(high))} %"
    return between(low, high) + " %"
