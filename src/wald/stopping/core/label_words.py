"""What a certificate says of true labels, in one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...utils.figures import percent, percent_up, thousands

if TYPE_CHECKING:
    from .certificate import Certificate
    from .stratum import Stratum


def sentence(certificate: Certificate) -> str:
    """Say what is promised about the share of wrong labels, or why nothing is.

    Parameters
    ----------
    certificate : Certificate
        Of status "certified", "measured", "too few rows" or "too many disagreements".
    """
    level, note = percent(certificate.confidence, digits=6), _note(certificate)
    whom = " on a random row of a random group" * certificate.grouped
    counts = ", ".join(_counted_pairs(s) for s in certificate.strata) + note
    match certificate.status:
        case "certified":
            promised, together = _promised(certificate)
            return f"{promised}{whom}{', all' * together} with {level} confidence: {counts}"
        case "measured":
            rates = ", ".join(
                f"{percent((s.n_disagreements - (s.n_better or 0)) / max(1, s.n_rows))} ({percent(low)} to "
                f"{percent(high)}) of the {_rows(s)}"
                for s, (low, high) in zip(certificate.strata, certificate.intervals, strict=True)
            )
            return (
                f"measured share of wrong labels above that of the model's own{whom}, with {level} intervals: {rates}: "
                f"{counts}; not a promise"
            )
        case "too few rows":
            few = [s for s in certificate.strata if s.n_rows < certificate.needed_by(s)] or [certificate.worst]
            told = "; ".join(
                f"{thousands(certificate.needed_by(s))} certificate {_rows(s)} needed, {thousands(s.n_rows)} given"
                for s in few
            )
            least = certificate.smallest_risk
            backed = f"a risk of {percent_up(least)} at best" if least < 0.99 else "no risk below 99 %"
            return f"no early exit: {told}{note}, which can back {backed}"
    worst = certificate.worst
    return (
        f"no early exit: {_counted_pairs(worst)}{note} at the most cautious q: not <= "
        f"{percent(certificate.risk_of(worst) or 0.0, digits=6)} more wrong labels with {level} confidence"
    )


def _counted_pairs(stratum: Stratum) -> str:
    """Count the rows whose early label is worse than the full model's, and those whose is better."""
    worse, better = int(stratum.n_disagreements), stratum.n_better or 0
    return f"{thousands(worse)} worse and {thousands(better)} better of {thousands(stratum.n_rows)} {_rows(stratum)}"


def _promised(certificate: Certificate) -> tuple[str, bool]:
    """What is promised, and whether these are several promises."""
    own = [s for s in certificate.strata if s.risk is not None]
    whole = f"at most {percent(certificate.risk or 0.0, digits=6)} more of the labels are wrong than of the model's own"
    if certificate.about in ("positive", "negative"):
        return f"{whole}, within {_rows(certificate.strata[0])}", False
    if certificate.about == "each":
        if not own:
            return f"{whole}, within the rows of each true label", False
        whole = "at most so many more of the labels are wrong than of the model's own"
    parts = [f"{percent(s.risk or 0.0, digits=6)} within {_rows(s)}" for s in own]
    return ", ".join([whole, *parts]), len(parts) > 0


def _rows(stratum: Stratum) -> str:
    """The rows of a stratum, by their true label."""
    kind, _, label = stratum.name.removeprefix("rows of ").partition(" ")
    return f"rows labelled {label}" if stratum.name.startswith("rows of ") and kind else stratum.name


def _note(certificate: Certificate) -> str:
    notes = ["one per group"] * certificate.grouped
    if certificate.n_splits > 1:
        notes.append(f"of {certificate.n_splits} splits")
    return f" ({', '.join(notes)})" if notes else ""
