"""Steps: functions from rows as they come to columns of the terms.

What goes in is a `Source`, rows as a user has them. What comes out is an array, a CSR matrix or a data frame of as many
rows, whose columns the terms of a model read. A `Step` says which columns of its rows it reads and how many it writes,
and gives the same values for a row whatever the other rows are. So it can be asked for some rows, and later for others.

* `Chain` runs fitted transformers one after the other. wald does not look into them, with one exception: if the first
  is a ColumnTransformer, and the others work column by column, the chain has branches. Each `Branch` writes columns of
  its own, and is run only for the rows that reach a stage that reads one of them.
* `ByColumn` is a chain whose transformers work column by column. wald asks them what they write for every category that
  they know, and then looks that up. `RawColumns` writes one number for each raw column, where a sum is taken.
* `Codes` are the codes by which a model's own library replaces categories.
* `ColumnMap` is affine in each column: scalers and imputers that become part of the terms, so that no step is run.
  `Folded` says what the terms include of a pipeline.
* `ByState` and `Numeric` are what a step writes from one raw column: for each state of it, or affine in its numbers.
  `OfScore` is what texts add to one score, for which a vectorizer of texts needs no sparse rows.

Nothing is known here of terms, stages, thresholds or plans, nor of how a model decides. A step does not know which of
its columns are worth computing, or when: its callers ask for rows and branches.
"""

from __future__ import annotations

from .affine import ColumnMap, Folded
from .by_column import ByColumn
from .chain import Branch, Chain
from .checks import check_step
from .codes import Codes
from .functions import ByState, ColumnFunction, Numeric, OfScore
from .raw_columns import RawColumns
from .step import Step

__all__ = [
    "Branch",
    "ByColumn",
    "ByState",
    "Chain",
    "Codes",
    "ColumnFunction",
    "ColumnMap",
    "Folded",
    "Numeric",
    "OfScore",
    "RawColumns",
    "Step",
    "check_step",
]
