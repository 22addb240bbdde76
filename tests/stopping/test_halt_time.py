"""Control of the disagreement among the rows that leave by each stage."""

from __future__ import annotations

import numpy as np
import pytest

from wald.stopping import Boundary, StageScores, certify, q_grid
from wald.stopping.core.binomial import p_value
from wald.stopping.papers.halt_time import certify_by_halt_time

SD = np.array([0.5, 0.3, 0.15])
LADDER = Boundary.symmetric(0.0, SD)


def rows(n, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    full = rng.normal(size=n)
    return StageScores(
        full=(full > 0).astype(np.int32), margins=(full[:, None] + rng.normal(size=(n, 3)) * SD).astype(dtype)
    )


def three_classes(n, seed=0):
    rng = np.random.default_rng(seed)
    full = rng.normal(size=(n, 1, 3))
    seen = full + 0.5 * rng.normal(size=(n, 3, 3)) * SD[:, None]
    ranked = np.sort(seen, axis=2)
    return StageScores(
        full=full[:, 0].argmax(axis=1).astype(np.int32),
        answers=seen.argmax(axis=2).astype(np.int32),
        margins=ranked[:, :, 2] - ranked[:, :, 1],
    )


def by_stage(stage_scores, boundary):
    """Disagreement among the rows that leave by each stage."""
    codes, stage = stage_scores.leave(*boundary.thresholds(1.0, stage_scores.dtype))
    wrong = codes != stage_scores.full
    return [wrong[stage <= t].mean() if (stage <= t).any() else 0.0 for t in range(stage_scores.n_stages)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_counts_are_the_engines_and_pass_by_every_stage(dtype):
    stage_scores = rows(20_000, dtype=dtype)
    certificate = certify_by_halt_time(stage_scores, LADDER, risk=0.02, confidence=0.95, random_state=1)
    assert certificate.first_stage == 0
    assert certificate.verify()
    tested = stage_scores.take(np.random.default_rng(1).permutation(20_000)[10_000:])
    codes, stage = tested.leave(*certificate.boundary.thresholds(1.0, dtype))
    for t, stratum in enumerate(certificate.strata):
        assert stratum.n_rows == np.count_nonzero(stage <= t)
        assert stratum.n_disagreements == np.count_nonzero((codes != tested.full) & (stage <= t))
        assert p_value(stratum.n_disagreements, stratum.n_rows, 0.02) <= 0.05
    assert "by any stage" in str(certificate)


def test_it_protects_early_exits_where_a_promise_about_all_rows_does_not():
    stage_scores, fresh = rows(20_000), rows(200_000, seed=2)
    # A boundary that is too bold at the first stage, which the later stages hide.
    bold = Boundary.symmetric(0.0, SD * [0.4, 1.5, 1.5])
    marginal = certify(stage_scores, bold, risk=0.02, confidence=0.95, q_grid=q_grid(rows(2000, seed=3), bold))
    scaled = Boundary.symmetric(0.0, marginal.q * bold.high_scale)
    assert by_stage(fresh, scaled)[0] > 0.03
    codes, _ = fresh.leave(*scaled.thresholds(1.0, np.float64))
    assert np.mean(codes != fresh.full) <= 0.02
    certificate = certify_by_halt_time(stage_scores, bold, risk=0.02, confidence=0.95)
    assert max(by_stage(fresh, certificate.boundary)) <= 0.02
    assert np.mean(fresh.leave(*certificate.boundary.thresholds(1.0, np.float64))[1] < 3) > 0.5


def test_several_classes():
    certificate = certify_by_halt_time(three_classes(20_000), Boundary.upper(0.0, SD), risk=0.05, confidence=0.9)
    assert certificate.first_stage is not None
    assert certificate.verify()
    assert max(by_stage(three_classes(100_000, seed=1), certificate.boundary)) <= 0.05


def test_stages_before_the_first_failure_stay_closed():
    stage_scores = rows(20_000)
    stage_scores.margins[:, 1] = -stage_scores.margins[
        :, 1
    ]  # no scale helps here, so it is closed in the screening already
    certificate = certify_by_halt_time(stage_scores, LADDER, risk=0.02, confidence=0.95)
    assert np.isinf(certificate.q[1])
    assert np.isfinite(certificate.q[[0, 2]]).all()
    _, high = certificate.boundary.thresholds(1.0, np.float64)
    np.testing.assert_array_equal(np.isinf(high), np.isinf(certificate.q))


@pytest.mark.parametrize(
    "stage_scores",
    [rows(200), rows(1), rows(0), StageScores(full=np.ones(5000, np.int32), margins=np.full((5000, 3), np.nan))],
    ids=["few", "one", "none", "nan"],
)
def test_without_evidence_everything_stays_closed(stage_scores):
    certificate = certify_by_halt_time(stage_scores, LADDER, risk=0.01, confidence=0.95)
    assert certificate.first_stage is None
    assert np.isinf(certificate.boundary.high_center).all()
    assert certificate.verify()
    assert str(certificate).startswith("no early exit: no stage passed")
    assert "299 at least" in str(certificate)


def test_groups_count_once_and_must_fit():
    stage_scores, groups = rows(20_000), np.repeat(np.arange(4000), 5)
    certificate = certify_by_halt_time(stage_scores, LADDER, risk=0.05, confidence=0.9, groups=groups)
    assert certificate.n_tested == 2000
    assert certificate.grouped
    assert "one per group" in str(certificate)
    with pytest.raises(ValueError, match="groups must name"):
        certify_by_halt_time(stage_scores, LADDER, risk=0.05, confidence=0.9, groups=groups[:-1])


@pytest.mark.parametrize("name", ["risk", "confidence", "screening_fraction"])
@pytest.mark.parametrize("value", [0.0, 1.0, np.nan])
def test_parameters_are_checked(name, value):
    with pytest.raises(ValueError, match=f"'{name}' parameter"):
        certify_by_halt_time(rows(100), LADDER, **({"risk": 0.1, "confidence": 0.9} | {name: value}))
    with pytest.raises(ValueError, match="2 stages, the stage scores 3"):
        certify_by_halt_time(rows(100), Boundary.symmetric(0.0, [1.0, 1.0]), risk=0.1, confidence=0.9)
