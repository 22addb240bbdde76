"""The costly features that a budgeted predictor bought, round by round, and its answers before and after."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted
from wald.structured import BudgetedPredictor, Treebank
from wald.structured.policies.driver import answers_of, cost_of, rounds

#: An example of at most this many parts counts as short.
_SHORT = 20


@dataclass(frozen=True, eq=False)
class Bought:
    """Examples with the groups that were bought for their parts.

    Attributes
    ----------
    offsets : int64 ndarray of shape (n_examples + 1,)
    round_of : int64 ndarray of shape (n_parts, K)
        In which round each part got each group, from 1; 0 where it did not.
    before, after : int32 ndarray of shape (n_parts,)
        Answers of the cheap group alone, and with what was bought.
    truth : int32 ndarray of shape (n_parts,) or None
    cost, full_cost : float64 ndarray of shape (n_examples,)
    session : Session
    """

    offsets: NDArray[np.int64]
    round_of: NDArray[np.int64]
    before: NDArray[np.int32]
    after: NDArray[np.int32]
    truth: NDArray[np.int32] | None
    cost: NDArray[np.float64]
    full_cost: NDArray[np.float64]
    session: Any

    def parts(self, example: int) -> slice:
        """Where an example's parts are."""
        return slice(int(self.offsets[example]), int(self.offsets[example + 1]))

    def most_changed(self) -> int:
        """Example whose answers changed most; if possible a short one that bought for at most half of its parts."""
        changed = np.add.reduceat(self.before != self.after, self.offsets[:-1], dtype=np.int64)
        many = np.add.reduceat((self.round_of > 0).any(axis=1), self.offsets[:-1], dtype=np.int64)
        n_parts = np.diff(self.offsets)
        too_many = (2 * many > n_parts) | (n_parts > _SHORT) | (changed == 0)
        return int(np.lexsort((many, -changed, too_many))[0])


def buy(predictor: BudgetedPredictor, X: Any, y: Any, caller: str) -> Bought:
    """Answer examples as `predict` does, and record what is bought in which round."""
    if not isinstance(predictor, BudgetedPredictor):
        raise TypeError(f"{caller} needs a fitted BudgetedPredictor. Got {type(predictor).__name__} instead.")
    check_is_fitted(predictor, "threshold_")
    if hasattr(X, "__len__") and len(X) == 0:
        raise ValueError(f"{caller} needs at least one example. X has none.")
    session: Any = predictor.model.open(X)
    nothing: NDArray[np.bool_] = session.state() & False
    before = np.array(session.decode(nothing))
    round_of, state = np.zeros(nothing.shape, dtype=np.int64), nothing
    if predictor.mode_ == "everything":
        round_of, state = round_of + 1, ~nothing
    elif predictor.mode_ == "policy":
        walk = rounds(predictor.policy, session, predictor.threshold_, predictor.allowance_, predictor.max_parts_)
        for done, (now, _) in enumerate(walk, 1):
            round_of[now & (round_of == 0)] = done
        state = round_of > 0
    offsets = np.asarray(session.offsets)
    costs = predictor.group_costs_
    return Bought(
        offsets=offsets,
        round_of=round_of,
        before=before,
        after=np.array(session.decode(state)),
        truth=None if y is None else session.codes(y),
        cost=cost_of(state, offsets, costs),
        full_cost=np.asarray(np.diff(offsets) * costs.sum()),
        session=session,
    )


def labels_of(session: Any, codes: NDArray[np.int32], example: int) -> NDArray[Any]:
    """Codes as the model's own answers for one example's parts."""
    return np.asarray(answers_of(session, codes)[example])


def has_trees(X: Any, session: Any) -> bool:
    """Whether answers are heads of words: those of a treebank whose model has no names for its codes."""
    return isinstance(X, Treebank) and not hasattr(session, "answers")


def named_parts(X: Any, example: int, n_parts: int) -> list[str]:
    """Names of parts: the words of a treebank, strings, or numbers from 1."""
    if isinstance(X, Treebank):
        return list(X[example].forms)
    try:
        item = X[example]
    except (TypeError, IndexError, KeyError):
        item = None
    if isinstance(item, list | tuple) and len(item) == n_parts and all(isinstance(word, str) for word in item):
        return list(item)
    return [str(i + 1) for i in range(n_parts)]
