"""What scikit-learn trusts of an encoder of categories, checked before it writes sparse rows with it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..codec.reading import BAD_VALUES, require


def require_encoder(made: Any) -> None:
    """Refuse a `OneHotEncoder` of which a category might be written outside of its row.

    Parameters
    ----------
    made : OneHotEncoder
        As a file describes it.
    """
    try:
        good = _writes_inside(made)
    except BAD_VALUES:
        good = False
    require(good, "the OneHotEncoder that the file describes does not fit its own categories")


def _writes_inside(made: Any) -> bool:
    widths, grouped, dropped = [], made._infrequent_enabled, made._drop_idx_after_grouping
    if type(grouped) is not bool or not isinstance(made.categories_, list):
        return False
    for j, known in enumerate(made.categories_):
        width = len(known)
        if not (isinstance(known, np.ndarray) and known.ndim == 1 and width and _is_in_order(known)):
            return False
        rare, moved = _grouping(made, j)
        if (rare is None) != (moved is None):
            return False
        if moved is not None:
            if rare.dtype.kind not in "iu" or moved.dtype.kind not in "iu" or rare.ndim != 1 or moved.shape != (width,):
                return False
            last = width - len(rare)
            if rare.min() < 0 or rare.max() >= width or moved.min() < 0 or moved.max() > last:
                return False
            width = last + 1
        if dropped is not None and dropped[j] is not None:
            if type(dropped[j]) is not int or not 0 <= dropped[j] < width:
                return False
            width -= 1
        widths.append(width)
    fits = grouped is False or len(made._infrequent_indices) == len(made._default_to_infrequent_mappings) == len(widths)
    return fits and made._n_features_outs == widths and (dropped is None or dropped.shape == (len(widths),))


def _grouping(made: Any, j: int) -> tuple[Any, Any]:
    """Numbers of the rare categories of a column, and what each category is grouped as; None without groups."""
    if not made._infrequent_enabled:
        return None, None
    return made._infrequent_indices[j], made._default_to_infrequent_mappings[j]


def _is_in_order(known: Any) -> bool:
    """Whether numbers ascend, NaN last, so that a search in them ends inside; other objects are looked up in a dict."""
    if known.dtype.kind not in "biuf":
        return bool(known.dtype.kind == "O")
    numbers = known[:-1] if known[-1] != known[-1] else known
    return bool((numbers[:-1] < numbers[1:]).all()) and not (numbers != numbers).any()
