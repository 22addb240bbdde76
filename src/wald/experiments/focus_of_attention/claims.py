"""The paper's claims, each beside our figures and with a verdict that follows from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from .._common import Estimate, Record, number, over_seeds, per_seed, percent, select
from .simulation import COST_DELTAS, DELTAS, DRIFTS, LENGTHS, exponents
from .tradeoff import BEYOND, SHARES, Tables

#: The asked error and the mean cost whose figures stand for the others in a sentence.
ASKED, SHARE = 0.05, 0.5
#: An exponent this near to one half is one half.
NEAR = 0.03


class Claim(NamedTuple):
    """A line of the page."""

    paper: str
    seen: str
    verdict: str


def interval(estimate: Estimate, form: Callable[[float], str] = number) -> str:
    """Write a mean with its interval."""
    return f"{form(estimate.mean)} ({form(estimate.low)} to {form(estimate.high)})"


def signed(value: float) -> str:
    """Write a number with its sign."""
    return ("+" if value > 0 else "−" if value < 0 else "") + number(abs(value))


def data_sets(tables: Tables) -> list[str]:
    """Names of the data sets, in the order in which they were run."""
    return list(dict.fromkeys(str(r["data"]) for r in tables["curves"]))


def difference(tables: Tables, data: str, share: float, column: str, first: str, second: str) -> Estimate:
    """First predictor's figure less the second's at the same mean cost: paired by seed, averaged over models."""
    figures = [
        np.array(per_seed(select(tables["curves"], data=data, share=share, predictor=predictor), column))
        for predictor in (first, second)
    ]
    return over_seeds(figures[0] - figures[1])


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
    """Whether the error seen stays below the one asked for."""

    def seen(drift: str, delta: float) -> Estimate:
        return over_seeds(per_seed(select(records, drift=drift, asked=delta), "seen"))

    drifts = [f"{drift:g}" for drift in DRIFTS]
    below = all(seen(drift, delta).high <= delta for drift in drifts for delta in DELTAS)
    factors = [delta / seen(drift, delta).mean for drift in drifts for delta in DELTAS if seen(drift, delta).mean > 0]
    at = [seen(drift, ASKED) for drift in drifts]
    edge = seen("edge", ASKED)
    return Claim(
        "The constant boundary is conservative: the stop error seen is below the one asked for.",
        f"Asked {percent(ASKED)}, seen {'; '.join(f'{interval(e, percent)} at drift {d}' for d, e in zip(drifts, at, strict=True))}. "
        f"Over all {len(drifts) * len(DELTAS)} cells the error asked for is {number(min(factors), 2)} to "
        f"{number(max(factors), 2)} times the one seen. Where every full sum lies on the threshold, which is what the "
        f"formula bounds, it is {interval(edge, percent)}: the bound is nearly tight there.",
        "holds" if below else "does not hold",
    )


def law(records: Sequence[Record]) -> Claim:
    """Whether the mean number of terms grows as the square root of n and of the caution."""
    n, caution = _exponents(records, "steady")
    holds = abs(n.mean - 0.5) <= NEAR and abs(caution.mean - 0.5) <= NEAR
    bound = n.high <= 0.5 + NEAR and caution.high <= 0.5 + NEAR
    return Claim(
        "E[T] = O(√(n log 1/√δ)) for rows that drift to the boundary.",
        f"n from {number(min(LENGTHS))} to {number(max(LENGTHS))}, δ from {COST_DELTAS[0]:g} to {COST_DELTAS[-1]:g}, "
        f"terms with a mean of half their standard deviation: E[T] grows as n to the {interval(n)} and as ln(1/√δ) to "
        f"the {interval(caution)}.",
        "holds" if holds else "holds as a bound" if bound else "does not hold",
    )


def premise(records: Sequence[Record]) -> Claim:
    """What the law needs: a drift that does not thin out."""
    n, _ = _exponents(records, "thinning")
    longest = max(int(r["n"]) for r in records)
    at = over_seeds(per_seed(select(records, regime="thinning", n=longest, delta=ASKED), "mean_terms"))
    share = Estimate(at.mean / longest, at.low / longest, at.high / longest, at.n)
    return Claim(
        "The same law is quoted as n to √n features.",
        f"It needs terms whose mean does not shrink as n grows. Where more terms say no more in all (mean of a term as "
        f"1/√n, full sum 2 standard deviations from the threshold), E[T] grows as n to the {interval(n)}: at δ = "
        f"{ASKED:g} and n = {number(longest)}, {interval(share, percent)} of the terms are evaluated.",
        "needs its premise" if n.low > 0.5 + NEAR else "holds without it",
    )


def _exponents(records: Sequence[Record], regime: str) -> tuple[Estimate, Estimate]:
    chosen = select(records, regime=regime)
    seeds = sorted({int(r["seed"]) for r in chosen})
    fitted = np.array([exponents(select(chosen, seed=seed)) for seed in seeds])
    return over_seeds(fitted[:, 0]), over_seeds(fitted[:, 1])


# ---- data ------------------------------------------------------------------------------------------------------------


def sum_of_errors(tables: Tables) -> Claim:
    """Whether stop errors add to the full model's errors."""
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
        "also put right what the full model has wrong.",
        ("an upper bound, no equality" if strict else "holds") if over else "does not hold",
    )


