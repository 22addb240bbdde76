"""The paper's claims, each beside our figures and with a verdict that follows from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .._common import (
    Claim,
    Estimate,
    Record,
    interval,
    list_of,
    number,
    over_seeds,
    per_seed,
    percent,
    select,
    signed,
)
from .._law import NEAR, fitted_exponents, law
from .._walks import DELTAS, DRIFTS
from .tradeoff import BEYOND, RECALLS, SHARES, Tables

#: The requested error and the mean cost whose figures stand for the others in a sentence.
REQUESTED, SHARE = 0.05, 0.5
#: A bound is tight if at least this share of it is seen.
TIGHT = 0.8


def _verdict(holds: bool, fails: bool) -> str:
    """The verdict of intervals: for a claim, against it, or neither."""
    return "holds" if holds else "does not hold" if fails else "not beyond doubt"


def data_sets(tables: Tables) -> list[str]:
    """Names of the data sets, in the order in which they were run."""
    return list(dict.fromkeys(str(r["data"]) for r in tables["curves"]))


def all_claims(tables: Tables) -> list[Claim]:
    """Every claim of the paper that the run speaks to, in the paper's order."""
    return [
        conservative(tables["simulated_errors"]),
        law(tables["simulated_costs"]),
        premise(tables["simulated_costs"]),
        sum_of_errors(tables),
        mostly_negatives(tables),
        precision_and_recall(tables),
        stop_error(tables),
        steep_fall(tables),
    ]


# ---- simulation ------------------------------------------------------------------------------------------------------


def conservative(records: Sequence[Record]) -> Claim:
    """Claim: the observed error stays below the requested one."""

    def seen(drift: str, delta: float) -> Estimate:
        return over_seeds(per_seed(select(records, drift=drift, requested=delta), "seen"))

    drifts = [f"{drift:g}" for drift in DRIFTS]
    cells = [(seen(drift, delta), delta) for drift in drifts for delta in DELTAS]
    factors = [delta / error.mean for error, delta in cells if error.mean > 0]
    at = [seen(drift, REQUESTED) for drift in drifts]
    edge = seen("edge", REQUESTED)
    tight = ": the bound is nearly tight there" if edge.mean >= TIGHT * REQUESTED else ""
    return Claim(
        "The constant boundary is conservative: the stop error seen is below the one requested.",
        f"Requested {percent(REQUESTED)}, seen "
        + "; ".join(f"{interval(e, percent)} at drift {signed(float(d))}" for d, e in zip(drifts, at, strict=True))
        + " (mean of the full sum, in its standard deviations). "
        f"Over all {len(drifts) * len(DELTAS)} cells the error requested is {number(min(factors), 2)} to "
        f"{number(max(factors), 2)} times the one seen. Where every full sum lies on the threshold, which is what the "
        f"formula bounds, it is {interval(edge, percent)}{tight}.",
        _verdict(all(e.high <= delta for e, delta in cells), any(e.low > delta for e, delta in cells)),
    )


def premise(records: Sequence[Record]) -> Claim:
    """Claim: the law needs terms whose mean does not shrink as their number grows."""
    n, _ = fitted_exponents(records, "thinning")
    longest = max(int(r["n"]) for r in records)
    at = over_seeds(per_seed(select(records, regime="thinning", n=longest, delta=REQUESTED), "mean_terms"))
    share = Estimate(at.mean / longest, at.low / longest, at.high / longest, at.n)
    return Claim(
        "In the authors' short form: from n to O(√n) features.",
        f"It needs terms whose mean does not shrink as n grows. Where more terms say no more in all (mean of a term as "
        f"1/√n, full sum 2 standard deviations from the threshold), E[T] grows as n to the {interval(n)}: at δ = "
        f"{REQUESTED:g} and n = {number(longest)}, {interval(share, percent)} of the terms are evaluated.",
        "needs its premise" if n.low > 0.5 + NEAR else "holds without it",
    )


# ---- data ------------------------------------------------------------------------------------------------------------


def sum_of_errors(tables: Tables) -> Claim:
    """Claim: stop errors add to the full model's errors."""
    said, gaps = [], []
    for data in data_sets(tables):
        figures = {}
        for predictor in ("attentive", "full"):
            chosen = select(tables["curves"], data=data, share=SHARE, predictor=predictor)
            for column in ("label_error", "disagreement"):
                figures[predictor, column] = np.array(per_seed(chosen, column))
        bound = figures["full", "label_error"] + figures["attentive", "disagreement"]
        gaps.append(over_seeds(bound - figures["attentive", "label_error"]))
        said.append(f"{data} {percent(figures['attentive', 'label_error'].mean())} against {percent(bound.mean())}")
    over = all(gap.high >= 0 for gap in gaps)
    strict = any(gap.low > 0 for gap in gaps)
    return Claim(
        "The attentive predictor's error is the full one's plus the stop error.",
        f"At {percent(SHARE)} of the terms, error of the labels against that sum: {'; '.join(said)}. A stop error can "
        "also correct an error of the full model.",
        ("an upper bound, no equality" if strict else "holds") if over else "does not hold",
    )


