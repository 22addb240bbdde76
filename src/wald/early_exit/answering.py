"""Labels and costs of rows in any form: validated tables, single rows, and dicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..engine import Decisions
from ..engine.rows import n_rows_of
from .auditing import served, served_one
from .locating import locate
from .predictor import Predictor
from .records import as_frame, read_records, read_row, require_records
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


def answer_table(
    owner: Any, X: Any, budget: float | None, check_input: bool = True, groups: ArrayLike | None = None
) -> Answers:
    """Answer rows of a table.

    Parameters
    ----------
    owner : EarlyExitClassifier
    X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features)
    budget : float or None
    check_input : bool, default=True
        Whether feature names and their number are checked.
    groups : array-like of shape (n_rows,), default=None
        Group of each row, for the monitor.

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
        return answer(owner, predictor, X, budget, groups)
    except (ValueError, TypeError) as error:
        locate(error, X, predictor.model, predictor.model.schema.names)
        raise


def answer(owner: Any, predictor: Predictor, X: Any, budget: float | None, groups: ArrayLike | None = None) -> Answers:
    """Answer validated rows."""
    if predictor.model.preprocessing is not None and n_rows_of(X) == 0:  # transformers refuse empty input
        return Answers(predictor, NOTHING)
    return Answers(predictor, served(owner, predictor, X, budget, groups))


def answer_one(owner: Any, x: Any, budget: float | None, group: Any = None) -> tuple[Any, float, int]:
    """Label, cost and stage of one row in any form.

    Parameters
    ----------
    owner : EarlyExitClassifier
    x : object
    budget : float or None
    group : object, default=None
        Group of the row, for the monitor.
    """
    try:  # an array of the right shape and dtype needs no validation
        predictor: Predictor = owner._predictor
        if owner.audit_rate is None and group is None:
            code, stage, skipped = predictor.predict_one(x, budget)
        else:
            code, stage, skipped = served_one(owner, predictor, x, budget, group)
    except (AttributeError, TypeError, ValueError, KeyError, IndexError) as error:
        failed = error
    else:
        return owner.classes_[code], float(predictor.plan.stage_costs[stage]) - skipped, stage
    return _answer_read(owner, owner._ready(), x, budget, group, failed)


def _answer_read(
    owner: Any, predictor: Predictor, x: Any, budget: float | None, group: Any, failed: Exception
) -> tuple[Any, float, int]:
    """Answer a row that the engine cannot read in place; raise ``failed`` again if conversion does not change it."""
    model = predictor.model
    row, is_table = read_row(owner, model, x)
    if row is x:
        locate(failed, np.asarray(x)[None], model, model.schema.names)
        raise failed
    try:
        if not is_table:
            # undecided rows go to the wrapped model, which expects its feature names
            named = partial(as_frame, owner, model, row[None]) if owner.risk == 0 else None
            code, stage, skipped = served_one(owner, predictor, row, budget, group, named)
            return owner.classes_[code], float(predictor.plan.stage_costs[stage]) - skipped, stage
        answers = answer(owner, predictor, row, budget, None if group is None else [group])
    except (ValueError, TypeError) as error:
        locate(error, row if is_table else row[None], model, model.schema.names)
        raise
    return answers.labels[0], float(answers.costs[0]), int(answers.stages[0])


def answer_records(
    owner: Any, records: Sequence[Mapping[str, Any]], budget: float | None, groups: ArrayLike | None = None
) -> Answers:
    """Answer rows that are given as dicts."""
    predictor = owner._ready()
    model = predictor.model
    require_records(records, "predict_one", "predict")
    if len(records) == 0:
        return Answers(predictor, NOTHING)
    rows = as_frame(owner, model, read_records(owner, model, records, "records[{}]".format))
    try:
        return answer(owner, predictor, rows, budget, groups)
    except (ValueError, TypeError) as error:
        locate(error, rows, model, model.schema.names, "record")
        raise
