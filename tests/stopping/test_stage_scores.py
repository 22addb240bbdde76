"""Stage scores: first exits, compared with a plain loop."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from wald.stopping import StageScores

FLOATS = st.sampled_from([np.float32, np.float64])
VALUES = st.sampled_from([-np.inf, -2.0, -1.0, 0.0, 1.0, 2.0, np.inf, np.nan])  # few, so that ties are common
LEVELS = st.sampled_from([-np.inf, -1.0, 0.0, 1.0, np.inf])


def first_exit(stage_scores: StageScores, low, high):
    """Answer row by row, as documented."""
    codes, stages = [], []
    for i in range(stage_scores.n_rows):
        code, stage = stage_scores.full[i], stage_scores.n_stages
        for t in reversed(range(stage_scores.n_stages)):
            if stage_scores.margins[i, t] > high[t]:
                code, stage = 1 if stage_scores.two_sided else stage_scores.answers[i, t], t
            elif stage_scores.two_sided and stage_scores.margins[i, t] < low[t]:
                code, stage = 0, t
        codes.append(code)
        stages.append(stage)
    return codes, stages


@st.composite
def cases(draw):
    dtype = draw(FLOATS)
    n_rows, n_stages = draw(st.integers(0, 6)), draw(st.integers(0, 4))
    judged = draw(arrays.arrays(dtype, (n_rows, n_stages), elements=VALUES))
    full = draw(arrays.arrays(np.int32, n_rows, elements=st.integers(0, 2)))
    levels = draw(arrays.arrays(dtype, (2, n_stages), elements=LEVELS))
    if draw(st.booleans()):
        stage_scores = StageScores(full=full, margins=judged)
    else:
        codes = draw(arrays.arrays(np.int32, (n_rows, n_stages), elements=st.integers(0, 2)))
        stage_scores = StageScores(full=full, answers=codes, margins=judged)
    return stage_scores, levels.min(axis=0), levels.max(axis=0)


@given(cases())
def test_answers_are_the_first_exit(case):
    stage_scores, low, high = case
    codes, stage = stage_scores.leave(low, high)
    assert codes.dtype == np.int32
    assert (codes.tolist(), stage.tolist()) == first_exit(stage_scores, low, high)


@given(cases(), st.randoms())
def test_a_row_does_not_depend_on_the_others(case, random):
    stage_scores, low, high = case
    rows = np.array(random.sample(range(stage_scores.n_rows), stage_scores.n_rows), dtype=np.intp)
    codes, stage = stage_scores.leave(low, high)
    shuffled_codes, shuffled_stage = stage_scores.take(rows).leave(low, high)
    np.testing.assert_array_equal(shuffled_codes, codes[rows])
    np.testing.assert_array_equal(shuffled_stage, stage[rows])


def test_a_tie_with_the_threshold_goes_on():
    stage_scores = StageScores(full=np.array([1, 0], np.int32), margins=np.array([[1.0], [-1.0]]))
    _, stage = stage_scores.leave(np.array([-1.0]), np.array([1.0]))
    assert stage.tolist() == [1, 1]


def test_thresholds_of_another_dtype_are_refused():
    stage_scores = StageScores(full=np.zeros(1, np.int32), margins=np.zeros((1, 1), np.float32))
    with pytest.raises(TypeError, match="float32"):
        stage_scores.leave(np.zeros(1), np.zeros(1))


@pytest.mark.parametrize(
    "parts",
    [
        {"margins": np.zeros((3, 1))},
        {"margins": np.zeros(2)},
        {"answers": np.zeros((2, 2), np.int32), "margins": np.zeros((2, 1))},
        {"margins": np.zeros((2, 1)), "losses": np.zeros((2, 1))},
    ],
)
def test_incomplete_stage_scores_are_refused(parts):
    with pytest.raises(ValueError, match=r"StageScores needs|must have the shape"):
        StageScores(full=np.zeros(2, np.int32), **parts)
