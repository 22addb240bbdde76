"""What a certificate says, in one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...utils.figures import percent, percent_up, thousands
from . import label_words
from .binomial import smallest_risk
from .strata import PREDICTED, is_early
from .stratum import Stratum

if TYPE_CHECKING:
    from .certificate import Certificate

#: The answer with which rows leave wrongly, by the name of their stratum or by the class that a promise is about.
_WRONG = {"outliers": "inlier", "inliers": "outlier"}
_SIDES = {"positive": "negative", "negative": "positive"}


def sentence(certificate: Certificate) -> str:
    """Say what is promised, or why nothing is."""
    if certificate.void is not None:
        return f"void: {certificate.void}"
    if certificate.reference == "labels" and certificate.status not in ("lossless", "full"):
        return label_words.sentence(certificate)
    match certificate.status:
        case "lossless":
            return "lossless: no row can differ"
        case "full" if certificate.risk == 0:
            answers = "labels" if certificate.event == type(certificate).event else "answers"
            return f"the model's own {answers}, by proof: {certificate.reason}"
        case "full":
            return f"no early exit: {certificate.reason}"
        case "certified":
            return f"{_event(certificate)} {_promise(certificate)}: {_counts(certificate)}"
        case "measured":
            return f"measured {_event(certificate)}{_estimate(certificate)}; not a promise"
        case "too few rows":
            return f"no early exit: {'; '.join(_scarcity(certificate, s) for s in _scarce(certificate))}"
        case "too many disagreements":
            worst = certificate.worst
            risk = _limit(certificate.risk_of(worst))
            differ = " differ" if worst.is_count else ""
            return (
                f"no early exit: {_count(worst)}{_note(certificate)}{differ} at the most cautious q: "
                f"not {risk} with {_level(certificate)} confidence"
            )


def _event(certificate: Certificate) -> str:
    event = certificate.event
    if certificate.about in ("positive", "negative"):
        rows = certificate.strata[0].name
        event = f"exits as {_WRONG.get(rows, _SIDES[certificate.about])} among {rows}"
    elif certificate.about == "each" and not any(stratum.risk for stratum in certificate.strata):
        event += f" within each {_kind(certificate.strata)}"
    elif certificate.about == "predicted" and all(s.risk is None and is_early(s.name) for s in certificate.strata):
        event += f" within each {PREDICTED}{_kind(certificate.strata)}"
    return event + " on a random row of a random group" * certificate.grouped


def _promise(certificate: Certificate) -> str:
    own = [f"{_limit(s.risk)} within {s.name.removeprefix('rows of ')}" for s in certificate.strata if s.risk]
    overall = [] if certificate.about in ("each", "predicted") and own else [_limit(certificate.risk)]
    bounds = overall + own
    return f"{', '.join(bounds)}{', all' * (len(bounds) > 1)} with {_level(certificate)} confidence"


def _level(certificate: Certificate) -> str:
    return percent(certificate.confidence, digits=6)


def _limit(risk: float | None) -> str:
    return f"<= {percent(risk or 0.0, digits=6)}"


def _estimate(certificate: Certificate) -> str:
    worst = certificate.worst
    low, high = (percent(limit) for limit in certificate.intervals[certificate.strata.index(worst)])
    rate = percent(worst.n_disagreements / max(worst.n_rows, 1))
    if len(certificate.strata) == 1:
        return f" {rate} ({_level(certificate)} interval {low} to {high}), {_counts(certificate)}"
    together = f"one of {len(certificate.strata)} intervals that hold together with {_level(certificate)} confidence"
    return f", at worst {rate} ({low} to {high}, {together}), {_counts(certificate)}"


def _counts(certificate: Certificate) -> str:
    each = certificate.about == "classes" or any(s.risk is not None for s in certificate.strata)
    counted = certificate.strata if each else (certificate.worst,)
    return f"{', '.join(map(_count, counted))}{_note(certificate)}"


def _count(stratum: Stratum) -> str:
    lost = stratum.n_disagreements
    counted = thousands(lost) if isinstance(lost, int) else f"a loss of {lost:.6g}"
    return f"{counted} of {thousands(stratum.n_rows)} {stratum.name}"


def _scarce(certificate: Certificate) -> tuple[Stratum, ...]:
    """Strata whose rows are too few to back the promise even without disagreements."""
    return tuple(s for s in certificate.strata if s.n_rows < certificate.needed_by(s)) or (certificate.worst,)


def _scarcity(certificate: Certificate, stratum: Stratum) -> str:
    needed, given = thousands(certificate.needed_by(stratum)), thousands(stratum.n_rows)
    least = smallest_risk(stratum.n_rows, certificate.tested)
    backed = f"a risk of {percent_up(least)} at best" if least < 0.99 else "no risk below 99 %"
    return f"{needed} certificate {stratum.name} needed, {given} given{_note(certificate)}, which can back {backed}"


def _note(certificate: Certificate) -> str:
    which = {"too few rows": "in each of", "too many disagreements": "one of"}.get(certificate.status, "cheapest of")
    notes = ["one per group"] * certificate.grouped + [f"{which} {certificate.n_splits} splits"] * (
        certificate.n_splits > 1
    )
    return f" ({', '.join(notes)})" if notes else ""


def _kind(strata: tuple[Stratum, ...]) -> str:
    """What the rows of one answer are called: "band", of strata called "rows of band 0" and so on."""
    name = strata[0].name if strata else ""
    words = name.replace(PREDICTED, "", 1).split(" ") if is_early(name) else name.split(" ")
    if words[:2] == ["rows", "of"] and len(words) > 2:
        return words[2]
    return "label" if words[0] in _WRONG else "class"
