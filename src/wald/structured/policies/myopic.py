"""A baseline policy for whole examples: those whose answers are doubtful get every group."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..protocol import Session, State
from .base import Policy
from .segments import owner, parts_of


class MyopicPolicy(Policy):
    """All costly groups for the examples in whose cheap answer the model has least confidence, a part.

    Notes
    -----
    The baseline of Bolukbasi et al. (arXiv 1602.08761), after K. Trapeznikov and V. Saligrama, "Supervised sequential
    classification under budget constraints", AISTATS 2013. Every example is decoded with the cheap group first, and
    doubtful ones once more: the second inference is part of what it costs.

    Examples
    --------
    >>> from wald.datasets import make_chains
    >>> from wald.structured import BudgetedPredictor, ChainClassifier, FeatureGroup
    >>> from wald.structured.policies import MyopicPolicy
    >>> X, y = make_chains(200, random_state=0)
    >>> groups = [FeatureGroup("half", lambda parts: parts[:, ::2], cost=1), FeatureGroup("all", cost=9)]
    >>> model = ChainClassifier(groups, max_iter=5, random_state=0).fit(X[:100], y[:100])
    >>> fast = BudgetedPredictor(model, MyopicPolicy().fit(model), budget=5).fit(X[100:])
    >>> fast.mean_cost_ <= 5
    True
    """

    needs_inference: ClassVar[bool] = True

    def priority(self, session: Session, state: State, examples: NDArray[np.int64]) -> NDArray[np.float64]:
        """Minus the mean confidence of each part's example; see `Policy.priority`."""
        _, ends = parts_of(np.asarray(session.offsets), examples)
        confidence = np.asarray(session.confidence(state, examples), dtype=np.float64)
        mean = np.add.reduceat(confidence, ends[:-1]) / np.diff(ends)
        return np.repeat(-mean[owner(ends)][:, None], state.shape[1], axis=1)
