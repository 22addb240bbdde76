"""At which scale candidate plans are compared."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from wald.plan.ladder import _reached_on_validation_rows
from wald.stopping import Boundary, Ladder, StageScores


@pytest.mark.parametrize("protect", ["positive", "negative", "each", "all"])
def test_the_rows_that_the_promise_speaks_of_keep_the_risk(protect):
    rng = np.random.default_rng(0)
    score = rng.normal(-1.5, 1.0, 20_000)  # positives are rare: of all rows, few can be wrong
    stage_scores = StageScores(full=(score > 0).astype(np.int32), scores=(score + rng.normal(size=20_000))[:, None])
    boundary = Boundary.symmetric([0.0], [1.0]).restricted(protect)
    problem = SimpleNamespace(rule=Ladder(), risk=0.02, protect=protect)
    left = 1.0 - _reached_on_validation_rows(stage_scores, boundary, problem, "float64")[-1]
    kept = {"positive": [1], "negative": [0], "each": [0, 1], "all": [None]}[protect]
    masks = [np.ones(20_000, dtype=bool) if code is None else stage_scores.full == code for code in kept]

    def leaves_and_errs(q):
        codes, stage = stage_scores.answers(*boundary.thresholds(q, np.float64))
        wrong = codes != stage_scores.full
        return (stage == 0).mean(), max(wrong[mask].mean() for mask in masks)

    tried = [leaves_and_errs(q) for q in np.geomspace(10, 0.01, 2000)]
    boldest = max(leaves for leaves, errs in tried if errs <= 0.02)
    assert 0.85 * boldest <= left <= boldest + 0.005
