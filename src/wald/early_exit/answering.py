"""Labels and costs of rows in any form: validated tables, single rows, and dicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engine import Decisions
from ..engine.rows import n_rows_of
from .auditing import served, served_one
from .locating import locate
from .predictor import Predictor
from .records import as_frame, read_records, read_row
from .validation import validate_rows

#: Decisions about no rows.
NOTHING = Decisions(np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32))


class Answers:
    """Labels of rows, and how they were found.

    Parameters
    ----------
    predictor : Predictor
    decided : Decisions
    """

    def __init__(self, predictor: Predictor, decided: Decisions) -> None:
        self._predictor, self._decided = predictor, decided

    @property
    def labels(self) -> NDArray[Any]:
        """Labels of the rows."""
        return self._predictor.labels(self._decided.codes)

    @property
    def costs(self) -> NDArray[np.float64]:
        """What the rows cost, in the plan's unit."""
        return self._predictor.costs(self._decided)

    @property
    def stages(self) -> NDArray[np.int32]:
        """Stages at which the rows left; the number of early stages stands for full evaluation."""
        return self._decided.stages

    def labels_or_both(self, return_cost: bool) -> NDArray[Any] | tuple[NDArray[Any], NDArray[np.float64]]:
        """Labels, and with ``return_cost`` a tuple of labels and costs."""
        return (self.labels, self.costs) if return_cost else self.labels


def answer_table(owner: Any, X: Any, budget: float | None, check_input: bool = True) -> Answers:
    """Answer rows of a table.

    Parameters
    ----------
    owner : EarlyExitClassifier
    X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features)
    budget : float or None
    check_input : bool, default=True
        Whether feature names and their number are checked.

    Returns
    -------
    Answers

    Raises
    ------
    ValueError, TypeError
        See `EarlyExitClassifier.predict`.
    """
    predictor = owner._ready()
    try:
        if check_input:
            X = validate_rows(owner, X)
        return answer(owner, predictor, X, budget)
    except (ValueError, TypeError) as error:
        locate(error, X, predictor.model, predictor.model.schema.names)
        raise


def answer(owner: Any, predictor: Predictor, X: Any, budget: float | None) -> Answers:
    """Answer validated rows."""
    if predictor.model.preprocessing is not None and n_rows_of(X) == 0:  # transformers refuse empty input
        return Answers(predictor, NOTHING)
    return Answers(predictor, served(owner, predictor, X, budget))


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
        locate(failed, np.asarray(x)[None], model, model.schema.names)
        raise failed
    try:
        if not is_table:
            code, stage, skipped = served_one(owner, predictor, row, budget)
            label = owner.classes_[code]
            return (label, float(predictor.plan.stage_costs[stage]) - skipped) if return_cost else label
        answers = answer(owner, predictor, row, budget)
    except (ValueError, TypeError) as error:
        locate(error, row if is_table else row[None], model, model.schema.names)
        raise
    return (answers.labels[0], float(answers.costs[0])) if return_cost else answers.labels[0]


def answer_records(
    owner: Any, predictor: Predictor, records: Sequence[Mapping[str, Any]], budget: float | None, return_cost: bool
) -> NDArray[Any] | tuple[NDArray[Any], NDArray[np.float64]]:
    """Labels of rows that are given as dicts, and their costs if requested."""
    model = predictor.model
    if isinstance(records, str | bytes | Mapping) or not hasattr(records, "__len__") or hasattr(records, "columns"):
        hint = ": for one record use predict_one" if isinstance(records, Mapping) else ""
        hint = ": for a data frame use predict" if hasattr(records, "columns") else hint
        raise TypeError(f"records must be a list of dicts. Got {type(records).__name__}{hint}.")
    if len(records) == 0:
        return Answers(predictor, NOTHING).labels_or_both(return_cost)
    rows = as_frame(owner, model, read_records(owner, model, records, "records[{}]".format))
    try:
        return answer(owner, predictor, rows, budget).labels_or_both(return_cost)
    except (ValueError, TypeError) as error:
        locate(error, rows, model, model.schema.names, "record")
        raise
