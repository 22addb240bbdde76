"""`Schema`: the columns that a model reads, and how the names of given columns are matched with them."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from ..utils.figures import first_of
from .frames import FrameSource
from .source import Source

__all__ = ["Library", "Schema", "listed"]

Library = Literal["scikit-learn", "lightgbm", "xgboost", "catboost", "pipeline"]

#: Largest number of names that a message lists.
MOST_NAMED = 8


@dataclass(frozen=True, eq=False)
class Schema:
    """The columns that a model reads: their number, their names, and its library's rule for matching names.

    All doors ask the schema of a model: tables, records, files, services and clusters.

    Parameters
    ----------
    n_columns : int or None
        Number of columns; None where rows are texts or dicts.
    names : tuple of str or None
        Names as the model's library writes them; None where neither the model nor the rows of `fit` have names.
    library : {"scikit-learn", "lightgbm", "xgboost", "catboost", "pipeline"}, default="scikit-learn"
        Whose rule matches the columns of a table. scikit-learn, LightGBM and XGBoost: the model's names, in its order.
        CatBoost: by name, in any order, beside other columns. "pipeline": the first step of the model's pipeline
        matches them itself. LightGBM writes a blank in a name as ``_``; the three libraries of trees compare
        ``str(name)``, and scikit-learn texts alone.
    of_rows : bool, default=False
        Whether the names are those of the rows of `fit`, and the model itself knows none.

    Examples
    --------
    >>> from wald.sources import Schema
    >>> schema = Schema(2, ("age", "body_mass"), "lightgbm")
    >>> schema.columns(["id", "body mass", "age"])
    [2, 1]
    >>> schema.columns(["age", "mass"], what="rows.csv")
    Traceback (most recent call last):
        ...
    ValueError: rows.csv lacks the column 'body_mass' that the model reads. It has 'age', 'mass'.
    """

    n_columns: int | None
    names: tuple[str, ...] | None = None
    library: Library = "scikit-learn"
    of_rows: bool = False

    def seen(self, source: Source) -> Schema:
        """Add what the rows of `fit` say of the columns, where the model says nothing."""
        n_columns, given = source.n_columns if self.n_columns is None else self.n_columns, source.names
        schema = self if n_columns == self.n_columns else replace(self, n_columns=n_columns)
        if self.names is not None or given is None or not all(isinstance(name, str) for name in given):
            return schema
        library = self.library if self.library == "pipeline" else "scikit-learn"
        return replace(schema, names=tuple(map(str, given)), library=library, of_rows=True)

    @cached_property
    def array(self) -> NDArray[Any] | None:
        """The names as an array of objects; None if there are none."""
        return None if self.names is None else np.array(self.names, dtype=object)

    @cached_property
    def known(self) -> frozenset[str]:
        """The names as a set."""
        return frozenset(self.names or ())

    def reads(self, name: Hashable) -> bool:
        """Whether the model reads a column of this name."""
        return self.names is not None and self.spelled(name) in self.names

    def spelled(self, name: Hashable) -> Hashable:
        """A given name as the library writes it.

        Parameters
        ----------
        name : hashable
            Of a column, or of a value in a record.
        """
        if self.library in ("scikit-learn", "pipeline"):
            return str(name) if isinstance(name, str) else name  # NumPy's texts, too
        text = " ".join(map(str, name)) if isinstance(name, tuple) and self.library == "xgboost" else str(name)
        return text.replace(" ", "_") if self.library == "lightgbm" else text

    def columns(
        self,
        given: Sequence[Hashable] | int,
        *,
        what: str = "X",
        drop: Collection[int] = (),
        keep: Collection[int] = (),
    ) -> list[int]:
        """Find the model's columns among given ones: by name, or by place where names are missing on one side.

        Parameters
        ----------
        given : sequence of names, or int
            In any order; columns that the model does not know are left out. Or the number of columns without names.
        what : str, default="X"
            What has these columns, in messages.
        drop : collection of int, default=()
            Positions of columns that are none of the model's.
        keep : collection of int, default=()
            Positions of columns that are the model's by name, or if there are not enough without them.

        Returns
        -------
        list of int
            For each column of the model, its position in ``given``.

        Raises
        ------
        ValueError
            If a column is missing or there twice, or if there is another number of columns without names.
        """
        rest = [place for place in range(given if isinstance(given, int) else len(given)) if place not in drop]
        if self.names is None or isinstance(given, int):
            if self.n_columns not in (None, len(rest)):
                rest = [place for place in rest if place not in keep]
            if self.n_columns not in (None, len(rest)):
                raise ValueError(
                    f"{what} has {len(rest)} column{'' if len(rest) == 1 else 's'} of features; the model takes "
                    f"{self.n_columns}."
                )
            return rest
        places: dict[Hashable, int] = {}
        twice: set[Hashable] = set()
        exact = set(self.names)
        for place in rest:
            name = given[place]
            key = name if name in exact else self.spelled(name)
            if key in places and (given[places[key]] in exact) == (name in exact):
                twice.add(key)
            elif key not in places or name in exact:  # "a_b" stands for itself where "a b" is there, too
                places[key] = place
        if missing := [name for name in self.names if name not in places]:
            word = "column" if len(missing) == 1 else "columns"
            if dropped := [given[place] for place in drop if self.spelled(given[place]) in missing]:
                raise ValueError(f"--drop: the model reads {listed(dropped)} of {what}.")
            raise ValueError(
                f"{what} lacks the {word} {listed(missing)} that the model reads. It has "
                f"{listed([given[place] for place in rest]) or 'none'}."
            )
        if twice := twice.intersection(self.names):
            raise ValueError(f"{what} has the column {listed(sorted(map(str, twice)))} more than once.")
        return [places[name] for name in self.names]

    def matched(self, source: Source) -> Source:
        """Columns in the model's order, as its library itself would match them.

        Parameters
        ----------
        source : Source
            Rows without names, and those of a "pipeline", are returned as they are.

        Returns
        -------
        Source
            ``source`` itself unless the library selects columns by name.

        Raises
        ------
        ValueError
            If names differ where the library compares them.
        """
        if self.names is None or (self.library == "pipeline" and not source.is_lazy) or not source.is_named:
            return source
        assert self.array is not None
        if isinstance(source, FrameSource) and source.has_names(self.array):
            return source
        if source.is_lazy:
            places = self.columns(source.names or ())
            return source if places == [*range(len(source.names or ()))] else source.select(places)
        names = tuple(source.names or ())
        written = () if set(map(type, names)) <= {str} else tuple(map(repr, names))
        found = _places(self, names, written)
        if isinstance(found, str):
            if self.library == "scikit-learn":
                _raise_as_scikit_learn(self.names, source.rows)
            raise ValueError(found)
        return source if found is None else source.select(found)

    def match(self, given: tuple[Hashable, ...]) -> tuple[int, ...] | str | None:
        """Positions of the model's columns in a table with these names; None: as they are; a text: why not."""
        assert self.names is not None
        if tuple(map(self.spelled, given)) == self.names:
            return None
        texts = any(isinstance(name, str) for name in given)
        if self.library == "catboost":
            try:
                return tuple(self.columns(given))
            except ValueError as error:
                return str(error)
        if not texts and self.library == "scikit-learn":
            return None  # scikit-learn reads columns without texts as names by position
        if given == tuple(range(len(self.names))) and self.library == "lightgbm":
            return None  # pandas' numbers for columns without names
        return (
            f"X must have the columns of the model, in its order: {listed(self.names)}. Got {listed(given) or 'none'}."
        )


@lru_cache(maxsize=64)
def _places(schema: Schema, given: tuple[Hashable, ...], written: tuple[str, ...]) -> tuple[int, ...] | str | None:
    """What `Schema.match` says, kept: a service sees the same names again and again.

    `written` tells apart names that are equal and written otherwise, such as 1, 1.0 and True.
    """
    return schema.match(given)


def listed(names: Sequence[Hashable]) -> str:
    """Names as a message lists them."""
    return first_of([repr(str(name) if isinstance(name, str) else name) for name in names], MOST_NAMED)


def _raise_as_scikit_learn(names: Sequence[str], X: Any) -> None:
    """Raise scikit-learn's own error for other names, which says which are missing, unknown or in another order."""
    knows = BaseEstimator()
    knows.feature_names_in_ = np.array(names, dtype=object)
    validate_data(knows, X, reset=False, skip_check_array=True)
