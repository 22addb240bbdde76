"""What a monitor says in words: the news of a change, and all that it has seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .lines import Line, counted, disagreeing

if TYPE_CHECKING:
    from .monitor import Monitor

#: Largest number of lines that are named.
MOST_SHOWN = 5


def news(monitor: Monitor) -> str:
    """Say why the state of a monitor has changed, and what to do."""
    if monitor.state == "broken":
        told = "; ".join([line.news(monitor.other) for line in monitor.lines if line.state == "broken"][:MOST_SHOWN])
        again = "Certify the plan on fresh rows (recertify, or fit)."
        if monitor.trials == "groups":
            again = "Call fit on fresh groups."
        then = "Rows are evaluated in full from now on." if monitor.on_broken == "full" else again
        return f"The promise is broken{': ' * bool(told)}{told}. {then}"
    if monitor.state == "doubtful":
        served, before = (_mean(monitor, counts) for counts in (monitor.stage_counts.tolist(), monitor.reference))
        after = f"after {monitor.n_rows} {monitor.trials} they leave at other stages"
        if monitor.trials == "groups":
            after = f"after {monitor.n_rows} groups their rows leave at other stages"
        return (
            f"Served {monitor.trials} are not like those of the certificate: {after} (mean cost {served:.4g}; "
            f"{before:.4g} for those of fit). The promise may not hold for them: call fit on fresh {monitor.trials}."
        )
    if monitor.grouped:
        return (
            "The promise is about a random row of a random group, and it is not watched on rows without a group. Call "
            "predict(X, groups=...) with the group of each row."
        )
    early = any(line.early for line in monitor.lines)
    which, how = (
        ("answers by which it counts", "these answers") if early else ("answer of the full model", "that answer")
    )
    return (
        f"The promise is about {_named(monitor)}, and it is not watched on audited rows that got {monitor.other}, but "
        f"came without the {which}. Give record the audits and disagreements by {how}."
    )


def printed(monitor: Monitor) -> str:
    """Say what a monitor has seen, in one line."""
    facts, lost = monitor.as_dict(), disagreeing(monitor.n_disagreements, monitor.trials)
    overall = [line for line in monitor.lines if line.code is None]
    promised = f", promised {overall[0].risk:g}" if overall and overall[0].risk is not None else ""
    nothing = f", the promise about {monitor.unwatched} is not watched" if monitor.unwatched else ", nothing promised"
    by_class = [line for line in monitor.lines if line.code is not None and line.risk is not None]
    by_class.sort(key=lambda line: line.state != "broken")
    parts = [
        f"{facts['state']}",
        f"{facts['rows']} {monitor.trials}{', one per group' * monitor.grouped}, {facts['audits']} audited, "
        f"{lost} (rate {facts['disagreement_low']:.3g} to {facts['disagreement_high']:.3g}"
        f"{promised if monitor.risk is not None else nothing}), mean cost {facts['mean_cost_low']:.4g} "
        f"to {facts['mean_cost_high']:.4g}",
        *([f"{monitor.n_unwatched} rows not watched"] if monitor.n_unwatched else []),
        *(f"{line.name}: {line.state}, {_of_audits(line)}, promised {line.risk:g}" for line in by_class[:MOST_SHOWN]),
        *([f"{len(by_class) - MOST_SHOWN} more lines"] if len(by_class) > MOST_SHOWN else []),
    ]
    return f"<Monitor: {'; '.join(parts)}>"


def _named(monitor: Monitor) -> str:
    """The strata that are some rows only."""
    names = [line.name for line in monitor.lines if line.code is not None]
    return ", ".join(names[:MOST_SHOWN]) + (f" and {len(names) - MOST_SHOWN} more" if len(names) > MOST_SHOWN else "")


def _of_audits(line: Line) -> str:
    lost = line.n_disagreements
    return f"{lost} of {line.n_audits} disagree" if isinstance(lost, int) else f"{counted(lost)} in {line.n_audits}"


def _mean(monitor: Monitor, stages: Sequence[int]) -> float:
    """Mean cost of rows that left at these stages."""
    costs = (count * cost for count, cost in zip(stages, monitor.stage_costs, strict=True))
    return sum(costs) / max(1, sum(stages))
