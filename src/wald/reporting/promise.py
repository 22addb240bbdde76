"""The section about the promise."""

from __future__ import annotations

from ..utils.figures import percent, thousands
from .facts import Facts
from .markup import Content, Markup, joined, tag
from .tables import table

_OWN = "Every label is the model's own."


def certificate(facts: Facts) -> Markup:
    """The certificate in words, its counts, and what these rows say."""
    own = facts.certificate
    level = percent(own["confidence"], 6)
    by_design = facts.exact and own["status"] == "full" and facts.risk == 0  # nothing was to be certified
    parts: list[Content] = [tag("p", tag("strong", _OWN if by_design else own["sentence"]))]
    match own["status"]:
        case _ if not own["holds"]:
            words = "This promise is void: do not rely on it. Call fit or recertify again, with fresh rows."
        case "certified":
            words = (
                f"Read it so: a new row gets another label than the full model's with a probability of at most "
                f"{percent(own['risk'], 6)}{_whom(own['protect'])}. This was tested on {thousands(own['n_rows'])} rows "
                f"that took no part in planning. In at most {percent(1 - own['confidence'], 6)} of all repetitions of "
                "this procedure, with other rows from the same source, the promise would be false. It says nothing "
                "about how often the full model itself is right, and nothing about rows from another source."
            )
        case "lossless":
            words = (
                "No row can get another label than the full model's. This is proved from the model, and rows for which "
                "there is no proof are evaluated in full."
            )
        case "measured":
            words = f"These are counts with a {level} interval, and no promise: the rule was used as published."
        case "full" if by_design:
            words = (
                f"All {facts.model['unit']} are evaluated for every row, so that no label can differ. This follows "
                f"from the model, and takes no statistics. No row leaves early: {own['reason']}."
            )
        case "full":
            words = "Every row is evaluated in full, so that every label is the full model's."
        case "too few rows":
            words = (
                "The rows given to fit cannot back the promise, even if no label differed. Until there are more of "
                "them, every row is evaluated in full, and every label is the full model's."
            )
        case _:
            words = (
                "Even the most cautious thresholds changed too many labels. Every row is evaluated in full, and every "
                "label is the full model's."
            )
    parts.append(tag("p", words))
    if own["one_row_per_group"]:
        parts.append(tag("p", "Rows came in groups. The promise is about a random row of a random group."))
    if own["strata"]:
        rows = [
            [
                s["name"],
                thousands(s["n_rows"]),
                thousands(s["n_disagreements"]),
                "none" if s["risk"] is None else percent(s["risk"], 6),
                "" if not s["rows_needed"] else thousands(s["rows_needed"]),
            ]
            for s in own["strata"]
        ]
        head = ("certificate rows", "rows", "other labels", "at most", "rows needed at least")
        parts.append(table("Counts behind the certificate", head, rows, (1, 2, 3, 4)))
    return joined(*parts, tag("p", _seen(facts)))


def _seen(facts: Facts) -> str:
    """What these rows say about the share of labels that differ."""
    counted = f"On the rows of this report, {thousands(facts.n_different)} of {thousands(facts.n_rows)} labels differ"
    if facts.exact and not facts.n_different:
        return f"{counted}; on other rows none can differ, either."
    low, high = facts.different_interval
    return (
        f"{counted}: {percent(facts.n_different / facts.n_rows)}, with a {percent(facts.confidence, 6)} interval from "
        f"{percent(low)} to {percent(high)}, if these rows had no part in training, planning or certifying."
    )


def _whom(protect: str) -> str:
    return {
        "all": "",
        "positive": " if the full model calls it positive",
        "negative": " if the full model calls it negative",
        "each": ", in every class",
        "classes": " (and within some classes at most as stated above)",
    }[protect]
