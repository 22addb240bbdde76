"""The paper's claims and numbers, each beside our figures and with a verdict that follows from them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._common import Claim, Estimate, Record, interval, number, over_seeds, percent, select
from .contenders import NAMES, ONE_SHOT
from .curves import Tables
from .figures import above, budgets, data_sets, full_time, lost, pooled, ran, time_of
from .times import NOTHING

#: The highest of the low budgets, at which they are judged; and half of the costly features.
LOW, HALF = 0.2, 0.5
#: The largest loss that counts as negligible.
NEGLIGIBLE = 0.002
#: The largest loss that counts as none.
NOTHING_LOST = 0.001
#: Microseconds a word in the paper: POS features, all features, the best tree.
PAPER_US = (165, 275, 75)
#: The treebanks that stand for the paper's.
PARSED = ("EWT", "Penn sample")
BY_HEAD = "Penn sample, by head"


def points(estimate: Estimate) -> str:
    """Write a difference of shares in percentage points, with its interval."""
    return interval(estimate, point)


def point(value: float) -> str:
    """Write a difference of shares in percentage points."""
    return ("−" if value < 0 else "+") + f"{100 * abs(value):.2f}"


def verdict(holds: bool, fails: bool) -> str:
    """The verdict of intervals: for a claim, against it, or neither."""
    return "holds" if holds else "does not hold" if fails else "not beyond doubt"


def parsed(tables: Tables) -> list[str]:
    """The treebanks that were parsed."""
    return [data for data in data_sets(tables) if data in PARSED]


def all_claims(tables: Tables) -> list[Claim]:
    """Every claim of the paper that the run speaks to, in the paper's order."""
    return [
        saving(tables),
        ahead_of_rivals(tables),
        complex_and_simple(tables),
        first_steps(tables),
        microseconds(tables),
        half_is_enough(tables),
        trajectories(tables),
        importance(tables),
        one_shot_above_anytime(tables),
        myopic(tables),
        reach(tables["pseudo_labels"]),
        depth(tables),
    ]


# ---- words -----------------------------------------------------------------------------------------------------------


def saving(tables: Tables) -> Claim:
    """Share of the costly features that can be left out at the accuracy of all of them."""
    saved = {name: 1 - pooled(tables, "OCR", name).within(NOTHING_LOST) for name in (*ONE_SHOT, "iterated")}
    full = pooled(tables, "OCR", "one-shot").full
    best = max(saved[name] for name in ONE_SHOT)
    return Claim(
        "OCR: up to 50 % of the costly features saved at top performance.",
        f"Saved from where the curve, pooled over all rotations, stays within 0.1 points of all features' "
        f"{percent(full, 4)}: "
        + "; ".join(f"{NAMES[name]} {percent(share, 2)}" for name, share in saved.items())
        + ".",
        "holds" if best >= 0.5 else "does not hold",
    )


def ahead_of_rivals(tables: Tables) -> Claim:
    """The one-shot policy against the rivals at every budget."""
    said, gaps = [], []
    for rival in ("uniform", "uniform, examples", "myopic", "q-learning"):
        own = [above(tables, "OCR", share, "one-shot", rival) for share in budgets(tables, "OCR")]
        gaps += own
        at = above(tables, "OCR", LOW, "one-shot", rival)
        clear = sum(gap.low > 0 for gap in own)
        said.append(f"{NAMES[rival]} {points(at)}, above at {clear} of {len(own)} budgets beyond doubt")
    return Claim(
        "OCR: a lower budget at all levels of performance than the rivals, among them Q-learning (Weiss and Taskar).",
        f"Letters right, one-shot less rival, in points, at {percent(LOW)}: {'; '.join(said)}. Our Q-learning may "
        "choose parts; Weiss and Taskar's chooses templates for the whole.",
        verdict(all(gap.low > 0 for gap in gaps), any(gap.high < 0 for gap in gaps)),
    )


def complex_and_simple(tables: Tables) -> Claim:
    """Complex policy features against simple ones, in costly features and in time."""
    said, efficient, quicker = [], [], []
    for data in data_sets(tables):
        if not ran(data, "simple"):
            continue
        gap = above(tables, data, LOW, "one-shot", "simple")
        times = [float(time_of(tables, data, name, LOW)["total_us"]) for name in ("simple", "one-shot")]
        efficient.append(gap)
        quicker.append(times[0] < times[1])
        said.append(f"{data} {points(gap)} points, {number(times[0])} and {number(times[1])} µs")
    holds = all(gap.low > 0 for gap in efficient)
    return Claim(
        "Complex policy features use the costly ones better; simple ones take less time at low budgets, for want of "
        "the additional inference.",
        f"At {percent(LOW)}, complex less simple, and total times of a simple and a complex policy a part: "
        f"{'; '.join(said)}.",
        "holds"
        if holds and all(quicker)
        else f"better use {verdict(holds, any(gap.high < 0 for gap in efficient))}; less time "
        + ("holds" if all(quicker) else f"holds on {sum(quicker)} of {len(quicker)} data sets"),
    )


