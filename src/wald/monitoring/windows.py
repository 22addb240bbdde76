"""Windows of growing lengths over a stream, so that a change is found however long the stream was before it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

#: Length of the shortest windows, and how much longer those of the next level are.
SHORTEST, FACTOR, LEVELS = 500, 2, 24


class Windows:
    """The counts since each of several windows began.

    Windows of one level follow each other. The k-th window of level l may raise a false alarm with its share of the
    whole probability, ``1 / ((l + 1) (l + 2) (k + 1) (k + 2))``; the shares of all windows add up to 1.

    Parameters
    ----------
    totals : sequence of numbers
        The counts so far, of which ``totals[0]`` counts trials.
    """

    def __init__(self, totals: Sequence[float]) -> None:
        self._starts = [list(totals) for _ in range(LEVELS)]

    def running(self, totals: Sequence[float]) -> Iterator[tuple[list[float], float]]:
        """Counts of every window that runs, and the logarithm of one over its share."""
        for level, start in enumerate(self._starts):
            yield [now - then for now, then in zip(totals, start, strict=True)], self._price(level, start[0])

    def closing(self, totals: Sequence[float]) -> Iterator[tuple[list[float], float]]:
        """The same of the windows that are full, which end here; the next ones begin."""
        for level, start in enumerate(self._starts):
            if totals[0] - start[0] >= _length(level):
                yield [now - then for now, then in zip(totals, start, strict=True)], self._price(level, start[0])
                self._starts[level] = list(totals)

    @staticmethod
    def _price(level: int, begun: float) -> float:
        k = int(begun) // _length(level)
        return math.log((level + 1) * (level + 2)) + math.log((k + 1) * (k + 2))


def _length(level: int) -> int:
    return int(SHORTEST * FACTOR**level)
