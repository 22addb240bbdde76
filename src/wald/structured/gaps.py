"""Losses of answers against those with everything bought, summed over each example."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..outputs import Parts, Structures
from ..outputs.structures import LOSSES, Loss
from ..stopping.core.validation import require_option

__all__ = ["LOSSES", "Loss", "example_gaps", "output_of"]


class ZeroOneLoss:
    """The loss of models whose codes are right or wrong."""

    def loss(self, truth: NDArray[np.int32], answer: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return 1 for every part with a wrong code, 0 for the others; from codes, as a session gives them."""
        return np.asarray(np.asarray(truth) != np.asarray(answer), dtype=np.float64)


def output_of(model: Any) -> Structures:
    """What is asked of a model: its ``output_``, if it has one, or else parts with the model's ``loss``."""
    output = getattr(model, "output_", None)
    return output if isinstance(output, Structures) else Parts(model.loss)


def example_gaps(
    loss: Loss,
    model: Any,
    codes: NDArray[np.int32],
    everything: NDArray[np.int32],
    offsets: NDArray[np.int64],
    truth: NDArray[np.int32] | None = None,
) -> NDArray[np.float64]:
    """Loss of each example's answer against the answer with everything bought.

    Parameters
    ----------
    loss : {"disagreement", "clipped gap", "gap"}
        Of a model whose answers are parts, the sum of losses of parts. "disagreement": 1 where the two answers differ;
        needs no truth. "gap": the loss minus that of the answer with everything, negative for gains. "clipped gap": the
        gap, or 0 where it is negative. Of spans, the same of an example's errors; see `Spans`.
    model : StructuredModel
        For its ``loss``, or for its ``output_``, if it has one.
    codes, everything : int32 ndarray of shape (n_parts,)
        The answer, and the one with everything bought.
    offsets : int64 ndarray of shape (n_examples + 1,)
    truth : int32 ndarray of shape (n_parts,), optional
        Negative where the model cannot give the true answer. Both answers are then wrong, and the gap is 0.

    Returns
    -------
    float64 ndarray of shape (n_examples,)

    Raises
    ------
    ValueError
        If the loss is unknown, or needs a truth that is not there.

    Examples
    --------
    >>> import numpy as np
    >>> class ZeroOne:
    ...     def loss(self, truth, answer):
    ...         return (truth != answer).astype(float)
    >>> truth, everything, codes = np.array([[0, 1, 1, 0], [0, 1, 0, 0], [1, 0, 1, 0]])
    >>> for loss in ("disagreement", "clipped gap", "gap"):
    ...     example_gaps(loss, ZeroOne(), codes, everything, np.array([0, 2, 4]), truth).tolist()
    [2.0, 1.0]
    [2.0, 0.0]
    [2.0, -1.0]
    """
    require_option("example_gaps", "loss", loss, LOSSES)
    return output_of(model).lost(loss, codes, everything, offsets, truth)
