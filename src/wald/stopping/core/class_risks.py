"""Promises for some classes: validation of class labels with risks, and their conversion to codes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from .boundary import PROTECT, Protect, ProtectName
from .validation import require_fraction


def require_protect(owner: str, protect: Protect) -> None:
    """Raise ValueError unless `protect` is one of the options, or maps class labels to risks."""
    if isinstance(protect, Mapping):
        if not protect:
            raise ValueError(
                f"The 'protect' of {owner} names no class: give at least one label with its risk, or 'all'."
            )
        for label, risk in protect.items():
            require_fraction(owner, f"protect[{label!r}]", risk)
    elif protect not in PROTECT:
        raise ValueError(f"protect must be one of {PROTECT}, or risks by class label. Got {protect!r} instead.")


def by_code(protect: Protect, classes: npt.ArrayLike) -> ProtectName | dict[int, float]:
    """Replace class labels by their codes; named options stay as they are.

    Raises
    ------
    ValueError
        For a label that is none of the classes.

    Examples
    --------
    >>> by_code({"fraud": 0.01}, ["fine", "fraud"]), by_code("each", ["fine", "fraud"])
    ({1: 0.01}, 'each')
    """
    if not isinstance(protect, Mapping):
        return protect
    known = np.asarray(classes).tolist()
    strange = [label for label in protect if label not in known]
    if strange:
        raise ValueError(f"protect names {strange[0]!r}, which is none of the classes {_listed(known)}.")
    return {known.index(label): float(risk) for label, risk in protect.items()}


def _listed(labels: list[Any], most: int = 20) -> str:
    return ", ".join(map(repr, labels[:most])) + (", ..." if len(labels) > most else "")
