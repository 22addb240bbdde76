"""`EarlyExitClassifier.fit` without rows: the full model, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from ..models import AdditiveModel, decompose, fitted_for_good
from ..plan import Plan
from ..stopping import Certificate, StageScores
from .certification import in_full
from .planning import plan_without_stages


def fit_without_rows(owner: Any, given: dict[str, Any]) -> tuple[AdditiveModel, Plan, Certificate]:
    """Plan the full evaluation of every row.

    Parameters
    ----------
    owner : EarlyExitClassifier
        Receives the attributes that `fit` sets before it plans.
    given : dict
        The other arguments of `fit`.

    Returns
    -------
    model : AdditiveModel
    plan : Plan
    certificate : Certificate

    Raises
    ------
    ValueError
        If the estimator needs rows to be trained, or the promise needs rows to be certified.
    TypeError
        If the model is not supported.
    """
    estimator = owner.estimator
    inner = fitted_for_good(estimator) or (estimator.estimator if isinstance(estimator, FrozenEstimator) else None)
    if inner is None:
        raise ValueError(
            f"fit needs rows to train {type(estimator).__name__}. Pass X and y; or, if it is fitted already, wrap it "
            "as FrozenEstimator(estimator) (from sklearn.frozen)."
        )
    if extra := sorted(name for name, value in given.items() if value is not None):
        raise ValueError(f"Without X, fit takes nothing else. Got {', '.join(extra)}.")
    if owner.risk != 0:
        raise ValueError(
            f"risk={owner.risk} is certified on rows: pass X, unlabelled rows that the model was not trained on. "
            "Without rows there is risk=0 alone."
        )
    check_is_fitted(inner)
    model = decompose(inner)
    if not model.terms.serves_full:
        raise ValueError(
            f"fit needs rows X: wald's own scores of a {model.terms.description} may differ from the model's in the "
            "last bits, so that exits are planned on rows. Tree ensembles alone are fitted without."
        )
    owner.estimator_, owner.classes_ = inner, model.classes
    for name, value in (("n_features_in_", model.schema.n_columns), ("feature_names_in_", None)):  # no rows were seen
        if value is not None:
            setattr(owner, name, value)
        elif hasattr(owner, name):
            delattr(owner, name)
    owner._library = None
    plan = plan_without_stages(model)
    owner._validation = _no_scores(model, plan)
    return model, plan, Certificate.full_evaluation(in_full(model), owner.risk, owner.confidence)


def _no_scores(model: AdditiveModel, plan: Plan) -> StageScores:
    codes = np.zeros(0, dtype=np.int32)
    table = np.zeros((0, 0), dtype=plan.precision)
    if model.decision.n_outputs == 1:
        return StageScores(full=codes, scores=table)
    return StageScores(full=codes, codes=codes.reshape(0, 0), confidence=table)
