"""The page: templates of HTML, their filters, and displays as pictures in the page's own colours."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from io import StringIO
from typing import Any

import numpy as np
from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape
from matplotlib.figure import Figure

from ..displays import StoppingPathDisplay, TradeoffDisplay
from ..displays._style import BLUE, COLUMN_WIDTH, GREY, PALE, page_style
from ..stopping.core.binomial import rows_needed
from ..utils import figures
from .facts import Facts
from .gather import MOST_CLASSES
from .rankings import RankingFacts
from .timing import REPEATS
from .values import short

#: Characters that HTML does not allow, and surrogates, which UTF-8 does not have.
_FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
#: Characters that turn the direction of the text after them.
_DIRECTIONS = re.compile("[\u202a-\u202e\u2066-\u2069]")
#: Names in the style sheet of the colours of displays.
_COLOURS = {BLUE: "blue", PALE: "pale", GREY: "soft", "#999999": "soft", "#000000": "ink", "#ffffff": "paper"}
#: Identifiers within an SVG, and references to them.
_IDENTIFIER = re.compile(r'(\bid="|href="#|url\(#)')
#: Most columns in the table of their order.
MOST_COLUMNS = 40
#: Rows of the table below the curve.
_CURVE_ROWS = 12
#: Templates of the page of a ranker, and their headings.
RANKING_SECTIONS = (
    ("ranking-model", "What the model is"),
    ("ranking-promise", "What is promised"),
    ("ranking-tradeoff", "What is missing, against cost"),
    ("ranking-stages", "Where rows leave"),
    ("ranking-places", "Rows of one group on their way"),
    ("ranking-groups", "Groups that miss the most"),
    ("time", "Time"),
)


def _sections(facts: Facts) -> list[tuple[str, str]]:
    """Templates of the page of labels, bands or values, and their headings."""
    words = facts.words
    cost = f"Cost by {words.kind}" if words.kind else "Cost of rows"
    return [
        ("model", "What the model is"),
        ("certificate", "What is promised"),
        ("classes", cost),
        ("tradeoff", "Disagreement against cost"),
        ("stages", "Stages"),
        ("walks", "Three rows on their way"),
        *([("examples", "What was read, and what it said")] if facts.examples else []),
        ("differences", f"Rows with {words.other}"),
        ("time", "Time"),
        ("advice", "What to do if …"),
    ]


def page(facts: Facts, title: str | None = None) -> str:
    """Write a report as HTML.

    Parameters
    ----------
    facts : Facts
    title : str, default=None
        Heading; one with the name of the model when None.

    Returns
    -------
    str
    """
    shown = []
    if facts.curve is not None:
        cost, differing = np.asarray(facts.curve.cost), np.asarray(facts.curve.disagreement)
        some = np.unique(np.linspace(0, len(cost) - 1, _CURVE_ROWS).round().astype(int))
        shown = list(zip(cost[some], differing[some], strict=True))
    return _written(
        facts,
        title,
        "summary.html",
        _sections(facts),
        exact=facts.exact,
        scarce=facts.scarce,
        curve_points=shown,
        most_classes=MOST_CLASSES,
        most_columns=MOST_COLUMNS,
    )


def ranking_page(facts: RankingFacts, title: str | None = None) -> str:
    """Write the report of a ranker as HTML.

    Parameters
    ----------
    facts : RankingFacts
    title : str, default=None
        Heading; one with the name of the model when None.
    """
    return _written(facts, title, "ranking-summary.html", RANKING_SECTIONS)


def _written(
    facts: Facts | RankingFacts, title: str | None, frame: str, sections: Sequence[tuple[str, str]], **more: Any
) -> str:
    """Write a page: what stands above all sections, the template `frame`, and the sections."""
    import wald

    return (
        _environment()
        .get_template("page.html")
        .render(
            vars(facts),
            heading=f"Early exit for {facts.name}" if title is None else title,
            frame=frame,
            sections=sections,
            repeats=REPEATS,
            version=wald.__version__,
            **more,
        )
    )


def clean(value: object) -> str:
    """Drop what no text of a page may hold; markup, which was made here, is left as it is."""
    if value is None or isinstance(value, Markup):
        return value or ""
    return _DIRECTIONS.sub("", _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", str(value)))


@cache
def _environment() -> Environment:
    """Templates that escape every value."""
    folder = files(__package__) / "templates"
    environment = Environment(
        autoescape=True,
        finalize=clean,
        loader=FunctionLoader(lambda name: (folder / name).read_text("utf-8")),
        extensions=["jinja2.ext.do"],
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    for write in (
        figures.number,
        figures.percent,
        figures.ratio,
        figures.share,
        figures.significant,
        figures.thousands,
    ):
        environment.filters[write.__name__] = _unbroken(write)
    environment.filters |= {
        "breakable": breakable,
        "limit": limit,
        "signed": signed,
        "rows_needed": rows_needed,
        "words": words,
    }
    environment.globals["picture"] = picture
    return environment


def _unbroken(write: Any) -> Any:
    """Let no line end within a number, or before its sign."""
    return lambda *given: write(*given).replace(" ", "\N{NO-BREAK SPACE}")


def breakable(name: str) -> Markup:
    """Allow line breaks between the words of a name such as ``LogisticRegression``."""
    return Markup("<wbr>").join(clean(word) for word in re.split("(?<=[a-z])(?=[A-Z])", name))


def limit(value: float) -> str:
    """Write a threshold or a score."""
    return figures.significant(value, 4) if abs(value) < 1e9 else "never"


def signed(value: float) -> str:
    """Write what a part adds, with its sign; a question mark for what only the wrapped model can judge."""
    return f"{round(value, 3) + 0.0:+.3f}".replace("-", "\N{MINUS SIGN}") if np.isfinite(value) else "?"


def words(value: object, most: int = 12) -> str:
    """Write a fact about the model; of a list, the first entries."""
    if isinstance(value, list | tuple):
        return ", ".join(short(each) for each in value[:most]) + (" …" if len(value) > most else "")
    return figures.thousands(value) if isinstance(value, int) and not isinstance(value, bool) else short(value)


def picture(display: TradeoffDisplay | StoppingPathDisplay, key: str, description: str) -> Markup:
    """Draw a display as an element of the page, in the colours of its style sheet.

    Parameters
    ----------
    display : display with one axes
    key : str
        Different for each picture of a page.
    description : str
        For readers who do not see it.
    """
    with page_style(**{"svg.fonttype": "none", "text.parse_math": False}):
        figure = Figure(figsize=(COLUMN_WIDTH, 2.7), layout="constrained")
        display.plot(figure.subplots())
        written = StringIO()
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(written, format="svg", transparent=True, metadata=nothing)
    _, _, inside = written.getvalue().partition("</defs>")  # behind the head, and rules for all elements of a page
    inside = _IDENTIFIER.sub(rf"\g<1>{key}-", inside.replace("xlink:", ""))
    for colour, name in _COLOURS.items():
        inside = inside.replace(colour.lower(), f"var(--{name})")
    width, height = 72 * figure.get_size_inches()
    view = f'viewBox="0 0 {width:g} {height:g}"'
    return Markup(f'<svg class="chart" {view} role="img" aria-label="{escape(clean(description))}">{inside}')
