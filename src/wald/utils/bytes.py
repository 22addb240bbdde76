"""Memory of arrays that are padded to the width of registers."""

from __future__ import annotations

from collections.abc import Sequence

#: Lanes of the widest registers, for float32 and for float64.
SINGLE, DOUBLE = 16, 8
#: Bytes of the objects of Python and of the engine for one stage.
STAGE_OBJECTS = 2048


def padded(n: int, lanes: int) -> int:
    """Round up to a multiple of ``lanes``."""
    return -(-n // lanes) * lanes


def readout_bytes(stage_terms: Sequence[int], n_outputs: int) -> int:
    """Upper bound of the memory of all stages in the compiled engine: padded readouts, and objects per stage."""
    n_stages, n_weights = len(stage_terms), sum(stage_terms)
    if n_outputs > 1:
        readouts = (n_weights + n_stages) * padded(n_outputs, SINGLE) * 8
    else:
        readouts = 24 * n_weights + 192 * n_stages
    return readouts + n_stages * (STAGE_OBJECTS + 16 * DOUBLE)
