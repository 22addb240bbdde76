"""The pixels of an image that an early-exit linear model read."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..models import AdditiveModel, Terms
from ..models.protocols import Columnwise
from ..plan import Plan
from ._source import Floats


def places(plan: Plan, n_pixels: int, stage: int) -> Floats:
    """Place of every pixel in the order of reading, from 1; NaN for pixels that are not read up to a stage.

    At the last stage, pixels that no early stage reads share the last place.
    """
    place = np.full(n_pixels, np.nan)
    n_seen = int(plan.stage_terms[min(stage, plan.n_stages - 1)]) if plan.n_stages else 0
    place[plan.terms[:n_seen]] = np.arange(1, n_seen + 1)
    if stage == plan.n_stages:
        place[np.isnan(place)] = n_seen + 1
    return place


def easy_and_hard(stages: NDArray[np.int32], allowed: NDArray[np.bool_], n_stages: int) -> tuple[int, int]:
    """Index of the allowed row that left first, and of the one that left last among those that left early."""
    known = np.flatnonzero(allowed)
    early = known[stages[known] < n_stages]
    pool = early if len(early) > 1 else known
    return int(pool[np.argmin(stages[pool])]), int(pool[np.argmax(stages[pool])])


def pixels_of(model: AdditiveModel, caller: str) -> Terms:
    """Terms of a model that reads pixel by pixel."""
    wrapped = type(model.estimator).__name__
    if model.texts is not None and model.texts.vectorizer.row_kind == "texts":
        raise ValueError(
            f"{caller} draws images, and this {wrapped} reads texts. fast.explain(text) says which words were read, "
            "and what each of them added."
        )
    if Columnwise.of(model.terms) is None:
        raise ValueError(
            f"{caller} needs a linear model: {wrapped} compares a row with its {model.terms.unit_name}, each of which "
            "reads every pixel. Draw a StoppingPathDisplay or a CostHistogramDisplay instead, or wrap a linear model."
        )
    if model.preprocessing is not None:
        raise ValueError(
            f"{caller} needs a model that reads pixels: this {wrapped} transforms them first, and its order is one of "
            "transformed features. Only scalers and imputers are folded into the model. For rows of a table, "
            "fast.explain(row) says which columns were read, and what each of them added."
        )
    return model.terms


def contributions(model: AdditiveModel, plan: Plan, values: Floats, stage: int, code: int) -> Floats:
    """Contribution of every pixel read up to a stage to the estimate of an answer; NaN for the other pixels."""
    weights, which = model.terms.coef, np.arange(model.terms.n_terms)
    if stage < plan.n_stages:
        weights, which = plan.early.readouts[stage].weights, plan.terms[: plan.stage_terms[stage]]
    seen = np.full(model.terms.n_terms, np.nan)
    seen[which] = (model.decision.towards(code) @ weights) * values[which]
    return seen
