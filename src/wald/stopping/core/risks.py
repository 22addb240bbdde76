"""What a risk says: the strata of a promise, each with its bound, and the sides to which rows may leave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from .boundary import Sides
from .strata import NOUNS, bounds_by_answer, open_sides, require_whole, rows_of

#: A bound for all rows, or bounds by stratum: class labels, and the words below.
Risk = float | None | Mapping[Any, float | None]
#: All rows, or the rows of one class, of each class for itself, or of named classes next to all rows.
#: "predicted": rows by their early answer, and perhaps others by the full model's, without a bound for all rows.
Subject = Literal["all", "positive", "negative", "each", "classes", "predicted"]


class Line(NamedTuple):
    """A stratum: rows that a promise is about.

    Attributes
    ----------
    name : str
    code : int or None
        Code of the rows' answer; None: all rows.
    risk : float or None
        The rows' own risk; None: the promise's.
    early : bool
        Whether the answer that counts is the one that rows get, rather than the full model's. It is the same for rows
        that are evaluated in full.
    """

    name: str
    code: int | None
    risk: float | None = None
    early: bool = False

    def members(self, codes: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
        """Whether each row belongs to the stratum, by the codes of the answer that counts."""
        return np.ones(len(codes), dtype=bool) if self.code is None else codes == self.code

    def counts(self, n_rows: int, full: npt.NDArray[np.int32], given: npt.NDArray[np.int32]) -> tuple[int, int]:
        """Rows of the stratum, and how many of them differ.

        Parameters
        ----------
        n_rows : int
            Rows to which the full model gives the answer.
        full, given : int32 arrays of equal length
            Of the rows that differ, the full model's codes and those that they get.
        """
        own = int(np.count_nonzero(self.members(full)))
        if not self.early:
            return n_rows, own
        others = int(np.count_nonzero(self.members(given)))
        return n_rows - own + others, others


@dataclass(frozen=True)
class Promised:
    """The strata of a risk, and the sides to which rows may leave.

    Attributes
    ----------
    risk : float or None
        Bound for strata without one of their own; None: nothing is promised, and strata are measured.
    about : {"all", "positive", "negative", "each", "classes", "predicted"}
    lines : tuple of Line
        The strata whose losses are counted.
    sides : {"both", "negative", "positive"}
        If no row of a class may differ, no row leaves as the other class.
    """

    risk: float | None
    about: Subject = "all"
    lines: tuple[Line, ...] = (Line("rows", None),)
    sides: Sides = "both"


def require_risk(risk: Any, owner: str = "") -> None:
    """Raise ValueError unless `risk` is None, a number, or such values by stratum."""
    if not isinstance(risk, Mapping):
        _require_bound(risk, f"{owner}risk")
        return
    if not risk:
        raise ValueError(f'{owner}risk names no stratum: give "all" or a class label with its bound, or a number.')
    for stratum, bound in risk.items():
        _require_bound(bound, f"{owner}risk[{stratum!r}]")
    if len({bound is None for bound in risk.values() if bound != 0}) > 1:
        raise ValueError(f"{owner}risk promises some strata and measures others (None): do one or the other.")
    if risk.get("all") == 0 and any(risk.values()):
        raise ValueError(f'{owner}risk["all"] is 0, so that no row of any class may differ: give 0, or a larger bound.')


def _require_bound(bound: Any, name: str) -> None:
    number = isinstance(bound, Real) and not isinstance(bound, bool | np.bool_)
    if bound is not None and not (number and 0 <= bound < 1):
        raise ValueError(f"{name} must be None or a number at least 0 and below 1. Got {bound!r} instead.")


def largest(risk: Risk) -> float | None:
    """The bound for all rows: that of "all", or else the largest; None if nothing is promised.

    Examples
    --------
    >>> largest({"all": 0.001, "fraud": 0.01}), largest({"yes": 0.01, "no": 0}), largest({"yes": None, "no": 0})
    (0.001, 0.01, None)
    """
    if not isinstance(risk, Mapping):
        return risk
    if risk.get("all") is not None:
        return risk["all"]
    bounds = list(risk.values())
    return None if None in bounds else max((b for b in bounds if b is not None), default=0.0)


def promised(risk: Risk, classes: npt.ArrayLike, kind: str = "class") -> Promised:
    """Read a risk, by the labels of the codes.

    Parameters
    ----------
    risk : float, None or dict
        As `certify` takes it.
    classes : array-like of shape (n_classes,)
    kind : str, default="class"
        What the rows of one answer are called.

    Raises
    ------
    ValueError
        For a stratum that is neither a class label nor a word, or may be several; if some rows may differ without a
        bound; if no row of a class may differ where there are more than two; and for bounds of rows that cannot differ.

    Examples
    --------
    >>> promised({"all": 0.001, "fraud": 0.01}, ["fine", "fraud"]).lines[1]
    Line(name='rows of class fraud', code=1, risk=0.01, early=False)
    >>> promised({"fraud": 0.01, "fine": 0}, ["fine", "fraud"]).sides
    'negative'
    >>> [line.name for line in promised({"fraud": 0.05, "predicted fraud": 0.02}, ["fine", "fraud"]).lines]
    ['rows of class fraud', 'rows of predicted class fraud']
    """
    require_risk(risk)
    overall = largest(risk)
    if not isinstance(risk, Mapping) or overall == 0:
        return Promised(overall)
    labels = np.asarray(classes).tolist()
    bounds = bounds_by_answer(risk, labels, kind)
    sides = open_sides(bounds, labels, kind)
    counted = {one: bound for one, bound in bounds.items() if bound != 0}
    lines = [
        Line(rows_of(labels[one.code], kind, one.early), one.code, bound, one.early) for one, bound in counted.items()
    ]
    lines.sort(key=lambda line: line.early)
    if "all" in risk:
        return Promised(overall, "classes" if lines else "all", (Line("rows", None), *lines), sides)
    require_whole(bounds, labels, kind)
    if not any(line.early for line in lines) and sides != "both":
        (code, _), *_ = counted
        about: Subject = "positive" if code == 1 else "negative"
        named = rows_of(labels[code]) if labels[code] in NOUNS else f"{about}s"
        return Promised(overall, about, (Line(named, code),), sides)
    about = "predicted" if any(line.early for line in lines) else "each"
    kinds = {line.early for line in lines}
    if len(set(counted.values())) == 1 and len(lines) == len(labels) and len(kinds) == 1:
        lines = [line._replace(risk=None) for line in lines]
    return Promised(overall, about, tuple(sorted(lines, key=lambda line: (line.early, line.code or 0))), sides)
