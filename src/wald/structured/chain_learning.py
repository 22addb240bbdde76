"""Learning of a chain: its parameters, lessons, epochs, and the weights that are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..stopping.core.validation import require_between, require_integer, require_option, require_positive
from ..utils.warn import warn_caller
from .chain_answers import ChainAnswers
from .features import LazyFeatures
from .given import require_alike
from .groups import FeatureGroup
from .names import name_columns
from .session import ChainSession
from .spans import require_allowed, ruled_out

#: Copies of a sequence under fixed states that the structural SVM learns from: everything, nothing costly, random.
COPIES = 3


def codes_of(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int32]:
    """Labels as indices of the classes; raises ValueError for a label that is none of them."""
    require_alike(labels, classes)
    known = np.isin(labels, classes)
    if not known.all():
        raise ValueError(f"y holds {labels[~known].tolist()[0]!r}, which is none of the classes {classes.tolist()!r}.")
    return np.searchsorted(classes, labels).astype(np.int32)


@dataclass(eq=False, repr=False)
class ChainLearning(ChainAnswers):
    """A chain's parameters, as `ChainClassifier` documents them, and how it learns."""

    feature_groups: Sequence[FeatureGroup] | None = None
    _: KW_ONLY
    learner: str = "perceptron"
    max_iter: int = 60
    margin: float = 16.0
    C: float = 1.0
    tol: float = 0.0
    states: str = "random"
    own_weights: bool = True
    average: bool = True
    keep_names: bool = False
    shuffle: bool = True
    constraints: str | None = None
    n_jobs: int | None = None
    random_state: int | np.random.RandomState | None = None

    def _check(self) -> None:
        require_option("ChainClassifier", "learner", self.learner, ("perceptron", "svm"))
        require_option("ChainClassifier", "states", self.states, ("random", "full"))
        require_option("ChainClassifier", "constraints", self.constraints, (None, "bio"))
        require_integer("ChainClassifier", "max_iter", self.max_iter, 1)
        require_between("ChainClassifier", "margin", self.margin, 0)
        require_between("ChainClassifier", "tol", self.tol, 0)
        require_positive("ChainClassifier", "C", self.C)

    def _begin(self, features: LazyFeatures) -> None:
        self._sizes, self.n_iter_ = features.sizes, 0
        self._had_parts = features.sequences.named is not None
        self.group_names_ = [g.name for g in features.groups]
        self.group_costs_ = np.array(
            [s if g.cost is None else g.cost for g, s in zip(features.groups, features.seconds_each, strict=True)]
        )
        for group in features.groups:
            if group.cost is None and group.counts.cached and not group.counts.rows:
                warn_caller(
                    f"The cost of group {group.name!r} is not known: its cache had all parts, so that the time of a "
                    "look-up there stands for it. Give FeatureGroup a cost=."
                )
        self._chain = _core.Chain(len(self.classes_), self._sizes, bool(self.own_weights))
        self._constrain()

    def _constrain(self) -> None:
        """Rule out what the constraints rule out, in the weights."""
        if self.constraints is not None:
            self._chain.rule_out(*(out.astype(np.uint8).ravel() for out in ruled_out(self.classes_)))

    def _lesson(self, features: LazyFeatures, codes: NDArray[np.int32], rng: np.random.Generator) -> _core.ChainLesson:
        sequences = features.sequences
        if self.constraints is not None:
            require_allowed(codes, self.classes_, sequences)
        features.buy(np.ones((sequences.n_parts, len(features.groups) - 1), dtype=bool))
        seed = int(rng.integers(2**62))
        return _core.ChainLesson(self._chain, features.stores, codes, sequences.offsets, self.states == "random", seed)

    def _order(self, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
        return (rng.permutation(n) if self.shuffle else np.arange(n)).astype(np.int64)

    def _epoch(self, lesson: _core.ChainLesson, n_sequences: int, rng: np.random.Generator) -> None:
        self._learner.epoch(lesson, self._order(n_sequences, rng), self.n_iter_, float(self.margin))
        self.n_iter_ += 1

    def _svm(self, lesson: _core.ChainLesson, n_sequences: int, rng: np.random.Generator) -> _core.ChainFrankWolfe:
        copies = COPIES if self.states == "random" and len(self._sizes) > 1 else 1
        average = bool(self.average)
        learner = _core.ChainFrankWolfe(self._chain, lesson, 1.0 / (self.C * n_sequences * copies), copies)
        for _ in range(self.max_iter):
            self.n_iter_ += 1
            learner.epoch(self._order(n_sequences * copies, rng))
            if self.tol > 0 and self.n_iter_ % 10 == 0 and learner.gap(average) < self.tol:
                break
        self.duality_gap_ = learner.gap(average)
        return learner

    def _keep(
        self, learner: _core.ChainPerceptron | _core.ChainFrankWolfe, features: LazyFeatures, names: dict[bytes, Any]
    ) -> None:
        """Keep what was learned, and what belongs to it: the scale of scores, and names besides those known before."""
        chain = learner.averaged() if self.average else learner.current()
        if not chain.finite():
            raise ValueError("The weights overflow float32: scale the features, to the order of 1.")
        self._chain = chain
        session = ChainSession(chain, self.classes_, features, 1)
        some = np.arange(min(features.sequences.n_sequences, 200))
        typical = float(np.median(session.confidence(session.state(), some)))
        # half of the training parts' margins then exceed 7, like log odds of a model with few errors
        self._scale = 7.0 / typical if typical > 0 else 1.0
        named, raw = features.sequences.named, any(group.extract is None for group in self._groups())
        self._names = {**names, **name_columns(named)} if self.keep_names and raw and named is not None else names
