"""Fitted transformers that wald does not look into, and the branches in which they can be run."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer

from ..sources import Source
from .affine import gives_frames, sliced
from .columns import positions
from .quick import quick
from .step import Step


class Chain(Step):
    """Fitted transformers that are called one after the other.

    A Pipeline made of them would ask its last step whether it is fitted, and a user's own transformer without fitted
    attributes answers that it is not, though it transforms.

    Parameters
    ----------
    steps : list of (str, transformer)
    """

    def __init__(self, steps: list[tuple[str, Any]]) -> None:
        self.steps = steps

    @property
    def first(self) -> Any:
        """The transformer that meets the rows."""
        return self.steps[0][1]

    def transform(self, source: Source) -> Any:
        """Apply all transformers."""
        X = self.given(source)
        for _, step in self.steps:
            X = quick(step).transform(X)
        return X

    @cached_property
    def branches(self) -> tuple[Branch, ...]:
        """The branches that each write some of the columns; empty if they cannot be run apart.

        A chain has branches if its first transformer is a ColumnTransformer that gives dense numbers, and the others
        are scalers and imputers, which compute each column from the same column alone.
        """
        front = self.first
        later = [step for _, step in self.steps[1:]]
        if type(front) is not ColumnTransformer or gives_frames(front) or getattr(front, "sparse_output_", True):
            return ()
        written = getattr(front, "output_indices_", {})
        found, end = [], 0
        for name, step, columns in front.transformers_:
            span = written.get(name, slice(0, 0))
            if (isinstance(step, str) and step == "drop") or span.stop == span.start:
                continue
            if span.start != end:
                return ()
            end = span.stop
            own = [sliced(each, np.arange(span.start, span.stop)) for each in later]
            if None in own:
                return ()
            reads = sorted(positions(columns, front.n_features_in_, getattr(front, "feature_names_in_", None)))
            found.append(Branch(front, [(name, step, columns)], own, np.arange(span.start, span.stop), reads))
        return tuple(found) if len(found) > 1 else ()


class Branch(Step):
    """Some of the transformers in a ColumnTransformer, and the later transformers for the columns that these write.

    Parameters
    ----------
    front : ColumnTransformer
        Fitted.
    parts : list of (str, transformer, columns)
        Its transformers that the branch runs.
    later : list of transformer
        Scalers and imputers, for the columns of the branch alone.
    columns : ndarray of int
        Numbers of these columns among all that the chain writes.
    reads : sequence of int
    """

    def __init__(
        self, front: Any, parts: list[Any], later: list[Any], columns: NDArray[np.intp], reads: Sequence[int]
    ) -> None:
        self.parts, self.later, self.columns, self._reads = parts, later, columns, tuple(reads)
        # A ColumnTransformer of these transformers alone finds their columns, checks them, and words its errors itself.
        self._front = copy.copy(front)
        self._front.transformers_ = parts

    def joined(self, others: Sequence[Branch], chain: Chain) -> Branch:
        """One branch with further ones of its chain, whose transformers are called together."""
        every = sorted([self, *others], key=lambda branch: int(branch.columns[0]))
        columns = np.concatenate([branch.columns for branch in every])
        later = [sliced(step, columns) for _, step in chain.steps[1:]]
        reads = sorted({column for branch in every for column in branch.reads})
        return Branch(self._front, [part for branch in every for part in branch.parts], later, columns, reads)

    @property
    def reads(self) -> Sequence[int]:
        """Columns that its transformers were fitted on."""
        return self._reads

    @property
    def width(self) -> int:
        """Number of its columns."""
        return len(self.columns)

    def transform(self, source: Source) -> Any:
        """Columns of these rows."""
        return self.finished(self.begun(source))

    def begun(self, source: Source) -> Any:
        """What its transformers give, before the scalers and imputers after them."""
        return quick(self._front).transform(self.given(source))

    def finished(self, values: NDArray[Any]) -> NDArray[Any]:
        """Columns from what `begun` gave."""
        for step in self.later:
            values = step.transform(values)
        return values
