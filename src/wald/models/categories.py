"""The codes that a library learned for the categories in a data frame's columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from ..engine.frames import is_frame, is_missing

__all__ = ["CategoryCodes", "EncodedCategories", "NamedCategories", "OrderedCategories"]

#: The categories of a column in the order of their codes: an array of objects if they are texts, or of numbers.
Known = NDArray[Any]


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
            given = [c for c, dtype in enumerate(X.dtypes) if str(dtype) == "category"]
            coded = X.copy(deep=False)
            for c, codes in self._codes(X, given).items():
                coded.isetitem(c, codes)
            return coded
        frame = nw.from_native(X, eager_only=True)
        given = [c for c, dtype in enumerate(frame.schema.values()) if isinstance(dtype, nw.Categorical | nw.Enum)]
        names = frame.columns
        coded = [
            nw.new_series(names[c], codes, nw.Float64, backend=frame.implementation)
            for c, codes in self._codes(frame, given).items()
        ]
        return frame.with_columns(*coded).to_native()

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
        if isinstance(value, str) != texts:
            raise ValueError(f"must be a {'text' if texts else 'number'}, as its categories are. Got {value!r}.")
        return self._position(position, value)

    @cached_property
    def _positions(self) -> dict[int, tuple[bool, dict[Any, int]]]:
        """Whether the categories of a column are texts, and the code of each of them."""
        return {
            c: (known.dtype == object, {category: code for code, category in enumerate(known.tolist())})
            for c, known in self._by_column().items()
        }

    def _position(self, position: dict[Any, int], value: Any) -> float:
        """The code of a value that is not missing."""
        return position.get(value, math.nan)

    def _codes(self, X: Any, given: Sequence[int]) -> dict[int, NDArray[np.float64]]:
        """Codes of the columns ``given``, which hold categories."""
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

    def _codes(self, X: Any, given: Sequence[int]) -> dict[int, NDArray[np.float64]]:
        if isinstance(X, nw.DataFrame):  # LightGBM takes the codes themselves in other frames than those of pandas
            if given:
                raise ValueError(
                    f"Column {X.columns[given[0]]!r} of X holds categories, which LightGBM's models read from pandas "
                    "frames alone. Give X.to_pandas(), or the codes."
                )
            return {}
        if len(given) != len(self.categories):
            raise ValueError(
                f"X has {len(given)} columns of dtype category, and the LightGBM model was trained on "
                f"{len(self.categories)}. Convert the same columns with astype('category'), or give an array of codes."
            )
        codes = {}
        for c, known in zip(given, self.categories, strict=True):
            column = X.iloc[:, c]
            if list(column.cat.categories) != list(known):
                column = column.cat.set_categories(known)
            codes[c] = _with_nan(column.cat.codes.to_numpy())
        return codes

    def _by_column(self) -> dict[int, Known]:
        if len(self.columns) != len(self.categories):
            raise TypeError(
                "This LightGBM model does not say which columns hold its categories. Pass a DataFrame with columns of "
                "dtype category, or an array of codes."
            )
        return {c: _known(known) for c, known in zip(self.columns, self.categories, strict=True)}


class NamedCategories(CategoryCodes):
    """XGBoost's codes, by column; it refuses categories that it has not seen.

    Parameters
    ----------
    categories : list of (ndarray or None)
        Categories of each column, texts as objects of bytes; None for a column of numbers.
    n_columns : int
    """

    def _codes(self, X: Any, given: Sequence[int]) -> dict[int, NDArray[np.float64]]:
        names = list(X.columns)
        for c, known in enumerate(self.categories):
            if (known is not None) != (c in given):
                trained = "numbers" if known is None else "categories"
                raise ValueError(
                    f"Column {names[c]!r} of X must hold {trained}, as in the rows on which the XGBoost model was "
                    "trained. Convert it, or give an array of codes."
                )
        return {c: self._column(X, c, names[c]) for c in given}

    def _column(self, X: Any, c: int, name: Any) -> NDArray[np.float64]:
        known = self.categories[c]
        if not isinstance(X, nw.DataFrame):
            held = X.iloc[:, c].cat
            categories, codes = held.categories.to_numpy(), held.codes.to_numpy()
            numeric = categories.dtype.kind in "iuf"
            values = categories.tolist() if numeric else _cut_by_characters([str(each) for each in categories])
        else:
            texts = X.get_column(name).cast(nw.String)
            categories = np.array([text for text in texts.unique().to_list() if text is not None], dtype=object)
            number = {text: code for code, text in enumerate(categories)}
            codes = np.array([number.get(text, -1) for text in texts.to_list()], dtype=np.int64)
            numeric, values = False, [text.encode() for text in categories]
        if numeric == (known.dtype == object) or (numeric and categories.dtype != known.dtype):
            raise ValueError(
                f"The categories of column {name!r} are of dtype {categories.dtype}, and the XGBoost model was trained "
                f"on categories of dtype {'str' if known.dtype == object else known.dtype}. Convert them."
            )
        position = {category: code for code, category in enumerate(known.tolist())}
        table = np.array([position.get(value, -1) for value in values], dtype=np.int64)
        seen = codes >= 0
        unseen = np.flatnonzero(table[codes[seen]] < 0)
        if len(unseen):
            raise ValueError(
                f"Column {name!r} holds the category {categories[codes[seen][unseen[0]]]!r}, which the XGBoost model "
                "has not seen in training, and which XGBoost refuses. Replace it by a missing value or a known one."
            )
        found = np.full(len(codes), -1, dtype=np.int64)
        found[seen] = table[codes[seen]]
        return _with_nan(found)

    def _position(self, position: dict[Any, int], value: Any) -> float:
        keys = (value.encode(), *_cut_by_characters([value])) if isinstance(value, str) else (value,)
        for key in keys:
            if key in position:
                return position[key]
        raise ValueError(
            f"is the category {value!r}, which the XGBoost model has not seen in training, and which XGBoost refuses. "
            "Replace it by a missing value or a known one."
        )

    def _by_column(self) -> dict[int, Known]:
        return {c: known for c, known in enumerate(self.categories) if known is not None}


class EncodedCategories(TransformerMixin, BaseEstimator):
    """scikit-learn's own encoding, which moves columns of categories to the front.

    Parameters
    ----------
    encoding : ColumnTransformer
        With an OrdinalEncoder named ``"encoder"``.
    columns : list of int
        The columns of categories.
    """

    def __init__(self, encoding: Any, columns: list[int]) -> None:
        self.encoding = encoding
        self.columns = columns
        self.n_features_in_ = encoding.n_features_in_
        if hasattr(encoding, "feature_names_in_"):
            self.feature_names_in_ = encoding.feature_names_in_

    @property
    def source_columns(self) -> NDArray[np.int64]:
        """The column that each column of codes and numbers comes from."""
        others = np.setdiff1d(np.arange(self.n_features_in_), self.columns)
        return np.concatenate([np.asarray(self.columns, dtype=np.int64), others])

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X: Any, y: Any = None) -> Self:
        """Return the codes as they are: the model has learned them."""
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Codes and numbers, in the order of the model's columns."""
        coded: NDArray[np.float64] = self.encoding.transform(X)
        return coded

    def with_categories(self, X: Any) -> Any:
        """Turn columns that hold missing values only into columns of the model's categories."""
        frame = nw.from_native(X, eager_only=True)
        columns = []
        for c, known in zip(self.columns, self.encoding.named_transformers_["encoder"].categories_, strict=True):
            column = frame.get_column(frame.columns[c])
            values = [None if is_missing(value) else value for value in column.to_list()]
            if known.dtype == object and all(value is None for value in values):
                columns.append(nw.new_series(column.name, values, nw.String, backend=frame.implementation))
        return frame.with_columns(*columns).to_native()


def _cut_by_characters(texts: list[str]) -> list[bytes]:
    """The names that XGBoost takes from pandas: the bytes of all texts together, cut by numbers of characters."""
    together, ends = "".join(texts).encode(), np.cumsum([0, *map(len, texts)])
    return [together[start:stop] for start, stop in pairwise(ends.tolist())]


def _with_nan(codes: NDArray[Any]) -> NDArray[np.float64]:
    return np.where(codes < 0, np.nan, codes).astype(np.float64)


def _known(categories: list[Any]) -> Known:
    known = np.array(categories)
    return known if known.dtype.kind in "iuf" else np.array(categories, dtype=object)
