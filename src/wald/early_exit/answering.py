"""Labels and costs of rows in any form: validated tables, single rows, and dicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..engine.rows import n_rows_of
from .auditing import served, served_one
from .locating import locate
from .predictor import Predictor
from .records import as_frame, names_of, read_records, read_row


def answer(owner: Any, predictor: Predictor, X: Any, budget: float | None, return_cost: bool) -> Any:
    """Labels of validated rows, and their costs if requested."""
    if predictor.model.preprocessing is not None and n_rows_of(X) == 0:  # transformers refuse empty input
        return _no_answers(owner, return_cost)
    decided = served(owner, predictor, X, budget)
    labels = predictor.labels(decided.codes)
    return (labels, predictor.costs(decided)) if return_cost else labels


def answer_row(
    owner: Any, predictor: Predictor, x: Any, budget: float | None, return_cost: bool, failed: Exception
) -> Any:
    """Label of a row that the engine cannot read in place, and its cost if requested.

    Parameters
    ----------
    owner : EarlyExitClassifier
    predictor : Predictor
    x : object
    budget : float or None
    return_cost : bool
    failed : Exception
        Raised when the engine read the row in place; it is raised again if conversion does not change the row.
    """
    model = predictor.model
    row, is_table = read_row(owner, model, x)
    if row is x:
        locate(failed, np.asarray(x)[None], model, names_of(owner, model))
        raise failed
    try:
        if not is_table:
            code, stage, skipped = served_one(owner, predictor, row, budget)
            label = owner.classes_[code]
            return (label, float(predictor.plan.stage_costs[stage]) - skipped) if return_cost else label
        answers = answer(owner, predictor, row, budget, return_cost)
    except (ValueError, TypeError) as error:
        locate(error, row if is_table else row[None], model, names_of(owner, model))
        raise
    return (answers[0][0], float(answers[1][0])) if return_cost else answers[0]


def answer_records(
    owner: Any, predictor: Predictor, records: Sequence[Mapping[str, Any]], budget: float | None, return_cost: bool
) -> Any:
    """Labels of rows that are given as dicts, and their costs if requested."""
    model = predictor.model
    if isinstance(records, str | bytes | Mapping) or not hasattr(records, "__len__") or hasattr(records, "columns"):
        hint = ": for one record use predict_one" if isinstance(records, Mapping) else ""
        hint = ": for a data frame use predict" if hasattr(records, "columns") else hint
        raise TypeError(f"records must be a list of dicts. Got {type(records).__name__}{hint}.")
    if len(records) == 0:
        return _no_answers(owner, return_cost)
    rows = as_frame(owner, model, read_records(owner, model, records, "records[{}]".format))
    try:
        return answer(owner, predictor, rows, budget, return_cost)
    except (ValueError, TypeError) as error:
        locate(error, rows, model, names_of(owner, model), "record")
        raise


def _no_answers(owner: Any, return_cost: bool) -> Any:
    return (owner.classes_[:0], np.empty(0)) if return_cost else owner.classes_[:0]
