"""Time a certified plan beside the model itself: a model of costs knows short ladders only, which no row leaves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from threadpoolctl import threadpool_limits

from ._certifying import Promise, expected_cost
from ._prediction import Served
from .additive import AdditiveModel
from .plan import Plan
from .plan.timing import interleaved

#: A plan that looks so many times as fast as the model is taken at its word.
CLEAR = 5.0
#: Times are measured on a machine that also does other things: a plan must have been so much better than the model.
MARGIN = 0.6


def raced(model: AdditiveModel, plan: Plan, X: Any, promise: Promise, n_threads: int) -> Plan:
    """Scale the costs of a plan so that what is expected of it is what was measured, where that could matter.

    Parameters
    ----------
    model : AdditiveModel
    plan : Plan
        With its thresholds.
    X : rows as the wrapped estimator takes them
        Enough for times to mean something.
    promise : Promise
    n_threads : int
        Plan and model run on one thread each and on so many each; the plan's worse ratio counts.
    """
    if plan.evaluate_all:
        return plan
    expected, full = expected_cost(model, plan, promise), plan.cost_model.full
    if CLEAR * expected < full:
        return plan
    served = Served(model, plan, by_proof=promise.rule.lossless)
    ratio = max(_ratio(served, X, threads) for threads in {1, n_threads})
    costs = replace(plan.cost_model.scaled(ratio * full / expected), margin=MARGIN)
    return replace(plan, cost_model=costs)


def _ratio(served: Served, X: Any, n_threads: int) -> float:
    """Time of the plan as a multiple of the model's own, with equal numbers of threads."""
    with threadpool_limits(n_threads):
        ours, own = interleaved([lambda: served.predict(X, n_threads, None), lambda: served.ask(X)])
    return ours / own
