"""How much memory arrays take that are padded to registers."""

from __future__ import annotations

from collections.abc import Sequence

#: Lanes of the widest registers: of float32, and of float64.
SINGLE, DOUBLE = 16, 8
#: Objects of Python and of the engine around one stage.
STAGE_OBJECTS = 2048


def padded(n: int, lanes: int) -> int:
    """Give the next multiple of ``lanes``."""
    return -(-n // lanes) * lanes


def readout_bytes(stage_terms: Sequence[int], n_outputs: int) -> int:
    """Bound what the compiled engine keeps of the stages: readouts, padded, and objects around each stage."""
    n_stages, n_weights = len(stage_terms), sum(stage_terms)
    if n_outputs > 1:
        readouts = (n_weights + n_stages) * padded(n_outputs, SINGLE) * 8
    else:
        readouts = 24 * n_weights + 192 * n_stages
    return readouts + n_stages * (STAGE_OBJECTS + 16 * DOUBLE)
