"""`EarlyExitClassifier.fit` without rows: the full model, compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...models import AdditiveModel, fitted_for_good
from ...models.boosters import unfrozen
from ...plan import Plan
from ...stopping import Certificate, StageScores
from ..compiled.certification import Promise, in_full
from ..compiled.compiled_plan import CompiledPlan, ValidationRows
from ..compiled.parameters import SHELLS
from ..compiled.reader import RowReader
from .data_split import is_fitted
from .planning import plan_without_stages


def compiled_without_rows(
    estimator: Any, read: Callable[[Any], AdditiveModel], promise: Promise, others: dict[str, Any]
) -> tuple[CompiledPlan, Any]:
    """Compile the plan that evaluates everything, which needs no rows.

    Parameters
    ----------
    estimator : estimator
        A fitted one.
    read : callable
        Takes the fitted estimator and gives the model.
    promise : Promise
    others : dict
        The other arguments of `fit`.

    Returns
    -------
    compiled : CompiledPlan
    estimator : estimator
        The fitted one, without the frame of a `FrozenEstimator`.

    Raises
    ------
    ValueError
        If the estimator needs rows to be trained, or the promise needs rows to be certified.
    TypeError
        If the model is not supported.
    """
    inner = unfrozen(estimator)
    if fitted_for_good(inner) is None and not is_fitted(inner):
        raise ValueError(f"fit needs rows to train {type(estimator).__name__}, which is not fitted yet: pass X and y.")
    if extra := sorted(name for name, value in others.items() if value is not None):
        raise ValueError(f"Without X, fit takes nothing else. Got {', '.join(extra)}.")
    model = read(inner)
    if promise.risk != 0:
        raise ValueError(
            f"risk={promise.risk} is certified on rows: pass X, unlabelled rows that the model was not trained on. "
            "Without rows there is risk=0 alone."
        )
    if not (model.serves_full or model.decision.valued):
        raise ValueError(
            f"fit needs rows X: wald's own scores of a {model.terms.description} may differ from the model's in the "
            "last bits, so that exits are planned on rows. Tree ensembles, and linear models of texts, are fitted "
            "without."
        )
    plan = plan_without_stages(model)
    certificate = Certificate.full_evaluation(in_full(model), promise.risk, promise.confidence, model.event)
    reader = RowReader(model, None, model.schema.n_columns, estimator=SHELLS[model.kind])
    validation = ValidationRows(_no_scores(model, plan))
    return CompiledPlan(model, plan, certificate, promise, validation, reader), inner


def _no_scores(model: AdditiveModel, plan: Plan) -> StageScores:
    full, margins = np.zeros(0, dtype=np.int32), np.zeros((0, 0), dtype=plan.precision)
    return StageScores(full=full, margins=margins, answers=None if model.decision.two_sided else full.reshape(0, 0))
