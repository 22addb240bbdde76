"""Several candidates on the same rows."""

from __future__ import annotations

import numpy as np
import pytest

from wald.stopping import Boundary, StageScores, certify, q_grid
from wald.stopping.core.family import certify_family

FAMILY = [Boundary.symmetric(0.0, [scale, 0.5 * scale]) for scale in (3.0, 1.5, 0.8, 0.1)]


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    full = rng.normal(size=n)
    scores = full[:, None] + rng.normal(size=(n, 2)) * [0.4, 0.2]
    return StageScores(full=(full > 0).astype(np.int32), margins=scores)


def test_bonferroni_certifies_each_at_its_share():
    stage_scores = rows(4000)
    certificates = certify_family(stage_scores, FAMILY, risk=0.02, confidence=0.95)
    for boundary, certificate in zip(FAMILY, certificates, strict=True):
        assert certificate.confidence == 1 - 0.05 / 4
        assert certificate == certify(stage_scores, boundary, risk=0.02, confidence=1 - 0.05 / 4, q_grid=[1.0])
        assert certificate.verify()
    assert certificates[0].status == "certified"
    assert certificates[-1].q == np.inf


def test_every_candidate_may_walk_its_own_grid():
    stage_scores, grids = rows(4000), [q_grid(rows(1000, seed=1), b) for b in FAMILY]
    certificates = certify_family(stage_scores, FAMILY, risk=0.02, confidence=0.95, q_grids=grids)
    assert all(c.status == "certified" for c in certificates)
    assert certificates[0].q < certificates[-1].q


def test_a_fixed_sequence_ends_at_the_first_failure():
    bold_in_between = [FAMILY[0], FAMILY[3], FAMILY[1]]
    certificates = certify_family(rows(4000), bold_in_between, risk=0.02, confidence=0.95, correction="fixed_sequence")
    assert [c.status for c in certificates] == ["certified", "too many disagreements", "full"]
    assert certificates[0].confidence == 0.95
    assert "not tested" in str(certificates[2])


def test_candidates_may_have_other_stages_and_groups_count_once():
    stage_scores = [rows(3000, seed=0), rows(3000, seed=0)]
    groups = np.repeat(np.arange(1000), 3)
    one, other = certify_family(stage_scores, FAMILY[:2], risk=0.05, confidence=0.9, groups=groups)
    assert one.n_rows == other.n_rows == 1000
    assert one.grouped


@pytest.mark.parametrize(
    ("boundaries", "kwargs", "message"),
    [
        ([], {}, "at least one candidate"),
        (FAMILY, {"correction": "holm"}, "'correction' parameter"),
        (FAMILY, {"q_grids": [[1.0]]}, "each of the 4 candidates"),
        (FAMILY, {"q_grids": [[1.0]] * 4, "correction": "fixed_sequence"}, "bonferroni"),
        (FAMILY, {"confidence": 1.0}, "'confidence' parameter"),
        (FAMILY, {"risk": 0.0}, "'risk' of certify must lie strictly between 0 and 1"),
    ],
)
def test_arguments_are_checked(boundaries, kwargs, message):
    with pytest.raises(ValueError, match=message):
        certify_family(rows(100), boundaries, **({"risk": 0.1, "confidence": 0.95} | kwargs))
    with pytest.raises(ValueError, match="each of the 4"):
        certify_family([rows(10)], FAMILY, risk=0.1, confidence=0.9)
