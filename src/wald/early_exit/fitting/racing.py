"""Time a plan against the model, because its cost model was fitted on short plans without exits."""

from __future__ import annotations

import warnings
from dataclasses import replace
from statistics import median
from typing import NamedTuple

from ...models import AdditiveModel
from ...plan import Plan
from ...plan.timing import seconds, wait_for_rest
from ...sources import Source
from ...stopping import Certificate, StageScores
from ..compiled.certification import Promise, evaluating_everything, expected_cost
from ..compiled.lossless import FeatureRanges
from ..compiled.predictor import Predictor
from .costs import clock_of, full_time

#: A plan is not timed if it is estimated to be more than this many times as fast as the model.
CLEAR = 5.0
#: The estimated time of a plan that is not timed must be below this share of the model's, because the estimate may be
#: wrong by half.
UNTIMED = 0.45


class Races(NamedTuple):
    """How a plan is timed.

    Attributes
    ----------
    limit : float
        The share of the model's time that the plan must stay below, because a busy machine disturbs the times.
    at_once : float
        A plan below this share in its first timing is kept without further ones.
    more : int
        Further timings of a plan that is not kept at once, an even number; the median of all its timings counts. They
        end as soon as it is known that the plan has lost.
    """

    limit: float
    at_once: float
    more: int


#: Where the full model runs on the same engine, a busy machine disturbs both times alike: the limit can be high.
ON_MODEL, ON_ENGINE = Races(0.6, 0.6, 2), Races(0.9, 0.85, 4)
#: The engine is timed for so many seconds, because a few runs of a millisecond may all be disturbed.
ENGINE_SECONDS = 0.02


def kept_if_faster(
    model: AdditiveModel,
    certificate: Certificate,
    plan: Plan,
    trial: Plan,
    validation: StageScores,
    source: Source,
    promise: Promise,
    n_threads: int,
) -> tuple[Certificate, Plan]:
    """Keep a certified plan if its trial is clearly faster than the model, and scale its costs to the measured time.

    Parameters
    ----------
    model : AdditiveModel
    certificate : Certificate
    plan : Plan
        With its thresholds.
    trial : Plan
        The plan as the validation rows alone place it. It is timed, so that the certificate has no say.
    validation : StageScores
        Stage scores of the validation rows.
    source : Source
        Enough rows for stable times.
    promise : Promise
    n_threads : int
        Plan and model are both timed with one thread and with this number of threads; the plan's worse ratio counts.
    """
    if promise.risk is None:  # without a risk, the rule is used as published
        return certificate, plan
    costs = trial.cost_model
    expected = expected_cost(model, trial, promise)
    # preprocessing takes the same time in both, so that no plan is many times as fast
    clear = model.preprocessing is None and CLEAR * expected < costs.full
    if plan.evaluate_all or clear:
        return certificate, replace(plan, cost_model=replace(costs, margin=UNTIMED))
    predictor = Predictor(model, trial, promise.rule.needs.lossless, ranges=FeatureRanges.of(model, promise.rule))
    races = ON_ENGINE if model.terms.planning.rest.serves_full else ON_MODEL
    ratios = [_worst_ratio(predictor, source, n_threads)]
    if ratios[0] >= races.at_once:  # perhaps because the machine was busy for a moment
        most = races.more // 2 + 1  # where so many timings are lost, the median of all is, whatever the others are
        while len(ratios) <= races.more and sum(each >= races.limit for each in ratios) < most:
            ratios.append(_worst_ratio(predictor, source, n_threads))
    ratio = median(ratios)
    plan = replace(plan, cost_model=replace(costs.scaled(ratio * costs.full / expected), margin=races.limit))
    if ratio < races.limit:
        return certificate, plan
    return evaluating_everything(model, plan, validation, promise, "the plan was not clearly faster than the model")


def _worst_ratio(predictor: Predictor, source: Source, n_threads: int) -> float:
    return max(_ratio(predictor, source, threads) for threads in {1, n_threads})


def _ratio(predictor: Predictor, source: Source, n_threads: int) -> float:
    """Time of the plan as a multiple of the full model's, with equal numbers of threads."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about names that X lacks; fit has issued them
        own = full_time(predictor.model, source, n_threads, ENGINE_SECONDS)
        wait_for_rest()
        ours = seconds(
            lambda: predictor.labels(predictor.predict(source, n_threads, None)[0]),
            predictor.model.terms.planning.timed_repeats,
            ENGINE_SECONDS,
            clock_of(predictor.model, n_threads),
        )
    return ours / own
