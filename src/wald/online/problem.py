"""One binary problem: a compiled learner that can be copied and pickled."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core


class Problem:
    """A compiled learner together with the settings that it was made from."""

    learner: Any

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = settings
        self.learner = self._compiled()

    def _compiled(self) -> Any:
        return _core.OnlineLearner(self.settings)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Floating-point type of the rows, and of the weights."""
        return np.dtype(np.float32 if self.settings["single"] else np.float64)

    def __getstate__(self) -> dict[str, Any]:
        return {"settings": self.settings, "state": self.learner.state()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["settings"])  # type: ignore[misc]  # the learner is compiled anew
        self.learner.restore(state["state"])


class BoostingProblem(Problem):
    """A binary problem whose features are the votes of weak hypotheses."""

    evaluated: int = 0
    paid: float = 0.0

    def _compiled(self) -> Any:
        return _core.BoostingLearner(self.settings)

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"evaluated": self.evaluated, "paid": self.paid}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.evaluated, self.paid = state["evaluated"], state["paid"]
