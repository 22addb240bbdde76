"""What a risk says: the strata of a promise, each with its bound, and the sides to which rows may leave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from .boundary import Sides

#: A bound for all rows, or bounds by stratum: class labels, and the words below.
Risk = float | None | Mapping[Any, float | None]
#: All rows, or the rows of one class, of each class for itself, or of named classes next to all rows.
Subject = Literal["all", "positive", "negative", "each", "classes"]
#: Words that name strata where they are no class labels; "positive" is the second of two classes.
WORDS = ("all", "each", "positive", "negative")
#: Labels that are words for their rows, whose plural names these: "outliers", not "rows of class outlier".
NOUNS = ("outlier", "inlier")


class Line(NamedTuple):
    """A stratum: rows that a promise is about.

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
        """Whether each row belongs to the stratum, by the full model's codes."""
        return np.ones(len(full), dtype=bool) if self.code is None else full == self.code


@dataclass(frozen=True)
class Promised:
    """The strata of a risk, and the sides to which rows may leave.

    Attributes
    ----------
    risk : float or None
        Bound for strata without one of their own; None: nothing is promised, and strata are measured.
    about : {"all", "positive", "negative", "each", "classes"}
    lines : tuple of Line
        The strata whose losses are counted.
    sides : {"both", "negative", "positive"}
        If no row of a class may differ, no row leaves as the other class.
    """

    risk: float | None
    about: Subject = "all"
    lines: tuple[Line, ...] = (Line("rows", None),)
    sides: Sides = "both"


def rows_of(label: Any, kind: str = "class") -> str:
    """Name of the stratum of a class, or of what else the rows of one answer are called."""
    return f"{label}s" if label in NOUNS else f"rows of {kind} {label}"


def plural(kind: str) -> str:
    """Several of what the rows of one answer are called.

    Examples
    --------
    >>> plural("class"), plural("band")
    ('classes', 'bands')
    """
    return f"{kind}es" if kind.endswith("s") else f"{kind}s"


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
        For a stratum that is neither a class label nor a word; if some class has no bound, and there is none for all
        rows; and if no row of a class may differ where there are more than two.

    Examples
    --------
    >>> promised({"all": 0.001, "fraud": 0.01}, ["fine", "fraud"]).lines[1]
    Line(name='rows of class fraud', code=1, risk=0.01)
    >>> promised({"fraud": 0.01, "fine": 0}, ["fine", "fraud"]).sides
    'negative'
    """
    require_risk(risk)
    overall = largest(risk)
    if not isinstance(risk, Mapping) or overall == 0:
        return Promised(overall)
    labels = np.asarray(classes).tolist()
    everyone, bounds = _by_code(risk, labels, kind)
    closed = {code for code, bound in bounds.items() if bound == 0}
    if len(closed) == len(labels):
        raise ValueError(f"risk lets no row of any {kind} differ, and others by the bound of all: give 0.")
    if closed and len(labels) > 2:
        raise ValueError(
            f"risk bounds the rows of {kind} {labels[min(closed)]!r} by 0, which needs two {plural(kind)}, not "
            f"{len(labels)}: give a bound above 0."
        )
    sides: Sides = "both" if not closed else "negative" if 0 in closed else "positive"
    counted = {code: bound for code, bound in bounds.items() if code not in closed}
    if everyone:
        own = [Line(rows_of(labels[code], kind), code, bound) for code, bound in counted.items()]
        return Promised(overall, "classes" if own else "all", (Line("rows", None), *own), sides)
    if len(bounds) < len(labels):
        missing = next(label for code, label in enumerate(labels) if code not in bounds)
        raise ValueError(
            f'risk says nothing of the rows of {kind} {missing!r}: give "all", "each", or every {kind} a bound.'
        )
    if closed:
        (code,) = counted
        about: Subject = "positive" if code == 1 else "negative"
        named = rows_of(labels[code]) if labels[code] in NOUNS else f"{about}s"
        return Promised(overall, about, (Line(named, code),), sides)
    alike = len(set(counted.values())) == 1
    lines = (
        Line(rows_of(labels[code], kind), code, None if alike else bound) for code, bound in sorted(counted.items())
    )
    return Promised(overall, "each", tuple(lines), sides)


def _by_code(risk: Mapping[Any, float | None], labels: list[Any], kind: str) -> tuple[bool, dict[int, float | None]]:
    """Whether all rows have a bound, and the bounds of classes by code."""
    both = [word for word in WORDS if word in risk and word in labels]
    if both and both[0] in ("all", "each"):
        raise ValueError(f"risk[{both[0]!r}] may mean the {kind} of this name or {both[0]} rows: rename the {kind}.")
    bounds: dict[int, float | None] = {}
    for stratum, bound in risk.items():
        if stratum in labels or (stratum in ("positive", "negative") and len(labels) == 2):
            code = labels.index(stratum) if stratum in labels else int(stratum == "positive")
            if code in bounds:
                raise ValueError(f"risk bounds the rows of {kind} {labels[code]!r} twice.")
            bounds[code] = bound
        elif stratum in ("positive", "negative"):
            raise ValueError(f"risk[{stratum!r}] needs two {plural(kind)}, not {len(labels)}: name each by itself.")
        elif stratum not in ("all", "each"):
            raise ValueError(f"risk names {stratum!r}, which is none of the {plural(kind)} {_listed(labels)}.")
    if "each" in risk:
        bounds = {code: bounds.get(code, risk["each"]) for code in range(len(labels))}
    return "all" in risk, bounds


def _listed(labels: list[Any], most: int = 20) -> str:
    return ", ".join(map(repr, labels[:most])) + (", ..." if len(labels) > most else "")
