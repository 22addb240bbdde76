"""The codes that a library learned for the categories in a data frame's columns."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise, takewhile
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from ..sources.frames import is_frame
from ..sources.values import is_missing
from .category_columns import CategoryColumn

#: The categories of a column in the order of their codes: an array of objects if they are texts, or of numbers.
Known = NDArray[Any]


@dataclass(frozen=True, eq=False)
class CategoryTable:
    """All that a step knows of the categories, as a file holds it.

    Parameters
    ----------
    n_columns : int
        Number of columns of the rows.
    columns : list of int
        Numbers of the columns of `categories`; empty if they are not known.
    categories : list of (list or ndarray)
        Categories of each of these columns, in the order of their codes.
    names : list of str or None, default=None
        Names of all columns, if the step itself finds columns by name.
    """

    n_columns: int
    columns: list[int]
    categories: list[Any]
    names: list[str] | None = None


class CategoryCodes(TransformerMixin, BaseEstimator):
    """Replace columns of categories by codes; rows that are no data frame hold codes already.

    Parameters
    ----------
    categories : list
        The categories that the library learned.
    n_columns : int
        Number of columns of the rows.
    """

    def __init__(self, categories: list[Any], n_columns: int) -> None:
        self.categories = categories
        self.n_columns = n_columns

    @property
    def n_features_in_(self) -> int:
        """Number of columns, which says that they are read by position."""
        return self.n_columns

    @property
    def source_columns(self) -> NDArray[np.int64]:
        """The column that each column of codes and numbers comes from."""
        return np.arange(self.n_columns)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X: Any, y: Any = None) -> Self:
        """Return the codes as they are: the library has learned them."""
        return self

    def transform(self, X: Any) -> Any:
        """Replace the categories of a frame by float64 codes.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_rows, n_columns)

        Returns
        -------
        rows of the same kind
            NaN where the library has a missing value.

        Raises
        ------
        ValueError
            If columns have categories where the library has none, or none where it has some.
        """
        if not is_frame(X) or X.shape[1] != self.n_columns:  # the engine refuses another number of columns
            return X
        if nw.dependencies.is_pandas_dataframe(X):
            given = [c for c, dtype in enumerate(X.dtypes) if self._may_be_named(c, dtype)]
            names = list(X.columns)
            columns = {c: CategoryColumn.of_pandas(X.iloc[:, c]) for c in given}
            coded = X.copy(deep=False)
            for c, codes in self._codes(names, columns, pandas=True).items():
                coded.isetitem(c, codes)
            return coded
        frame = nw.from_native(X, eager_only=True)
        names = frame.columns
        given = [c for c, dtype in enumerate(frame.schema.values()) if self._may_be_named(c, dtype)]
        columns = {c: CategoryColumn.of(frame.get_column(names[c])) for c in given}
        coded = [
            nw.new_series(names[c], codes, nw.Float64, backend=frame.implementation)
            for c, codes in self._codes(names, columns, pandas=False).items()
        ]
        return frame.with_columns(*coded).to_native()

    def _may_be_named(self, column: int, dtype: Any) -> bool:
        """Whether a column may hold categories by name: it has a dtype of categories, or texts where some belong."""
        if isinstance(dtype, nw.Categorical | nw.Enum) or str(dtype) == "category":
            return True
        texts = isinstance(dtype, nw.String) or getattr(dtype, "kind", "") == "O"
        return texts and (not self.places or column in self.places)

    def code_of(self, column: int, value: Any) -> float | None:
        """Code of a single value.

        Parameters
        ----------
        column : int
            Number of its column.
        value : object
            A category; None, NaN and pd.NA are missing.

        Returns
        -------
        float or None
            NaN where the library has a missing value; None if the column holds numbers.

        Raises
        ------
        TypeError
            If the model does not say which columns hold categories.
        ValueError
            If the value is of another kind than the categories of its column, or the library refuses the category.
        """
        if column not in self._positions:
            return None
        if is_missing(value):
            return math.nan
        texts, position = self._positions[column]
        if texts is not None and isinstance(value, str) != texts:
            raise ValueError(f"must be a {'text' if texts else 'number'}, as its categories are. Got {value!r}.")
        return self._code(column, position, value)

    @cached_property
    def _positions(self) -> dict[int, tuple[bool | None, dict[Any, int]]]:
        """Whether the categories of a column are texts (None: some are), and the code of each of them."""
        found = {}
        for c, known in self._by_column().items():
            categories = known.tolist()
            texts = {isinstance(category, str | bytes) for category in categories}
            mixed = len(texts) > 1
            found[c] = (None if mixed else True in texts, self._named({each: i for i, each in enumerate(categories)}))
        return found

    def _named(self, position: dict[Any, int]) -> dict[Any, int]:
        """Keep the codes of the categories whose names are certain."""
        return position

    def _code(self, column: int, position: dict[Any, int], value: Any) -> float:
        """The code of a value that is not missing."""
        return position.get(value, math.nan)

    @property
    def places(self) -> Collection[int]:
        """Numbers of the columns of categories; empty if they are not known."""
        return self._positions

    def table(self) -> CategoryTable:
        """All that the step knows, for a file."""
        raise NotImplementedError

    @classmethod
    def of_table(cls, table: CategoryTable) -> Self:
        """Make the step from its table."""
        raise NotImplementedError

    def _codes(
        self, names: Sequence[Any], columns: dict[int, CategoryColumn], pandas: bool
    ) -> dict[int, NDArray[np.float64]]:
        """Codes of `columns`, which hold categories by name, of a frame with these ``names``."""
        raise NotImplementedError

    def _by_column(self) -> dict[int, Known]:
        """Categories by the number of their column."""
        raise NotImplementedError


class OrderedCategories(CategoryCodes):
    """LightGBM's codes: the columns of categories of a pandas frame, in their order; unknown ones are missing.

    Parameters
    ----------
    categories : list of list
        Categories of each column of categories.
    n_columns : int
    columns : list of int
        The numbers of these columns, if they are known.
    """

    def __init__(self, categories: list[Any], n_columns: int, columns: list[int]) -> None:
        super().__init__(categories, n_columns)
        self.columns = columns

    def table(self) -> CategoryTable:
        """All that the step knows, for a file."""
        return CategoryTable(self.n_columns, list(self.columns) if self._knows_columns else [], self.categories)

    @classmethod
    def of_table(cls, table: CategoryTable) -> Self:
        """Make the step from its table."""
        return cls(table.categories, table.n_columns, table.columns)

    def _codes(
        self, names: Sequence[Any], columns: dict[int, CategoryColumn], pandas: bool
    ) -> dict[int, NDArray[np.float64]]:
        if not columns and not pandas:  # LightGBM takes the codes themselves in other frames than those of pandas
            return {}
        if len(columns) != len(self.categories):
            raise ValueError(
                f"X has {len(columns)} columns of dtype category, and the LightGBM model was trained on "
                f"{len(self.categories)}. Convert the same columns with astype('category'), or give an array of codes."
            )
        codes = {}
        for (c, column), known in zip(columns.items(), self.categories, strict=True):
            position = {category: code for code, category in enumerate(known)}
            codes[c] = column.like(known, names[c]).mapped(partial(self._code, c, position))
        return codes

    @property
    def places(self) -> Collection[int]:
        """Numbers of the columns of categories; empty if they are not known."""
        return self._positions if self._knows_columns else ()

    @property
    def _knows_columns(self) -> bool:
        return len(self.columns) == len(self.categories)

    def _by_column(self) -> dict[int, Known]:
        if not self._knows_columns:
            raise TypeError(
                "This LightGBM model does not say which columns hold its categories. Pass a DataFrame with columns of "
                "dtype category, or an array of codes."
            )
        return {c: _known(known) for c, known in zip(self.columns, self.categories, strict=True)}


class NamedCategories(CategoryCodes):
    """XGBoost's codes, by column. Categories that training has not seen are refused.

    XGBoost itself refuses an unseen category only if it would come after all others; else it takes it for the next one.
    It does so even where a data frame declares one and holds none; this makes no difference here.
    If pandas categories have names beyond ASCII, XGBoost keeps pieces of the names (`_cut_by_characters`). Only their
    order then says which category is which.

    Parameters
    ----------
    categories : list of (ndarray or None)
        Categories of each column, texts as objects of bytes; None for a column of numbers.
    n_columns : int
    """

    def table(self) -> CategoryTable:
        """All that the step knows, for a file."""
        held = self._by_column()
        return CategoryTable(self.n_columns, list(held), list(held.values()))

    @classmethod
    def of_table(cls, table: CategoryTable) -> Self:
        """Make the step from its table."""
        held = dict(zip(table.columns, table.categories, strict=True))
        return cls([held.get(c) for c in range(table.n_columns)], table.n_columns)

    def _codes(
        self, names: Sequence[Any], columns: dict[int, CategoryColumn], pandas: bool
    ) -> dict[int, NDArray[np.float64]]:
        for c, known in enumerate(self.categories):
            if (known is not None) != (c in columns):
                trained = "numbers" if known is None else "categories"
                raise ValueError(
                    f"Column {names[c]!r} of X must hold {trained}, as in the rows on which the XGBoost model was "
                    "trained. Convert it, or give an array of codes."
                )
        return {c: self._codes_of(self.categories[c], column, names[c], pandas) for c, column in columns.items()}

    def _codes_of(self, known: Known, column: CategoryColumn, name: Any, pandas: bool) -> NDArray[np.float64]:
        column = column.like(known, name)
        categories = column.categories
        of_dtype = pandas and not column.from_texts  # XGBoost compares the dtypes of the categories of pandas
        numeric = categories.dtype.kind in "iuf" if of_dtype else known.dtype != object
        if numeric == (known.dtype == object) or (of_dtype and numeric and categories.dtype != known.dtype):
            raise ValueError(
                f"The categories of column {name!r} are of dtype {categories.dtype}, and the XGBoost model was trained "
                f"on categories of dtype {'str' if known.dtype == object else known.dtype}. Convert them."
            )
        position = {category: code for code, category in enumerate(known.tolist())}
        if numeric:
            read = column
        else:
            texts = [str(each) for each in categories]
            read = column.renamed([text.encode() for text in texts])
            if of_dtype and not all(each.isascii() for each in (*read.categories, *position)):
                read = column.renamed(_cut_by_characters(texts))
                if any(a != b for a, b in zip(read.categories, position, strict=False)):
                    raise ValueError(
                        "XGBoost cuts names of pandas categories that are not ASCII, and takes those of column "
                        f"{name!r} for each other, for they are not those of training in its order. Give the column "
                        "the dtype that it had in training."
                    )
            elif column.from_texts:
                position = self._named(position)
        codes = read.mapped(lambda value: position.get(value, -1))
        unseen = np.flatnonzero(codes < 0)
        if len(unseen):
            value = categories[column.codes[unseen[0]]]
            raise ValueError(f"Column {name!r} holds the category {value!r}, {_unknown(known)}")
        return codes

    def _named(self, position: dict[Any, int]) -> dict[Any, int]:
        # Names before the first one beyond ASCII are whole. The others may be cut or not: XGBoost keeps those of polars
        # and Arrow whole, and a piece may look like a name.
        return dict(takewhile(lambda item: not isinstance(item[0], bytes) or item[0].isascii(), position.items()))

    def _code(self, column: int, position: dict[Any, int], value: Any) -> float:
        code = position.get(value.encode() if isinstance(value, str) else value)
        if code is None:
            raise ValueError(f"is the category {value!r}, {_unknown(self.categories[column])}")
        return code

    def _by_column(self) -> dict[int, Known]:
        return {c: known for c, known in enumerate(self.categories) if known is not None}


def _unknown(known: Known) -> str:
    """What to say of a category that is not among the ``known`` ones."""
    if all(not isinstance(each, bytes) or each.isascii() for each in known):
        return (
            "which the XGBoost model has not seen in training, and which XGBoost refuses or takes for another one. "
            "Replace it by a missing value or a known one."
        )
    return (
        "and the XGBoost model does not hold the names of its categories whole, for XGBoost cuts those that are not "
        "ASCII. Give a data frame with the dtype of training, or an array of codes."
    )


def _cut_by_characters(texts: list[str]) -> list[bytes]:
    """The names that XGBoost takes from pandas: the bytes of all texts together, cut by numbers of characters."""
    together, ends = "".join(texts).encode(), np.cumsum([0, *map(len, texts)])
    return [together[start:stop] for start, stop in pairwise(ends.tolist())]


def _known(categories: list[Any]) -> Known:
    known = np.array(categories)
    return known if known.dtype.kind in "iuf" else np.array(categories, dtype=object)
