"""True labels of the rows of `fit`, for promises about how often labels are wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...stopping.core.risks import largest
from ..compiled.parameters import Parameters, checked_rule

__all__ = ["REFERENCES", "known_or", "require_reference", "true_codes", "true_labels"]

#: What the answers of a classifier are compared with.
REFERENCES = ("model", "labels")
#: Largest number of classes that a message names.
MOST_NAMED = 10


def require_reference(given: Parameters) -> None:
    """Refuse what a promise about true labels cannot be combined with.

    Raises
    ------
    ValueError
        For another reference than those, and for one of "labels" with bands, a tolerance, or exits by proof.
    """
    reference = getattr(given, "reference", "model")
    if not isinstance(reference, str) or reference not in REFERENCES:
        raise ValueError(f"reference must be 'model' or 'labels'. Got {reference!r} instead.")
    if reference == "model":
        return
    for name, what in (("bands", "numbers of bands"), ("tolerance", "probabilities")):
        if getattr(given, name, None) is not None:
            raise ValueError(
                f"reference='labels' is about labels that are right or wrong, and {name} asks for {what}, which y does "
                f"not tell: leave {name} out, or give reference='model'."
            )
    if largest(given.promised_risk) == 0 or checked_rule(given).needs.lossless:
        raise ValueError(
            "reference='labels' is a promise from counts of wrong labels, and a proof compares with the model: give a "
            "risk above 0 and a rule that is not lossless, or reference='model'."
        )


def true_labels(y: Any, n_rows: int) -> NDArray[Any]:
    """True labels, one of each row.

    Raises
    ------
    ValueError
        If there are none, or not one for each row, and for missing ones.
    """
    if y is None:
        raise ValueError(
            "reference='labels' compares answers with the truth, and there is none: give the true label of each row as "
            "y, or reference='model' for a promise that needs no labels."
        )
    labels = np.asarray(y)
    labels = labels[:, 0] if labels.ndim == 2 and labels.shape[1] == 1 else labels
    if labels.shape != (n_rows,):
        raise ValueError(f"y must have one true label for each of the {n_rows} rows of X. Got shape {labels.shape}.")
    missing = next((i for i, label in enumerate(labels.tolist()) if _is_missing(label)), None)
    if missing is not None:
        raise ValueError(
            f"y must hold the true label of every row, and has {labels[missing]!r} for row {missing}: leave such rows "
            "out, of X as well."
        )
    return labels


def true_codes(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int32]:
    """Codes of true labels.

    Parameters
    ----------
    labels : ndarray of shape (n_rows,)
        From `true_labels`.
    classes : ndarray of shape (n_classes,)
        The model's labels.

    Returns
    -------
    int32 ndarray of shape (n_rows,)
        -1 for labels that the model does not know: it cannot be right there, and neither can an early answer.

    Raises
    ------
    ValueError
        If the model knows none of them.
    """
    known = {label: code for code, label in enumerate(classes.tolist())}
    codes = np.array([known.get(label, -1) for label in labels.tolist()], dtype=np.int32)
    if len(codes) and (codes < 0).all():
        names = ", ".join(map(repr, list(known)[:MOST_NAMED])) + ", ..." * (len(known) > MOST_NAMED)
        raise ValueError(f"None of the labels in y, such as {labels.tolist()[0]!r}, is one of the model's: {names}.")
    return codes


def known_or(truth: NDArray[np.int32], codes: NDArray[np.int32]) -> NDArray[np.int32]:
    """True labels, and the model's own where it does not know the true one."""
    return np.where(truth >= 0, truth, codes)


def _is_missing(label: Any) -> bool:
    return (
        label is None or type(label).__name__ in ("NAType", "NaTType") or (isinstance(label, float) and label != label)
    )
