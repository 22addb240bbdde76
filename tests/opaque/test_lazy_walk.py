"""The walk that asks about rows that would leave finds what `certify` finds with all answers."""

from __future__ import annotations

import numpy as np
import pytest

from wald.early_exit.fitting.lazy_walk import LEAST_BLOCK, UNKNOWN, lazy_walk
from wald.stopping import Boundary, StageScores, certify, q_grid
from wald.stopping.core.binomial import most_disagreements
from wald.stopping.core.certificate import passes
from wald.stopping.core.risks import Line

LINES = (Line("rows", None),)


def drawn(n, n_classes, seed):
    """Scores of rows at two stages: sure ones are mostly right."""
    rng = np.random.default_rng(seed)
    if n_classes == 2:
        true = rng.normal(size=n)
        margins = true[:, None] + rng.normal(size=(n, 2)) * [0.6, 0.3]
        margins[rng.random(n) < 0.05, 0] = np.nan
        return StageScores(full=(true > 0).astype(np.int32), margins=margins), Boundary.symmetric([0, 0], [0.5, 0.3])
    full = rng.integers(n_classes, size=n).astype(np.int32)
    margins = rng.exponential(size=(n, 2))
    wrong = rng.random((n, 2)) < 0.5 * np.exp(-3 * margins)
    answers = np.where(wrong, (full[:, None] + 1) % n_classes, full[:, None]).astype(np.int32)
    return StageScores(full=full, margins=margins, answers=answers), Boundary.upper([0, 0], [1.0, 0.5])


def walked(scores, boundary, risk, room=None, logged=0.0, seed=0):
    """Walk along; returns the certificate, the rows that were asked, in blocks, and how many scales were tested."""
    known = np.random.default_rng(seed).random(scores.n_rows) < logged
    blocks, most = [], most_disagreements(scores.n_rows, risk, 0.95)
    grid = q_grid(scores, boundary)

    def ask(places):
        blocks.append(places)
        return scores.full[places]

    start = StageScores(
        full=np.where(known, scores.full, UNKNOWN).astype(np.int32), margins=scores.margins, answers=scores.answers
    )
    found, n_steps = lazy_walk(start, boundary, grid, LINES, lambda strata: passes(strata, risk, 0.95), most, ask, room)
    if n_steps == 0:
        return None, blocks, 0
    certificate = certify(found, boundary, risk=risk, confidence=0.95, q_grid=grid[:n_steps], classes=range(4))
    return certificate, blocks, n_steps


@pytest.mark.one_in(3)
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("risk", [0.004, 0.02, 0.2])
@pytest.mark.parametrize("logged", [0.0, 0.4])
def test_certificates_are_those_of_all_answers(n_classes, risk, logged):
    for seed in range(2):
        scores, boundary = drawn(2500, n_classes, seed)
        whole = certify(scores, boundary, risk=risk, confidence=0.95, q_grid=q_grid(scores, boundary), classes=range(4))
        certificate, blocks, _ = walked(scores, boundary, risk, logged=logged, seed=seed)
        assert certificate == whole
        asked = np.concatenate([[], *blocks])
        assert len(np.unique(asked)) == len(asked)
        _, stage = scores.leave(*boundary.thresholds(whole.q, scores.dtype))
        beyond = len(asked) - (1 - logged) * np.count_nonzero(stage < 2)
        assert beyond < 3 * LEAST_BLOCK + 100 * (risk > 0.1) + 60 * (logged > 0)


def test_few_blocks():
    scores, boundary = drawn(20_000, 4, 0)
    _, blocks, _ = walked(scores, boundary, 0.02)
    assert len(blocks) < 60


@pytest.mark.parametrize("room", [0, 1, 70, 500, 1500])
def test_no_more_rows_than_there_is_room_for(room):
    for n_classes in (2, 4):
        scores, boundary = drawn(2500, n_classes, 1)
        whole, _, n_whole = walked(scores, boundary, 0.02)
        certificate, blocks, n_steps = walked(scores, boundary, 0.02, room=room)
        assert sum(map(len, blocks)) <= room
        assert n_steps <= n_whole
        if certificate is not None:
            assert certificate.status == "certified"
            assert certificate.q >= whole.q
