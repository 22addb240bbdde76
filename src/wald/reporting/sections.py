"""The sections of a page."""

from __future__ import annotations

import math

from ..utils.figures import number, percent, ratio, share, significant, thousands
from .charts import bar, curve_chart, walk_chart
from .facts import Facts, Walk
from .markup import Content, Markup, breakable, joined, tag
from .tables import table
from .values import short

#: Rows of the table below the curve.
_CURVE_ROWS = 12
#: Groups of stages in the table of stages.
_GROUPS = 10


def model(facts: Facts) -> Markup:
    """What the model is, and what its costs count."""
    own = facts.model
    names = own["feature_names"]
    n = own["n_features"]
    read = "rows that are no table's" if n is None else thousands(n)
    if names:
        read += f": {', '.join(short(name) for name in names[:8])}" + (" …" if len(names) > 8 else "")
    classes = [c.name for c in facts.classes]
    more = " …" if len(own["classes"]) > 12 else ""
    entries: list[tuple[str, Content]] = [
        ("Model", breakable(facts.name)),
        ("Kind", own["description"]),
        ("Size", f"{thousands(own['terms'])} {own['unit']}"),
    ]
    known = ("family", "description", "terms", "unit", "n_features", "feature_names", "classes", "binary", "checked")
    entries += [(key.capitalize(), _listed(value)) for key, value in own.items() if key not in known]
    entries += [
        ("Features", read),
        ("Classes", f"{thousands(len(own['classes']))}: {', '.join(classes[:12])}{more}"),
        *([("Reading", own["checked"])] if own["checked"] else []),
        ("Cost of a row", f"counted in {facts.unit}; {number(facts.full_cost)} in full"),
    ]
    return joined(
        tag("p", f"The model's score is a sum over its {own['unit']}. {_way(facts)}"),
        tag("dl", *(joined(tag("dt", key), tag("dd", value)) for key, value in entries)),
    )


def _way(facts: Facts) -> str:
    """How much of the sum a row needs."""
    if facts.evaluate_all:
        return "All of them are evaluated for every row, so that every label is the full model's."
    stops = "wald adds them in an order of its own, stage by stage, and stops for a row"
    if facts.exact:
        return f"{stops} only where the rest of the sum cannot change the label: labels are the model's own."
    return f"{stops} as soon as the rest of the sum is unlikely to change the label."


