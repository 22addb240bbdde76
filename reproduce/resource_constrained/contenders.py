"""The policies: the paper's, its rivals, and ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from wald.structured.policies import (
    AnytimePolicy,
    IteratedPolicy,
    MyopicPolicy,
    OneShotPolicy,
    QLearningPolicy,
    UniformPolicy,
)
from wald.structured.policies.base import Policy
from wald.structured.policies.crossfit import Fold

#: The most additions of a search for pseudo-labels by trajectory; few parts of long examples are wrong.
_T_MAX = 12
#: Folds in which pseudo-labels are searched for, if there are more parts than the second number.
_SEARCHED_FOLDS, _MANY_PARTS = 2, 60_000
#: C of the classifier of simple features, of which there are many, most of them rare.
_C_SIMPLE = 10.0


class Contender(NamedTuple):
    """A policy, and how it may spend.

    Attributes
    ----------
    policy : str
        A key of `POLICIES`.
    spend : {"mean", "each"}
        Whether money moves between examples, or each gets the same share.
    """

    policy: str
    spend: str = "mean"

    @property
    def name(self) -> str:
        """Name of the contender on the page."""
        return NAMES[self.policy] + (", equal share" if self.spend == "each" else "")


class Lessons(NamedTuple):
    """Cross-fitted predictions.

    Attributes
    ----------
    folds : list of Fold
    searched : list of Fold
        The folds in which pseudo-labels are searched for.
    seed : int
    """

    folds: Sequence[Fold]
    searched: Sequence[Fold]
    seed: int


def lessons_of(folds: Sequence[Fold], seed: int) -> Lessons:
    """Search for pseudo-labels in all folds, or in some of them if they are large."""
    many = sum(int(fold.session.offsets[-1]) for fold in folds) > _MANY_PARTS
    return Lessons(folds, folds[:_SEARCHED_FOLDS] if many else folds, seed)


def _one_shot(lessons: Lessons, **settings: Any) -> Policy:
    return OneShotPolicy(t_max=_T_MAX, cv=lessons.searched, random_state=lessons.seed, **settings)


POLICIES: dict[str, Callable[[Lessons], Policy]] = {
    "uniform": lambda lessons: UniformPolicy(random_state=lessons.seed),
    "uniform, examples": lambda lessons: UniformPolicy("example", random_state=lessons.seed),
    "myopic": lambda lessons: MyopicPolicy(),
    "q-learning": lambda lessons: QLearningPolicy(cv=lessons.searched, random_state=lessons.seed),
    "one-shot": _one_shot,
    "parsimonious": lambda lessons: _one_shot(lessons, target="parsimonious"),
    "unweighted": lambda lessons: _one_shot(lessons, importance=False),
    "simple": lambda lessons: _one_shot(lessons, features="simple", C=_C_SIMPLE),
    "simple, parsimonious": lambda lessons: _one_shot(lessons, features="simple", target="parsimonious", C=_C_SIMPLE),
    "anytime": lambda lessons: AnytimePolicy(cv=lessons.searched, random_state=lessons.seed),
    "iterated": lambda lessons: IteratedPolicy(cv=lessons.folds, random_state=lessons.seed),
    "label-free": lambda lessons: IteratedPolicy("differs", cv=lessons.folds, random_state=lessons.seed),
}
NAMES = {
    "uniform": "uniform",
    "uniform, examples": "uniform, whole examples",
    "myopic": "myopic",
    "q-learning": "Q-learning",
    "one-shot": "one-shot",
    "parsimonious": "one-shot, parsimonious",
    "unweighted": "one-shot, no importance weights",
    "simple": "one-shot, simple features",
    "simple, parsimonious": "one-shot, simple, parsimonious",
    "anytime": "anytime",
    "iterated": "iterated, ours",
    "label-free": "iterated, label-free, ours",
}
#: One-shot policies of the paper.
ONE_SHOT = ("one-shot", "parsimonious", "simple", "simple, parsimonious")

_SPENDING_EACH = tuple(Contender(name, "each") for name in ("one-shot", "anytime", "iterated"))
_BASIC = tuple(map(Contender, ("uniform", "uniform, examples", "myopic", "one-shot", "parsimonious", "simple")))
_ALL = (*map(Contender, (name for name in POLICIES if name != "anytime")), *_SPENDING_EACH)
#: The policies of each data set. Q-learning needs a prediction at every step, which is slow on long examples.
CONTENDERS: dict[str, tuple[Contender, ...]] = {
    "OCR": (*_ALL, Contender("anytime")),
    "OCR, new words": tuple(map(Contender, ("uniform", "one-shot", "iterated", "label-free"))),
    "EWT": tuple(c for c in _ALL if c.policy != "q-learning"),
    "Penn sample": _ALL,
    "Penn sample, by head": tuple(map(Contender, ("uniform", "one-shot", "iterated"))),
    "EWT tags": (*_BASIC, *map(Contender, ("iterated", "label-free")), *_SPENDING_EACH),
}
