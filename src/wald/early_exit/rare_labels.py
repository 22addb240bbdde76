"""Warning about rare true labels, at whose expense a promise about all rows could be kept."""

from __future__ import annotations

from ..models import AdditiveModel
from ..plan import Plan
from ..stopping import Certificate, StageScores
from ..stopping.core.binomial import shared_confidence
from ..stopping.core.paired import paired_upper_bound
from ..stopping.core.strata import rows_of
from ..utils.figures import percent, thousands
from .certification import FEWEST_LOST, LARGE_PART, LOST_PART, MOST_NAMED, RARE, TIMES

__all__ = ["rare_true_labels"]


def rare_true_labels(
    model: AdditiveModel, certificate: Certificate, plan: Plan, rows: StageScores | None
) -> str | None:
    """Warning about rare true labels of which many more are wrong than of the model's own, or may be; None without any.

    It is given for true labels as `rare_classes` gives it for the model's own: better rows make up for worse ones of
    the same label, and not for those of another.

    Parameters
    ----------
    model : AdditiveModel
    certificate : Certificate
    plan : Plan
        With the certified thresholds.
    rows : StageScores or None
        Stage scores of the certificate rows.
    """
    if rows is None or rows.truth is None or certificate.status != "certified" or plan.evaluate_all:
        return None
    if certificate.about not in ("all", "classes") or not certificate.risk:
        return None
    lost, words = rows.lost(*rows.leave(*plan.thresholds())), model.words
    names = words.names_of(model.classes)
    with_own_risk = {s.name for s in certificate.strata if s.risk is not None}
    each, least = shared_confidence(certificate.confidence, len(names)), max(LARGE_PART, TIMES * certificate.risk)
    allowed, told = certificate.risk * rows.n_rows, []
    for code, name in enumerate(names):
        of_class = lost[rows.truth == code]
        n, worse, better = len(of_class), int((of_class > 0).sum()), int((of_class < 0).sum())
        if n >= RARE * rows.n_rows / len(names) or rows_of(name, words.kind) in with_own_risk:
            continue
        many = worse - better >= max(FEWEST_LOST, LOST_PART * n)
        if many or (allowed > least * n and paired_upper_bound(worse, better, n, each) > least):
            told.append(
                f"{words.rows_of(model.classes[code])}, to which {thousands(n)} of {thousands(rows.n_rows)} "
                f"certificate rows truly belong ({thousands(worse)} of them wrong where the model is right, and "
                f"{thousands(better)} the other way round)"
            )
    if not told:
        return None
    more = f"; and {len(told) - MOST_NAMED} more" if len(told) > MOST_NAMED else ""
    return (
        f"The certificate's risk of {percent(certificate.risk)} of all rows could be spent on a large part of a rare "
        f"true {words.kind}: {'; '.join(told[:MOST_NAMED])}{more}. risk={{'all': {certificate.risk:g}, ...}} with the "
        f"{words.kind} bounds that of its rows as well, and 'each' those of all {words.kinds}."
    )