def mostly_negatives(tables: Tables) -> Claim:
    """Claim: the rows that the one-sided test rejects are mostly negatives."""
    rejected, negative = [], []
    for data in data_sets(tables):
        chosen = select(tables["curves"], data=data, share=SHARE, predictor="attentive")
        rejected.append(over_seeds(per_seed(chosen, "rejected_negatives")))
        model = select(tables["at_risk"], data=data, predictor="attentive")
        cost = [over_seeds(per_seed(model, f"terms_of_{side}s")).mean for side in ("positive", "negative")]
        negative.append(cost)
    said = "; ".join(f"{d} {interval(e, percent)}" for d, e in zip(data_sets(tables), rejected, strict=True))
    costs = "; ".join(f"{d} {number(p)} and {number(n)}" for d, (p, n) in zip(data_sets(tables), negative, strict=True))
    return Claim(
        "One-sided, it rejects mostly negatives.",
        f"At {percent(SHARE)} of the terms, rejected rows that the full model calls negative: {said}. At 0.1 % "
        f"disagreement, terms of a positive and of a negative row: {costs}.",
        _verdict(all(e.low > 0.5 for e in rejected), any(e.high < 0.5 for e in rejected)),
    )


def precision_and_recall(tables: Tables) -> Claim:
    """Attentive against budgeted in average precision at equal mean cost."""
    return Claim(
        "At equal mean cost attentive beats budgeted in precision and recall, on all three data sets.",
        f"Average precision, the table below. {_summary(tables, FIGURES[0])}.",
        _overall(tables, FIGURES[0]),
    )


def stop_error(tables: Tables) -> Claim:
    """Attentive against budgeted in stop error at equal mean cost."""
    return Claim(
        "At equal mean cost attentive has the lower stop error, but where errors are many.",
        f"Answers other than the full model's, the table below. {_summary(tables, FIGURES[3])}.",
        _overall(tables, FIGURES[3]),
    )


def steep_fall(tables: Tables) -> Claim:
    """Loss of precision where the rejected rows, which share one score, begin."""
    said, falls = [], []
    for data in data_sets(tables):
        chosen = select(tables["fall"], data=data, share=SHARE)
        column = {name: np.array(per_seed(chosen, name)) for name in chosen[0] if str(name).startswith(("p", "r"))}
        falls.append(over_seeds(column["precision_of_full_beyond"] - column["precision_beyond"]))
        at, before, beyond, full = (
            number(column[name].mean(), 2)
            for name in ("recall", "precision_before", "precision_beyond", "precision_of_full_beyond")
        )
        said.append(f"{data}: at recall {at} from {before} to {beyond} (full there {full})")
    return Claim(
        "The attentive precision-recall curve falls steeply, for rejected rows share one score.",
        f"At {percent(SHARE)} of the terms precision falls within {number(BEYOND)} of recall; {'; '.join(said)}.",
        "holds" if all(fall.low > 0 for fall in falls) else "holds in part",
    )


# ---- attentive against budgeted --------------------------------------------------------------------------------------


class Figure(NamedTuple):
    """A figure by which two predictors are compared at every mean cost, or at every recall."""

    words: str
    column: str
    first: str
    second: str
    larger_is_better: bool
    by_recall: bool = False

    @property
    def compared(self) -> tuple[float, ...]:
        """The mean costs, or recalls."""
        return RECALLS if self.by_recall else SHARES


FIGURES = (
    Figure("average precision", "average_precision", "attentive", "budgeted", True),
    Figure(
        "the same, rejected rows ranked by their estimate",
        "average_precision",
        "attentive, ranked by its estimate",
        "budgeted",
        True,
    ),
    Figure(f"precision at {percent(SHARE)} of the terms, by recall", "precision", "attentive", "budgeted", True, True),
    Figure("stop error", "disagreement", "attentive", "budgeted", False),
    Figure(
        "the same, budgeted with its best threshold", "disagreement", "attentive", "budgeted, best threshold", False
    ),
)


def contests(tables: Tables) -> list[tuple[str, str, str, str, str]]:
    """Lines of the table: data set, figure, where attentive is better, where worse, and the differences."""
    lines = []
    for data in data_sets(tables):
        for figure in FIGURES:
            better, worse, gaps = contest(tables, data, figure)
            lines.append(
                (
                    data,
                    figure.words,
                    list_of(better, figure.compared) or "nowhere",
                    list_of(worse, figure.compared) or "nowhere",
                    f"{signed(min(gaps))} to {signed(max(gaps))}",
                )
            )
    return lines


def contest(tables: Tables, data: str, figure: Figure) -> tuple[list[float], list[float], list[float]]:
    """Costs (or recalls) at which the first predictor is better, and worse, beyond doubt; all mean differences."""
    if figure.by_recall:
        chosen = select(tables["precision_recall"], data=data, share=SHARE)
    else:
        chosen = select(tables["curves"], data=data)
    by = "recall" if figure.by_recall else "share"
    better, worse, gaps = [], [], []
    for place in figure.compared:
        first, second = (
            np.array(per_seed(select(chosen, predictor=predictor, **{by: place}), figure.column))
            for predictor in (figure.first, figure.second)
        )
        gap = over_seeds(first - second)
        gaps.append(gap.mean)
        low, high = (gap.low, gap.high) if figure.larger_is_better else (-gap.high, -gap.low)
        if low > 0:
            better.append(place)
        elif high < 0:
            worse.append(place)
    return better, worse, gaps


def _summary(tables: Tables, figure: Figure) -> str:
    said = []
    for data in data_sets(tables):
        better, worse, _ = contest(tables, data, figure)
        said.append(f"{data}: better at {len(better)} and worse at {len(worse)} of {len(SHARES)} mean costs")
    return "; ".join(said)


def _overall(tables: Tables, figure: Figure) -> str:
    found = [contest(tables, data, figure)[:2] for data in data_sets(tables)]
    if all(better and not worse for better, worse in found):
        return "holds"
    return "does not hold everywhere" if any(better for better, _ in found) else "does not hold"
