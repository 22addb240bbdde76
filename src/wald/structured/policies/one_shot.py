"""Decide once, for every part at the same time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...stopping.core.validation import require_option, require_positive
from ..protocol import Session, State
from .base import Policy
from .crossfit import Fold
from .evidence import owner, rows_of
from .scores import weighted_svm
from .targets import Objective, Targets, marked, parsimonious, trajectory, without_needless


@dataclass(eq=False, repr=False)
class OneShotPolicy(Policy):
    """The one-shot policy of the paper: a weighted linear classifier says of every part which groups it needs.

    Parameters
    ----------
    tradeoff : float, default=0.3
        Wrong parts that one part with all costly groups is worth, when pseudo-labels are searched for.
    target : {"trajectory", "parsimonious", "wrong", "differs"}, default="trajectory"
        Labels of the classifier, its pseudo-labels. "trajectory": the best state on the path of greedy additions, less
        the groups that it does not need. "parsimonious": the additions that alone lower the objective. "wrong": the
        parts that are wrong with nothing bought.
        "differs", without labels: the parts whose answer is not the one with everything bought.
    features : {"complex", "simple"}, default="complex"
        Features of a part; simple ones need no inference.
    class_weight : "balanced", float or mapping of group names to floats, default="balanced"
        Weight of the parts that need a group, against 1 for the others: larger weights reach budgets that no
        ``tradeoff`` reaches. "balanced": together they weigh as much as all others together.
    importance : bool, default=True
        Whether to weight examples by the cost of a mistake.
    tau : float, default=0.0
        "parsimonious": an addition must lower the objective by more than this.
    t_max : int or None, default=None
        "trajectory": additions at most.
    C : float, default=1000.0
        Strength of the fit: weight of the mean loss against half the squared norm of the weights.
    cv : int, "prefit" or sequence of Fold, default=5
        As in `IteratedPolicy`.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    scores_ : list of LinearScore
        One per costly group.
    share_ : float64 ndarray of shape (K,)
        Share of the parts whose pseudo-label wants the group.

    Notes
    -----
    T. Bolukbasi, K. Chang, J. Wang and V. Saligrama, "Resource Constrained Structured Prediction" (arXiv 1602.08761),
    equation 4: an example's pseudo-label has weight W, the same for all of its parts. The structural SVM over a graph
    without edges is a weighted SVM per part. With several groups, each has a classifier of its own.

    Two things are this library's own. `without_needless` removes additions from the state that the trajectory finds,
    because the search breaks ties by position. And weights are balanced, because few parts need a costly group: a
    classifier that finds only the clearest of them would rank the others badly, which larger budgets buy.

    Examples
    --------
    >>> from wald.datasets import make_chains
    >>> from wald.structured import BudgetedPredictor, ChainClassifier, FeatureGroup
    >>> from wald.structured.policies import OneShotPolicy
    >>> X, y = make_chains(600, noise=1.5, random_state=0)
    >>> groups = [FeatureGroup("half", lambda parts: parts[:, ::2], cost=1), FeatureGroup("all", cost=9)]
    >>> model = ChainClassifier(groups, max_iter=5, random_state=0).fit(X[:400], y[:400])
    >>> policy = OneShotPolicy(random_state=0).fit(model, X[:400], y[:400])
    >>> fast = BudgetedPredictor(model, policy, budget=4).fit(X[400:500])
    >>> round(fast.mean_cost_, 1)
    4.0
    """

    tradeoff: float = 0.3
    target: str = "trajectory"
    _: KW_ONLY
    features: str = "complex"
    class_weight: str | float | Mapping[str, float] = "balanced"
    importance: bool = True
    tau: float = 0.0
    t_max: int | None = None
    C: float = 1000.0
    cv: int | str | Sequence[Fold] = 5
    random_state: int | np.random.RandomState | None = None

    options: ClassVar = {
        "target": ("trajectory", "parsimonious", "wrong", "differs"),
        "features": ("complex", "simple"),
    }

    def _check(self, model: Any, y: Any) -> None:
        super()._check(model, y)
        costly, weights = list(model.group_names_)[1:], self.class_weight
        if isinstance(weights, Mapping) and set(weights) != set(costly):
            raise ValueError(f"class_weight must have a weight for each of {costly}. Got those for {list(weights)}.")
        for weight in weights.values() if isinstance(weights, Mapping) else [weights]:
            if isinstance(weight, str):
                require_option(type(self).__name__, "class_weight", weight, ("balanced",))
            else:
                require_positive(type(self).__name__, "class_weight", weight)

    def _learn(self, folds: list[Fold], seeds: list[int]) -> None:
        rows, wanted, weights = [], [], []
        for objective in self._objectives(folds):
            targets, session = self._targets(objective), objective.fold.session
            rows.append(rows_of(session, session.state() & False, np.arange(objective.n_examples), self.features))
            wanted.append(targets.state)
            weight = targets.weight if self.importance else np.ones(objective.n_examples)
            weights.append(weight[owner(np.asarray(session.offsets))])
        every_row, every_wanted, weight = np.concatenate(rows), np.concatenate(wanted), np.concatenate(weights)
        self.share_ = every_wanted.mean(axis=0)
        self.scores_ = []
        for group, name in enumerate(list(self.model_.group_names_)[1:]):
            wants = every_wanted[:, group]
            try:
                score = weighted_svm(every_row, wants, self._weighted(name, wants, weight), self.C, seeds[0])
            except ValueError as error:
                raise ValueError(
                    f"No pseudo-label separates parts with group {name!r} from parts without it at tradeoff="
                    f"{self.tradeoff!r}: {error}. With a smaller tradeoff more parts want it."
                ) from error
            self.scores_.append(score)

    def priority(self, session: Session, state: State, examples: NDArray[np.int64]) -> NDArray[np.float64]:
        """Scores of the classifiers; see `Policy.priority`."""
        rows = rows_of(session, state, examples, self.features)
        return np.column_stack([score(rows) for score in self.scores_])

    def _targets(self, objective: Objective) -> Targets:
        if self.target == "trajectory":
            return without_needless(objective, trajectory(objective, self.t_max))
        if self.target == "parsimonious":
            return parsimonious(objective, float(self.tau))
        return marked(objective.fold, self.target == "differs")

    def _weighted(self, name: str, wants: NDArray[np.bool_], weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """Multiply weights by those of the two classes."""
        class_weight: Any = self.class_weight[name] if isinstance(self.class_weight, Mapping) else self.class_weight
        if class_weight == "balanced":
            positive_weight = float(weight[wants].sum())
            class_weight = (float(weight.sum()) - positive_weight) / positive_weight if positive_weight else 1.0
        return np.asarray(weight * np.where(wants, class_weight, 1.0))
