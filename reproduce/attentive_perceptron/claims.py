"""The paper's claims, each beside our figures and with a verdict that follows from them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from .._common import CONFIDENCE, Claim, Estimate, Record, interval, number, over_seeds, per_seed, percent, select
from .._law import NEAR, fitted_exponents, law
from .._walks import COST_DELTAS, LENGTHS
from .audits import DELTAS, HELD
from .choice import WITHIN
from .epochs import DEFAULT, Tables
from .learners import NAMES, READINGS

#: The readings of the paper's own boundary.
PAPERS = READINGS[:3]
#: The largest loss that counts as small.
SMALL = 0.005


def data_sets(records: Sequence[Record]) -> list[str]:
    """Names of the data sets, in the order in which they were run."""
    return list(dict.fromkeys(str(r["data"]) for r in records))


def rule_of(reading: str) -> str:
    """The rule that chose the settings of a contender."""
    return DEFAULT if reading == "full" else WITHIN


def training(tables: Tables, data: str, reading: str, column: str, rule: str | None = None) -> NDArray[np.float64]:
    """One figure per seed: the mean over all epochs and tasks."""
    own = select(tables["epochs"], data=data, reading=reading, rule=rule or rule_of(reading))
    return np.array(per_seed(own, column))


def final_gap(tables: Tables, data: str, reading: str, rule: str | None = None) -> NDArray[np.float64]:
    """Test error after the last epoch, above the full learner's, by seed."""
    last = max(int(r["epoch"]) for r in select(tables["epochs"], data=data))
    own, full = (
        np.array(per_seed(select(tables["epochs"], data=data, reading=name, rule=by, epoch=last), "error"))
        for name, by in ((reading, rule or rule_of(reading)), ("full", DEFAULT))
    )
    gap: NDArray[np.float64] = own - full
    return gap


def points(estimate: Estimate) -> str:
    """Write a difference of shares in percentage points, with its interval."""

    def form(value: float) -> str:
        return ("−" if value < 0 else "+") + number(100 * abs(value), 2)

    return interval(estimate, form)


def all_claims(tables: Tables) -> list[Claim]:
    """Every claim of the paper that the run speaks to."""
    return [
        speed_in_training(tables),
        speed_in_prediction(tables),
        small_losses(tables),
        beats_a_budget(tables),
        at_most_delta(tables["stop_errors"]),
        law(tables["simulated_costs"]),
        law_of_eq4(tables["simulated_costs"]),
    ]


def speed_in_training(tables: Tables) -> Claim:
    """Claim: every reading reads less than everything, in every epoch."""
    said, throughout = [], True
    for data in data_sets(tables["epochs"]):
        shares, times = [], []
        for reading in READINGS:
            own = select(tables["epochs"], data=data, reading=reading, rule=WITHIN)
            for epoch in sorted({int(r["epoch"]) for r in own}):
                throughout &= over_seeds(per_seed(select(own, epoch=epoch), "share")).high < 1
            shares.append(percent(float(training(tables, data, reading, "share").mean()), 2))
            full, own_time = (training(tables, data, r, "microseconds_per_row") for r in ("full", reading))
            times.append(number(float(full.mean() / own_time.mean()), 2))
        said.append(f"{data}: {', '.join(shares)}; full learner's time over theirs {', '.join(times)}")
    return Claim(
        "Speed-ups throughout training.",
        f"Features seen, audits included, of all, by {_list(NAMES[r] for r in READINGS)} (chosen within 0.3 points): "
        + " / ".join(said)
        + ". Times are this run's own, on a machine that others may have used, and only indicative.",
        "holds in features, in every epoch" if throughout else "does not hold in every epoch",
    )


def speed_in_prediction(tables: Tables) -> Claim:
    """Features that attentive prediction with the learnt model saves, and the errors that it adds."""
    said, saves = [], True
    for data in data_sets(tables["prediction"]):
        own = select(tables["prediction"], data=data, reading="conditional", rule=DEFAULT)
        share = over_seeds(per_seed(own, "share"))
        change = over_seeds(np.array(per_seed(own, "error")) - np.array(per_seed(own, "full_error")))
        saves &= share.high < 1
        said.append(f"{data} {interval(share, percent)} of the features, {points(change)} points of error")
    return Claim(
        "Speed-ups throughout prediction.",
        "The conditional learner with default parameters, predicting with its own boundary, against its full scores: "
        + "; ".join(said)
        + ".",
        "holds" if saves else "does not hold everywhere",
    )


