"""What transformers after a ColumnTransformer do to the columns of one of its parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import get_tags

from .affine import sliced
from .vectorizers import selected


@dataclass(frozen=True, eq=False)
class Kept:
    """The columns that a selector keeps.

    Attributes
    ----------
    columns : int ndarray
    finite : bool
        Whether the selector refuses rows with NaN.
    """

    columns: NDArray[np.intp]
    finite: bool

    def transform(self, X: NDArray[Any]) -> NDArray[Any]:
        """These columns of rows; ValueError if the selector refuses them."""
        refused = np.isinf(X).any() or (self.finite and np.isnan(X).any()) if X.dtype.kind == "f" else False
        if refused:
            raise ValueError("a selector of columns does not take these rows")
        return X[:, self.columns]


@dataclass(frozen=True, eq=False)
class OnSparse:
    """A scaler or an imputer of sparse rows, which may round in another way than that of dense ones."""

    step: Any

    def transform(self, X: NDArray[Any]) -> NDArray[Any]:
        """Rows as the step gives them if it gets sparse ones, dense again."""
        return np.asarray(self.step.transform(sparse.csr_matrix(X)).toarray())


@dataclass(frozen=True, eq=False)
class Later:
    """The transformers after a ColumnTransformer, for the columns of one of its parts.

    Attributes
    ----------
    steps : list of transformer
        In their order.
    first : int
        Number of the first of the part's columns that are left.
    kept : int ndarray
        Which of the part's columns are left, by their places in the part.
    """

    steps: list[Any]
    first: int
    kept: NDArray[np.intp]

    @classmethod
    def of(cls, steps: Sequence[Any], span: slice, n_columns: int, is_sparse: bool) -> Self | None:
        """Read selectors, scalers and imputers; None if one of them is something else.

        Parameters
        ----------
        steps : sequence of transformer
        span : slice
            Columns of the part among the `n_columns` that the ColumnTransformer gives.
        n_columns : int
        is_sparse : bool
            Whether the rows between are sparse.
        """
        left, found = np.arange(n_columns), list[Any]()
        own = np.arange(span.start, span.stop)
        for step in steps:
            kept = selected(step)
            if kept is not None:
                if len(kept) != len(left):
                    return None
                found.append(Kept(np.flatnonzero(kept[own]), not get_tags(step).input_tags.allow_nan))
                left = left[kept]
                own = np.flatnonzero((left >= span.start) & (left < span.stop))
                continue
            part = sliced(step, own) if getattr(step, "n_features_in_", None) == len(left) else None
            if part is None:
                return None
            if len(own):
                found.append(OnSparse(part) if is_sparse else part)
        first = int(np.count_nonzero(left < span.start))
        return cls(found, first, left[own] - span.start)

    @property
    def computes(self) -> bool:
        """Whether a number is changed, not only kept or dropped."""
        return not all(isinstance(step, Kept) for step in self.steps)

    def transform(self, X: NDArray[Any]) -> NDArray[Any]:
        """Apply them all."""
        for step in self.steps:
            X = step.transform(X)
        return X


def nothing_later(span: slice) -> Later:
    """No transformers after a part."""
    return Later([], span.start, np.arange(span.stop - span.start))
