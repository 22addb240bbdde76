"""The codes of categories that a model's own library learned, as a step."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..sources import Source
from .categories import CategoryCodes
from .encoded_categories import EncodedCategories
from .step import Step


class Codes(Step):
    """Codes in place of the categories of a model's own columns.

    Parameters
    ----------
    codes : CategoryCodes or EncodedCategories
    single : bool
        Whether the model itself converts numbers to float32.
    """

    def __init__(self, codes: CategoryCodes | EncodedCategories, single: bool) -> None:
        self.codes, self.single = codes, single

    @property
    def first(self) -> Any:
        """The transformer that meets the rows."""
        return self.codes

    @property
    def steps(self) -> Sequence[tuple[str, Any]]:
        """The transformer with a name, for messages."""
        return (("categories", self.codes),)

    @property
    def width(self) -> int:
        """As many columns as it reads."""
        return len(self.source_columns)

    @property
    def source_columns(self) -> NDArray[np.int64]:
        """The column of the rows that each column of codes and numbers comes from."""
        return np.asarray(self.codes.source_columns)

    def given(self, source: Source) -> Any:
        """The rows with plain numbers in the columns that hold no categories."""
        # all may hold some, where the model does not say which
        coded: Collection[int] = self.codes.places or range(self.codes.n_features_in_)
        return source.plain(self.single, coded)

    def transform(self, source: Source) -> Any:
        """Codes and numbers."""
        return self.codes.transform(self.given(source))
