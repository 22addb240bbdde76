"""Cross-fitted predictions: each from a model that did not learn from the example, so that none is optimistic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold

from ..chain import ChainClassifier
from ..given import settled_labels
from ..protocol import Session, StructuredModel
from ..sequences import Sequences, lasting
from .evidence import parts_of


@dataclass(frozen=True, eq=False)
class Fold:
    """Examples held out from a model, which did not learn from them, and their session."""

    model: StructuredModel
    session: Session
    truth: NDArray[np.int32] | None  # codes, negative where the model cannot give them
    everything: NDArray[np.int32]  # the model's codes with all groups bought

    @classmethod
    def open(cls, model: StructuredModel, X: Any, y: Any) -> Fold:
        """Open examples, with their true answers where there are some."""
        session = model.open(X)
        truth = None if y is None else np.asarray(session.codes(y), dtype=np.int32)
        return cls(model, session, truth, np.array(session.decode(session.state())))

    def loss(self, codes: NDArray[np.int32], parts: Any = slice(None)) -> NDArray[np.float64]:
        """Loss of each part against the truth, 1 where the model cannot give it; without truth, against everything."""
        truth = (self.everything if self.truth is None else self.truth)[parts]
        loss = np.ones(len(codes))
        known = truth >= 0
        loss[known] = self.model.loss(truth[known], codes[known])
        return loss


def crossfit(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    cv: int | str | Sequence[Fold] = 5,
    groups: ArrayLike | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> list[Fold]:
    """Open every example with a model that did not learn from it: clones, each of which learns from all but one fold.

    Parameters
    ----------
    model, X, y
        As in `Policy.fit`. With ``cv="prefit"``, or without ``y``, the model is taken as it is.
    cv : int, "prefit" or sequence of Fold, default=5
        Folds of an earlier call are taken as they are, so that several policies of one model share the clones.
    groups : array-like of shape (n_examples,), default=None
        Examples of the same group stay in one fold: the same word, written by several people, say.
    random_state : int, RandomState instance or None, default=None
        Draws the folds; groups are not drawn.

    Notes
    -----
    A `ChainClassifier`'s extractors are called once for all folds and clones, and not at all where its `fit` has kept
    the features of these very examples. The folds hold them together.
    """
    if isinstance(cv, Sequence) and not isinstance(cv, str):
        if not cv or not all(isinstance(fold, Fold) for fold in cv):
            raise TypeError("A sequence given as cv must hold Folds, as crossfit returns them, at least one.")
        return list(cv)
    X, y = lasting(X), settled_labels(y)
    if cv == "prefit" or y is None:
        return [Fold.open(model, extracted_once(model, X), y)]
    if not (isinstance(cv, int | np.integer) and cv >= 2):
        raise ValueError(f"cv must be 'prefit' or an integer of at least 2. Got {cv!r}.")
    n = X.n_sequences if isinstance(X, Sequences) else len(X)
    if n < cv:
        raise ValueError(f"{cv} folds need as many examples. Got {n}.")
    if hasattr(y, "__len__") and len(y) != n:
        raise ValueError(f"y must hold the answers of {n} examples. Got {len(y)}.")
    X = extracted_once(model, X)
    if groups is None:
        split = KFold(int(cv), shuffle=True, random_state=random_state).split(np.arange(n))
    else:
        split = GroupKFold(int(cv)).split(np.arange(n), groups=np.asarray(groups))
    codes_alike = {}  # a fold may lack a label or a tag, yet all folds must number them alike
    requested = signature(model.fit).parameters
    if hasattr(model, "classes_") and "classes" in requested:
        codes_alike = {"classes": model.classes_}
    elif "inventory" in requested:
        codes_alike = {"inventory": X}
    folds = []
    for others, held in split:
        fitted = clone(model, safe=False).fit(taken(X, others), taken(y, others), **codes_alike)
        folds.append(Fold.open(fitted, taken(X, held), taken(y, held)))
    return folds


def extracted_once(model: Any, X: Any) -> Any:
    """Attach the features of all groups to examples, so that sessions of the model and its clones share them."""
    if not isinstance(model, ChainClassifier) or not isinstance(X, Sequences | list | tuple | np.ndarray):
        return X
    own = type(model)  # a subclass with methods of its own may expect the user's form of examples
    return model._extracted(X) if own.fit is ChainClassifier.fit and own.open is ChainClassifier.open else X


def taken(values: Any, which: NDArray[np.int64]) -> Any:
    """Select examples, or their answers."""
    if isinstance(values, Sequences):
        parts, ends = parts_of(values.offsets, which)
        return Sequences(
            values.parts[parts],
            ends,
            None if values.extracted is None else values.extracted.take(parts),
            named=None if values.named is None else [values.named[part] for part in parts],
        )
    if isinstance(values, list | tuple):
        return [values[i] for i in which]
    if isinstance(values, Sequence | np.ndarray):  # such as a treebank, which knows how to take an array of indices
        return values[which]  # type: ignore[call-overload]  # Sequence does not say so
    raise TypeError(
        f"Examples must be a list, an array with one entry per example, Sequences or a treebank, so that folds can be "
        f"taken. Got {type(values).__name__}."
    )
