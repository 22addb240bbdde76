"""Folders named ``column=value``, whose values are columns of the files below them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

#: The value that Hive writes for a null.
NULL = "__HIVE_DEFAULT_PARTITION__"


def columns_of(name: str) -> dict[str, str | None]:
    """Columns and values that the folders of a path or URL name."""
    parts = [part.partition("=") for part in PurePosixPath(name.replace("\\", "/")).parts[:-1]]
    return {unquote(column): None if value == NULL else unquote(value) for column, is_one, value in parts if is_one}


def kinds_of(names: Sequence[str]) -> dict[str, Any]:
    """Arrow types of these columns over all files, as pyarrow infers them: int32 where all values are, else text.

    Parameters
    ----------
    names : sequence of str
        Paths or URLs of the files.
    """
    import pyarrow

    values: dict[str, list[str | None]] = {}
    for name in names:
        for column, value in columns_of(name).items():
            values.setdefault(column, []).append(value)
    kinds = {}
    for column, texts in values.items():
        try:
            kinds[column] = pyarrow.array(texts, pyarrow.string()).cast(pyarrow.int32()).type
        except pyarrow.ArrowInvalid:
            kinds[column] = pyarrow.string()
    return kinds
