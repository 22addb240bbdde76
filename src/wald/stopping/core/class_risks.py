"""The lines of a promise: all rows, or those of some classes, with risks of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .boundary import PROTECT, Protect, ProtectName
from .validation import require_fraction


class Line(NamedTuple):
    """A set of rows that a promise is about.

    Attributes
    ----------
    name : str
    code : int or None
        The full model's code of the rows; None: all rows.
    risk : float or None
        The rows' own risk; None: the promise's.
    """

    name: str
    code: int | None
    risk: float | None = None

    def members(self, full: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
        """Whether each row belongs to the line, by the full model's codes."""
        return np.ones(len(full), dtype=bool) if self.code is None else full == self.code


def rows_of(label: Any) -> str:
    """Name of the line of a class."""
    return f"rows of class {label}"


def lines(protect: Protect, classes: npt.ArrayLike) -> list[Line]:
    """The lines of a promise, by the labels of the codes; raises ValueError as `by_code`.

    Examples
    --------
    >>> [tuple(line) for line in lines({"fraud": 0.01}, ["fine", "fraud"])]
    [('rows', None, None), ('rows of class fraud', 1, 0.01)]
    """
    named, labels = by_code(protect, classes), np.asarray(classes)
    if isinstance(named, Mapping):
        return [Line("rows", None), *(Line(rows_of(labels[code]), code, risk) for code, risk in named.items())]
    if named == "each":
        return [Line(rows_of(label), code) for code, label in enumerate(labels)]
    return [{"all": Line("rows", None), "positive": Line("positives", 1), "negative": Line("negatives", 0)}[named]]


def require_protect(owner: str, protect: Protect) -> None:
    """Raise ValueError unless `protect` is one of the options, or maps class labels to risks."""
    if isinstance(protect, Mapping):
        if not protect:
            raise ValueError(
                f"The 'protect' of {owner} names no class: give at least one label with its risk, or 'all'."
            )
        for label, risk in protect.items():
            require_fraction(owner, f"protect[{label!r}]", risk)
    elif protect not in PROTECT:
        raise ValueError(f"protect must be one of {PROTECT}, or risks by class label. Got {protect!r} instead.")


def by_code(protect: Protect, classes: npt.ArrayLike) -> ProtectName | dict[int, float]:
    """Replace class labels by their codes; named options stay as they are.

    Raises
    ------
    ValueError
        For a label that is none of the classes.

    Examples
    --------
    >>> by_code({"fraud": 0.01}, ["fine", "fraud"]), by_code("each", ["fine", "fraud"])
    ({1: 0.01}, 'each')
    """
    if not isinstance(protect, Mapping):
        return protect
    known = np.asarray(classes).tolist()
    strange = [label for label in protect if label not in known]
    if strange:
        raise ValueError(f"protect names {strange[0]!r}, which is none of the classes {_listed(known)}.")
    return {known.index(label): float(risk) for label, risk in protect.items()}


def _listed(labels: list[Any], most: int = 20) -> str:
    return ", ".join(map(repr, labels[:most])) + (", ..." if len(labels) > most else "")
