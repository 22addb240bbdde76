"""Charts as SVG, in the page's own colours. Each has a title and a description; the page adds a table."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from ..utils.figures import number, percent, significant
from .facts import Curve, Walk
from .markup import Content, Markup, joined, tag

Scale = Callable[[float], float]

_WIDTH, _HEIGHT = 400.0, 260.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 56.0, 14.0, 30.0, 44.0
#: Thresholds farther from the scores of a walk than this multiple of their range are not shown in full.
_ROOM = 1.5


def bar(share: float) -> Markup:
    """A bar for a table's cell, whose number stands beside it."""
    width = f"{100 * min(max(share, 0.0), 1.0):.2f}"
    inside = joined(tag("rect", class_="rail", width="100", height="10"), tag("rect", width=width, height="10"))
    return tag("svg", inside, class_="bar", viewBox="0 0 100 10", preserveAspectRatio="none", aria_hidden="true")


def curve_chart(curve: Curve, full_cost: float, unit: str, risk: float | None, promised: bool) -> Markup:
    """Share of differing labels against the mean cost, both logarithmic, with the chosen point."""
    floor = 0.5 / curve.n_rows
    costs = [max(cost, 1e-9 * full_cost) for cost, _ in curve.points] + [full_cost, max(curve.chosen[0], 1e-12)]
    highest = max([share for _, share in curve.points] + [curve.interval[1], risk or 0.0, 4 * floor])
    x = _log(min(costs), max(costs) * 1.0001, _LEFT, _WIDTH - _RIGHT)
    y = _log(floor / 1.5, min(1.0, 1.5 * highest), _HEIGHT - _BOTTOM, _TOP)
    parts: list[Content] = []
    for value in _decades(5 * floor, highest):
        parts += [_line(_LEFT, y(value), _WIDTH - _RIGHT, y(value), "grid"), _tick_left(percent(value), y(value))]
    parts += [_line(_LEFT, y(floor), _WIDTH - _RIGHT, y(floor), "grid"), _tick_left("none", y(floor))]
    for value in _ticks(min(costs), max(costs)):
        parts.append(_text(number(value), x(value), _HEIGHT - _BOTTOM + 16, "middle"))
    if risk and promised:
        parts.append(_line(_LEFT, y(risk), _WIDTH - _RIGHT, y(risk), "limit"))
        at_left = x(curve.chosen[0]) > (_LEFT + _WIDTH - _RIGHT) / 2  # away from the chosen point
        edge = _LEFT + 4 if at_left else _WIDTH - _RIGHT - 4
        words = f"promised: {percent(risk)}"
        parts.append(_text(words, edge, y(risk) + 15, "start" if at_left else "end", "limit-text"))
    parts.append(_text("labels that differ", 2, 14, "start"))
    points = [(x(max(cost, 1e-9 * full_cost)), y(max(share, floor))) for cost, share in curve.points]
    parts.append(_path(points, "line"))
    at, (low, high) = (x(curve.chosen[0]), y(max(curve.chosen[1], floor))), curve.interval
    parts.append(_line(at[0], y(max(low, floor)), at[0], y(max(high, floor)), "chosen-line"))
    parts.append(tag("circle", class_="chosen", cx=_short(at[0]), cy=_short(at[1]), r="6"))
    side, anchor = (10.0, "start") if at[0] < _WIDTH * 0.75 else (-10.0, "end")
    parts.append(_text("chosen", at[0] + side, at[1] - 9, anchor, "chosen-text"))
    parts.append(_text(f"mean cost of a row, {unit}", (_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 6, "middle"))
    description = (
        f"A falling curve. At the chosen point a row costs {number(curve.chosen[0])} of {number(full_cost)} {unit} "
        f"on average, and {percent(curve.chosen[1])} of the labels differ."
    )
    return _figure("Share of labels that differ, against the mean cost of a row", description, parts)


def walk_chart(walk: Walk, unit: str) -> Markup:
    """Score of one row at every stage, and the thresholds between which it goes on."""
    n = len(walk.scores)
    finite = [score for score in walk.scores if math.isfinite(score)] or [0.0]
    reach = max(max(finite) - min(finite), max(abs(v) for v in finite), 1e-9)
    near = [v for v in (*walk.low, *walk.high) if math.isfinite(v) and abs(v) <= _ROOM * reach]
    bottom, top = min([*finite, *near, 0.0]), max([*finite, *near, 0.0])
    margin = 0.08 * (top - bottom or 1.0)
    bottom, top = bottom - margin, top + margin
    width, height = 320.0, 220.0
    x = _linear(0, max(n - 1, 1), 44.0, width - 16.0)
    y = _linear(bottom, top, height - 42.0, 12.0)

    def inside(value: float) -> float:
        return y(min(max(value, bottom), top))

    parts: list[Content] = []
    if n > 1:
        limits = [*((x(t), inside(v)) for t, v in enumerate(walk.high))]
        limits += [(x(t), inside(v)) for t, v in reversed(list(enumerate(walk.low)))]
        parts.append(_path(limits, "undecided", closed=True))
        for side in (walk.high, walk.low):
            edge = [(x(t), y(v)) for t, v in enumerate(side) if bottom <= v <= top]
            parts.append(_path(edge, "edge") if len(edge) > 1 else None)
    for value in _even(bottom, top):
        parts += [
            _line(44.0, y(value), width - 16.0, y(value), "grid"),
            _text(_plain(value), 39.0, y(value) + 4, "end"),
        ]
    for t in _some(n):
        parts.append(_text(number(walk.costs[t]), x(t), height - 25.0, "middle"))
    points = [(x(t), y(v)) for t, v in enumerate(walk.scores) if math.isfinite(v)]
    left = [p for p in points if p[0] <= x(walk.stage) + 1e-9]
    parts.append(_path(points[max(len(left) - 1, 0) :], "later"))
    parts.append(_path(left, "line"))
    parts += [tag("circle", class_="dot", cx=_short(a), cy=_short(b), r="2.5") for a, b in left[:-1]]
    if left:
        parts.append(tag("circle", class_="chosen", cx=_short(left[-1][0]), cy=_short(left[-1][1]), r="5.5"))
    parts.append(_text(f"{unit} paid for, stage by stage", (44.0 + width - 16.0) / 2, height - 6.0, "middle"))
    what = "score" if walk.binary else "confidence"
    description = (
        f"The {what} at {n} stages. The row leaves at stage {walk.stage + 1}, at a cost of "
        f"{number(walk.cost)} {unit}, with the label {walk.label}."
    )
    return _figure(f"Walk of row {walk.row}", description, parts, width, height)


# ---- parts -----------------------------------------------------------------------------------------------------------


def _figure(
    title: str, description: str, parts: Iterable[Content], width: float = _WIDTH, height: float = _HEIGHT
) -> Markup:
    view = f"0 0 {width:g} {height:g}"
    return tag("svg", *parts, viewBox=view, role="img", aria_label=f"{title}. {description}", class_="chart")


def _line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    return tag("line", class_=class_, x1=_short(x1), y1=_short(y1), x2=_short(x2), y2=_short(y2))


def _path(points: Sequence[tuple[float, float]], class_: str, closed: bool = False) -> Markup | None:
    if not points:
        return None
    steps = "L".join(f"{_short(a)} {_short(b)}" for a, b in points)
    return tag("path", class_=class_, d=f"M{steps}{'Z' if closed else ''}")


def _text(words: str, x: float, y: float, anchor: str, class_: str | None = None) -> Markup:
    return tag("text", words, x=_short(x), y=_short(y), text_anchor=anchor, class_=class_)


def _tick_left(words: str, y: float) -> Markup:
    return _text(words, _LEFT - 6, y + 4, "end")


def _short(value: float) -> str:
    return f"{value:.1f}"


def _plain(value: float) -> str:
    if value == 0:
        return "0"
    return significant(value, 3) if 1e-3 <= abs(value) < 1e5 else f"{value:.0e}"


# ---- scales ----------------------------------------------------------------------------------------------------------


def _linear(low: float, high: float, start: float, end: float) -> Scale:
    return lambda value: start + (value - low) / (high - low) * (end - start)


def _log(low: float, high: float, start: float, end: float) -> Scale:
    a, b = math.log(low), math.log(high)
    width = b - a if b > a else 1.0
    return lambda value: start + min(max((math.log(max(value, low)) - a) / width, 0.0), 1.0) * (end - start)


def _decades(low: float, high: float) -> list[float]:
    """Powers of ten in an interval; with less than two of them, others as well."""
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    powers = [10.0**e for e in exponents if low <= 10.0**e <= high]
    if len(powers) >= 2:
        return powers
    return [m * 10.0**e for e in exponents for m in (1, 2, 5) if low <= m * 10.0**e <= high]


def _ticks(low: float, high: float) -> list[float]:
    """Three to six round costs on a logarithmic axis."""
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1,), (1, 3), (1, 2, 5), (1, 2, 3, 4, 5, 6, 8)):
        found = [m * 10.0**e for e in exponents for m in factors if low * 0.999 <= m * 10.0**e <= high * 1.001]
        if len(found) >= 3:
            return found[:: 1 + (len(found) - 1) // 6]
    return [low, high] if high > 1.1 * low else [high]


def _even(low: float, high: float) -> list[float]:
    """Round values that divide an interval evenly."""
    step = 10.0 ** math.floor(math.log10(high - low))
    for factor in (1.0, 0.5, 0.2):
        first, last = math.ceil(low / (factor * step)), math.floor(high / (factor * step))
        if last - first >= 2:
            return [k * factor * step for k in range(first, last + 1)]
    return [low, high]


def _some(n: int) -> list[int]:
    """Up to five of n stages, with the first and the last."""
    return sorted({round(k * (n - 1) / 4) for k in range(5)}) if n > 5 else list(range(n))
