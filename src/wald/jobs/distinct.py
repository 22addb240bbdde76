"""The different values of an Arrow column, from which a model's categories are read."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def holds_categories(kind: Any) -> bool:
    """Whether an Arrow type holds texts or numbers, or categories that are such."""
    from pyarrow import types

    kind = kind.value_type if types.is_dictionary(kind) else kind
    fitting = (types.is_string, types.is_large_string, types.is_integer, types.is_floating, types.is_boolean)
    return types.is_null(kind) or str(kind) == "string_view" or any(fits(kind) for fits in fitting)


def holds_numbers(kind: Any) -> bool:
    """Whether an Arrow type holds numbers; a column of nulls holds missing ones."""
    from pyarrow import types

    fitting = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    return any(fits(kind) for fits in fitting)


def distinct_values(column: Any) -> tuple[list[Any], NDArray[np.intp]]:
    """The different values of an Arrow array, and the number of each row's value; -1 for nulls."""
    import pyarrow
    from pyarrow import types

    if types.is_null(column.type):
        return [], np.full(len(column), -1, dtype=np.intp)
    if types.is_float16(column.type):
        column = column.cast(pyarrow.float32())
    if str(column.type) == "string_view":
        column = column.cast(pyarrow.string())
    if not types.is_dictionary(column.type):
        column = column.dictionary_encode()
    numbers = column.indices.cast(pyarrow.int64()).fill_null(-1)
    return column.dictionary.to_pylist(), numbers.to_numpy(zero_copy_only=False).astype(np.intp)
