"""Warning about rare classes, at whose expense a promise about all rows could be kept."""

from __future__ import annotations

import numpy as np

from ...models import AdditiveModel
from ...plan import Plan
from ...stopping import Certificate, StageScores
from ...stopping.core.binomial import shared_confidence, upper_bound
from ...stopping.core.paired import paired_upper_bound
from ...stopping.core.strata import rows_of
from ...utils.figures import percent, thousands

__all__ = ["rare_classes"]

#: Warn if a promise about all rows allows more of a rare class to be lost than this share, or than `TIMES` the risk
#: where that is larger.
LARGE_PART, TIMES = 0.1, 2.0
#: Warn if at least so many certificate rows of a rare class are lost, and this share of them.
FEWEST_LOST, LOST_PART = 5, 0.05
#: A class is rare below this part of an even share of the rows.
RARE = 0.5
#: Largest number of classes that a warning names.
MOST_NAMED = 5


def rare_classes(
    model: AdditiveModel, certificate: Certificate, plan: Plan, rows: StageScores | None, estimated: bool = False
) -> str | None:
    """Warning about rare classes of which a large part may be lost under a promise about all rows; None without any.

    A row is lost if it gets another answer than the model's; under a promise about true labels, if its answer is wrong
    and the model's is right, and rows that are the other way round make up for lost ones of their class. All
    certificate rows are counted, whatever their group. A class is rare below half of an even share. It is named in two
    cases. Either `LOST_PART` of its rows are lost, and at least `FEWEST_LOST`. Or all losses that the risk allows would
    be more than `LARGE_PART` of its rows, and the upper bound of its own rate is more than that, too; if the risk is
    large, `TIMES` the risk takes the place of `LARGE_PART`.

    Parameters
    ----------
    model : AdditiveModel
    certificate : Certificate
    plan : Plan
        With the certified thresholds.
    rows : StageScores or None
        Stage scores of the certificate rows.
    estimated : bool, default=False
        Whether the answers of some of them, which do not leave early, are not the model's own, but likely ones.
    """
    overall = certificate.about in ("all", "classes") and len(model.strata) > 0
    if rows is None or certificate.status != "certified" or plan.evaluate_all or not overall or not certificate.risk:
        return None
    words, true = model.words, rows.truth is not None
    names = words.names_of(model.classes)
    belongs, lost = rows.full if rows.truth is None else rows.truth, rows.lost(*rows.leave(*plan.thresholds()))
    known = belongs >= 0  # a true label may be none of the model's
    counts = (np.bincount(belongs[known & which], minlength=len(names)) for which in (True, lost > 0, lost < 0))
    n, worse, better = (each.tolist() for each in counts)
    each, least = shared_confidence(certificate.confidence, len(names)), max(LARGE_PART, TIMES * certificate.risk)
    allowed = certificate.risk * rows.n_rows
    with_own_risk = {s.name for s in certificate.strata if s.risk is not None}

    def bound(code: int) -> float:
        if true:
            return paired_upper_bound(worse[code], better[code], n[code], each)
        return upper_bound(worse[code], n[code], each)

    named = [
        code
        for code in range(len(names))
        if n[code] < RARE * rows.n_rows / len(names)
        and rows_of(names[code], words.kind) not in with_own_risk
        and (
            worse[code] - better[code] >= max(FEWEST_LOST, LOST_PART * n[code])
            or (allowed > least * n[code] and bound(code) > least)
        )
    ]
    if not named:
        return None

    def shown(code: int) -> str:
        rare, those, of = words.rows_of(model.classes[code]), thousands(n[code]), thousands(rows.n_rows)
        if true:
            return (
                f"{rare}, to which {those} of {of} certificate rows truly belong ({thousands(worse[code])} of them "
                f"wrong where the model is right, and {thousands(better[code])} the other way round)"
            )
        return (
            f"{rare}, which the model gives to {'about ' * estimated}{those} of {of} certificate rows "
            f"({thousands(worse[code])} of them answered otherwise): the risk is {_part(allowed, n[code])} of it"
        )

    more = f"; and {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else ""
    return (
        f"The certificate's risk of {percent(certificate.risk)} of all rows could be spent on a large part of a rare "
        f"{'true ' * true}{words.kind}: {'; '.join(map(shown, named[:MOST_NAMED]))}{more}. risk={{'all': "
        f"{certificate.risk:g}, {names[named[0]]!r}: ...}} bounds that of a {words.kind} as well, and 'each' those of "
        f"all {words.kinds}."
    )


def _part(allowed: float, n: int) -> str:
    """The part of a class of n rows that a number of rows could be."""
    return "all" if n <= allowed else percent(allowed / n)
