"""The picture of the law: terms needed against their number, and against the error requested."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.figure import Figure

from ._common import Record, number, over_seeds, per_seed, select
from ._style import BLACK, BLUE, GREY, ORANGE, PAGE_WIDTH, SKY, draw_line
from ._walks import COST_DELTAS


def draw_costs(records: Sequence[Record]) -> Figure:
    """Mean number of terms against the number of terms, and against the error requested."""
    figure = Figure(figsize=(PAGE_WIDTH, 3.1), layout="constrained")
    left, right = figure.subplots(1, 2)
    lengths = sorted({int(r["n"]) for r in records})
    for delta, colour, marker in zip(
        (COST_DELTAS[0], COST_DELTAS[2], COST_DELTAS[-1]), (SKY, BLUE, BLACK), "soD", strict=True
    ):
        for regime, style in (("steady", "-"), ("thinning", "--")):
            chosen = select(records, regime=regime, delta=delta)
            means = [over_seeds(per_seed(select(chosen, n=n), "mean_terms")) for n in lengths]
            draw_line(
                left, lengths, means, colour, style, marker, f"δ = {number(delta)}" if regime == "steady" else None
            )
    left.plot([], [], color=GREY, linestyle="--", label="means thin out\nas 1/√n")
    left.plot(lengths, lengths, color=GREY, linestyle=(0, (1, 1.5)), label="all terms")
    left.set(xscale="log", yscale="log", xlabel="terms n (log scale)", ylabel="terms evaluated, mean (log scale)")
    left.legend(loc="upper left", handlelength=1.8, borderaxespad=0.2)
    shown = [n for n in lengths if n in (100, 1000, 10_000, 100_000)]
    for n, colour, marker in zip(shown, (ORANGE, SKY, BLUE, BLACK), "^soD", strict=False):
        chosen = select(records, regime="steady", n=n)
        means = [over_seeds(per_seed(select(chosen, delta=delta), "mean_terms")) for delta in COST_DELTAS]
        draw_line(right, [_caution(d) for d in COST_DELTAS], means, colour, "-", marker, None)
        right.text(7.6, means[-1].mean, f"n = {number(n)}", va="center")
    right.set(xscale="log", yscale="log", xlabel="ln(1/√δ) (log scale)", ylabel="terms evaluated, mean (log scale)")
    right.set_xticks([1, 2, 5], ["1", "2", "5"])
    right.xaxis.minorticks_off()
    right.set_xlim(0.7, 18)
    return figure


def _caution(delta: float) -> float:
    """ln(1/sqrt(delta)), the theorem's measure of caution."""
    return 0.5 * math.log(1 / delta)
