"""Losses of answers against those with everything bought, summed over each example's parts."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..stopping.core.validation import require_option

Loss = Literal["disagreement", "clipped gap", "gap"]
#: Ordered by strength: a bound of one is a bound of those after it.
LOSSES: tuple[Loss, ...] = ("disagreement", "clipped gap", "gap")


def example_gaps(
    loss: Loss,
    model: Any,
    codes: NDArray[np.int32],
    everything: NDArray[np.int32],
    offsets: NDArray[np.int64],
    truth: NDArray[np.int32] | None = None,
) -> NDArray[np.float64]:
    """Sum, over each example's parts, the loss of an answer against the answer with everything bought.

    Parameters
    ----------
    loss : {"disagreement", "clipped gap", "gap"}
        Loss of a part. "disagreement": 1 where the two answers differ; needs no truth. "gap": the loss minus that of
        the answer with everything, negative for gains. "clipped gap": the gap, or 0 where it is negative.
    model : StructuredModel
        For its ``loss``.
    codes, everything : int32 ndarray of shape (n_parts,)
        The answer, and the one with everything bought.
    offsets : int64 ndarray of shape (n_examples + 1,)
    truth : int32 ndarray of shape (n_parts,), optional
        -1 where the model cannot give the true answer. Both answers are then wrong, and the gap is 0.

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
    if loss == "disagreement":
        part = (codes != everything).astype(np.float64)
    elif truth is None:
        raise ValueError(f"The loss {loss!r} needs true answers; 'disagreement' does not.")
    else:
        known = truth >= 0
        part = np.zeros(len(codes))
        part[known] = model.loss(truth[known], codes[known]) - model.loss(truth[known], everything[known])
        if loss == "clipped gap":
            part = np.maximum(part, 0.0)
    return np.asarray(np.add.reduceat(part, offsets[:-1]), dtype=np.float64)
