"""A DictVectorizer in front of models that read its columns one by one, such as trees."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray

from ..sources import Source
from .chain import Chain
from .named_values import NamedValues, read_named_values

#: Largest number of columns. A value is added to all columns of its row, 0 to all but its own.
MOST_COLUMNS = 256
#: Number of rows whose columns are written at a time.
ROWS = 16384


class NamedColumns(Chain):
    """A fitted DictVectorizer that writes arrays, straight from dicts.

    Columns are scores whose weights are 1 in one column each: a product with 1 and a sum with 0 leave a value as it is.
    The vectorizer itself writes the rows that the extension leaves to it, those with a value that is not finite, and
    those with several values of one name, whose order in a sum is not known.

    Parameters
    ----------
    steps : list of (str, transformer)
        The vectorizer alone.
    read : NamedValues
    """

    def __init__(self, steps: list[tuple[str, Any]], read: NamedValues) -> None:
        super().__init__(steps)
        self._named = read

    @classmethod
    def of(cls, chain: Chain, absent_is_missing: bool) -> NamedColumns | None:
        """Read a chain; None if it is no DictVectorizer that is known, or of more columns than pay.

        Parameters
        ----------
        chain : Chain
        absent_is_missing : bool
            Whether the model takes what sparse rows do not hold for missing, and not for 0.
        """
        read = read_named_values(chain.first) if len(chain.steps) == 1 else None
        if read is None or read.names is None or read.n_features > MOST_COLUMNS:
            return None
        return None if absent_is_missing and not read.dense else cls(chain.steps, read)

    @property
    def identity(self) -> Any:
        """The vectorizer alone."""
        return Chain(self.steps)

    @property
    def width(self) -> int:
        """Number of columns."""
        return self._named.n_features

    def transform(self, source: Source) -> Any:
        """Columns of rows, as an array."""
        rows = self._named.rows_of(source)
        if rows is None or sklearn.get_config()["transform_output"] != "default":
            return super().transform(source)
        dtype = np.dtype(np.float32 if self._named.single else np.float64)
        written, errors = np.empty((len(rows), self.width), dtype=dtype), np.empty(len(rows))
        for start in range(0, len(rows), ROWS):
            some = slice(start, start + ROWS)
            written[some], errors[some] = self._scorer.scores(rows[some])
        odd = np.flatnonzero(errors != 0)
        if len(odd):
            own = super().transform(source.take(odd))
            written[odd] = own if isinstance(own, np.ndarray) else own.toarray()
        return written

    @cached_property
    def _scorer(self) -> Any:
        one: NDArray[Any] = np.eye(self.width, dtype=np.float32 if self._named.single else np.float64)
        return self._named.scorer({"coef": one, "intercept": np.zeros(self.width, one.dtype), "coef_bound": None})

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_scorer"}
