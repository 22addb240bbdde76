"""One budget for the two stages of a pipeline: policies for both, and the best way to share it."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from .budget import BudgetedPredictor
from .conll import Treebank
from .policies.base import Policy
from .policies.iterated import IteratedPolicy

#: Shares of what is left beyond the cheap groups that the tagger may spend.
SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)

Stages = tuple[BudgetedPredictor | None, BudgetedPredictor | None]


def shared_budget(
    pipeline: Any, bank: Treebank, budget: float, policies: tuple[Policy | None, Policy | None], random_state: Any
) -> tuple[Stages, float]:
    """Fit policies on one half of some sentences, and share the budget by what is right on the other half.

    Parameters
    ----------
    pipeline : TextPipeline
        Fitted.
    bank : Treebank
        Annotated sentences.
    budget : float
        Mean cost of a word in all.
    policies : tuple of two Policy or None
        Not fitted.
    random_state : int or None
        Seed of policies that are None.

    Returns
    -------
    stages : tuple of two BudgetedPredictor or None
    mean_cost : float
        On the second half.
    """
    tagger, parser = pipeline.tagger_, pipeline.parser_
    costs = [np.asarray(model.group_costs_, dtype=np.float64) for model in (tagger, parser)]
    cheap, full = [float(c[0]) for c in costs], [float(c.sum()) for c in costs]
    if len(costs[0]) == len(costs[1]) == 1:
        raise ValueError("A budget needs a stage with a costly group, and neither tagger nor parser has one.")
    _check(policies, pipeline)
    if not budget >= sum(cheap):  # also refuses NaN
        raise ValueError(
            f"budget must be at least {sum(cheap):.6g} a word, the cost of the cheap groups of tagger and parser. Got "
            f"{budget!r}."
        )
    if len(bank) < 4:
        raise ValueError(f"A budget needs at least 4 sentences to learn from. Got {len(bank)}.")
    half = len(bank) // 2
    first, second = bank[:half], bank[half:]
    fitted = [
        _policy(policies[0], tagger, first, random_state),
        _policy(policies[1], parser, tagger.predict(first), random_state),
    ]
    most = [f - c for f, c in zip(full, cheap, strict=True)]
    spare = min(budget - sum(cheap), sum(most))
    tried: set[float] = set()
    best: tuple[float, Stages, float] | None = None
    for share in SHARES:
        mine = min(max(share * spare, spare - most[1]), most[0])  # what one cannot spend, the other may
        if mine in tried:
            continue
        tried.add(mine)
        tagging, tagged = _under(tagger, fitted[0], cheap[0] + mine, second)
        pipeline.stages_ = (tagging, None)
        retagged = pipeline._tagged(second)
        parsing, parsed = _under(parser, fitted[1], cheap[1] + min(spare - mine, most[1]), retagged)
        pipeline.stages_ = (tagging, parsing)
        right = _right(second, retagged) + float(np.mean(pipeline._parsed(retagged).heads == second.heads))
        if best is None or right > best[0]:
            best = right, (tagging, parsing), tagged + parsed
    assert best is not None  # there are shares
    return best[1], best[2]


def _check(policies: Any, pipeline: Any) -> None:
    """Raise unless there are two policies or None, for stages with a costly group."""
    if not isinstance(policies, tuple | list) or len(policies) != 2:
        raise TypeError(f"policies must be two, for tagger and parser, each a policy or None. Got {policies!r:.80}.")
    for name, policy in zip(("tagger", "parser"), policies, strict=True):
        if policy is None:
            continue
        if not isinstance(policy, Policy):
            raise TypeError(
                f"The {name}'s policy must be one of wald.structured.policies, or None. Got {policy!r:.60}."
            )
        if len(getattr(pipeline, f"{name}_").group_names_) == 1:
            raise ValueError(f"The {name} has no costly group, and so cannot have a policy. Got {policy!r:.60}.")


def _policy(policy: Policy | None, model: Any, bank: Treebank, random_state: Any) -> Policy | None:
    """A policy fitted on sentences that the model did not learn from; None without a costly group."""
    if len(model.group_names_) == 1:
        return None
    mine = IteratedPolicy(random_state=random_state) if policy is None else clone(policy)
    if "cv" in mine.get_params():
        mine.set_params(cv="prefit")
    return mine.fit(model, bank, bank)


def _under(model: Any, policy: Policy | None, budget: float, bank: Treebank) -> tuple[BudgetedPredictor | None, float]:
    """A stage under its part of the budget, and what it spends a word."""
    full = float(np.sum(model.group_costs_))
    if policy is None:
        return None, full
    stage = BudgetedPredictor(model, policy, budget=min(budget, full)).fit(bank)
    return stage, stage.mean_cost_


def _right(truth: Treebank, found: Treebank) -> float:
    """Mean share of right tags of the two kinds."""
    return float(np.mean([np.array(truth.column(name)) == np.array(found.column(name)) for name in ("upos", "xpos")]))