def first_steps(tables: Tables) -> Claim:
    """Claim: the anytime policy gains early."""
    curve = pooled(tables, "OCR", "anytime", "each")
    cheap, full = float(curve.accuracy[0]), curve.full
    gained = {share: (curve.at(share) - cheap) / (full - cheap) for share in (0.1, 0.2, 0.3, 0.5)}
    return Claim(
        "OCR, anytime: the gains come in the first several steps.",
        "Of what all features gain over none, gained when a share of the letters, the same in every word, has them: "
        + ", ".join(f"{percent(g, 2)} at {percent(s)}" for s, g in gained.items())
        + ".",
        "holds" if gained[0.3] > 0.5 else "does not hold",
    )


# ---- sentences -------------------------------------------------------------------------------------------------------


def microseconds(tables: Tables) -> Claim:
    """The time of features and inference."""
    said, ratios = [], []
    for data in parsed(tables):
        cheap, full = time_of(tables, data, NOTHING, 0.0), full_time(tables, data)
        figures = (float(cheap["features_us"]), float(full["features_us"]), float(full["inference_us"]))
        said.append(f"{data} " + ", ".join(number(f, 2) for f in figures))
        ratios.append(sum(PAPER_US[1:]) / sum(figures[1:]))
    return Claim(
        "{} µs a word for POS features, {} for all of them, {} for the best tree.".format(*PAPER_US),
        f"Our own parser, one thread, scores included: {'; '.join(said)} µs.",
        f"another system and machine: all features and the tree take {number(min(ratios), 2)} to "
        f"{number(max(ratios), 2)} times less",
    )


def half_is_enough(tables: Tables) -> Claim:
    """The loss at half of the costly features."""
    said, losses = [], []
    for data in parsed(tables):
        own = {name: lost(tables, data, name, HALF) for name in (*ONE_SHOT, "iterated")}
        losses += [own[name] for name in ONE_SHOT]
        said.append(f"{data}: " + "; ".join(f"{NAMES[name]} {points(loss)}" for name, loss in own.items()))
    return Claim(
        "Half of the expensive features lose negligible accuracy; all one-shot policies are alike.",
        f"UAS lost in points at {percent(HALF)}. " + ". ".join(said) + ".",
        verdict(all(e.mean <= NEGLIGIBLE for e in losses), any(e.low > NEGLIGIBLE for e in losses)),
    )


def trajectories(tables: Tables) -> Claim:
    """Pseudo-labels by trajectory against parsimonious ones, at low budgets."""
    said, gaps = [], []
    for data in data_sets(tables):
        if not ran(data, "parsimonious"):
            continue
        own = [
            above(tables, data, share, "one-shot", "parsimonious") for share in budgets(tables, data) if share <= LOW
        ]
        gaps += own
        said.append(f"{data} {points(own[-1])}")
    return Claim(
        "Trajectory search is at least as good as parsimonious search at low budgets, marginally.",
        f"Trajectory less parsimonious, in points, at {percent(LOW)}: {'; '.join(said)}.",
        "holds"
        if all(gap.mean >= 0 for gap in gaps)
        else "does not hold"
        if any(gap.high < 0 for gap in gaps)
        else "neither is better beyond doubt",
    )


def importance(tables: Tables) -> Claim:
    """The gain of importance weights."""
    gaps = {
        data: above(tables, data, LOW, "one-shot", "unweighted")
        for data in data_sets(tables)
        if ran(data, "unweighted")
    }
    better, worse = all(gap.low > 0 for gap in gaps.values()), all(gap.high < 0 for gap in gaps.values())
    return Claim(
        "Importance weights: a small improvement.",
        f"With less without, in points, at {percent(LOW)}: "
        + "; ".join(f"{data} {points(gap)}" for data, gap in gaps.items())
        + ".",
        "holds" if better else "does not hold" if worse else "not beyond doubt: small it is",
    )