def mostly_negatives(tables: Tables) -> Claim:
    """Who is rejected by the one-sided test."""
    rejected, negative = [], []
    for data in data_sets(tables):
        chosen = select(tables["curves"], data=data, share=SHARE, predictor="attentive")
        rejected.append(over_seeds(per_seed(chosen, "rejected_negatives")))
        model = select(tables["at_risk"], data=data, predictor="attentive")
        cost = [over_seeds(per_seed(model, f"terms_of_{side}s")).mean for side in ("positive", "negative")]
        negative.append(cost)
    said = "; ".join(f"{d} {interval(e, percent)}" for d, e in zip(data_sets(tables), rejected, strict=True))
    costs = "; ".join(
        f"{d} {number(p)} and {number(n)}" for d, (p, n) in zip(data_sets(tables), negative, strict=True)
    )
    return Claim(
        "One-sided, it rejects mostly negatives.",
        f"At {percent(SHARE)} of the terms, rejected rows that the full model calls negative: {said}. At 0.1 % "
        f"disagreement, terms of a positive and of a negative row: {costs}.",
        "holds" if all(e.low > 0.5 for e in rejected) else "does not hold",
    )


def precision_and_recall(tables: Tables) -> Claim:
    """Attentive against budgeted in average precision at equal mean cost."""
    said, verdicts = [], []
    for data in data_sets(tables):
        text, verdict = _contest(tables, data, "average_precision", "attentive", "budgeted", larger_is_better=True)
        own = "attentive, ranked by its estimate"
        repaired, _ = _contest(tables, data, "average_precision", own, "budgeted", larger_is_better=True)
        said.append(f"**{data}**: {text}; with rejected rows ranked by their estimate instead, {repaired}")
        verdicts.append(verdict)
    return Claim(
        "At equal mean cost attentive beats budgeted in precision and recall, on all three data sets.",
        "Average precision, difference by seed, at " + _list_of_shares(SHARES) + f" of the terms. {'. '.join(said)}.",
        _overall(verdicts),
    )


def stop_error(tables: Tables) -> Claim:
    """Attentive against budgeted in stop error at equal mean cost."""
    said, verdicts = [], []
    for data in data_sets(tables):
        text, verdict = _contest(tables, data, "disagreement", "attentive", "budgeted", larger_is_better=False)
        tuned, _ = _contest(
            tables, data, "disagreement", "attentive", "budgeted, best threshold", larger_is_better=False
        )
        said.append(f"**{data}**: {text}; against budgeted with its best threshold, {tuned}")
        verdicts.append(verdict)
    return Claim(
        "At equal mean cost attentive has the lower stop error, but where errors are many.",
        f"Share of rows answered otherwise than by the full model. {'. '.join(said)}.",
        _overall(verdicts),
    )


def steep_fall(tables: Tables) -> Claim:
    """What one score for all rejected rows does to the curve."""
    said, falls = [], []
    for data in data_sets(tables):
        chosen = select(tables["fall"], data=data, share=SHARE)
        column = {name: np.array(per_seed(chosen, name)) for name in chosen[0] if str(name).startswith(("p", "r"))}
        falls.append(over_seeds(column["precision_of_full_beyond"] - column["precision_beyond"]))
        said.append(
            f"{data}: at recall {number(column['recall'].mean(), 2)} from {number(column['precision_before'].mean(), 2)} "
            f"to {number(column['precision_beyond'].mean(), 2)} (full there "
            f"{number(column['precision_of_full_beyond'].mean(), 2)})"
        )
    return Claim(
        "The attentive precision-recall curve falls steeply, for rejected rows share one score.",
        f"At {percent(SHARE)} of the terms precision falls within {number(BEYOND)} of recall; {'; '.join(said)}.",
        "holds" if all(fall.low > 0 for fall in falls) else "holds in part",
    )


def _contest(
    tables: Tables, data: str, column: str, first: str, second: str, *, larger_is_better: bool
) -> tuple[str, str]:
    """At which costs the first predictor is better, worse, or neither beyond doubt."""
    better, worse = [], []
    differences = []
    for share in SHARES:
        estimate = difference(tables, data, share, column, first, second)
        differences.append(estimate.mean)
        gain = (estimate.low, estimate.high) if larger_is_better else (-estimate.high, -estimate.low)
        if gain[0] > 0:
            better.append(share)
        elif gain[1] < 0:
            worse.append(share)
    parts = []
    if better:
        parts.append(f"better at {_list_of_shares(better)}")
    if worse:
        parts.append(f"worse at {_list_of_shares(worse)}")
    text = ", ".join(parts) or "nowhere a difference beyond doubt"
    text += f" (from {signed(min(differences))} to {signed(max(differences))})"
    if not worse:
        return text, "holds" if better else "undecided"
    return text, "in part" if better else "fails"


def _overall(verdicts: Sequence[str]) -> str:
    if all(verdict == "holds" for verdict in verdicts):
        return "holds"
    if all(verdict == "fails" for verdict in verdicts):
        return "does not hold"
    return "does not hold everywhere"


def _list_of_shares(shares: Sequence[float]) -> str:
    """Write shares in per cent, neighbours among those compared as a range."""
    runs: list[list[float]] = []
    for share in shares:
        if runs and SHARES.index(share) == SHARES.index(runs[-1][-1]) + 1:
            runs[-1].append(share)
        else:
            runs.append([share])
    return ", ".join(f"{100 * r[0]:g}–{100 * r[-1]:g} %" if len(r) > 1 else f"{100 * r[0]:g} %" for r in runs)
