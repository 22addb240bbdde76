"""Rows as Parquet files, and the answers of a job."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np


class Case(NamedTuple):
    fast: Any
    rows: Any
    names: list[str]


def table(rows: Any, names: list[str]) -> Any:
    import pyarrow

    return pyarrow.table({name: np.ascontiguousarray(rows[:, c]) for c, name in enumerate(names)})


def save(path: Path, rows: Any, names: list[str], group: int = 500) -> None:
    from pyarrow.parquet import write_table

    write_table(table(rows, names), path, row_group_size=group)


def answers(out: Path) -> tuple[Any, Any]:
    """Labels and costs of all parts, in the order of their names."""
    import pyarrow
    from pyarrow.parquet import read_table

    whole = pyarrow.concat_tables([read_table(path) for path in sorted(out.glob("part-*.parquet"))])
    return whole["label"].to_numpy(), whole["cost"].to_numpy()
