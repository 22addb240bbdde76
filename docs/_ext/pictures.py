"""The style of the site's pictures, and charts of the papers' figures: the directive `chart`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
from docutils import nodes
from docutils.parsers.rst import directives
from matplotlib.ticker import ScalarFormatter
from sphinx.util.docutils import SphinxDirective

DOCS = Path(__file__).parents[1]
FINDINGS = DOCS.parent / "reproduce" / "results"
#: Where charts lie until Sphinx copies them; `make clean` removes the folder.
FOLDER = DOCS / "api" / "charts"
#: Okabe and Ito's colours, as in wald's displays, without a frame around the axes.
STYLE = {
    "axes.prop_cycle": matplotlib.cycler(color=["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"]),
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9,
    "figure.figsize": (5.2, 3.2),
    "figure.dpi": 150,
    "font.size": 9,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "savefig.facecolor": "white",
    "svg.hashsalt": "wald",
}


def style(gallery: Any = None, file: Any = None) -> None:
    """Draw in the style of the site; the gallery calls this before each script."""
    matplotlib.rcParams.update(STYLE)


def table(name: str, heading: str, number: int = 0) -> dict[str, Any]:
    """Return a table of a full run of `make reproduce`."""
    kept = json.loads((FINDINGS / f"{name}.json").read_text("utf-8"))
    found: list[dict[str, Any]] = [table for table in kept["tables"] if table["heading"] == heading]
    return found[number]


def first(cell: str) -> float:
    """Return the first number of a cell, such as 1 204 of "1 204 (1 202 to 1 204)"."""
    match = re.match(r"\d[\d \u00a0\u202f]*(?:\.\d+)?", cell)
    if match is None:
        raise ValueError(f"{cell!r} does not begin with a number")
    return float(re.sub(r"[ \u00a0\u202f]", "", match[0]))


def ladder() -> None:
    """Support vectors of a row, by rule and model."""
    rows = table("focus-of-attention", "The ladder")["rows"]
    ax = plt.subplots(figsize=(6.6, 2.8), layout="constrained")[1]
    places = range(len(rows))[::-1]
    markers = {"full": "|", "budgeted": "x", "attentive": "s", "ladder": "o"}
    for column, (name, marker) in enumerate(markers.items(), start=1):
        ax.plot([first(row[column]) for row in rows], places, marker, label=name, markersize=7)
    ax.set(xscale="log", xlabel="support vectors per row, at 0.1 % of other labels", ylim=(-0.6, len(rows) - 0.4))
    ax.set_yticks(places, [row[0] for row in rows])
    ax.xaxis.set_major_formatter(ScalarFormatter())
    ax.grid(axis="y", color="0.9")
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=4)


def epochs() -> None:
    """Features read, and test error, by learner and data."""
    rows = [row for row in table("attentive-perceptron", "Over the epochs")["rows"] if "defaults" not in row[1]]
    data = list(dict.fromkeys(row[0] for row in rows))
    axes = plt.subplots(1, len(data), figsize=(9, 2.9), layout="constrained")[1]
    for ax, title in zip(axes, data, strict=True):
        mine = [row for row in rows if row[0] == title]
        full = first(mine[0][2])
        for number, row in enumerate(mine):
            ax.plot(100 * first(row[2]) / full, first(row[4]), "so^vD*"[number], label=row[1].removesuffix(", ours"))
        ax.set(title=title, xlim=(0, 106), ylim=(0, None))
    axes[0].set(ylabel="test error, %")
    ax.figure.supxlabel("features read of each example, %", fontsize=9)
    handles, names = axes[0].get_legend_handles_labels()
    ax.figure.legend(handles, names, loc="outside upper center", ncols=6)


def budgets() -> None:
    """Accuracy on handwritten words by the share of letters whose costly features are bought."""
    found = table("resource-constrained", "Accuracy by budget")
    shares = [first(cell) for cell in found["head"][1:] if re.fullmatch(r"\d+ %", cell)]
    ax = plt.subplots(figsize=(6, 3.4), layout="constrained")[1]
    for name in ("iterated, ours", "one-shot", "Q-learning", "myopic", "one-shot, simple features", "uniform"):
        row = next(row for row in found["rows"] if row[0] == name)
        ax.plot(shares, [float(cell) for cell in row[1 : 1 + len(shares)]], "o-", label=name, markersize=3)
    ax.set(xlabel="letters with costly features, %", ylabel="letters right, %")
    ax.legend(loc="lower right")


CHARTS: dict[str, Callable[[], None]] = {"ladder": ladder, "epochs": epochs, "budgets": budgets}


class Chart(SphinxDirective):
    """A chart of a paper's figures, by its name."""

    required_arguments = 1
    option_spec = {"alt": directives.unchanged_required}  # noqa: RUF012

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        if name not in CHARTS or "alt" not in self.options:
            raise self.error(f"a chart is one of {', '.join(CHARTS)}, and has an :alt:")
        FOLDER.mkdir(parents=True, exist_ok=True)
        with matplotlib.rc_context(STYLE):
            CHARTS[name]()
            plt.savefig(FOLDER / f"{name}.svg", metadata={"Date": None})
            plt.close()
        return [nodes.image(uri=f"/api/charts/{name}.svg", alt=self.options["alt"], classes=["drawn"])]


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("chart", Chart)
    return {"parallel_read_safe": True}
