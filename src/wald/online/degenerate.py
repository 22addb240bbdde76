"""A warning, when training ends, about constant boundaries for which the formula gives no level."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..stopping.papers.levels import DegenerateBoundaryWarning
from ..utils.figures import first_of
from ..utils.warn import warn_caller
from .attention import rule_of

if TYPE_CHECKING:
    from .classifier import AttentiveClassifier

# Explains, for the examples of a class, what the compiled learner reports about their boundary.
_MEANING = {
    "at once": (
        "its level fell below where the formula begins, was moved there, and now stops them at once: too few of them "
        "call for an update for delta={delta}. A smaller delta, boundary='bridge' or attention='conditional' stops "
        "later."
    ),
    "seldom": (
        "its level fell below where the formula begins, was moved there, and now stops them hardly ever: nearly all of "
        "them call for an update. More examples may help; attention='full' reads as much for less."
    ),
    "no spread": (
        "it can never stop them: their margins have no spread, for their terms or the weights are constant. Terms that "
        "vary help; attention='full' reads as much for less."
    ),
}
_NAMED = 5


def warn_of_degenerate_boundaries(owner: AttentiveClassifier) -> None:
    """Warn about every class whose constant boundary is out of its formula's range.

    With ``delta="auto"`` a level that was moved gives no warning, because audits move and correct it on purpose.
    """
    if owner.attention != "constant":
        return
    classes: dict[str, list[str]] = {found: [] for found in _MEANING}
    for k, problem in enumerate(owner.problems_):
        pair = owner.classes_ if len(owner.problems_) == 1 else (f"not {owner.classes_[k]}", owner.classes_[k])
        for name, found in zip(pair, problem.learner.ranges, strict=True):
            if found == "no spread" or (found != "holds" and owner.delta != "auto"):
                classes[found].append(str(name))
    for found, names in classes.items():
        if not names:
            continue
        listed = first_of(names, _NAMED)
        warn_caller(
            f"boundary={rule_of(owner)!r} of {type(owner).__name__} is degenerate for examples of class {listed}: "
            f"{_MEANING[found].format(delta=owner.delta)}",
            DegenerateBoundaryWarning,
        )
