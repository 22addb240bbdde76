"""Promises that rows refute."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..utils.figures import percent, thousands

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..outputs.words import Words
    from ..ranking import RankingCertificate
    from ..stopping import Certificate

#: A promise counts as broken if the number of differences has a smaller probability under it.
DOUBT = 0.001


def broken_promise(
    certificate: Certificate,
    full: NDArray[Any],
    differs: NDArray[np.bool_],
    classes: NDArray[Any],
    words: Words | None = None,
    early: NDArray[Any] | None = None,
) -> str | None:
    """Describe the promise that these rows refute, if any.

    Parameters
    ----------
    certificate : Certificate
    full : ndarray of shape (n_rows,)
        The wrapped model's answers.
    differs : bool ndarray of shape (n_rows,)
        Whether wald's answers differ from these; of values, by more than the tolerance.
    classes : ndarray
        Labels; empty for values.
    words : Words or None, default=None
        What the answers are called; None: classes, by their labels.
    early : ndarray of shape (n_rows,) or None, default=None
        Wald's answers, for promises about the rows that get one; None: these are left out.

    Returns
    -------
    str or None
        None if no promise is refuted, or nothing was promised.
    """
    import numpy as np

    from ..stopping.core.binomial import p_value

    if certificate.status == "measured" or certificate.reference == "labels":  # differences may be improvements
        return None
    for label, by_early, risk in _promised(certificate, classes.tolist(), words):
        answers = early if by_early else full
        if answers is None:
            continue
        member = np.ones(len(full), dtype=bool) if label is None else answers == label
        n, k = int(member.sum()), int((member & differs).sum())
        if k and 1.0 - p_value(k - 1, n, risk) < DOUBT:
            called = label if words is None else words.name(label)
            where = "" if label is None else f" that {'wald' if by_early else 'the model'} calls {called}"
            return (
                f"{thousands(k)} of {thousands(n)} rows{where} differ, more than the promise allows ({certificate}). "
                "Are these rows like those given to wald fit?"
            )
    return None


def broken_ranking(certificate: RankingCertificate, missing: NDArray[np.float64]) -> str | None:
    """Describe the promise of a ranking that groups refute, if they do.

    Parameters
    ----------
    certificate : RankingCertificate
    missing : float64 ndarray of shape (n_groups,)
        Share of each group's first rows that is missing.
    """
    from ..stopping.core.betting import betting_p_value

    if certificate.in_full or not len(missing):
        return None
    if betting_p_value(1.0 - missing, 1.0 - certificate.risk, level=DOUBT) >= DOUBT:
        return None
    return (
        f"Of the first {certificate.k} rows of {thousands(len(missing))} groups, {percent(float(missing.mean()))} are "
        f"missing on average, more than the promise allows ({str(certificate).partition('. ')[0]}). Are these groups "
        "like those given to fit?"
    )


def _promised(certificate: Certificate, classes: list[Any], words: Words | None) -> list[tuple[Any, bool, float]]:
    """Labels, or None for all rows; whether they are the early ones; the promised bound on the share of differences."""
    from ..stopping.core.strata import rows_of

    if certificate.status != "certified" or not certificate.risk:
        return [(None, False, 0.0)]
    bounds = {s.name: certificate.risk_of(s) or 0.0 for s in certificate.strata}
    called = [(c, "class") if words is None else (words.name(c), words.kind) for c in classes]
    strata = [
        (c, early, rows_of(*each, early)) for early in (False, True) for c, each in zip(classes, called, strict=True)
    ]
    named = [(c, early, bounds[name]) for c, early, name in strata if name in bounds]
    whole: list[Any] = [None] if certificate.about in ("all", "classes") else []
    if not named:  # their names are not those of labels
        whole = {"positive": classes[-1:], "negative": classes[:1], "each": classes}.get(certificate.about, whole)
    return [*((label, False, certificate.risk) for label in whole), *named]
