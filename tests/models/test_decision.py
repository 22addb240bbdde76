"""Decisions, compared with the definitions of scikit-learn and libsvm."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from wald.outputs import Labels

SCORES = st.sampled_from([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0])  # few, so that ties are common
DTYPES = st.sampled_from([np.float32, np.float64])


def table(n_outputs):
    return DTYPES.flatmap(
        lambda dtype: arrays.arrays(dtype, st.tuples(st.integers(0, 6), st.just(n_outputs)), elements=SCORES)
    )


@given(table(1), SCORES, st.booleans())
def test_sign(F, threshold, tie_positive):
    decision = Labels("sign", 2, threshold, tie_positive)
    codes, confidence = decision.answers(F), decision.distances(F)
    expected = [int(f > threshold or (f == threshold and tie_positive)) for f in F[:, 0]]
    assert codes.tolist() == decision.answers(F).tolist() == decision.answers(F[:, 0]).tolist() == expected
    assert codes.dtype == np.int32
    assert confidence.dtype == F.dtype
    np.testing.assert_array_equal(confidence, np.abs(F[:, 0] - threshold))


def test_sign_meets_float32_scores_in_float64():
    threshold = 0.1  # float32(0.1) lies above
    assert Labels("sign", 2, threshold).answers(np.float32([[0.1]])).tolist() == [1]
    assert Labels("sign", 2, float(np.float32(0.1))).answers(np.float32([[0.1]])).tolist() == [0]


@pytest.mark.parametrize(("threshold", "code"), [(-np.inf, 1), (np.inf, 0)])
def test_constant_sign(threshold, code):
    codes, confidence = (
        Labels("sign", 2, threshold).answers([[-1e300], [0.0], [1e300]]),
        Labels("sign", 2, threshold).distances([[-1e300], [0.0], [1e300]]),
    )
    assert codes.tolist() == [code] * 3
    assert np.isposinf(confidence).all()


@given(table(4))
def test_argmax(F):
    decision = Labels("argmax", 4)
    codes, confidence = decision.answers(F), decision.distances(F)
    assert codes.tolist() == decision.answers(F).tolist() == [f.tolist().index(max(f)) for f in F]
    ordered = np.sort(F, axis=1)
    np.testing.assert_array_equal(confidence, ordered[:, -1] - ordered[:, -2])
    assert confidence.dtype == F.dtype


@given(table(6))
def test_votes(F):
    decision = Labels("votes", 4)
    codes, confidence = decision.answers(F), decision.distances(F)
    for f, code, clear in zip(F, codes, confidence, strict=True):
        votes = [0] * 4
        signed = {}
        for (i, j), score in zip(decision.pairs(), f, strict=True):
            votes[i if score > 0 else j] += 1
            signed[i, j], signed[j, i] = score, -score
        assert code == votes.index(max(votes))
        margins = [min(signed[one, rival] for rival in range(4) if rival != one) for one in range(4)]
        assert clear == max(margins)
        assert clear <= 0 or margins.index(clear) == code  # who wins every pair has the most votes
    assert decision.n_outputs == 6
    assert confidence.dtype == F.dtype


@given(table(3))
def test_break_ties_is_scikit_learns_one_vs_rest_view(F):
    from sklearn.utils.multiclass import (
        _ovr_decision_function,
    )  # the reference; the package does not import it

    expected = _ovr_decision_function(F < 0, -F.astype(np.float64), 3).argmax(axis=1)
    np.testing.assert_array_equal(Labels("votes", 3, break_ties=True).answers(F), expected)


@pytest.mark.parametrize(("kind", "n_classes"), [("sign", 3), ("argmax", 1), ("votes", 0), ("odd", 2)])
def test_impossible_decisions_are_refused(kind, n_classes):
    with pytest.raises(ValueError, match=r"kind"):
        Labels(kind, n_classes)


def test_scores_of_another_shape_are_refused():
    with pytest.raises(ValueError, match=r"\(n_rows, 3\)"):
        Labels("argmax", 3).answers(np.zeros((5, 2)))
