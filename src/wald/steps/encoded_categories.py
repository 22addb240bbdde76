"""scikit-learn's codes of categories, and all steps of codes by their names in files."""

from __future__ import annotations

from functools import partial
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder
from sklearn.utils import check_array

from ..sources.values import is_missing
from .categories import CategoryCodes, CategoryTable, NamedCategories, OrderedCategories


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

    def table(self) -> CategoryTable:
        """All that the step knows, for a file."""
        names = getattr(self, "feature_names_in_", None)
        known = self.encoding.named_transformers_["encoder"].categories_
        return CategoryTable(self.n_features_in_, self.columns, known, None if names is None else names.tolist())

    @classmethod
    def of_table(cls, table: CategoryTable) -> Self:
        """Make the step from its table, by scikit-learn's own encoder."""
        coded = np.isin(np.arange(table.n_columns), table.columns)
        encoder = OrdinalEncoder(
            categories=table.categories,
            handle_unknown="use_encoded_value",
            unknown_value=np.nan,
            encoded_missing_value=np.nan,
            dtype=np.float64,
        )
        to_numbers = FunctionTransformer(partial(check_array, dtype=[np.float64], ensure_all_finite=False))
        encoding = ColumnTransformer([("encoder", encoder, coded), ("numerical", to_numbers, ~coded)])
        encoding.set_output(transform="default")
        row = np.zeros((1, table.n_columns), dtype=object)
        row[0, table.columns] = [known[0] for known in table.categories]
        encoding.fit(row)
        encoding.named_transformers_["encoder"].categories_ = table.categories  # with their own dtypes
        if table.names is not None:
            names = np.array(table.names, dtype=object)
            encoding.feature_names_in_ = names
            for part, held in (("encoder", coded), ("numerical", ~coded)):
                encoding.named_transformers_[part].feature_names_in_ = names[held]
        return cls(encoding, table.columns)

    @property
    def places(self) -> list[int]:
        """Numbers of the columns of categories."""
        return self.columns

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
        """Give columns of text categories the dtype of texts where they hold missing values only."""
        frame = nw.from_native(X, eager_only=True)
        columns = []
        for c, known in zip(self.columns, self.encoding.named_transformers_["encoder"].categories_, strict=True):
            column = frame.get_column(frame.columns[c])
            values = [None if is_missing(value) else value for value in column.to_list()]
            if known.dtype == object and all(value is None for value in values):
                columns.append(nw.new_series(column.name, values, nw.String, backend=frame.implementation))
        return frame.with_columns(*columns).to_native()


#: The steps by their names in files.
CODES: dict[str, type[CategoryCodes | EncodedCategories]] = {
    "ordered": OrderedCategories,
    "named": NamedCategories,
    "encoded": EncodedCategories,
}