def one_shot_above_anytime(tables: Tables) -> Claim:
    """One-shot against anytime: when money may move between sentences, and when it may not."""
    said, gaps = [], []
    for data in parsed(tables):
        free = [above(tables, data, share, "one-shot", "anytime", "mean", "each") for share in budgets(tables, data)]
        gaps += free
        equal = above(tables, data, 0.3, "one-shot", "anytime", "each")
        at = above(tables, data, 0.3, "one-shot", "anytime", "mean", "each")
        said.append(f"{data} {points(at)}; where every sentence has the same share {points(equal)}")
    return Claim(
        "Parsing: anytime stays below one-shot at all budgets.",
        f"One-shot, whose money may move between sentences, less anytime, in points, at 30 %: {'. '.join(said)}.",
        verdict(all(gap.low > 0 for gap in gaps), any(gap.high < 0 for gap in gaps)),
    )


def myopic(tables: Tables) -> Claim:
    """The myopic policy, its second inference and its accuracy."""
    said, gaps = [], []
    for data in parsed(tables):
        own = [above(tables, data, share, "myopic", "uniform") for share in budgets(tables, data)]
        gaps += own
        ours, rival = (time_of(tables, data, name, 0.3) for name in ("myopic", "uniform"))
        second = float(ours["inference_us"]) - float(rival["inference_us"])
        n_words = _words(tables, data)
        said.append(
            f"{data} {points(above(tables, data, 0.3, 'myopic', 'uniform'))} points at 30 %, inferences of a word "
            f"{number(float(ours['inferences']))} instead of {number(float(rival['inferences']))}, "
            f"{number(second, 2)} µs a word more, {number(second * n_words / 1e6, 2)} s over the test sentences"
        )
    return Claim(
        "The myopic policy's second inference adds about 4.5 s over section 23 (75 µs a word); it is worse than "
        "uniform.",
        f"Myopic less uniform: {'. '.join(said)}.",
        f"the second inference is there; worse in accuracy: "
        f"{verdict(all(gap.high < 0 for gap in gaps), any(gap.low > 0 for gap in gaps))}",
    )


def _words(tables: Tables, data: str) -> int:
    return int(select(tables["examples"], data=data)[0]["test_parts"])


def reach(records: Sequence[Record]) -> Claim:
    """The budgets that pseudo-labels need."""
    most = {}
    for data in dict.fromkeys(str(r["data"]) for r in records):
        own = select(records, data=data, search="trajectory")
        most[data] = max(float(r["share"]) for r in own)
    over = {data: share for data, share in most.items() if data in PARSED}
    return Claim(
        "Parsing: budgets above 10 % cannot be reached by λ in the pseudo-labels, and need class weights.",
        "Largest share of the parts that trajectory search gives costly features to, over all λ from 0 on: "
        + "; ".join(f"{data} {percent(share)}" for data, share in most.items())
        + ". A threshold on the classifier's score, set for the budget, reaches every one.",
        "holds" if all(share <= 0.1 for share in over.values()) else "does not hold",
    )


def depth(tables: Tables) -> Claim:
    """Claim: costly features go to words of low depth in the tree."""
    said, concentrated = [], {}
    for data in dict.fromkeys(str(r["data"]) for r in tables["depths"]):
        own = select(tables["depths"], data=data, policy="one-shot")
        shallow, deep = ([r for r in own if (int(r["depth"]) <= 1) == near] for near in (True, False))
        shares = [over_seeds(_share_bought(records)) for records in (shallow, deep)]
        concentrated[data] = over_seeds(np.array(_share_bought(shallow)) - np.array(_share_bought(deep)))
        said.append(f"{data} {interval(shares[0], percent)} and {interval(shares[1], percent)}")
    by_head = concentrated[BY_HEAD].low > 0
    by_modifier = all(gap.low > 0 for data, gap in concentrated.items() if data != BY_HEAD)
    return Claim(
        "Expensive features concentrate at words of low depth: the root verb, subject, object.",
        f"Share of the words that get them from the one-shot policy at 30 %, depth 0 and 1 against more: "
        f"{'; '.join(said)}.",
        "holds" if by_head and by_modifier else "holds by head" if by_head else "does not hold",
    )


def _share_bought(records: Sequence[Record]) -> list[float]:
    seeds = sorted({int(r["seed"]) for r in records})
    return [
        sum(float(r["bought"]) for r in select(records, seed=s))
        / max(sum(float(r["words"]) for r in select(records, seed=s)), 1)
        for s in seeds
    ]
