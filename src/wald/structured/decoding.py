"""Trees from given scores of arcs."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core


def decode_tree(scores: ArrayLike, *, decoder: str = "eisner", single_root: bool = True) -> NDArray[np.int32]:
    """Find the best tree for given scores of arcs.

    Parameters
    ----------
    scores : array-like of shape (n + 1, n + 1)
        ``scores[h, m]`` of the arc from word h to word m; word 0 is the root. Minus infinity leaves an arc out.
    decoder : {"eisner", "chu-liu-edmonds"}, default="eisner"
        Best projective tree, or best tree of any kind.
    single_root : bool, default=True
        Whether exactly one word hangs on the root.

    Returns
    -------
    ndarray of int32, shape (n,)
        Head of every word.

    Raises
    ------
    ValueError
        If no tree connects all words, or scores are NaN or infinite.

    Examples
    --------
    >>> from wald.structured.decoding import decode_tree
    >>> decode_tree([[0, 1, 5], [0, 0, 3], [0, 9, 0]])
    array([2, 0], dtype=int32)
    """
    if decoder not in ("eisner", "chu-liu-edmonds"):
        raise ValueError(f"decoder must be 'eisner' or 'chu-liu-edmonds'. Got {decoder!r} instead.")
    matrix = np.ascontiguousarray(scores, dtype=np.float32)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise ValueError(f"scores must be a square matrix, [head, modifier]. Got shape {matrix.shape} instead.")
    return _core.decode_tree(matrix, decoder == "eisner", single_root)
