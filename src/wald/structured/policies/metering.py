"""Timing of a prediction's inferences and extractions."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..protocol import Session, State


class MeteredSession:
    """A session that measures the seconds of ``inference``: how long the model takes to answer, without extraction.

    All other attributes are those of the session.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.inference = 0.0
        for name in ("decode", "confidence", "evidence"):
            if hasattr(session, name):
                setattr(self, name, self._timed(getattr(session, name)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["session"], name)

    def extraction(self) -> float:
        """Seconds that extraction took so far, all groups together."""
        return float(sum(np.asarray(self.session.seconds).tolist()))

    def _timed(self, method: Any) -> Any:
        def answer(state: State, examples: NDArray[np.int64] | None = None) -> Any:
            start, before = time.perf_counter(), self.extraction()
            found = method(state) if examples is None else method(state, examples)
            self.inference += time.perf_counter() - start - (self.extraction() - before)
            return found

        return answer
