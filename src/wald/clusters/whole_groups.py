"""Batches of rows that are sorted by their groups, cut where groups end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np


def whole_groups(tables: Iterable[Any], column: str) -> Iterator[Any]:
    """Arrow tables of whole groups, from tables whose rows stand side by side by groups.

    Parameters
    ----------
    tables : iterable of pyarrow.Table
    column : str
        The column that names the group of each row.

    Yields
    ------
    pyarrow.Table
        At most the last group of the tables so far is held back.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    held: list[Any] = []
    for table in tables:
        if table.num_rows == 0:
            continue
        keys = table.column(column)
        same = pc.equal(keys, keys[-1]).fill_null(False).to_numpy()
        differs = np.flatnonzero(~same)
        begins = int(differs[-1]) + 1 if len(differs) else 0  # of the last group; the end where no key is its own equal
        ends = begins == 0 and bool(held) and held[-1].column(column)[-1] != keys[-1]
        if begins or ends:
            yield pa.concat_tables([*held, table[:begins]])
            held = []
        if begins < table.num_rows:
            held.append(table[begins:])
    if held:
        yield pa.concat_tables(held)