def small_losses(tables: Tables) -> Claim:
    """Test error above the full learner's, for every reading."""
    said, losses = [], dict.fromkeys(READINGS, True)
    for data in data_sets(tables["epochs"]):
        gaps = {reading: over_seeds(final_gap(tables, data, reading)) for reading in READINGS}
        for reading, gap in gaps.items():
            losses[reading] &= gap.mean <= SMALL
        said.append(f"{data}: {'; '.join(points(gap) for gap in gaps.values())}")
    good = [NAMES[reading] for reading, small in losses.items() if small]
    return Claim(
        "Small losses in prediction accuracy.",
        f"Test error above the full learner's, points, {_list(NAMES[r] for r in READINGS)}, each with the settings "
        f"that came within 0.3 points on held-out rows or nearest to it: {' / '.join(said)}.",
        "holds" if len(good) == len(READINGS) else f"holds for {_list(good)}" if good else "does not hold",
    )


def beats_a_budget(tables: Tables) -> Claim:
    """The conditional learner against a budget of the same mean cost."""
    said, better = [], []
    for data in data_sets(tables["epochs"]):
        gap = over_seeds(final_gap(tables, data, "budgeted") - final_gap(tables, data, "conditional"))
        better.append(gap.low > 0)
        cost = [float(training(tables, data, r, "share").mean()) for r in ("budgeted", "conditional")]
        said.append(f"{data} {points(gap)} points, at {percent(cost[0], 2)} and {percent(cost[1], 2)} of the features")
    return Claim(
        "Attention spends features better than a budget does.",
        f"Test error of the budgeted learner above that of the conditional one: {'; '.join(said)}.",
        "holds" if all(better) else "holds in part" if any(better) else "does not hold",
    )


def at_most_delta(records: Sequence[Record]) -> Claim:
    """Claim: the true stop error, of the kind that a reading bounds, stays below delta."""
    kept = {}
    for reading in (*READINGS, HELD):
        own = select(records, reading=reading)
        cells = [
            (data, delta) for data in data_sets(own) for delta in DELTAS if select(own, data=data, requested=delta)
        ]
        true = [over_seeds(per_seed(select(own, data=data, requested=delta), "true")) for data, delta in cells]
        kept[reading] = [t.mean <= delta for t, (_, delta) in zip(true, cells, strict=True)]
    said = [f"{NAMES.get(r, 'the same held by audits')} {sum(good)} of {len(good)}" for r, good in kept.items()]
    holding = [NAMES[r] for r in PAPERS if all(kept[r])]
    return Claim(
        "The stop error is at most δ.",
        "Data sets and δ at which the mean true error, of the kind that the reading bounds, is at most δ: "
        f"{'; '.join(said)}. The formula has terms independent; pixels and words are not.",
        "holds" if len(holding) == len(PAPERS) else f"holds for {_list(holding)}" if holding else "does not hold",
    )


def law_of_eq4(records: Sequence[Record]) -> Claim:
    """Growth of the two readings of equation (4) with n."""
    published, centred = (fitted_exponents(records, name)[0] for name in ("printed", "centred"))
    longest, delta = max(int(r["n"]) for r in records), 0.01
    cost = {
        name: over_seeds(per_seed(select(records, regime=name, n=longest, delta=delta), "mean_terms"))
        for name in ("printed", "centred")
    }
    holds = abs(centred.mean - 0.5) <= NEAR
    return Claim(
        "The same of equation (4).",
        f"The same walks, n from {number(min(LENGTHS))} to {number(max(LENGTHS))}, δ from {number(max(COST_DELTAS))} "
        f"to {number(min(COST_DELTAS))}. Centred, E[T] grows as n to the {interval(centred)}; as published, to the "
        f"{interval(published)}, for its level sinks below 0 where rows drift: at n = {number(longest)} and δ = "
        f"{delta:g} rows are left after {interval(cost['printed'])} terms, whatever they hold, against "
        f"{interval(cost['centred'])} centred.",
        "holds centred" if holds else "holds centred, as a bound" if centred.high <= 0.5 + NEAR else "does not hold",
    )


def coverage(records: Sequence[Record]) -> tuple[int, int, float, float]:
    """Runs whose audited interval contains the true error, all runs, and the interval of their ratio."""
    held, n = sum(int(r["covered"]) for r in records), len(records)
    low, high = binomtest(held, n).proportion_ci(CONFIDENCE)  # of Clopper and Pearson
    return held, n, low, high


def _list(words: Iterable[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last
