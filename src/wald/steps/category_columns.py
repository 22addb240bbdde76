"""Columns of a data frame that hold categories by their names, in the form that the codes of all libraries need."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from ..sources.cells import objects_of


@dataclass(frozen=True, eq=False)
class CategoryColumn:
    """The distinct categories of a column, and which of them each row has.

    Parameters
    ----------
    categories : ndarray
        Numbers, or objects.
    codes : integer ndarray of shape (n_rows,)
        Number of the category of each row; -1 for a missing value.
    from_texts : bool
        Whether the column holds texts, and has no dtype of categories.
    """

    categories: NDArray[Any]
    codes: NDArray[Any]
    from_texts: bool

    @classmethod
    def of_pandas(cls, column: Any) -> CategoryColumn:
        """Take a pandas Series of dtype category or of texts."""
        from_texts = str(column.dtype) != "category"
        held = (column.astype("category") if from_texts else column).cat
        return cls(held.categories.to_numpy(), held.codes.to_numpy(), from_texts)

    @classmethod
    def of(cls, column: Any) -> CategoryColumn:
        """Take a narwhals Series, as `of_pandas` does."""
        values = column.to_list()
        categories = [value for value in dict.fromkeys(values) if value is not None]
        number = {category: code for code, category in enumerate(categories)}
        codes = np.array([number.get(value, -1) for value in values], dtype=np.int64)
        return cls(objects_of(categories), codes, column.dtype == nw.String)

    def like(self, known: Iterable[Any], name: Any) -> CategoryColumn:
        """Texts as categories of the kind of the ``known`` ones, which may be numbers; other columns as they are.

        Raises
        ------
        TypeError
            If a column of texts, called ``name`` in the message, holds anything else, or texts that are no numbers
            where the known categories are numbers.
        """
        if not self.from_texts:
            return self
        texts = self.categories.tolist()
        for value in texts:
            if not isinstance(value, str):
                raise TypeError(f"Column {name!r} of X must hold texts, or have the dtype category. Got {value!r}.")
        if any(isinstance(each, str | bytes) for each in known):
            return self
        try:
            return self.renamed([number_of(text) for text in texts])
        except ValueError as error:
            raise TypeError(
                f"Column {name!r} of X must hold numbers, as the categories of the model do: {error}."
            ) from None

    def renamed(self, categories: list[Any]) -> CategoryColumn:
        """The same column with other names of its categories."""
        return CategoryColumn(objects_of(categories), self.codes, self.from_texts)

    def mapped(self, code_of: Callable[[Any], float]) -> NDArray[np.float64]:
        """Replace the category of each row by its code; NaN where a value is missing."""
        table = np.full(len(self.categories) + 1, np.nan)  # the last entry stands for code -1
        few = len(self.codes) < len(self.categories)
        used = np.unique(self.codes[self.codes >= 0]) if few else np.arange(len(self.categories))
        table[used] = [code_of(value) for value in self.categories[used].tolist()]
        found: NDArray[np.float64] = table[self.codes]
        return found


def number_of(text: str) -> bool | int | float:
    """Read the number or the boolean that a text spells; raises ValueError for other texts."""
    if text in ("True", "False"):
        return text == "True"
    try:
        return int(text)
    except ValueError:
        return float(text)