def _listed(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(short(each) for each in value[:12]) + (" …" if len(value) > 12 else "")
    return thousands(value) if isinstance(value, int) and not isinstance(value, bool) else short(value)


def classes(facts: Facts) -> Markup:
    """Cost of the rows by their answers."""
    rows: list[list[Content]] = []
    for each in facts.classes:
        if not each.n_rows:
            rows.append([each.name, "", "", "", "", "0", ""])
            continue
        part = each.mean / facts.full_cost
        costs = [percent(part, 3), bar(part), number(each.mean), number(each.median)]
        rows.append([each.name, *costs, thousands(each.n_rows), thousands(each.n_different)])
    mean = facts.mean_cost / facts.full_cost
    costs = [percent(mean, 3), bar(mean), number(facts.mean_cost), ""]
    rows.append(["all rows", *costs, thousands(facts.n_rows), thousands(facts.n_different)])
    left_out = facts.n_classes_left_out
    words = "Rows of some classes are clear sooner than others. Classes are those of the early answers."
    if facts.evaluate_all:
        words = "Every row costs the same, because every row is evaluated in full."
    return joined(
        tag("p", words),
        table(
            f"Cost of a row, in {facts.unit}; a full bar is full evaluation",
            ("class", "of full", "as a bar", "mean", "median", "rows", "other labels"),
            rows,
            (1, 3, 4, 5, 6),
        ),
        tag("p", f"{left_out} more classes have fewer rows.", class_="note") if left_out else None,
    )


def tradeoff(facts: Facts) -> Markup:
    """The curve and the chosen point, with a table of it."""
    curve = facts.curve
    if curve is None:
        if facts.evaluate_all:
            return tag("p", "No row leaves early: there is no curve to show.")
        return tag("p", "The thresholds of this plan cannot be moved, or no row is counted: there is no curve to show.")
    own = facts.certificate
    promised = own["status"] == "certified" and own["holds"]
    step = max(1, -(-len(curve.points) // _CURVE_ROWS))
    cells = [
        [number(cost), percent(cost / facts.full_cost, 3), percent(differing)]
        for cost, differing in (*curve.points[::step], *curve.points[-1:][: len(curve.points) % step != 1])
    ]
    chosen = [number(curve.chosen[0]), percent(curve.chosen[0] / facts.full_cost, 3), percent(curve.chosen[1])]
    low, high = curve.interval
    words = (
        f"Wider thresholds cost more and change fewer labels. The chosen point costs {number(curve.chosen[0])} "
        f"{facts.unit} per row, and {percent(curve.chosen[1])} of {thousands(curve.n_rows)} {curve.counted} differ "
        f"({percent(facts.confidence, 6)} interval {percent(low)} to {percent(high)}). Thresholds were not chosen on "
        "these rows; to choose others by this curve would void the promise, and recertify makes a new one."
    )
    head = (f"mean cost, {facts.unit}", "of full", "labels that differ")
    return joined(
        tag("p", words),
        tag(
            "figure",
            curve_chart(curve, facts.full_cost, facts.unit, own["risk"], promised),
            tag("figcaption", "Both axes are logarithmic. Up: share of labels that differ. The bar is the interval."),
        ),
        tag(
            "details",
            tag("summary", "The curve as a table"),
            table("Points of the curve, the cheapest first", head, cells, (0, 1, 2)),
            tag("p", f"Chosen: {chosen[0]} ({chosen[1]}), {chosen[2]}."),
        ),
    )


def stages(facts: Facts) -> Markup:
    """Where rows leave: in groups of stages, and at every stage."""
    words = "At each stage, a row leaves if its score so far is beyond a threshold. The others go on to the next stage."
    if not facts.model["binary"]:
        words = "At each stage, a row leaves if its best class is far enough ahead. The others go on to the next stage."
    *early, last = facts.stages
    if facts.evaluate_all:
        words = f"No row leaves early: each goes through the full model, at {number(last.cost)} {facts.unit}."
        many = "stage serves" if len(early) == 1 else f"{thousands(len(early))} stages serve"
        return tag("p", words, f" The plan's {many} calls with a budget only." if early else None)
    rows: list[list[Content]] = []
    size = max(1, -(-len(early) // _GROUPS))
    for start in range(0, len(early), size):
        group = early[start : start + size]
        ends = (start + 1, start + len(group))
        left = sum(stage.n_left for stage in group)
        costs = [number(cost) for cost in (group[0].cost, group[-1].cost)]
        rows.append(
            [
                " to ".join(map(str, dict.fromkeys(ends))),
                " to ".join(dict.fromkeys(costs)),
                share(left, facts.n_rows),
                bar(left / facts.n_rows),
            ]
        )
    rows.append(["full model", number(last.cost), share(last.n_left, facts.n_rows), bar(last.n_left / facts.n_rows)])
    head = ("stages", f"cost, {facts.unit}", "rows that leave", "as a bar")
    return joined(tag("p", words), table("Where rows leave", head, rows, (1, 2)), _stage_table(facts))


def _stage_table(facts: Facts) -> Markup:
    """Every stage with its thresholds."""
    low = any(stage.below is not None for stage in facts.stages)
    above = "leaves above" if facts.model["binary"] else "leaves at confidence above"
    unit = facts.model["unit"]
    head = ["stage", f"cost, {facts.unit}", "units", *(["leaves below"] * low), above, "rows here", "rows that leave"]
    rows: list[list[Content]] = []
    for t, stage in enumerate(facts.stages):
        last = t == len(facts.stages) - 1
        limits = [stage.below, stage.above] if low else [stage.above]
        rows.append(
            [
                "full model" if last else str(t + 1),
                number(stage.cost),
                thousands(stage.units),
                *("" if last else "never" if limit is None else significant(limit, 4) for limit in limits),
                thousands(stage.n_reached),
                thousands(stage.n_left),
            ]
        )
    caption = f"Stages of the plan; units are {unit}, or groups of them that are paid for together"
    inside = table(caption, head, rows, list(range(1, len(head))))
    return tag("details", tag("summary", "Every stage, with its thresholds"), inside)


def walks(facts: Facts) -> Markup:
    """The walks of an easy, a typical and a hard row."""
    if not facts.walks:
        return tag("p", "No row leaves early: there are no ways to show.")
    what = "score" if facts.walks[0].binary else "confidence, which is the lead of the best class,"
    words = (
        f"The line is the row's {what} after each stage, and the shaded band is where its answer is not yet clear. "
        "Where the line leaves the band, the row gets its label and costs nothing more. The dotted part shows what "
        "would have followed; its end is the full model's score."
    )
    figures = [
        tag("figure", tag("h3", f"A row that is {walk.title}"), walk_chart(walk, facts.unit), _walk_words(facts, walk))
        for walk in facts.walks
    ]
    return joined(tag("p", words), tag("div", *figures, class_="walks"), _walk_tables(facts))


def _walk_words(facts: Facts, walk: Walk) -> Markup:
    same = walk.label == walk.full_label
    ending = "as the full model says" if same else f"where the full model says {walk.full_label}"
    cost = f"{number(walk.cost)} of {number(facts.full_cost)} {facts.unit}"
    return tag("figcaption", f"Row {walk.row}: {cost}, answer {walk.label}, {ending}.")


def _walk_tables(facts: Facts) -> Markup:
    binary = facts.walks[0].binary
    head = ["stage", "cost", *(["leaves below"] * binary), "leaves above"]
    head += [f"{walk.title} (row {walk.row})" for walk in facts.walks]
    first = facts.walks[0]
    rows: list[list[Content]] = []
    for t, cost in enumerate(first.costs):
        last = t == len(first.costs) - 1
        sides = [first.low, first.high] if binary else [first.high]
        limits = ["" if last else _value(side[t]) for side in sides]
        scores = [_value(walk.scores[t]) + (" leaves" if walk.stage == t else "") for walk in facts.walks]
        rows.append(["full model" if last else str(t + 1), number(cost), *limits, *scores])
    caption = f"{'Scores' if binary else 'Confidences'} and thresholds at every stage"
    return tag(
        "details",
        tag("summary", "The walks as a table"),
        table(caption, head, rows, list(range(1, len(head)))),
    )


def _value(value: float) -> str:
    return significant(value, 4) if math.isfinite(value) and abs(value) < 1e9 else "never"


def differences(facts: Facts) -> Markup:
    """The rows whose labels differ, with their values."""
    if not facts.differences:
        return tag("p", "No row of this report got another label than the full model's.")
    shown = len(facts.differences)
    many = "All of them are shown" if shown == facts.n_different else f"{shown} of {thousands(facts.n_different)} shown"
    what = "score" if facts.model["binary"] else "confidence"
    words = f"{many}, those first of which the full model is surest. Wide rows show the values that are least usual."
    items = []
    for each in facts.differences:
        pairs = [joined(tag("span", tag("i", name), f" {value}"), " ") for name, value in each.values]
        more = f"and {thousands(each.n_more)} more" if each.n_more else None
        score = "" if each.score is None else f"; {what} in full {significant(each.score, 3)}"
        cost = f"{number(each.cost)} of {number(facts.full_cost)} {facts.unit}"
        first = tag("p", tag("b", f"Row {each.row}: {each.label}"), f" instead of {each.full_label}; {cost}{score}")
        items.append(tag("li", first, tag("p", *pairs, more, class_="values")))
    return joined(tag("p", words, " Rows count from 0."), tag("ol", *items, class_="rows"))


def time(facts: Facts) -> Markup:
    """Times against the wrapped model, or against its library."""
    if not facts.timing:
        return tag("p", facts.no_timing)
    rows = [
        [
            each.name if each.n_rows == 1 else f"{thousands(each.n_rows)} rows",
            number(1e6 * each.model_seconds / each.n_rows),
            number(1e6 * each.wald_seconds / each.n_rows),
            ratio(each.model_seconds, each.wald_seconds),
        ]
        for each in facts.timing
    ]
    threads = "1 thread" if facts.threads == 1 else f"{facts.threads} threads"
    head = ("at a time", f"{facts.rival}, µs per row", "wald, µs per row", "speed of wald")
    words = (
        f"Medians of {facts.repeats} runs in turns, with predict, on {threads} of the machine that wrote this page. "
        "predict_one, which checks less, is faster for single rows."
    )
    return joined(table("Time of a row", head, rows, (1, 2, 3)), tag("p", words, class_="note"))
