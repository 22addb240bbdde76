"""Parts common to several estimators' files: parameters that are plain values, and the names of features."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from ..codec.arrays import Arrays, Stock, require, text_array
from ..codec.header import Section
from ..early_exit import EarlyExitClassifier
from ..models import Schema
from . import values


def encode_plain(owner: BaseEstimator, arrays: Arrays, left_out: Sequence[str] = ()) -> dict[str, Any]:
    """Describe an estimator's parameters but for some; raises ValueError, naming it, for one that is no plain value."""
    require_plain_seed(owner.random_state)
    names = [name for name in owner.get_params(deep=False) if name not in left_out]
    return {name: values.encode(getattr(owner, name), arrays, name) for name in names}


def decode_plain(section: Section, stock: Stock, kind: type, left_out: Sequence[str] = ()) -> dict[str, Any]:
    """Give these parameters as keyword arguments, each of the kind that the class says."""
    hints = typing.get_type_hints(kind) | {"random_state": int | None}
    names = [name for name in inspect.signature(kind).parameters if name not in left_out]
    given = {name: values.decode(section.take(name), stock, name, hints[name]) for name in names}
    section.done()
    return given


def require_plain_seed(random_state: Any) -> None:
    """Refuse a random state that goes on changing."""
    if not (random_state is None or isinstance(random_state, int | np.integer)):
        raise ValueError(
            f"random_state must be an int or None to be saved. Got a {type(random_state).__name__}, which goes on "
            "changing; set_params(random_state=None) leaves it out of the file."
        )


#: The array of the names of columns, and whose rule may match them.
NAMES = "schema.names"
LIBRARIES = ("scikit-learn", "lightgbm", "xgboost", "catboost", "pipeline")


def encode_schema(owner: EarlyExitClassifier, arrays: Arrays) -> dict[str, Any]:
    """Describe the columns that a classifier reads, and put their names into ``arrays``."""
    schema = owner.schema_
    if schema.names is not None:
        arrays[NAMES] = text_array(schema.array, "schema_.names")
    return {
        "names": schema.names is not None,
        "library": schema.library,
        "of_rows": schema.of_rows,
        "seen": hasattr(owner, "feature_names_in_"),
    }


def decode_schema(header: Section, stock: Stock, n_columns: int | None) -> tuple[Schema, bool]:
    """Give the columns of a file, and whether the rows of `fit` had their names."""
    section = header.section("schema")
    there, library = section.flag("names"), section.choice("library", LIBRARIES)
    of_rows, seen = section.flag("of_rows"), section.flag("seen")
    section.done()
    require(there or not (of_rows or seen), "header.schema speaks of names that are not there")
    names = tuple(stock.labels(NAMES, (), n_columns).tolist()) if there else None
    return Schema(n_columns, names, library, of_rows), seen


def encode_names(owner: BaseEstimator, arrays: Arrays) -> bool:
    """Put the names of features into ``arrays``, and say whether there are any."""
    names = getattr(owner, "feature_names_in_", None)
    if names is not None:
        arrays["feature_names_in"] = text_array(names, "feature_names_in_")
    return names is not None


def decode_names(there: bool, stock: Stock, n_features: int) -> NDArray[Any] | None:
    """Names of features, where there are any."""
    return stock.labels("feature_names_in", (), n_features).astype(object) if there else None
