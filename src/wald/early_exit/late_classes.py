"""Classes that a function shows for the first time when its answers certify a plan."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..engine import Readout, Stages
from ..models import AdditiveModel
from ..models.asked import AskedFunction
from ..models.opaque import Looks, opaque_model
from ..plan import Plan
from ..stopping import StageScores
from .certification import Promise, evaluating_everything
from .late_answers import LateAnswers
from .planning import plan_without_stages
from .selection import Outcome

Codes = NDArray[np.int32]

#: Log-odds of a class that no row of the plan has: it never is the second best, so that no margin changes.
NEVER = -1e30


def with_late_classes(
    model: AdditiveModel, outcome: Outcome, answers: LateAnswers, promise: Promise
) -> tuple[AdditiveModel, Outcome]:
    """Add classes that were met after planning; no early answer and no margin changes.

    With two classes before, the plan's exits are those of two classes: then everything is evaluated in full.
    """
    if len(answers.classes) == len(model.classes):
        return model, outcome
    looks = model.preprocessing
    assert isinstance(looks, Looks)
    classes = np.sort(answers.classes)
    places = np.searchsorted(classes, model.classes).astype(np.int32)
    estimator = AskedFunction(model.estimator.function, classes)
    made = opaque_model(estimator, looks.surrogates, looks.terms.widths, None, complete=looks.complete)
    made = replace(made, schema=model.schema)
    seen = outcome.validation
    if len(model.classes) > 2:
        validation = replace(seen, full=places[seen.full], answers=places[seen.answers])
        plan, trial = (_widened(each, places, len(classes)) for each in (outcome.plan, outcome.trial))
        return made, replace(outcome, plan=plan, trial=trial, validation=validation)
    late = answers.classes[len(model.classes)]
    none = np.empty((seen.n_rows, 0))
    validation = StageScores(full=places[seen.full], margins=none, answers=none.astype(np.int32))
    reason = (
        f"only rows of the certificate have shown the label {late.tolist()!r}; give more rows, or give the function an "
        "attribute classes_"
    )
    trial = plan_without_stages(made)
    certificate, plan = evaluating_everything(made, trial, validation, promise, reason)
    return made, replace(outcome, trial=trial, plan=plan, validation=validation, certificate=certificate, rare=None)


def _widened(plan: Plan, places: Codes, n_classes: int) -> Plan:
    """The plan with an estimate for each of more classes."""
    readouts = []
    for each in plan.early.readouts:
        weights, bias = np.zeros((n_classes, each.weights.shape[1])), np.full(n_classes, NEVER)
        weights[places], bias[places] = each.weights, each.bias
        readouts.append(Readout(weights, bias))
    return replace(plan, early=Stages(plan.early.terms, tuple(readouts)))
