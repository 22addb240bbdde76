"""Groups of rows that depend on each other, as numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def group_numbers(groups: npt.ArrayLike, n_rows: int | None = None) -> npt.NDArray[np.intp]:
    """Number the groups of rows, in the order of their names where these can be sorted.

    Parameters
    ----------
    groups : array-like of shape (n_rows,)
        Names or numbers of groups.
    n_rows : int, default=None
        The length that ``groups`` must have; None: any.

    Returns
    -------
    intp ndarray of shape (n_rows,)

    Raises
    ------
    ValueError
        If ``groups`` has another shape, or a row's group is missing: None, NaN, NA or NaT.

    Examples
    --------
    >>> group_numbers(["b", "a", "b"]).tolist()
    [1, 0, 1]
    """
    given: Any = list(groups) if isinstance(groups, tuple | list) else np.asarray(groups)
    shape = (len(given),) if isinstance(given, list) else given.shape
    if len(shape) != 1:
        raise ValueError(f"groups must be one-dimensional, one entry for each row. Got shape {shape}.")
    if n_rows is not None and shape != (n_rows,):
        hint = (
            " To give sizes of groups, pass numpy.repeat(range(len(sizes)), sizes)."
            if _are_sizes(given, n_rows)
            else ""
        )
        raise ValueError(f"groups must have one entry for each of the {n_rows} rows. Got {shape[0]}.{hint}")
    if isinstance(given, list) or given.dtype.kind in "OfcmM":  # other types have no missing values
        missing = next((i for i, group in enumerate(given) if _is_missing(group)), None)
        if missing is not None:
            raise ValueError(
                f"groups must name the group of every row. Got {given[missing]!r} for row {missing}: leave such rows "
                "out, or give each a group of its own."
            )
    numbers: npt.NDArray[np.intp]
    try:
        numbers = np.unique(_array(given), return_inverse=True)[1].astype(np.intp)
    except TypeError:  # names that cannot be sorted, such as texts beside numbers
        known: dict[Any, int] = {}
        numbers = np.array([known.setdefault(group, len(known)) for group in given], dtype=np.intp)
    return numbers


def _array(given: Any) -> npt.NDArray[Any]:
    try:
        array = np.asarray(given)
    except ValueError:  # tuples of several lengths
        array = np.empty((0, 0))
    if array.ndim != 1:  # tuples are names, and no rows of a table
        array = np.empty(len(given), dtype=object)
        array[:] = [tuple(name) if isinstance(name, list | np.ndarray) else name for name in given]
    if isinstance(given, list) and array.dtype.kind in "US" and len({*map(type, given)}) > 1:
        array = np.empty(len(given), dtype=object)  # NumPy would make one text of 1 and "1"
        array[:] = given
    return array


def _are_sizes(given: Any, n_rows: int) -> bool:
    """Whether numbers are sizes of groups that add up to the rows, as libraries of rankers take them."""
    return all(isinstance(size, int | np.integer) and size >= 0 for size in given) and int(sum(given)) == n_rows


def _is_missing(group: Any) -> bool:
    if group is None or type(group).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(group, np.datetime64 | np.timedelta64):
        return bool(np.isnat(group))
    return isinstance(group, float | np.floating) and group != group
