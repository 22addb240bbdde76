"""Checks of a parser's parameters, and their translation for the compiled core."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

_FILTERS = {"slack": (True, 1.5, 2.0), "exact": (True, 1.0, 0.0), None: (False, 1.0, 0.0)}
_NO_PRUNER = -1.0


def check(parser: Any) -> None:
    """Raise ValueError for the first parameter that is out of range."""
    for name, allowed in (
        ("feature_groups", ("all", "tags")),
        ("decoder", ("eisner", "chu-liu-edmonds")),
        ("learner", ("mira", "perceptron")),
        ("states", ("full", "random")),
        ("group_by", ("modifier", "head")),
        ("length_filter", tuple(_FILTERS)),
    ):
        if (value := getattr(parser, name)) not in allowed:
            raise ValueError(f"{name} must be one of {allowed}. Got {value!r} instead.")
    for name, low, high in (("max_iter", 1, 10**6), ("table_bits", 8, 28)):
        if not _is_integer(number := getattr(parser, name)) or not low <= number <= high:
            raise ValueError(f"{name} must be an integer from {low} to {high}. Got {number!r} instead.")
    if not _is_number(parser.step) or not 0 < parser.step <= 1e12:  # sums of weights must stay finite
        raise ValueError(f"step must be a positive number, at most 1e12. Got {parser.step!r} instead.")
    if parser.arc_margin is not None and (not _is_number(parser.arc_margin) or parser.arc_margin < 0):
        raise ValueError(f"arc_margin must be None or a number, 0 at least. Got {parser.arc_margin!r} instead.")
    if parser.states == "random" and parser.feature_groups != "all":
        raise ValueError("states='random' needs feature_groups='all': with tags alone there is nothing to choose.")


def n_groups(parser: Any) -> int:
    """Return how many groups of features there are."""
    return 2 if parser.feature_groups == "all" else 1


def trees(parser: Any) -> dict[str, Any]:
    """Return which trees are decoded."""
    return {"projective": parser.decoder == "eisner", "single_root": parser.single_root}


def lengths(parser: Any) -> dict[str, Any]:
    """Return how long arcs may be."""
    return dict(zip(("filter", "factor", "extra"), _FILTERS[parser.length_filter], strict=True))


def arcs(parser: Any) -> dict[str, Any]:
    """Return which arcs the groups score."""
    return lengths(parser) | {"margin": _NO_PRUNER if parser.arc_margin is None else float(parser.arc_margin)}


def _is_integer(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and abs(float(value)) < float("inf")
