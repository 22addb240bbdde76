"""Rows as they come: arrays, sparse matrices, data frames, records, texts, and row groups of files.

Here, and nowhere else, rows are converted, columns are found by name, and columns are read one by one. What comes in is
anything a user has; what goes out is a `Source`, from which the engine reads blocks of numbers, and the wrapped model
its own container. A single column can also be had as it lies, without conversion, in the forms of `cells`: texts,
codes of categories, numbers or objects. Nothing is known here of models, stages or thresholds.

`LazyRows` are rows that are not there yet: groups of columns are fetched, for the rows that need them, by what `calls`
asks.

The features of ``wald.structured`` are no source: an extractor gives as many columns as it likes, which are known once
it has run, its time is the cost of each call, and the engine of chains keeps what it gave per part, so that nothing is
read twice. A table whose columns are there beforehand has none of this.
"""

from __future__ import annotations

from .arrays import ArraySource, RawSource, SparseSource
from .checks import check_source
from .frames import FrameSource
from .given import source_of
from .lazy_rows import LazyRows
from .records import RecordSource
from .schema import Schema
from .some_columns import SomeColumns
from .source import PLAIN, Block, Conversion, Source

__all__ = [
    "PLAIN",
    "ArraySource",
    "Block",
    "Conversion",
    "FrameSource",
    "LazyRows",
    "RawSource",
    "RecordSource",
    "Schema",
    "SomeColumns",
    "Source",
    "SparseSource",
    "check_source",
    "source_of",
]
