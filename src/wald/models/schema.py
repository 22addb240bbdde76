"""`Schema`: the columns that a model reads, and how the names of given columns are matched with them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.ensemble import VotingClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.utils.validation import validate_data

from ..engine.frames import has_names, is_frame
from ..utils.figures import first_of
from .readers.catboost import catboost_json, read_catboost_model
from .wrappers import peel

__all__ = ["Library", "Schema", "listed", "names_in"]

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
    >>> from wald.models import Schema
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

    @classmethod
    def of(cls, estimator: Any, leaf: Any, n_columns: int | None, own_names: Iterable[str] = ()) -> Schema:
        """Ask a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            With its pipelines, searches and thresholds.
        leaf : estimator
            The model inside, if no step of a pipeline comes before it; else the estimator.
        n_columns : int or None
        own_names : iterable of str, default=()
            Names that the model's reader has found, for a model that does not tell them.
        """
        reads = _reader(leaf)
        names = tuple(own_names) or _names_of(estimator)
        if names is None and reads is not leaf:
            names = _names_of(reads)
            if names is None and hasattr(reads, "feature_names_") and _library(reads) == "catboost":
                names = read_catboost_model(catboost_json(reads)).feature_names or None
        return cls(n_columns, names, _library(reads))

    def seen(self, X: Any) -> Schema:
        """Add what the rows of `fit` say of the columns, where the model says nothing."""
        n_columns = X.shape[1] if self.n_columns is None and len(getattr(X, "shape", ())) == 2 else self.n_columns
        schema = self if n_columns == self.n_columns else replace(self, n_columns=n_columns)
        given = names_in(X) if is_frame(X) else None
        if self.names is not None or given is None or not all(isinstance(name, str) for name in given):
            return schema
        library = self.library if self.library == "pipeline" else "scikit-learn"
        return replace(schema, names=tuple(map(str, given)), library=library, of_rows=True)

    @cached_property
    def array(self) -> NDArray[Any] | None:
        """The names as an array of objects; None if there are none."""
        return None if self.names is None else np.array(self.names, dtype=object)

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

    def columns(self, given: Sequence[Hashable], *, what: str = "X") -> list[int]:
        """Find the model's columns among given ones, by name.

        Parameters
        ----------
        given : sequence of names
            In any order; columns that the model does not know are left out.
        what : str, default="X"
            What has these columns, in messages.

        Returns
        -------
        list of int
            For each column of the model, its position in ``given``.

        Raises
        ------
        ValueError
            If a column is missing or there twice, or if the model has no names and another number of columns.
        """
        if self.names is None:
            if self.n_columns is not None and len(given) != self.n_columns:
                raise ValueError(
                    f"{what} must have {self.n_columns} columns, as many as the model, which knows no names. Got "
                    f"{len(given)}."
                )
            return list(range(len(given)))
        places: dict[Hashable, int] = {}
        twice: set[Hashable] = set()
        exact = set(self.names)
        for place, name in enumerate(given):
            key = name if name in exact else self.spelled(name)
            if key in places and (given[places[key]] in exact) == (name in exact):
                twice.add(key)
            elif key not in places or name in exact:  # "a_b" stands for itself where "a b" is there, too
                places[key] = place
        if missing := [name for name in self.names if name not in places]:
            word = "column" if len(missing) == 1 else "columns"
            raise ValueError(
                f"{what} lacks the {word} {listed(missing)} that the model reads. It has {listed(given) or 'none'}."
            )
        if twice := twice.intersection(self.names):
            raise ValueError(f"{what} has the column {listed(sorted(map(str, twice)))} more than once.")
        return [places[name] for name in self.names]

    def table(self, X: Any) -> Any:
        """Columns of a table in the model's order, as its library itself would match them.

        Parameters
        ----------
        X : rows in any form
            Rows that are no data frame, and frames of a "pipeline", are returned as they are.

        Returns
        -------
        rows
            ``X`` itself unless the library selects columns by name.

        Raises
        ------
        ValueError
            If names differ where the library compares them.
        """
        if self.names is None or self.library == "pipeline" or not is_frame(X) or has_names(X, self.array):  # type: ignore[arg-type]  # names are there
            return X
        places = _places(self, tuple(names_in(X)))
        if isinstance(places, str):
            if self.library == "scikit-learn":
                _raise_as_scikit_learn(self.names, X)
            raise ValueError(places)
        return X if places is None else _select(X, places)

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
def _places(schema: Schema, given: tuple[Hashable, ...]) -> tuple[int, ...] | str | None:
    """What `Schema.match` says, kept: a service sees the same names again and again."""
    return schema.match(given)


def names_in(frame: Any) -> list[Any]:
    """Names of the columns of a data frame."""
    if nw.dependencies.is_pandas_dataframe(frame):
        return list(frame.columns)
    return list(nw.from_native(frame, eager_only=True).columns)


def listed(names: Sequence[Hashable]) -> str:
    """Names as a message lists them."""
    return first_of([repr(str(name) if isinstance(name, str) else name) for name in names], MOST_NAMED)


def _select(X: Any, places: tuple[int, ...]) -> Any:
    """Some columns of a frame, by position."""
    if nw.dependencies.is_pandas_dataframe(X):
        return X.iloc[:, list(places)]
    frame = nw.from_native(X, eager_only=True)
    return frame.select([frame.columns[place] for place in places]).to_native()


def _raise_as_scikit_learn(names: Sequence[str], X: Any) -> None:
    """Raise scikit-learn's own error for other names, which says which are missing, unknown or in another order."""
    knows = BaseEstimator()
    knows.feature_names_in_ = np.array(names, dtype=object)
    validate_data(knows, X, reset=False, skip_check_array=True)


def _reader(model: Any) -> Any:
    """The object that reads the columns of a fitted model's rows: the first member of those that only hand rows on."""
    while isinstance(model, VotingClassifier | OneVsRestClassifier) and len(getattr(model, "estimators_", ())):
        member = peel(model.estimators_[0])
        model = model.estimators_[0] if member.steps else member.model
    return model


def _library(model: Any) -> Library:
    """Whose rule matches names of columns for a fitted model."""
    stated = getattr(model, "library", None)
    if stated in ("lightgbm", "xgboost", "catboost"):  # classifiers of wald's own around such a model
        return stated  # type: ignore[no-any-return]  # one of the three, too
    for base in type(model).__mro__:
        root = base.__module__.partition(".")[0]
        if root in ("lightgbm", "xgboost", "catboost"):
            return root  # type: ignore[return-value]  # one of the three
    return "scikit-learn"


def _names_of(model: Any) -> tuple[str, ...] | None:
    """Names that a fitted model tells; None if it has none."""
    names = getattr(model, "feature_names_in_", None)
    if names is None or list(names) == [f"Column_{number}" for number in range(len(names))]:
        return None  # what LightGBM calls columns without names
    return tuple(map(str, names))
