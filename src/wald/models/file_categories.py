"""Categories of a model's columns as data files write them: texts, numbers, and cells that mean a missing value."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..steps import Codes
from ..steps.categories import NamedCategories
from ..steps.category_columns import number_of
from ..steps.encoded_categories import EncodedCategories

#: Boolean categories as other programs than Python write them.
BOOLEANS = {"true": True, "false": False}


@dataclass(frozen=True)
class FileCategories:
    """The categories of a model's columns, to make data frames for ``predict`` from the columns of a file.

    Parameters
    ----------
    known : dict from int to dict
        For each column of categories, the texts or numbers that they are.
    dtypes : dict from int to dtype
        Of the numeric categories of each column; object for texts.
    as_numbers : bool
        Whether polars frames hold numeric categories as numbers (for scikit-learn), and not as texts.
    refuses : bool
        Whether the library refuses categories that it does not know (XGBoost does); for the others they are missing.
    """

    known: dict[int, dict[Any, Any]]
    dtypes: dict[int, np.dtype[Any]]
    as_numbers: bool
    refuses: bool

    @classmethod
    def of(cls, model: Any) -> Self | None:
        """Categories of an additive model that reads them from a frame by itself; None if it does not.

        Raises
        ------
        ValueError
            If the model does not say which columns they belong to, or a file cannot tell them apart; or if neither
            pandas nor polars is installed.
        """
        if not isinstance(model.preprocessing, Codes):
            return None
        if find_spec("pandas") is None and find_spec("polars") is None:
            raise ValueError(
                "the model reads categories from data frames of polars or pandas, and neither is installed: "
                "pip install polars"
            )
        step = model.preprocessing.codes
        table = step.table()
        if len(table.columns) != len(table.categories):
            raise ValueError("the model does not say which columns hold its categories; predict a data frame in Python")
        as_numbers, refuses = type(step) is EncodedCategories, type(step) is NamedCategories
        known: dict[int, dict[Any, Any]] = {}
        dtypes: dict[int, np.dtype[Any]] = {}
        for c, held in zip(table.columns, table.categories, strict=True):
            values = [v for v in (held.tolist() if isinstance(held, np.ndarray) else held) if v is not None and v == v]
            if not all(v.isascii() for v in values if isinstance(v, bytes)):
                raise ValueError(
                    f"XGBoost cuts category names that are not ASCII, as those of column {c}, so that no file can be "
                    "matched with them; predict a data frame with the dtype of training in Python"
                )
            values = [v.decode() if isinstance(v, bytes) else v for v in values]
            if len({isinstance(v, str) for v in values}) > 1:
                raise ValueError(f"the categories of column {c} are texts and numbers, which files do not tell apart")
            known[c] = dict.fromkeys(values)
            numbers = np.array(values) if not isinstance(held, np.ndarray) else held
            dtypes[c] = numbers.dtype if numbers.dtype.kind in "biuf" else np.dtype(object)
        return cls(known, dtypes, as_numbers, refuses)

    @property
    def reads_arrays(self) -> bool:
        """Whether rows without a frame hold the categories themselves, and not codes."""
        return self.as_numbers and not any(self._texts(c) for c in self.known)

    def column(
        self, column: int, name: object, distinct: Iterable[Any], codes: NDArray[Any], missing: Collection[str] = ()
    ) -> tuple[list[Any], NDArray[np.int64]]:
        """Make a column of categories.

        Parameters
        ----------
        column : int
            Its number among the model's columns.
        name : object
            What messages call it.
        distinct : iterable of (str, number or None)
            The different values in the file.
        codes : integer ndarray of shape (n_rows,)
            Which of them each row has; negative ones are missing.
        missing : collection of str
            Texts that mean a missing value, unless they are a category.

        Returns
        -------
        categories : list
            Those of the model, then those that it does not know.
        codes : integer ndarray of shape (n_rows,)
            Which of them each row has; -1: missing.

        Raises
        ------
        ValueError
            If a value is of another kind than the categories, or the library refuses it.
        """
        position = {category: i for i, category in enumerate(self.known[column])}
        table = [-1]  # of values that are missing
        for value in distinct:
            read = self._read(column, name, value, missing)
            table.append(-1 if read is None else position.setdefault(read, len(position)))
        return list(position), np.array(table, dtype=np.int64)[np.maximum(codes, -1) + 1]

    def frame(
        self, names: Sequence[str], numbers: NDArray[Any], columns: dict[int, tuple[list[Any], NDArray[np.int64]]]
    ) -> Any:
        """Data frame of all columns: those of `column` by number, and the columns of ``numbers`` in between.

        pandas frames have the dtype ``category``, so that the library itself takes them, too.
        """
        others = iter(range(numbers.shape[1]))
        held: dict[str, Any] = {}
        try:
            import pandas
        except ImportError:
            import polars

            for c, name in enumerate(names):
                column = self._plain(c, *columns[c]) if c in columns else numbers[:, next(others)]
                texts = polars.String if c in columns and isinstance(column, list) else None
                held[name] = polars.Series(name, column, dtype=texts)
            return polars.DataFrame(held)
        for c, name in enumerate(names):
            if c not in columns:
                held[name] = numbers[:, next(others)]
                continue
            categories, codes = columns[c]
            whole = len(categories) == len(self.known[c])
            dtype = self.dtypes[c] if whole and self.dtypes[c].kind != "O" else None
            held[name] = pandas.Categorical.from_codes(codes, pandas.Index(categories, dtype=dtype))
        return pandas.DataFrame(held)

    def _plain(self, column: int, categories: list[Any], codes: NDArray[np.int64]) -> Any:
        """Texts and None, or float64."""
        if self.as_numbers and not self._texts(column):
            return np.array([*map(float, categories), np.nan])[codes]
        values = [*map(str, categories), None]
        return [values[code] for code in codes]

    def _texts(self, column: int) -> bool:
        return any(isinstance(value, str) for value in self.known[column])

    def _read(self, column: int, name: object, value: Any, missing: Collection[str]) -> Any:
        """What the frame holds for a value of the file; None: missing."""
        known = self.known[column]
        if value is None or value != value:
            return None
        if isinstance(value, str) and value.strip() in missing:
            if value not in known:
                return None
            if not value:
                raise ValueError(
                    f"column {name!r}: an empty cell may be missing or the category ''; write the rows as Parquet, "
                    "which tells them apart"
                )
        read = value
        if known and self._texts(column):
            if not isinstance(value, str):
                raise ValueError(f"column {name!r}: the model's categories are texts, and the file holds {value!r}")
        elif known:
            read = _number(name, value)
        if self.refuses and read not in known:
            raise ValueError(
                f"column {name!r}: the model has not seen the category {value!r} in training, and XGBoost refuses such "
                "categories; replace it by a missing value or a known one"
            )
        return read


def _number(name: object, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = value.strip()
    try:
        if "_" in text:
            raise ValueError
        return BOOLEANS[text.lower()] if text.lower() in BOOLEANS else number_of(text)
    except ValueError:
        raise ValueError(f"column {name!r}: the model's categories are numbers, and {value!r} is none") from None
