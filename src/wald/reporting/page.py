"""The page: its head, its summary, and its sections in order."""

from __future__ import annotations

from ..utils.figures import number, percent, ratio, share, thousands
from . import sections
from .advice import advice
from .facts import Facts
from .markup import Markup, breakable, joined, tag
from .promise import certificate
from .style import STYLE

#: Nothing is loaded and nothing runs, whatever a label or a value says.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"

#: A ratio of times below this is no difference.
CLEARLY = 1.1

_SECTIONS = (
    ("model", "What the model is", sections.model),
    ("certificate", "What is promised", certificate),
    ("classes", "Cost by class", sections.classes),
    ("tradeoff", "Disagreement against cost", sections.tradeoff),
    ("stages", "Stages", sections.stages),
    ("walks", "Three rows on their way", sections.walks),
    ("differences", "Rows with another label", sections.differences),
    ("time", "Time", sections.time),
    ("advice", "What to do if …", advice),
)


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
    heading = f"Early exit for {facts.name}" if title is None else title
    head = joined(
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"{heading} - report"),
        tag("link", rel="icon", href="data:,"),
        tag("style", Markup(STYLE)),
    )
    parts = [
        tag("section", tag("h2", name, id=key), write(facts), aria_labelledby=key) for key, name, write in _SECTIONS
    ]
    links = [tag("li", tag("a", name, href=f"#{key}")) for key, name, _ in _SECTIONS]
    body = joined(
        tag("a", "Skip to the report", href="#report", class_="skip"),
        tag("header", tag("h1", breakable(heading)), _lead(facts)),
        tag("nav", tag("ul", *links), aria_label="Sections"),
        tag("main", _cards(facts), _verdict(facts), *parts, id="report"),
        tag("footer", _footer()),
    )
    return f"<!doctype html>\n{tag('html', tag('head', head), tag('body', body), lang='en')}\n"


def _lead(facts: Facts) -> Markup:
    rows = f"{thousands(facts.n_rows)} {'row' if facts.n_rows == 1 else 'rows'}"
    return tag("p", f"What it does on {rows}", None if facts.source is None else f" of {facts.source}", ".")


def _cards(facts: Facts) -> Markup:
    n, k = facts.n_rows, facts.n_different
    cards = [
        (percent(facts.mean_cost / facts.full_cost, 3), "of the full model's work for a row, on average"),
        (share(n - k, n), "of the rows get the full model's label"),
    ]
    if facts.timing:
        last = facts.timing[-1]
        speed = ratio(last.model_seconds, last.wald_seconds)
        cards.append((speed, f"{facts.rival}'s speed, {thousands(last.n_rows)} rows at a time"))
    own = facts.certificate
    if own["status"] == "certified" and own["holds"]:
        cards.append((f"≤ {percent(own['risk'], 6)}", "other labels promised"))
    elif facts.exact:
        cards.append(("0", "other labels, by proof"))
    return tag("ul", *(tag("li", tag("b", figure), words) for figure, words in cards), class_="cards")


def _verdict(facts: Facts) -> Markup:
    """One sentence: whether these rows agree with the promise."""
    own = facts.certificate
    if not own["holds"]:
        return tag("p", tag("b", "Do not rely on the promise."), f" {own['sentence']}.", class_="verdict bad")
    if facts.broken is not None:
        return tag("p", tag("b", "These rows contradict the promise."), f" {facts.broken}", class_="verdict bad")
    if facts.evaluate_all:
        words = f" All {facts.model['unit']} are evaluated for every row, so that labels are the full model's."
        words += " The time that is saved comes from wald's own evaluation of the model." if _faster(facts) else ""
        verdict = "The model's own labels, by proof." if own["risk"] == 0 else "No row leaves early."
        return tag("p", tag("b", verdict), words, class_="verdict")
    if own["status"] == "measured":
        return tag("p", tag("b", "Nothing is promised."), " What follows was only measured.", class_="verdict")
    different = f"{thousands(facts.n_different)} of {thousands(facts.n_rows)} labels differ"
    if own["status"] == "lossless":
        words = f" {different}, as the proof says."
    else:
        words = f" {different}; at most {percent(own['risk'], 6)} are promised."
    return tag("p", tag("b", "These rows agree with the promise."), words, class_="verdict good")


def _faster(facts: Facts) -> bool:
    """Whether the last time, of most rows, is clearly shorter than the wrapped model's."""
    return bool(facts.timing) and facts.timing[-1].model_seconds > CLEARLY * facts.timing[-1].wald_seconds


def _footer() -> Markup:
    import wald

    rounding = f"Numbers are rounded to three digits; spaces part the thousands, as in {number(12_345)}."
    return tag("p", f"Written by wald {wald.__version__}. The page needs no network and runs no script. {rounding}")
