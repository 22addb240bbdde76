"""Classes that a function shows for the first time when its answers certify a plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...engine import Readout, Stages
from ...models import AdditiveModel
from ...models.asked import AskedFunction
from ...models.opaque import Looks, opaque_model
from ...plan import Plan
from ...stopping import StageScores
from ...stopping.core.strata import PREDICTED
from ..compiled.certification import Promise, evaluating_everything
from .late_answers import LateAnswers
from .planning import plan_without_stages
from .selection import Outcome

Codes = NDArray[np.int32]

#: Log-odds of a class that no row of the plan has: it never is the second best, so that no margin changes.
NEVER = -1e30


def with_late_classes(
    model: AdditiveModel, outcome: Outcome, answers: LateAnswers, promise: Promise
) -> tuple[AdditiveModel, Outcome, Promise]:
    """Add classes that were met after planning; no early answer and no margin changes.

    Everything is evaluated in full if there were two classes before, as the plan's exits are those of two classes, and
    if nothing bounds how many rows of these classes get another answer. The promise is one that can be read with them.
    """
    if len(answers.classes) == len(model.classes):
        return model, outcome, promise
    looks = model.preprocessing
    assert isinstance(looks, Looks)
    classes = np.sort(answers.classes)
    places = np.searchsorted(classes, model.classes).astype(np.int32)
    estimator = AskedFunction(model.estimator.function, classes)
    made = opaque_model(estimator, looks.surrogates, looks.terms.widths, None, complete=looks.complete)
    made = replace(made, schema=model.schema)
    seen = outcome.validation
    bounded = _bounds_others(promise, model)
    promise = _readable(promise, made, bounded)
    if len(model.classes) > 2 and bounded:
        validation = replace(seen, full=places[seen.full], answers=places[seen.answers])
        plan, trial = (_widened(each, places, len(classes)) for each in (outcome.plan, outcome.trial))
        return made, replace(outcome, plan=plan, trial=trial, validation=validation), promise
    late = answers.classes[len(model.classes)]
    none = np.empty((seen.n_rows, 0))
    validation = StageScores(full=places[seen.full], margins=none, answers=none.astype(np.int32))
    unbounded = "" if bounded else ", of which risk says nothing"
    reason = (
        f"only rows of the certificate have shown the label {late.tolist()!r}{unbounded}; give more rows, or give the "
        "function an attribute classes_"
    )
    trial = plan_without_stages(made)
    certificate, plan = evaluating_everything(made, trial, validation, promise, reason)
    outcome = replace(outcome, trial=trial, plan=plan, validation=validation, certificate=certificate, rare=None)
    return made, outcome, promise


def _bounds_others(promise: Promise, model: AdditiveModel) -> bool:
    """Whether a promise says something of rows that the full model puts into other classes than those of a model."""
    if promise.risk is None:
        return True
    lines = promise.about(model).lines
    early = {line.code for line in lines if line.early}
    return any(line.code is None for line in lines) or len(early) == len(model.classes)


def _readable(promise: Promise, model: AdditiveModel, bounded: bool) -> Promise:
    """The promise; or with one about rows that get a late answer early, of which there are none; or about all rows."""
    given = promise.given_risk
    named = {**given, f"{PREDICTED}each": promise.risk} if isinstance(given, Mapping) and bounded else given
    for risk in (given, named):
        try:
            promised = replace(promise, given_risk=risk)
            promised.about(model)
        except ValueError:
            continue
        return promised
    return replace(promise, given_risk=promise.risk)


def _widened(plan: Plan, places: Codes, n_classes: int) -> Plan:
    """The plan with an estimate for each of more classes."""
    readouts = []
    for each in plan.early.readouts:
        weights, bias = np.zeros((n_classes, each.weights.shape[1])), np.full(n_classes, NEVER)
        weights[places], bias[places] = each.weights, each.bias
        readouts.append(Readout(weights, bias))
    return replace(plan, early=Stages(plan.early.terms, tuple(readouts)))
