"""Accuracy against the share of costly features, for every contender on one split."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from wald.structured import BudgetedPredictor
from wald.structured.policies.base import Policy
from wald.structured.policies.crossfit import Fold, crossfit
from wald.structured.policies.driver import acquire

from .._common import Record
from .contenders import CONTENDERS, POLICIES, Contender, lessons_of
from .material import Split, right_by_seed

#: Tables by name, as lists of records.
Tables = dict[str, list[Record]]

#: Shares of the parts that get costly features.
SHARES = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9)
#: Fewer of them, where one budget takes longer.
FEWER = (0.1, 0.2, 0.3, 0.4, 0.5, 0.75)
#: Shares of a quick run.
FEWEST = (0.2, 0.3, 0.5)
#: Prices of the groups: the cheap one is free, so that a budget is a share of the parts.
_PRICES = (0.0, 1.0)


def shares_of(data: str, quick: bool) -> tuple[float, ...]:
    """Budgets on a data set."""
    if data.startswith("OCR"):
        return FEWER if quick else SHARES
    return FEWEST if quick else FEWER


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model with its policies and the thresholds of their curves.

    Attributes
    ----------
    split : Split
    model : StructuredModel
    policies : dict of str to Policy
    predictors : dict of (Contender, float) to BudgetedPredictor
        For every share.
    """

    split: Split
    model: Any
    policies: Mapping[str, Policy]
    predictors: Mapping[tuple[Contender, float], BudgetedPredictor]


def learn(split: Split) -> tuple[Any, list[Fold]]:
    """Fit the model, and its clones to folds."""
    model = clone(split.model, safe=False).fit(split.X, split.y)
    return model, crossfit(model, split.X, split.y, groups=split.groups, random_state=split.seed)


def fit_policies(split: Split, model: Any, folds: list[Fold]) -> dict[str, Policy]:
    """Fit every policy that runs on the split's data to the same cross-fitted predictions."""
    lessons, fitted = lessons_of(folds, split.seed), {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # full convergence of the classifiers is not needed
        for name in dict.fromkeys(contender.policy for contender in CONTENDERS[split.data]):
            fitted[name] = POLICIES[name](lessons).fit(model, split.X, split.y)
            if hasattr(fitted[name], "cv"):
                fitted[name].cv = "prefit"  # a fitted policy no longer needs its folds
    return fitted


def draw(split: Split, model: Any, policies: Mapping[str, Policy], quick: bool) -> tuple[list[Record], Fitted]:
    """Accuracy of every contender at every share.

    Thresholds are set on the test examples, without their labels, so that the shares are those requested.
    """
    session = model.open(split.X_test)
    truth, offsets = session.codes(split.y_test), np.asarray(session.offsets)
    everything = session.state()
    cheap, full = (
        right_by_seed(session.decode(s) == truth, offsets, split.seeds) for s in (everything & False, everything)
    )
    records: list[Record] = []
    predictors = {}
    for contender in CONTENDERS[split.data]:
        for share in shares_of(split.data, quick):
            predictor = BudgetedPredictor(
                model, policies[contender.policy], budget=share, feature_costs=_PRICES, spend=contender.spend
            ).fit(split.X_test)
            predictors[contender, share] = predictor
            found = acquire(predictor.policy, session, predictor.threshold_, predictor.allowance_)
            right = right_by_seed(found.codes == truth, offsets, split.seeds)
            bought = right_by_seed(found.state[:, 0], offsets, split.seeds)
            records += [
                {
                    "data": split.data,
                    "seed": seed,
                    "policy": contender.policy,
                    "spend": contender.spend,
                    "requested": share,
                    "parts": parts,
                    "bought": bought[seed][0],
                    "right": right[seed][0],
                    "cheap": cheap[seed][0],
                    "full": full[seed][0],
                }
                for seed, (_, parts) in full.items()
            ]
    return records, Fitted(split, model, policies, predictors)
