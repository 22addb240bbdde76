"""Linear models behind a ColumnTransformer of texts and other columns: what texts add to each score."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..steps.affine import gives_frames
from ..steps.text_columns import TextReader
from .linear import LinearTerms
from .texts import TextScores

#: Rows that a column of a table can hold.
IN_COLUMNS = ("texts", "dicts")


def reader_of_texts(linear: LinearTerms) -> TextReader:
    """What reads transformers of texts of a ColumnTransformer, with a linear model of the columns that it writes."""

    def read(steps: list[Any], span: slice, weight: float | None, others: int) -> TextScores | None:
        if any(gives_frames(step) for step in steps):
            return None
        factor, further = (1.0, others) if weight is None else (float(weight), others + 2)
        coef, bound = linear.coef[:, span] * factor, linear.coef_bound[:, span] * abs(factor)
        nothing = np.zeros(linear.n_outputs)
        # besides its own products, a value passes through the sums of all others, and the steps behind them
        depth = linear.depth - linear.n_terms + coef.shape[1] + further
        own = LinearTerms(coef, nothing, None, bound, nothing, depth)
        found = TextScores.of(steps, own, None, folded=True)
        known = found is not None and not found.vectorizer.single and found.vectorizer.row_kind in IN_COLUMNS
        return found if known else None

    return read
