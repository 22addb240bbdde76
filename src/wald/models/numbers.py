"""Models with NaN among their numbers are refused, by the name of what holds it."""

from __future__ import annotations

from typing import Any

import numpy as np

from .reading import Reading
from .trees import TreeTerms


def require_numbers(model: Any, reading: Reading) -> None:
    """Raise ValueError if a model's weights, leaves or offsets hold NaN, so that its answers are no numbers."""
    terms, path = reading.terms, reading.links.path_link
    held: dict[str, Any] = {"weights": terms.coef, "intercept": terms.intercept}
    if isinstance(terms, TreeTerms):
        held = {"score before the first tree": np.append(terms.base, terms.bias), "leaves": terms.trees.leaves}
    if path is not None:
        held["offset_"] = path.offset
    for name, numbers in held.items():
        if np.isnan(numbers).any():
            raise ValueError(
                f"This {type(model).__name__} has NaN in its {name}, which must be finite, so that its answers are no "
                "numbers: it was changed after fit, or trained on rows or targets with NaN. Fit it again without them."
            )
