"""The contract of stopping rules, and a check of it for authors of rules."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import numpy as np

from ..core.boundary import Boundary
from ..core.walk import Walk
from .rules import READOUTS, Needs, Rule


def check_stopping_rule(rule: Rule) -> None:
    """Raise AssertionError, saying what is wrong, unless `rule` keeps the contract of stopping rules.

    The rule is tried on a small binary walk, a small multiclass one and one of equal votes, which have bounds of the
    unseen terms only if it needs them. It may refuse some of them with ValueError, but not all. It must be a value
    (copies and pickles compare equal), leave the walk unchanged, return equal tables for equal walks, and return a
    `Boundary` with a row per early stage that

    * widens with `q`, if the rule is statistical: scales are positive where centres are finite;
    * is never bolder in float32 than in float64;
    * lets no row leave at ``q = inf``;
    * never differs from the full model, if the rule is lossless;
    * grows with the errors of the estimates, around the decision threshold, if the rule says so (`Needs.error_scales`).

    Examples
    --------
    >>> from wald.stopping import Ladder
    >>> check_stopping_rule(Ladder())
    """
    assert isinstance(rule, Rule), "a rule needs readout, needs and boundary(walk)"
    assert isinstance(rule.needs, Needs), "needs must be an instance of wald.stopping.Needs"
    assert rule.readout in READOUTS, f"readout must be one of {READOUTS}, got {rule.readout!r}"
    assert copy.deepcopy(rule) == rule, "a copy must compare equal"
    assert pickle.loads(pickle.dumps(rule)) == rule, "a pickle must compare equal"
    refusals = []
    walks = [_given(rule, walk) for walk in (example_walk(n_classes=2), example_walk(n_classes=3), example_votes())]
    for walk in walks:
        before = pickle.dumps(walk)
        try:
            boundary = rule.boundary(walk)
        except ValueError as refusal:
            refusals.append(refusal)
            continue
        assert pickle.dumps(walk) == before, "boundary(walk) must not change the walk"
        assert pickle.dumps(rule.boundary(walk)) == pickle.dumps(boundary), "the same walk must give the same table"
        _check_table(rule, walk, boundary)
        if rule.needs.lossless:
            answers, _ = walk.leave(*boundary.thresholds(1.0, np.float64))
            assert (answers == walk.full).all(), "a lossless rule must answer as the full model does"
        if rule.needs.error_scales:
            _check_scales(rule, walk, boundary)
    assert len(refusals) < len(walks), f"the rule refuses binary walks, multiclass walks and votes alike: {refusals[0]}"


def _given(rule: Rule, walk: Walk) -> Walk:
    """The walk as a plan gives it to the rule: with bounds only if it needs them, and sums if it reads them."""
    if not rule.needs.bounds:
        walk = replace(walk, remainder_low=None, remainder_high=None, slack=None)
    return walk if rule.readout == "partial" else replace(walk, imputed=None)


def _check_scales(rule: Rule, walk: Walk, boundary: Boundary) -> None:
    assert (boundary.high_center == walk.threshold).all(), "error_scales: centres must lie at the decision threshold"
    if walk.two_sided:
        errors = walk.goal.std() * np.ones_like(walk.margins)
        once, twice = (rule.boundary(replace(walk, errors=size * errors)).high_scale for size in (1.0, 2.0))
        assert np.allclose(twice, 2.0 * once), "error_scales: scales must grow with walk.residual_size()"


def _check_table(rule: Rule, walk: Walk, boundary: Boundary) -> None:
    assert isinstance(boundary, Boundary), "boundary(walk) must return a Boundary"
    assert boundary.n_stages == walk.n_stages, "the table needs a row per early stage"
    assert walk.two_sided or np.isneginf(boundary.low_center).all(), "multiclass has no low side: use Boundary.upper"
    stuck_low = np.isfinite(boundary.low_center) & (boundary.low_scale == 0.0)
    stuck_high = np.isfinite(boundary.high_center) & (boundary.high_scale == 0.0)
    moved = not (stuck_low | stuck_high).any()
    assert moved or rule.needs.lossless or rule.needs.forced, "q must move every threshold of a statistical rule"
    low, high = boundary.thresholds(1.0, np.float64)
    low32, high32 = boundary.thresholds(1.0, np.float32)
    outwards = (low32 <= low) & (high32 >= high)
    assert outwards.all(), "float32 thresholds must not be bolder"
    _, stage = walk.leave(*boundary.thresholds(np.inf, np.float64))
    assert (stage == walk.n_stages).all(), "no row may leave at q = inf"


def example_votes(n_rows: int = 300, seed: int = 0) -> Walk:
    """Build the walk of 24 artificial votes on two classes, with a partial readout and exact remainders."""
    rng = np.random.default_rng(seed)
    n_members, stages = 24, np.array([2, 6, 12, 18, 24])
    share = rng.beta(0.3, 0.3, size=(n_rows, 1))
    sums = np.where(rng.random((n_rows, n_members)) < share, 1.0, -1.0).cumsum(axis=1)[:, stages - 1] / n_members
    rest = 1.0 - stages[:-1] / n_members
    imputed = (sums[:, -1:] - sums[:, :-1]).mean(axis=0)
    return Walk(
        full=(sums[:, -1] > 0).astype(np.int32),
        full_scores=sums[:, -1:],
        stages=stages,
        stage_costs=stages.astype(np.float64),
        margins=sums[:, :-1] + imputed,
        imputed=imputed,
        remainder_low=-rest - imputed,
        remainder_high=rest - imputed,
        slack=np.full(len(stages) - 1, 1e-9),
    )


def example_walk(n_classes: int = 2, n_rows: int = 300, seed: int = 0) -> Walk:
    """Build the walk of an artificial linear model on features in [-1, 1], with a partial readout and exact remainders.

    The rounding errors of scores are below 1e-9. With more than two classes, the largest of `n_classes` scores decides.
    """
    rng = np.random.default_rng(seed)
    n_terms, stages = 24, np.array([2, 6, 12, 18, 24])
    n_outputs = 1 if n_classes == 2 else n_classes
    intercept = 0.25 if n_classes == 2 else 0.0
    weights = rng.normal(size=(n_terms, n_outputs)) * np.geomspace(1.0, 0.01, n_terms)[:, None]
    terms = rng.uniform(-1.0, 1.0, size=(n_rows, n_terms, 1)) * weights
    sums = intercept + terms.cumsum(axis=1)[:, stages - 1]
    early, full = sums[:, :-1], sums[:, -1]
    imputed = np.stack([terms[:, m:].sum(axis=1).mean(axis=0) for m in stages[:-1]])
    scores = early + imputed
    # The largest change of any output, or of any gap between two outputs, that the unseen terms can make.
    gaps = weights[:, :, None] - weights[:, None, :] if n_classes > 2 else weights[:, :, None]
    imputed_gaps = imputed[:, :, None] - imputed[:, None, :] if n_classes > 2 else imputed[:, :, None]
    reach = np.stack([np.abs(gaps[m:]).sum(axis=0) for m in stages[:-1]])
    common = {
        "full_scores": full,
        "stages": stages,
        "stage_costs": stages.astype(np.float64),
        "remainder_low": (-reach - imputed_gaps).min(axis=(1, 2)),
        "remainder_high": (reach - imputed_gaps).max(axis=(1, 2)),
        "slack": np.full(len(stages) - 1, 1e-9),
        "n_classes": n_classes,
        "intercept": intercept,
    }
    if n_classes == 2:
        codes = (full[:, 0] > 0).astype(np.int32)
        return Walk(full=codes, margins=scores[:, :, 0], imputed=imputed[:, 0], **common)
    ranked, full_ranked = np.sort(scores, axis=2), np.sort(full, axis=1)
    return Walk(
        full=full.argmax(axis=1).astype(np.int32),
        answers=scores.argmax(axis=2).astype(np.int32),
        margins=ranked[:, :, -1] - ranked[:, :, -2],
        full_margins=full_ranked[:, -1] - full_ranked[:, -2],
        **common,
    )
