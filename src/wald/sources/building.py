"""Data frames that are built, for models that know their columns by name."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

#: Libraries in which frames are built, the usual one first.
LIBRARIES = ("pandas", "polars", "pyarrow")


def library_at_hand() -> str | None:
    """A library of data frames that is installed."""
    return next((name for name in LIBRARIES if find_spec(name) is not None), None)


def frame_of(columns: Mapping[Any, Any], library: str | None) -> Any:
    """Build a data frame of a library; raise ImportError if there is none."""
    if library is None:
        raise ImportError(
            f"The pipeline reads columns by name, which needs one of {', '.join(LIBRARIES)}: install one."
        )
    if library == "pandas":
        import pandas

        # pandas would take texts and None for its own strings, whose missing value is NaN
        columns = {
            name: pandas.Series(values, dtype=object) if _has_none(values) else values
            for name, values in columns.items()
        }
        try:
            return pandas.DataFrame(columns)
        except UnicodeEncodeError:  # a lone surrogate, which pandas' own strings cannot hold
            objects = {n: pandas.Series(values, dtype=object) for n, values in columns.items() if _has_text(values)}
            return pandas.DataFrame({**columns, **objects})
    return nw.from_dict(dict(columns), backend=library).to_native()  # type: ignore[arg-type]  # one of LIBRARIES


def _has_none(values: Any) -> bool:
    """Whether an array of objects holds None."""
    return isinstance(values, np.ndarray) and values.dtype == object and any(value is None for value in values)


def _has_text(values: Any) -> bool:
    return any(isinstance(value, str) for value in values)
